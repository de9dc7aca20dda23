"""The picture of the README and of the first page: a drive's curve from two of its points, as `qsim compare` draws it.

Its words hold the numbers that it was drawn with, so that a picture that no longer fits is found as stale text is.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrate import Comparison

DATASET, SERIES = "003-ssd-read", "32 KiB read"
FILE = Path(__file__).resolve().parent.parent / "_static" / "two-points.svg"


def still(folder: str) -> str:
    """The picture as Markdown on a page from which the docs lie in ``folder`` ("" for a page among them)."""
    compared = _compared()
    curve, observed = compared.predicted, compared.points.throughput_per_s
    used = " and ".join(f"{depth:g}" for depth in compared.fit.used)
    held = [
        f"{1e-3 * found:.1f} k/s at depth {load:.0f} against {1e-3 * predicted:.1f} k/s predicted"
        for load, found, predicted, out in zip(
            curve.load, observed, curve.throughput_per_s, compared.held_out, strict=True
        )
        if out
    ]
    return (
        f"![Latency against throughput of a drive, predicted from depths {used}, with its knee "
        f"and a 90 % band. Held out: {', '.join(held)}.]({folder}_static/{FILE.name})"
    )


def draw() -> None:
    """Draw the picture again. MeasureError where kaleido or a browser is missing."""
    from calibrate.report.compared.curves import latency_against_throughput
    from calibrate.report.images import write_images
    from calibrate.report.view import Group, View
    from doctools.dark import with_dark_colours

    compared = _compared()
    title = "A drive's latency and throughput, predicted from two of its points"
    view = View("curve", FILE.stem, title, "", compared.predicted.to_frame(), latency_against_throughput(compared))
    with TemporaryDirectory() as folder:
        (drawn,) = write_images([Group("", [view])], Path(folder) / "drawn")
        FILE.write_text(with_dark_colours(drawn.read_text("utf-8")), encoding="utf-8")


@cache
def _compared() -> Comparison:
    from calibrate import compare
    from measure import load_dataset

    return compare(load_dataset(DATASET), series=SERIES)
