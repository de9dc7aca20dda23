"""The picture of the README and of the first page: X(N) and R(N) of a drive that `qsim knee` measured, with both knees.

Its words hold the numbers that it was drawn with, so that a picture that no longer fits is found as stale text is.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrate import Comparison

DOCS = Path(__file__).resolve().parent.parent
SWEEP = DOCS / "data" / "quick"
"""A sweep of eight depths as `qsim knee . --out quick` leaves it."""
FILE = DOCS / "_static" / "knee-throughput.svg"
"""The first of the pictures; the others are drawn with it."""
TITLES = {"throughput": "Throughput over depth", "response": "Response time over depth"}


def still(folder: str) -> str:
    """The picture as Markdown on a page from which the docs lie in ``folder`` ("" for a page among them)."""
    fit = _compared().fit
    starts, ninety, peak = fit.knee.load, fit.ninety.load, fit.curve_parameters["Xmax"].estimate
    points = _compared().points
    columns = {
        "throughput": (1e-3 * points.throughput_per_s, ".1f", "k/s"),
        "response": (1e6 * points.response_time_s, ".0f", "µs"),
    }
    about = [
        f"queueing starts at depth {starts:.2g}" if starts else "",
        f"90 % of the peak at depth {ninety:.2g}" if ninety else "",
        f"peak {1e-3 * peak:.3g} k/s" if peak else "",
    ]
    what = f"of a drive, measured by qsim knee, with the 90 % band and both knees: {', '.join(filter(None, about))}."
    lines = []
    for name, (column, digits, unit) in columns.items():
        cells = (f"{y:{digits}} {unit} at depth {n:g}" for n, y in zip(points.load, column, strict=True))
        lines.append(f"![{TITLES[name]} {what} Measured: {', '.join(cells)}.]({folder}_static/{_file(name).name})")
    return "\n".join(lines)


def draw() -> None:
    """Draw the pictures again. Needs kaleido and a browser."""
    from calibrate.report.compared.curve_figures import against_load
    from calibrate.report.view import View
    from doctools.dark import drawn

    compared = _compared()
    table = compared.predicted.to_frame()
    for n in ("throughput", "response"):
        view = View(_file(n).stem, TITLES[n], "", table, against_load(compared, n))
        _file(n).write_text(drawn(view), encoding="utf-8")


def _file(name: str) -> Path:
    return DOCS / "_static" / f"knee-{name}.svg"


@cache
def _compared() -> Comparison:
    from calibrate import compare
    from measure import load

    sweep = load(SWEEP)
    return compare(sweep, sorted(set(sweep.points["load"])))
