"""``qsim surface``: throughput and latency over block size, share of reads and depth at once, from a few corners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import Source, tell
from calibrate.cli.failures import CHECK_FAILED, CommandError
from calibrate.cli.options import AsJson, AsPublished, Columns, Data, Dataset, Level, Report, Seed
from calibrate.cli.outputs import Csv, Image, Outputs, Plots
from calibrate.cli.places import Places, at_places, places
from calibrate.cli.progress import Bar

if TYPE_CHECKING:
    from calibrate.report.measured import MeasuredSection
    from calibrate.surface import SurfaceComparison
    from measure import Sweep

HELP = """Predict throughput and latency over block size, share of reads, queue depth and jobs from a few corners.

Reads and writes are two classes that share the device: each has a latency, a peak rate and a bandwidth. The two ends of
what varies are calibrated on (at most 2 sizes x 2 shares x 2 depths), and then the point that the fit asks for; all
other points are predicted, with bands, and held against what was measured. --at predicts places that were not.

\b
Examples:
qsim surface --dataset 001-ssd
qsim surface sweep/ --ask 2 --report surface.html
qsim surface sweep/ --use "block=4KiB,64KiB read=0,100 depth=1,32" --at "block=16KiB read=70 depth=1..64"
"""


def surface(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    as_published: AsPublished = False,
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="PATTERN", parser=parsing.choice("random", "sequential"), show_default=False,
                     help="Random or sequential, where DATA has both: each is a surface of its own."),
    ] = None,
    use: Annotated[
        Places | None,
        typer.Option("--use", metavar="PLACES", parser=places, show_default=False,
                     help='The points to calibrate on, as "block=4KiB,64KiB read=0,100 depth=1,32 jobs=1"; what is '
                     "not named may be anything. Default: the corners."),
    ] = None,
    ask: Annotated[
        int | None,
        typer.Option("--ask", metavar="N", parser=parsing.whole, show_default="1",
                     help="How many further points to calibrate on, each where the fit so far would learn most."),
    ] = None,
    at: Annotated[
        Places | None,
        typer.Option("--at", metavar="PLACES", parser=places, show_default=False,
                     help="Also predict these places, written like those of --use, measured or not; what is not named "
                     "takes every value that was measured."),
    ] = None,
    level: Level = None,
    seed: Seed = None,
    report: Report = None,
    csv: Csv = None,
    plots: Plots = None,
    image: Image = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="PCT", parser=parsing.allowed_error, show_default=False,
                     help="Exit with 3 where the median held-out error of the throughput exceeds this many percent."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load, calibrate, predict, print, write, check."""
    from calibrate.doubts import matters
    from calibrate.report.surface import surface_section
    from calibrate.surface import compare_surface, surface_points
    from calibrate.surface.fit import LEVEL
    from measure.auditing import audit
    from measure.findings import SEVERITIES

    source = Source(data or (), dataset, columns, as_published)
    outputs = Outputs(report, csv, plots, image)
    outputs.check()
    sweep = source.load()
    with Bar("calibrating") as bar:
        compared = compare_surface(
            surface_points(sweep, pattern), None if use is None else use.columns(), ask=1 if ask is None else ask,
            level=LEVEL if level is None else level, seed=seed or 0, progress=bar.share,
        )  # fmt: skip
    asked_for = _predictions(compared, at)
    noticed = sorted(dict.fromkeys((*sweep.findings, *audit(sweep))), key=lambda f: -SEVERITIES.index(f.severity))
    section = surface_section(compared, sweep.provenance, noticed)
    written = outputs.write([section], section.title)
    document = {"source": source.name, **compared.to_dict(), "predictions": asked_for,
                "audit": [f.to_dict() for f in noticed], **written.to_dict()}  # fmt: skip
    tell([f for f in noticed if matters(f) or (f.severity == "warning" and f in sweep.findings)])
    if as_json:
        _check(compared, max_error, document)
        print_json(document)
        return
    _tell(compared, section, asked_for, sweep)
    written.tell()
    _check(compared, max_error, None)


def _predictions(compared: SurfaceComparison, at: Places | None) -> list[dict[str, Any]]:
    """The rows of --at."""
    from calibrate.surface.compare import rows_of

    return [] if at is None else rows_of(compared.surface.predict(at_places(at, compared.points.places)))


def _tell(
    compared: SurfaceComparison, section: MeasuredSection, predictions: list[dict[str, Any]], sweep: Sweep
) -> None:
    """The outcome, the parameters, the knees, every point, and what was asked for."""
    import pandas as pd

    from calibrate.report.measured.tables import shown
    from calibrate.report.surface import NAMES

    for note in compared.notes:
        warn(note)
    parts = [section.lead]
    parts += [f"asked for: {compared.points.places.text(i)}" for i in compared.asked]
    for view in section.views:
        if view.text is not None:
            parts.append(f"{view.title}\n{table(view.text.header, view.text.rows, left=0)}")
    if predictions:
        text = shown(pd.DataFrame(predictions).drop(columns="extrapolated"), NAMES)
        parts.append(f"Predicted\n{table(text.header, text.rows, left=0)}")
    say("\n\n".join(parts))


def _check(compared: SurfaceComparison, max_error: float | None, document: dict[str, Any] | None) -> None:
    """CommandError (a check failed) by --max-error."""
    error = compared.summary.held_out_mdape_throughput_pct
    if max_error is not None and error is not None and error > max_error:
        raise CommandError(
            f"--max-error {max_error:g}: the throughput of held-out points is missed by {error:.3g} % at the median",
            CHECK_FAILED, document,
        )  # fmt: skip
