"""``qsim read-mix``: a memory's latency at shares of reads that were not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import Source
from calibrate.cli.failures import CHECK_FAILED, CommandError, wrong_usage
from calibrate.cli.options import AsJson, AsPublished, Columns, Data, Dataset, Level
from measure.units import format_bandwidth, format_duration

if TYPE_CHECKING:
    from calibrate.read_mix import MixCurve, MixFamily

HELP = """Predict a memory's latency over bandwidth at shares of reads that were not measured, from those that were.

Without --at every measured mix that is not calibrated on is predicted and held against its measurement; without --use
as well, each mix between the first and the last is predicted from all the others.

\b
Examples:
qsim read-mix memory.csv
qsim read-mix memory.csv --use 50,100 --at 60,75,90
qsim read-mix --dataset 001-memory --series "64 B"
"""

ALARMING = 0.03


def read_mix(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    as_published: AsPublished = False,
    series: Annotated[
        str | None,
        typer.Option("--series", metavar="TEXT", show_default=False,
                     help="Only curves with this in their names, where there are several of one mix (64 B)."),
    ] = None,
    use: Annotated[
        parsing.Numbers | None,
        typer.Option("--use", metavar="PCT,...", parser=parsing.percents, show_default=False,
                     help="The shares of reads to calibrate on, two or more, in percent. Default: all that there are."),
    ] = None,
    at: Annotated[
        parsing.Numbers | None,
        typer.Option("--at", metavar="PCT,...", parser=parsing.percents, show_default=False,
                     help="The shares of reads to predict, in percent."),
    ] = None,
    level: Level = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="PCT", parser=parsing.allowed_error, show_default=False,
                     help="Exit with 3 where the median error at the measured mixes exceeds this many percent."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load, predict, print, check."""
    from calibrate.read_mix import LEVEL, mix_family

    source = Source(data or (), dataset, columns, as_published)
    family = mix_family(source.load(), series)
    used = family if use is None else family.only([_index(family, m, "--use") for m in sorted(set(use))])
    if len(used.read_fraction) < 2:
        raise wrong_usage("--use: a mix between others needs two of them at least; name two")
    found = _predicted(family, used, at, all_used=use is None, level=LEVEL if level is None else level)
    rows = [_document(family, curve) for curve in found]
    summary = _summary(family, found)
    document = {"source": source.name, "used": [100 * m for m in used.read_fraction], "left_out": list(family.left_out),
                "idle_spread_pct": 100 * family.idle_spread, "mixes": rows, "summary": summary}  # fmt: skip
    if not as_json:
        _tell(family, rows, summary)
    error = summary["mdape_pct"]
    if max_error is not None and error is not None and error > max_error:
        raise CommandError(
            f"--max-error {max_error:g}: the measured mixes are missed by {error:.3g} % at the median", CHECK_FAILED,
            document if as_json else None,
        )  # fmt: skip
    if as_json:
        print_json(document)


def _index(family: MixFamily, percent: float, option: str) -> int:
    """Where a share of reads stands among the measured ones; CommandError where it is none of them."""
    for i, mix in enumerate(family.read_fraction):
        if abs(100 * mix - percent) < 0.6:
            return i
    there = ", ".join(f"{100 * m:.3g}" for m in family.read_fraction)
    raise wrong_usage(f"{option}: no mix of {percent:g} % reads was measured; there are {there}")


def _predicted(
    family: MixFamily, used: MixFamily, at: parsing.Numbers | None, *, all_used: bool, level: float
) -> list[MixCurve]:
    """The mixes asked for, or those that were measured and can be held against it."""
    from calibrate.read_mix import unseen_mixes

    measured = dict(zip(family.read_fraction, family.bandwidth_bytes_per_s, strict=True))
    if at is not None:
        return [used.predict(m, None if used is family else measured.get(m), level=level) for m in _named(family, at)]
    if all_used:
        return [curve for _, curve in unseen_mixes(family, level=level)]
    first, last = used.read_fraction[0], used.read_fraction[-1]
    inner = [m for m in family.read_fraction if first < m < last and m not in used.read_fraction]
    return [used.predict(m, measured[m], level=level) for m in inner]


def _named(family: MixFamily, percents: parsing.Numbers) -> list[float]:
    """Shares of reads as typed, each as the measured one that is meant where there is such a one."""
    near = {round(100 * m): m for m in family.read_fraction}
    return [near.get(round(p), p / 100) for p in percents]


def _document(family: MixFamily, curve: MixCurve) -> dict[str, Any]:
    """One mix, JSON-ready, SI units; measured latencies where the prediction is at the measured bandwidths."""
    measured = _measured(family, curve)
    rows = []
    for i in range(len(curve.latency_s)):
        row = {
            "bandwidth_bytes_per_s": curve.bandwidth_bytes_per_s[i], "latency_s": curve.latency_s[i],
            "latency_low_s": curve.latency_low_s[i], "latency_high_s": curve.latency_high_s[i],
        }  # fmt: skip
        if measured is not None:
            row |= {"measured_latency_s": measured[i], "error_pct": 100 * (curve.latency_s[i] / measured[i] - 1)}
        rows.append({k: float(v) for k, v in row.items()})
    return {"read_pct": 100 * curve.read_fraction, "peak_bytes_per_s": curve.peak_bytes_per_s, "points": rows}


def _measured(family: MixFamily, curve: MixCurve) -> Any:
    """The measured latencies at the curve's bandwidths; None where these are none that were measured."""
    if curve.read_fraction not in family.read_fraction:
        return None
    which = family.read_fraction.index(curve.read_fraction)
    x = family.bandwidth_bytes_per_s[which]
    same = len(x) == len(curve.bandwidth_bytes_per_s) and bool((x == curve.bandwidth_bytes_per_s).all())
    return family.latency_s[which] if same else None


def _summary(family: MixFamily, found: list[MixCurve]) -> dict[str, float | int | None]:
    """Over all points that were measured: how many, the median error, the share inside the band."""
    import numpy as np

    errors, inside = [np.array([])], [np.array([])]
    for curve in found:
        measured = _measured(family, curve)
        if measured is not None:
            errors.append(np.abs(100 * (curve.latency_s / measured - 1)))
            inside.append(((curve.latency_low_s <= measured) & (measured <= curve.latency_high_s)).astype(float))
    pooled, share = np.concatenate(errors), np.concatenate(inside)
    if not len(pooled):
        return {"points": 0, "mdape_pct": None, "inside_band_pct": None}
    return {"points": len(pooled), "mdape_pct": float(np.median(pooled)), "inside_band_pct": float(100 * share.mean())}


def _tell(family: MixFamily, rows: list[dict[str, Any]], summary: dict[str, float | int | None]) -> None:
    """What is noteworthy, a table for each mix, and how well it does."""
    if family.left_out:
        warn(f"left out, non-temporal stores are another kind of traffic: {', '.join(family.left_out)}")
    if family.idle_spread > ALARMING:
        warn(
            f"the idle latencies of these mixes, which no mix can change, differ by {100 * family.idle_spread:.2g} % "
            "(standard deviation): noise between runs, which no prediction undercuts; repeat the measurement"
        )
    parts = []
    for mix in rows:
        header = ["bandwidth", "latency", "low", "high"]
        known = "error_pct" in mix["points"][0]
        lines = [
            [format_bandwidth(p["bandwidth_bytes_per_s"]),
             *(format_duration(p[k]) for k in ("latency_s", "latency_low_s", "latency_high_s")),
             *((format_duration(p["measured_latency_s"]), f"{p['error_pct']:+.1f} %") if known else ())]
            for p in mix["points"]
        ]  # fmt: skip
        title = f"{mix['read_pct']:.3g} % reads, peak {format_bandwidth(mix['peak_bytes_per_s'])}"
        parts.append(f"{title}\n{table([*header, *(['measured', 'error'] if known else [])], lines, left=0)}")
    if summary["points"]:
        missed, inside = f"{summary['mdape_pct']:.2g} %", f"{summary['inside_band_pct']:.0f} %"
        parts.append(
            f"{summary['points']} points of {len(rows)} mix{'es' if len(rows) > 1 else ''} held out: missed by "
            f"{missed} at the median, {inside} inside their bands"
        )
    say("\n\n".join(parts) if parts else "no measured mix lies between those used; name one with --at")
