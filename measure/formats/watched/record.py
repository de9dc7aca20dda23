"""The record of ``qsim watch --record``: a CSV table with a row for each device and second."""

from __future__ import annotations

import csv
import io

from measure.errors import DataError
from measure.formats.watched.interval import COLUMNS, DeviceInterval
from measure.formats.watched.steady import watched_sweep
from measure.sweep import Sweep


def header() -> str:
    """The first line."""
    return ",".join(COLUMNS) + "\n"


def line(interval: DeviceInterval) -> str:
    """One interval as a line; what nobody knows stays empty."""
    text = io.StringIO()
    cells = ["" if value != value else value for value in interval.to_dict().values()]  # noqa: PLR0124  (NaN)
    csv.writer(text, lineterminator="\n").writerow(f"{c:.9g}" if isinstance(c, float) else c for c in cells)
    return text.getvalue()


def looks_like_record(text: str) -> bool:
    """Whether the text begins with the first line of a record."""
    return text.lstrip("\ufeff").startswith(header().rstrip("\n"))


def record_sweep(text: str, name: str) -> Sweep:
    """The steady stretches of a record; a last line that was cut off is left out. DataError as ``watched_sweep``."""
    intervals = []
    whole = text[: text.rfind("\n") + 1]
    for number, row in enumerate(csv.DictReader(io.StringIO(whole.lstrip("\ufeff"))), 2):
        try:
            intervals.append(DeviceInterval.of_rates(row))
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}, line {number}: {error}; it was edited or damaged: remove the line") from error
    if not intervals:
        raise DataError(f"{name} holds no second yet; watch longer")
    return watched_sweep(intervals, "qsim watch", name)
