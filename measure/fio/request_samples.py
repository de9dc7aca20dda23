"""Every request of a measured sweep as a sample, where fio's logs were kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from measure.formats.fio.log_names import log_name
from measure.formats.fio.logs import LatencyLog, read_latency_log
from measure.sweep import Sweep

Key = tuple[str, float, int]


@dataclass(frozen=True)
class Samples(Mapping[Key, LatencyLog]):
    """{(series, load, repeat): its requests}, each read from its log when it is asked for.

    Logs can be far larger than memory when taken together, so none is stored. The latencies of one job are in the
    order in which they ended; jobs follow each other.
    """

    paths: Mapping[Key, Path]

    def __getitem__(self, key: Key) -> LatencyLog:
        """Raises KeyError where the point has no log, DataError where the log cannot be read."""
        return read_latency_log(self.paths[key])

    def __iter__(self) -> Iterator[Key]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def samples(sweep: Sweep) -> Samples:
    """The requests of those points of a sweep of which a log of latencies is there; means over intervals are none.

    >>> from measure import load_dataset
    >>> len(samples(load_dataset("003-ssd-read")))  # a published table has no log
    0
    """
    logs = {
        name.stem: path
        for path in sweep.raw
        if (name := log_name(path.name)) is not None and name.kind == "lat" and name.job is None
    }
    return Samples({
        (str(series), float(load), int(repeat)): logs[stem]
        for series, load, repeat, source in sweep.points[["series", "load", "repeat", "source"]].itertuples(index=False)
        if (stem := PurePosixPath(str(source)).stem) in logs
    })  # fmt: skip
