"""``qsim compare``: predict from a few points, and hold the prediction against the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.audit import check_findings
from calibrate.cli.compare_tails import add_tails, say_tails, tails_of_all, write_page
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import Source, check_use, known_series, tell_findings
from calibrate.cli.failures import CHECK_FAILED, CommandError, wrong_usage
from calibrate.cli.knee_tables import knee_table, knees_of
from calibrate.cli.options import (
    AsJson,
    AsPublished,
    Columns,
    Data,
    Dataset,
    DeviceModel,
    FailOn,
    Knees,
    Level,
    Objective,
    Report,
    Seed,
    Series,
    Use,
)

if TYPE_CHECKING:
    from calibrate import Comparison, Fit
    from calibrate.knees import NamedKnee
    from calibrate.sealing import Seal
    from measure import Sweep

HELP = """Calibrate on a few points, predict the others, and report what is missed.

Prints the parameters with their intervals, the knee, observed against predicted at every load, and the verdict.
Datasets are compared corrected by what their audit proves (--as-published: as printed).

\b
Examples:
qsim compare sweep/ --use 1,64 --report report.html
qsim compare --dataset 003-ssd-read --max-error 10
qsim compare tonight/ --fit yesterday.json --fail-on error
qsim compare tonight/ --sealed before.json
"""


def compare(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    as_published: AsPublished = False,
    use: Use = None,
    series: Series = None,
    model: DeviceModel = None,
    fit: Annotated[
        Path | None,
        typer.Option("--fit", metavar="FIT", parser=parsing.path, show_default=False,
                     help="Hold this fit against DATA instead of calibrating on it."),
    ] = None,
    sealed: Annotated[
        Path | None,
        typer.Option("--sealed", metavar="FILE", parser=parsing.path, show_default=False,
                     help="Hold this sealed prediction (qsim predict --seal) against DATA; refused where DATA was "
                     "used in it."),
    ] = None,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="With --sealed: leave the points out that the prediction was made from.")
    ] = False,
    level: Level = None,
    seed: Seed = None,
    report: Report = None,
    slo: Objective = None,
    knees: Knees = False,
    fail_on: FailOn = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="PCT", parser=parsing.percent, show_default=False,
                     help="Exit with 3 where the mean held-out error of any curve exceeds this many percent, in "
                     "throughput or in response time."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load, compare every series or the one named, print, report, check."""
    source = Source(data or (), dataset, columns, as_published)
    brought = {"--use": use, "--model": model, "--level": level, "--seed": seed}
    _check_brought(fit, sealed, [o for o, value in brought.items() if value is not None], only_new)
    if max_error is not None and max_error <= 0:
        raise wrong_usage(f"--max-error must be a percentage above 0, not {max_error:g}")

    from calibrate.cli.report_files import check_report_path
    from calibrate.fitting import model_named

    if model is not None:
        model_named(model)
    if report is not None:
        check_report_path(report)
    held = None if sealed is None else _read_seal(sealed)
    sweep = source.load()
    names = known_series(sweep, series)
    if sealed is not None and held is not None:
        done, refused = _against_sealed(sweep, names, held, sealed, only_new)
    elif fit is None:
        check_use(sweep, names, use)
        done, refused = _calibrated(sweep, names, use or source.default_use(), model, level, seed)
    else:
        from calibrate.cli.fit_files import read_fits

        done, refused = _held_against(sweep, names, read_fits(fit), fit)
    title = source.name if held is None else f"{source.name}, predicted before: SHA-256 {held.sha256}"
    tails, untold = tails_of_all(done, sweep, seed or 0, held)
    written = None if report is None else write_page(done, refused, tails, report, title)

    tell_findings(sweep, names)
    for name, reason in refused.items():
        warn(f"not compared: {name}: {reason.removeprefix(f'{name}: ')}")
    shown = _knees(done, slo, sweep, seed or 0, over_repeats=knees) if as_json or knees or slo is not None else []
    if not as_json:
        _tell(done, held, written, shown)
        say_tails(tails)
    document = {**comparison_document(done, refused, written), "seal": None if held is None else held.to_dict()}
    for part, found in zip(document["series"], shown, strict=False):
        part["knees"] = [k.to_dict() for k in found]
    add_tails(document["series"], tails, untold)
    for key in ("knees", "tails", "tail_structures", "tails_refused"):
        document[key] = document["series"][0].get(key)
    _check(done, fail_on, max_error, document if as_json else None)
    if as_json:
        print_json(document)


def _knees(
    done: Sequence[Comparison], slo: parsing.Objective | None, sweep: Sweep, seed: int, *, over_repeats: bool
) -> list[tuple[NamedKnee, ...]]:
    """The knees of every comparison; a prediction that was made elsewhere has no repeats here."""
    return [
        knees_of(c.fit, slo, sweep, float(c.points.load.max()),
                 over_repeats=over_repeats and not c.held_out.all(), seed=seed)
        for c in done
    ]  # fmt: skip


def _tell(
    done: Sequence[Comparison], held: Seal | None, written: str | None, shown: Sequence[Sequence[NamedKnee]]
) -> None:
    if held is not None:
        say(f"{held}\n")
    tables = [f"\n\n{knee_table(found, c.fit.load_name, c.fit.level)}" for c, found in zip(done, shown, strict=False)]
    say("\n\n\n".join(f"{c}{''.join(tables[i : i + 1])}" for i, c in enumerate(done)))
    if len(done) > 1:
        say(f"\n\n{_overview(done)}")
    if written is not None:
        say(f"\nreport: {written}")


def comparison_document(
    done: Sequence[Comparison], refused: dict[str, str], report: str | None = None
) -> dict[str, Any]:
    """The JSON of several comparisons: the first one's keys at the top, every one under ``series``."""
    parts = []
    for comparison in done:
        part = comparison.to_dict()
        parts.append({"name": part.pop("series"), **part})
    return {**parts[0], "series": parts, "refused": refused, "report": report}


def _overview(done: Sequence[Comparison]) -> str:
    """One row for each curve: the knee and the mean held-out errors."""

    def percent(value: float | None) -> str:
        return "none held out" if value is None else f"{value:.1f} %"

    rows = [
        (
            c.series,
            ", ".join(f"{n:g}" for n in c.fit.used),
            "not reached" if c.knee.load is None else f"{c.knee.load:.3g}{'' if c.knee.identified else ' ?'}",
            percent(c.summary.held_out_mape_throughput_pct),
            percent(c.summary.held_out_mape_response_pct),
        )
        for c in done
    ]
    text = table(("all curves", "calibrated on", "knee", "error in throughput", "in response time"), rows)
    return text + ("\n? not identifiable from these points" if any(" ?" in row[2] for row in rows) else "")


def _calibrated(
    sweep: Sweep,
    names: Sequence[str],
    use: Sequence[float] | None,
    model: str | None,
    level: float | None,
    seed: int | None,
) -> tuple[list[Comparison], dict[str, str]]:
    from calibrate.comparison import compare as compared
    from calibrate.comparison import compare_all
    from calibrate.fitting import LEVEL

    level, seed = LEVEL if level is None else level, seed or 0
    if len(names) < len(sweep.series):
        return [compared(sweep, use, series=n, model=model, level=level, seed=seed) for n in names], {}
    return compare_all(sweep, use, model=model, level=level, seed=seed)


def _check_brought(fit: Path | None, sealed: Path | None, twice: Sequence[str], only_new: bool) -> None:
    """CommandError where a fit or a sealed prediction, which bring their calibration, is given with another."""
    if fit is not None and sealed is not None:
        raise wrong_usage("--fit and --sealed were both given: hold one of them against DATA")
    for name, given in (("--fit", fit), ("--sealed", sealed)):
        if given is not None and twice:
            raise wrong_usage(f"{name} brings its own calibration; leave out {' and '.join(twice)}")
    if only_new and sealed is None:
        raise wrong_usage("--only-new is about --sealed: without it, points that were calibrated on are marked")


def _read_seal(path: Path) -> Seal:
    from calibrate.sealing import read_seal

    return read_seal(path)


def _against_sealed(
    sweep: Sweep, names: Sequence[str], held: Seal, path: Path, only_new: bool
) -> tuple[list[Comparison], dict[str, str]]:
    """Each curve against the sealed prediction of its name; DataError where the prediction knew the data."""
    from dataclasses import replace

    from calibrate.sealing import told_beforehand, unseen

    rows = sweep.points[sweep.points["series"].isin(list(names))]
    fresh = unseen(held, replace(sweep, points=rows), drop=only_new)
    if doubt := told_beforehand(held, fresh):
        warn(doubt)
    return _held_against(fresh, [n for n in names if n in fresh.series], held.fits, path)


def _held_against(
    sweep: Sweep, names: Sequence[str], brought: Sequence[Fit], path: Path
) -> tuple[list[Comparison], dict[str, str]]:
    """Each curve against the fit of its name; where there is one fit only, it is held against every curve."""
    from calibrate.comparison import compare as compared
    from measure.errors import DataError

    fits = {f.series: f for f in brought}
    only = next(iter(fits.values())) if len(fits) == 1 else None
    done: list[Comparison] = []
    refused: dict[str, str] = {}
    for name in names:
        fitted = fits.get(name, only)
        if fitted is None:
            refused[name] = f"{path} has no fit of this name; it has: {', '.join(fits)}"
            continue
        try:
            done.append(compared(sweep, series=name, fitted=fitted))
        except DataError as error:
            refused[name] = str(error)
    if not done:
        raise DataError(next(iter(refused.values())))
    return done, refused


def _check(
    done: Sequence[Comparison], fail_on: str | None, max_error: float | None, document: dict[str, Any] | None
) -> None:
    """CommandError (a check failed) by --fail-on and --max-error."""
    check_findings([f for c in done for f in c.audit], fail_on, document)
    if max_error is None:
        return
    for comparison in done:
        s = comparison.summary
        errors = {"throughput": s.held_out_mape_throughput_pct, "response time": s.held_out_mape_response_pct}
        for what, error in errors.items():
            if error is None:
                raise CommandError(
                    f"--max-error {max_error:g}: {comparison.series} has no held-out point to check; calibrate on "
                    "fewer loads", CHECK_FAILED, document,
                )  # fmt: skip
            if error > max_error:
                raise CommandError(
                    f"--max-error {max_error:g}: the held-out {what} of {comparison.series} is missed by {error:.3g} % "
                    "on average", CHECK_FAILED, document,
                )  # fmt: skip
