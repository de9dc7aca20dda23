"""What a log of fio's is, by its name and its first lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LogKind = Literal["lat", "clat", "slat", "lat_hist", "clat_hist", "slat_hist", "bw", "iops"]

_NAME = re.compile(
    r"^(?P<stem>.*)_(?P<kind>(?:[sc]?lat)(?:_hist)?|bw|iops)(?:\.(?P<job>\d{1,6}))?\.log$", re.IGNORECASE
)
_PLOT_NAME = re.compile(r"^(?P<rw>rand(?:read|write|rw)|read|write|rw|readwrite)-iodepth-(?P<depth>\d{1,5})-numjobs-"
                        r"(?P<jobs>\d{1,5})$")  # fmt: skip
_LINE = re.compile(r"^\d{1,20}, ?\d{1,20}, ?[0-4], ?\d{1,12}(?:, ?(?:0x)?[\da-fA-F]{1,20}){0,3}\r?$")
_HISTOGRAM_LINE = re.compile(r"^\d{1,20}, ?[0-2], ?\d{1,12}(?:, ?\d{1,18}){19,1900}\r?$")
_LOOK_AT_LINES = 5


@dataclass(frozen=True)
class LogName:
    """What a log's name says: the part before the kind, the kind, and the number of the job (None: all jobs)."""

    stem: str
    kind: LogKind
    job: int | None

    @property
    def options(self) -> dict[str, str]:
        """fio's options, where the stem is of fio-plot's form (``randread-iodepth-8-numjobs-2``); else none."""
        match = _PLOT_NAME.match(Path(self.stem).name)
        return {"rw": match["rw"], "iodepth": match["depth"], "numjobs": match["jobs"]} if match else {}


def log_name(name: str) -> LogName | None:
    """What the name of a log says, or None where it is no log of fio's.

    >>> log_name("randread-iodepth-8-numjobs-1_clat_hist.1.log").kind
    'clat_hist'
    """
    match = _NAME.match(name)
    if match is None:
        return None
    return LogName(match["stem"], match["kind"].lower(), int(match["job"]) if match["job"] else None)  # type: ignore[arg-type]


def looks_like_log(head: str) -> bool:
    """Whether the first lines are those of a log of fio's, of requests or of histograms."""
    lines = [line for line in head.split("\n")[: _LOOK_AT_LINES + 1] if line.strip()]
    whole = lines[:-1] if len(lines) > 1 else lines  # the last one may be cut
    return bool(whole) and all(_LINE.match(line) or _HISTOGRAM_LINE.match(line) for line in whole)


def looks_like_histogram_log(head: str) -> bool:
    """Whether the first line is a histogram of fio's."""
    return _HISTOGRAM_LINE.match(head.partition("\n")[0]) is not None
