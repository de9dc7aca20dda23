"""``qsim surface``: a drive over block size, reads, depth and jobs, from a few points, measured before or now."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, complain, warn
from calibrate.cli.data import DataSource, print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import Consent, consent, keeping, target
from calibrate.cli.options import Columns, Data, Dataset, Page, conflicts, flag, option, requires
from measure.units import counted, format_bytes, format_duration

if TYPE_CHECKING:
    from calibrate.report.view import Section
    from calibrate.surface import SurfaceComparison
    from calibrate.surface.explored import ExploredSurface

MORE = "--details: every point, parameters, knees;   --report FILE: plots"
UNSTEADY = ("drift-within-run", "outlier")  # checks whose findings make a run unreliable for a surface

KEYS: Mapping[str, tuple[str, Callable[[Any], parsing.Numbers]]] = {
    "block": ("block_bytes", parsing.sizes),
    "read": ("read_fraction", parsing.percents),
    "depth": ("depth", parsing.depths),
    "jobs": ("jobs", parsing.depths),
}
LIKE = "write places like block=4KiB,64KiB read=0,100 depth=1..32 jobs=1"


@parsing.parser
def places(text: str) -> Mapping[str, Sequence[float]]:
    """Values by the column of a place, as ``block=4KiB,64KiB read=0,100 depth=1..32``; ``all`` names no column."""
    if text.strip().lower() == "all":
        return {}
    typed: dict[str, Sequence[float]] = {}
    for word in text.replace(";", " ").split():
        key, equals, values = word.partition("=")
        if key not in KEYS or not equals:
            raise ValueError(f"{word!r}: {LIKE}")
        column, parse = KEYS[key]
        if column in typed:
            raise ValueError(f"{key!r} is named twice; write its values with commas between them")
        typed[column] = tuple(v / 100 for v in parse(values)) if key == "read" else tuple(parse(values))
    if not typed:
        raise ValueError(f"no place is named; {LIKE}")
    return typed


@conflicts("--budget", "--dataset", "--columns", "--pattern", "--use", "--ask")
@requires("--out", "--budget")
@requires("--allow", "--budget")
def surface(
    *,
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    pattern: str | None = option("PATTERN", None, "The surface of several: random, sequential, or a size of file."),
    use: Any = option("PLACES", places, 'Calibrate on these, as "block=4KiB read=0,100 jobs=1", or all.'),
    ask: int | None = option("N", parsing.whole, "Further points to calibrate on.", shown="2"),
    at: Any = option("PLACES", places, "Also predict these places, written like those of --use."),
    budget: float | None = option("TIME", parsing.seconds, "Measure the target DATA for this long, as 60s."),
    out: Path | None = option("DIR", parsing.path, "Keep the measured points here, an ordinary sweep."),
    allow: Consent = option("WHAT", consent, "Consent to a device: see qsim measure fio.", default=Consent()),
    details: bool = flag("--details", "Also print every point, parameter and knee."),
    page: Page,
) -> CommandResult:
    """Predict a drive over block size, share of reads, depth and jobs.

    Calibrates on a few points, the ends of what varies and those that narrow the bands most, and compares the others
    with what was measured. With --budget, DATA is a target that is measured, at the places that say most.

    \b
    Examples:
    qsim surface --dataset 001-ssd
    qsim surface sweep/ --use "block=4KiB,64KiB read=0,100 depth=1,32" --at "block=16KiB read=70 depth=1..64"
    qsim surface . --budget 60s --at "block=4KiB,64KiB read=0,50,100 depth=1..64"
    qsim surface --dataset 004-ssd-block-size --use "block=4KiB,512KiB" --ask 0
    """
    if budget is not None:
        return _measured(data or (), budget, at, out, allow, page, details=details)
    from calibrate.fitting.calibrating import matters
    from measure.findings import SEVERITIES

    source = DataSource(data or (), dataset, columns)
    sweep = source.load()
    noticed = sorted(
        dict.fromkeys((*sweep.findings, *measure.audit(sweep))), key=lambda f: -SEVERITIES.index(f.severity)
    )
    compared, predictions = _compared(sweep, pattern, use, ask, at, noticed)
    print_findings(
        [f for f in noticed if matters(f) or f.check in UNSTEADY or (f.severity == "warning" and f in sweep.findings)]
    )
    for note in compared.notes:
        warn(note)
    return CommandResult(
        lambda: _text(compared, predictions, details=details),
        lambda: {
            "source": source.name,
            **compared.to_dict(),
            "predictions": predictions,
            "audit": [f.to_dict() for f in noticed],
        },
        page.write(lambda: _sections(compared, sweep, noticed)),
    )


def _compared(
    sweep: measure.Sweep,
    pattern: str | None,
    use: Mapping[str, Sequence[float]] | None,
    ask: int | None,
    at: Mapping[str, Sequence[float]] | None,
    noticed: list[measure.Finding],
) -> tuple[SurfaceComparison, list[dict[str, Any]]]:
    from calibrate.surface import compare_surface, surface_points
    from calibrate.surface.surface_comparison import DEFAULT_ASKED

    compared = compare_surface(
        surface_points(sweep, pattern),
        use,
        ask=DEFAULT_ASKED if ask is None else ask,
        drifting=any(f.check == "drift-within-run" for f in noticed),
    )
    if at is None:
        return compared, []
    wanted = compared.points.places.combined(at)
    rows = compared.surface.predict(wanted).rows()
    for note in set(compared.surface.guesses(wanted)) - set(compared.notes):
        warn(note)
    return compared, rows


def _sections(compared: SurfaceComparison, sweep: measure.Sweep, noticed: list[measure.Finding]) -> list[Section]:
    from calibrate.report.surface_section import section_of

    return [section_of(compared, sweep.provenance, noticed)]


def _text(compared: SurfaceComparison, predictions: list[dict[str, Any]], *, details: bool) -> str:
    """The answer, the table, the worst point, what to measure next; with ``details`` the parameters and knees."""
    from calibrate.surface.surface_fit import table_of

    table = f"{_predicted_at(predictions)}\n{table_of(predictions)}" if predictions else compared.table()
    parts = ["\n".join(compared.answer()), table]
    if details:
        parts += [f"{heading}\n{rows}" for heading, rows in compared.details()]
    return "\n\n".join([*parts, "\n".join([*compared.last_lines(), f"MORE    {MORE}"])])


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


def _measured(
    data: Sequence[str],
    budget_s: float,
    at: Mapping[str, Sequence[float]] | None,
    out: Path | None,
    allow: Consent,
    page: Page,
    *,
    details: bool,
) -> CommandResult:
    """Measure, and print what is predicted everywhere, what is still unknown, and the worst place."""
    from calibrate.report.surface_section import explored_section
    from calibrate.surface.explored import RAMP_S, RUNTIME_S, SurfaceRuns, explore, usual_places

    if len(data) != 1:
        raise wrong_usage("--budget measures one target; name a directory on the drive, or one device")
    where, places = target(data[0]), usual_places() if at is None else usual_places().combined(at)
    with keeping(out) as directory:
        run = SurfaceRuns(where, places, directory, allow.settings())
        least = run.least_seconds()
        if budget_s < least:
            raise wrong_usage(
                f"--budget {format_duration(budget_s)} is too short; the corners take {math.ceil(least)}s"
            )
        try:
            found = explore(run.measure, places, budget_s, RUNTIME_S + RAMP_S, on_group=_show)
        finally:
            run.tidy()
    kept = f"saved in {out}; next: qsim surface {out}" if out is not None else "--out DIR: keep the points"
    return CommandResult(
        lambda: "\n\n".join(
            [
                "\n".join(found.answer()),
                found.map_text() + "\n\n# measured   . predicted   ? unknown",
                *([found.table()] if details else []),
                f"MORE    --details: every place;   {kept}",
            ]
        ),
        lambda: {
            "source": where,
            "predictions": found.rows(),
            "measured": int(found.known.sum()),
            "noise_pct": 100 * found.noise,
            "seconds": found.seconds,
            "directory": None if out is None else str(out),
        },
        page.write(lambda: [explored_section(found, where)]),
    )


def _show(found: ExploredSurface) -> None:
    complain(f"{counted(int(found.known.sum()), 'place')} measured, {format_duration(found.seconds, 2)}")
    for line in found.map_text().splitlines():
        complain(line)
