"""``qsim surface``: a drive over block size, reads, depth and jobs, or a memory over mixes, from a few points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.calibration.typed_places import TypedPlaces, at_places, places, read_shares
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.data import DataSource, print_findings
from calibrate.cli.failures import CHECK_FAILED, UNDECIDED, CommandError, wrong_usage
from calibrate.cli.measuring.run import Consent, consent
from calibrate.cli.option_groups import flag, option
from calibrate.cli.option_rules import conflicts, requires
from calibrate.cli.options import AsJson, Columns, Data, Dataset, Report
from calibrate.cli.outputs import Outputs, Written
from measure.units import counted, format_bytes

if TYPE_CHECKING:
    from calibrate.surface import SurfaceComparison
    from calibrate.surface.memory import MixComparison
    from measure import Finding, Sweep


HELP = """Predict a drive over block size, share of reads, depth and jobs, or a memory over shares of reads.

Calibrates on a few points, the ends of what varies and those that narrow the bands most, and compares the others with
what was measured. With --budget, DATA is a target that is measured, at the places that say most.

\b
Examples:
qsim surface --dataset 001-ssd
qsim surface sweep/ --use "block=4KiB,64KiB read=0,100 depth=1,32" --at "block=16KiB read=70 depth=1..64"
qsim surface . --budget 60s --at "block=4KiB,64KiB read=0,50,100 depth=1..64"
qsim surface --dataset 004-ssd-block-size --use "block=4KiB,512KiB" --ask 0
qsim surface --dataset 001-memory --series "64 B" --use "read=50,100" --at "read=60,90"
"""

MORE = "--details: every point, parameters, knees;   --report FILE: plots"
UNSTEADY = ("drift-within-run", "outlier")
"""Findings on runs that a surface should not lean on."""


@conflicts("--budget", "--dataset", "--columns", "--pattern", "--series", "--use", "--ask", "--max-error")
@requires("--out", "--budget")
@requires("--allow", "--budget")
def surface(
    *,
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    pattern: str | None = option("PATTERN", parsing.choice("random", "sequential"), "Which, where DATA has both."),
    series: str | None = option("TEXT", None, "Of a memory, only curves with this in their names."),
    use: TypedPlaces | None = option(
        "PLACES", places, 'Calibrate on these, as "block=4KiB read=0,100 jobs=1", or all.'
    ),
    ask: int | None = option("N", parsing.whole, "Further points or mixes to calibrate on.", shown="2, of a memory 0"),
    at: TypedPlaces | None = option("PLACES", places, "Also predict these places, written like those of --use."),
    budget: float | None = option("TIME", parsing.seconds, "Measure the target DATA for this long, as 60s."),
    out: Path | None = option("DIR", parsing.path, "Keep the measured points here, an ordinary sweep."),
    allow: Consent = option("WHAT", consent, "Consent to a device: see qsim measure fio.", default=Consent()),
    details: bool = flag("--details", "Also print every point, parameter and knee."),
    report: Report = None,
    max_error: float | None = option("PCT", parsing.allowed_error, "Exit with 3 where the median error exceeds this."),
    as_json: AsJson = False,
) -> None:
    """Load, calibrate, predict, print, write, check."""
    from calibrate.fitting.curve_fit import matters
    from measure.auditing.all_checks import audit
    from measure.findings import SEVERITIES

    if budget is not None:
        from calibrate.cli.calibration.surface_measured import measured_surface

        measured_surface(data or (), budget, at, out, allow, report, details=details, as_json=as_json)
        return
    source = DataSource(data or (), dataset, columns)
    outputs = Outputs(report)
    outputs.check()
    sweep = source.load()
    noticed = sorted(dict.fromkeys((*sweep.findings, *audit(sweep))), key=lambda f: -SEVERITIES.index(f.severity))
    shown = [
        f for f in noticed if matters(f) or f.check in UNSTEADY or (f.severity == "warning" and f in sweep.findings)
    ]
    compared: SurfaceComparison | MixComparison
    if sweep.load_type.is_memory:
        compared, predictions = _memory(sweep, series, use, ask, at)
    else:
        _refuse_series(series)
        compared, predictions = _drive(sweep, pattern, use, ask, at, noticed)
    written = Written()
    if outputs.wanted:
        from calibrate.report.surface import section_of

        section = section_of(compared, sweep.provenance, noticed)
        written = outputs.write([section], section.title)
    document = {
        "source": source.name,
        **compared.to_dict(),
        "predictions": predictions,
        "audit": [f.to_dict() for f in noticed],
        **written.to_dict(),
    }
    print_findings(shown)
    if not as_json:
        _print(compared, predictions, details=details)
        written.say()
    _check(compared, max_error, document if as_json else None)
    if as_json:
        print_json(document)


def _drive(
    sweep: Sweep,
    pattern: str | None,
    use: TypedPlaces | None,
    ask: int | None,
    at: TypedPlaces | None,
    noticed: list[Finding],
) -> tuple[SurfaceComparison, list[dict[str, Any]]]:
    from calibrate.surface import compare_surface, surface_points
    from calibrate.surface.compare import DEFAULT_ASKED

    compared = compare_surface(
        surface_points(sweep, pattern),
        None if use is None else use.columns(),
        ask=DEFAULT_ASKED if ask is None else ask,
        drifting=any(f.check == "drift-within-run" for f in noticed),
    )
    if at is None:
        return compared, []
    wanted = at_places(at, compared.points.places)
    rows = compared.surface.predict(wanted).rows()
    for note in set(compared.surface.guesses(wanted)) - set(compared.notes):
        warn(note)
    return compared, rows


def _memory(
    sweep: Sweep, series: str | None, use: TypedPlaces | None, ask: int | None, at: TypedPlaces | None
) -> tuple[MixComparison, list[dict[str, Any]]]:
    from calibrate.surface.memory import compare_mixes, mix_family

    family = mix_family(sweep, series)
    shares = None if use is None else read_shares(use, "--use", family.read_fraction)
    compared = compare_mixes(family, shares, ask=ask or 0)
    wanted = [] if at is None else read_shares(at, "--at", family.read_fraction)
    curves = [compared.used.predict(share) for share in wanted]
    return compared, [row for curve in curves for row in curve.rows()]


def _refuse_series(series: str | None) -> None:
    if series is not None:
        raise wrong_usage("--series is about a memory's curves; of a drive, --use and --pattern choose points")


def _print(compared: SurfaceComparison | MixComparison, predictions: list[dict[str, Any]], *, details: bool) -> None:
    """The answer, the table, the worst point, what to measure next; with ``details`` the parameters and knees."""
    from calibrate.surface.results import table_of

    for note in compared.notes:
        warn(note)
    text = ["\n".join(compared.answer())]
    if predictions:
        text.append(f"{_predicted_at(predictions)}\n{table_of(predictions)}")
    else:
        text.append(compared.table())
    if details:
        text += [f"{heading}\n{table}" for heading, table in compared.details()]
    text.append("\n".join([*compared.last_lines(), f"MORE    {MORE}"]))
    say("\n\n".join(text))


def _predicted_at(rows: Sequence[Mapping[str, Any]]) -> str:
    """The heading of the predicted places: what all of them share, ``Predicted at 16 KiB, 70 % read``."""
    shown: Mapping[str, Callable[[float], str]] = {
        "block_bytes": format_bytes,
        "read_fraction": lambda share: f"{100 * share:.3g} % read",
        "jobs": lambda jobs: counted(int(jobs), "job"),
    }
    shared = [
        show(rows[0][name]) for name, show in shown.items() if name in rows[0] and len({r[name] for r in rows}) == 1
    ]
    return f"Predicted at {', '.join(shared)}" if shared else "Predicted"


def _check(
    compared: SurfaceComparison | MixComparison, max_error: float | None, document: dict[str, Any] | None
) -> None:
    missed = compared.missed_pct()
    if max_error is None:
        return
    if missed is None:
        reason = "no point was held out to check; calibrate on fewer"
        raise CommandError(f"--max-error {max_error:g}: {reason}", UNDECIDED, document)
    if missed > max_error:
        reason = f"held-out points are missed by {missed:.3g} % at the median"
        raise CommandError(f"--max-error {max_error:g}: {reason}", CHECK_FAILED, document)
