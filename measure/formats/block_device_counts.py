"""The kernel's counts of a block device second by second, and the sweep in stretches where the load was steady.

An interval belongs to a stretch where its throughput equals that of the stretch, within ``TOLERANCE`` and the scatter
of independent requests (three times the root of their number), its mean number outstanding is within ``FACTOR``, and
its requests are similar: in mean size within ``SIZES`` and in the share of reads within ``SHARES``. Stretches of at
least ``LEAST_S`` count. Those of similar requests are one curve, and those of a curve whose loads are within ``ALIKE``
are one point, cut into repeats.

The load is the mean number outstanding, X R: whatever sends the requests, Little's law gives throughput against the
number outstanding, and the knee is R1 Xpeak. Samples of the number in flight show what sends them: a fixed number that
circulates does not vary, and under Poisson arrivals its variance is at least its mean L (M/M/1: L + L^2). Without
samples arrivals are assumed.

The record of ``qsim watch --record`` is a CSV table with a row for each device and second.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import Outstanding
from measure.origin import PUBLISHED, Provenance, computed
from measure.sweep import Sweep, describe_series

LOOKS_PER_S = 50.0
AGREE, ERRORS = 0.1, 2.6
"""X R and the samples agree within this share and these standard errors, of which 99 % of samples are within."""

MEANS = ("in_flight", "in_flight_variance", "late_looks_share")
SUMS = ("reads", "read_s", "read_bytes", "writes", "write_s", "written_bytes", "busy_s", "printed_s")


@dataclass(frozen=True)
class DeviceInterval:
    """The activity of ``device`` in the ``seconds`` until ``time`` (ISO 8601, UTC).

    ``reads`` and ``writes`` are requests completed, ``read_s`` and ``write_s`` the sum of their response times
    (``printed_s``: by the mean times that a tool printed, where these come from another figure), ``busy_s`` the time
    with at least one in the device. ``in_flight`` is the sampled mean number of requests in the device; NaN without
    samples. Samples that saw it busy have the weight of ``busy_s``, so that late ones, a ``late_looks_share`` of all,
    which waited for a processor, do not bias it.

    >>> DeviceInterval("sda", "", 2, reads=1000, read_s=8).response_time_s
    0.008
    """

    device: str
    time: str
    seconds: float
    reads: float = 0.0
    read_s: float = 0.0
    read_bytes: float = 0.0
    writes: float = 0.0
    write_s: float = 0.0
    written_bytes: float = 0.0
    busy_s: float = math.nan
    in_flight: float = math.nan
    in_flight_variance: float = math.nan
    late_looks_share: float = math.nan
    printed_s: float = math.nan

    @property
    def requests(self) -> float:
        """Requests completed."""
        return self.reads + self.writes

    @property
    def throughput_per_s(self) -> float:
        """Requests completed a second."""
        return self.requests / self.seconds

    @property
    def response_time_s(self) -> float:
        """Mean time of a request in the device, seconds; NaN where none was completed."""
        return _ratio(self.read_s + self.write_s, self.requests)

    @property
    def outstanding(self) -> float:
        """Mean number of requests in the device by Little's law, X R."""
        return (self.read_s + self.write_s) / self.seconds

    @property
    def block_bytes(self) -> float:
        """Mean size of a request, bytes; NaN where it is unknown."""
        moved = self.read_bytes + self.written_bytes
        return _ratio(moved, self.requests) if moved else math.nan

    @property
    def seen_error(self) -> float:
        """Half width of a 99 % interval of ``in_flight``, from samples that are far enough apart to be independent.

        At least that of a count of none: the load at which a Poisson count of none is ``ERRORS`` errors below its mean.
        """
        looks = LOOKS_PER_S * self.seconds * (1 - self.late_looks_share)
        return ERRORS * max(math.sqrt(self.in_flight_variance / looks), ERRORS / looks) if looks >= 1 else math.nan

    @property
    def agrees(self) -> bool:
        """Whether X R and ``in_flight`` agree within the interval and 10 %; True without samples."""
        apart = abs(self.outstanding - self.in_flight)
        return not apart > self.seen_error + AGREE * self.outstanding

    @property
    def read_share(self) -> float:
        """The share of reads; NaN where it is unknown."""
        return _ratio(self.reads, self.requests)

    @property
    def busy_share(self) -> float:
        """The share of time in which the device was busy: %util."""
        return self.busy_s / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """A row of the record that ``qsim watch --record`` writes, in SI units."""
        return {
            "time": self.time,
            "device": self.device,
            "seconds": self.seconds,
            "throughput_per_s": self.throughput_per_s,
            "response_time_s": self.response_time_s,
            "outstanding": self.outstanding,
            "in_flight": self.in_flight,
            "in_flight_variance": self.in_flight_variance,
            "late_looks_share": self.late_looks_share,
            "reads_per_s": self.reads / self.seconds,
            "read_response_time_s": _ratio(self.read_s, self.reads),
            "read_bytes_per_s": self.read_bytes / self.seconds,
            "writes_per_s": self.writes / self.seconds,
            "write_response_time_s": _ratio(self.write_s, self.writes),
            "write_bytes_per_s": self.written_bytes / self.seconds,
            "busy_share": self.busy_share,
        }

    @classmethod
    def of_rates(cls, row: Mapping[str, Any]) -> DeviceInterval:
        """The inverse of ``to_dict``: from means over the interval. A missing column counts as 0.

        >>> DeviceInterval.of_rates({"device": "sda", "seconds": 2, "reads_per_s": 500}).requests
        1000.0
        """

        def mean(name: str, unknown: float = math.nan) -> float:
            value = row.get(name)
            return unknown if value in ("", None) or math.isnan(float(value)) else float(value)

        rate = partial(mean, unknown=0.0)
        seconds = float(row["seconds"])
        reads, writes = seconds * rate("reads_per_s"), seconds * rate("writes_per_s")
        return cls(
            str(row["device"]),
            str(row.get("time") or ""),
            seconds,
            reads=reads,
            read_s=reads * rate("read_response_time_s"),
            read_bytes=seconds * rate("read_bytes_per_s"),
            writes=writes,
            write_s=writes * rate("write_response_time_s"),
            written_bytes=seconds * rate("write_bytes_per_s"),
            busy_s=seconds * mean("busy_share"),
            **{name: mean(name) for name in MEANS},
        )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def pooled(parts: Sequence[DeviceInterval]) -> DeviceInterval:
    """One interval of several of a device."""
    seconds = sum(p.seconds for p in parts)
    values = {name: sum(getattr(p, name) for p in parts) for name in SUMS}
    values |= {name: sum(getattr(p, name) * p.seconds for p in parts) / seconds for name in MEANS}
    return DeviceInterval(parts[0].device, parts[-1].time, seconds, **values)


LEAST_S = 5.0
TOLERANCE = 0.25
FACTOR = 1.5
ALIKE = 0.15
MOST_REPEATS = 10
SIZES, SHARES = 1.25, 0.1
SCATTER = 3.0  # standard deviations of a count of independent requests within which it belongs to a stretch
SECTOR_BYTES = 512


def watched_sweep(
    intervals: Iterable[DeviceInterval], tool: str, name: str = "", origins: Mapping[str, str] | None = None
) -> Sweep:
    """A sweep with one curve per device, throughput against the mean number outstanding, from steady stretches.

    The number outstanding is X R, from the times of the requests, unless ``origins`` (:mod:`measure.origin`) say other.
    Raises DataError where no stretch is steady for ``LEAST_S`` seconds.
    """
    by_device: dict[str, list[DeviceInterval]] = {}
    for interval in intervals:
        by_device.setdefault(interval.device, []).append(interval)
    steady = {device: parts for device, own in by_device.items() if (parts := list(stretches(own)))}
    if not steady:
        seconds = sum(i.seconds for own in by_device.values() for i in own)
        raise DataError(
            f"{name or tool}: no {LEAST_S:g} s of a steady load in {seconds:.0f} s of "
            f"{', '.join(by_device) or 'no device'}; watch longer, or while the load holds still"
        )
    rows = [
        row
        for device, parts in steady.items()
        for series, of_kind in series_of(device, parts)
        for row in _rows(series, of_kind)
    ]
    said = _kind_by_variance([part for parts in steady.values() for part in parts])
    details = {ORIGIN_OF_KIND: said} if said else {}
    return Sweep(
        pd.DataFrame(rows).assign(**(origins or {"load_origin": computed("X R")})),
        Outstanding(arrivals=said != FIXED),
        Provenance(tool=tool, device=", ".join(steady), source=name, details=details),
        tuple(_used(device, by_device[device], parts) for device, parts in steady.items()),
        name=name,
    )


FIXED, OPEN = "a fixed number in flight: found", "arrivals, by how the number in flight varied: found"
VARIES = 0.5
"""The variance of the number in flight over its mean, between none of a fixed number and one or more of arrivals."""
TELLING = 1.0  # the least mean number in flight whose variance tells them apart


def _kind_by_variance(parts: Iterable[list[DeviceInterval]]) -> str:
    """What kept the requests in flight in these steady stretches; empty where no samples tell."""
    seen = [part for part in parts if pooled(part).in_flight >= TELLING]
    if not seen:
        return ""
    mean, variance = (sum(values) for values in zip(*map(_in_flight, seen), strict=True))
    return OPEN if variance >= VARIES * mean else FIXED


def _in_flight(part: Sequence[DeviceInterval]) -> tuple[float, float]:
    """Mean and variance of the number in flight of a stretch, each times its seconds."""
    whole, seconds = pooled(part), [i.seconds for i in part]
    between = float(np.average([(i.in_flight - whole.in_flight) ** 2 for i in part], weights=seconds))
    return whole.in_flight * whole.seconds, (whole.in_flight_variance + between) * whole.seconds


def stretches(intervals: Iterable[DeviceInterval]) -> Iterator[list[DeviceInterval]]:
    """The steady stretches of one device, in order of time."""
    current: list[DeviceInterval] = []
    whole: DeviceInterval | None = None
    for interval in intervals:
        if whole is not None and not _belongs(interval, whole):
            if whole.seconds >= LEAST_S:
                yield current
            current, whole = [], None
        if interval.requests:
            current.append(interval)
            whole = interval if whole is None else pooled([whole, interval])
    if whole is not None and whole.seconds >= LEAST_S:
        yield current


def _belongs(interval: DeviceInterval, stretch: DeviceInterval) -> bool:
    expected = stretch.throughput_per_s * interval.seconds
    scatter = SCATTER * math.sqrt(expected) + TOLERANCE * expected
    if abs(interval.requests - expected) > scatter or not like(interval, stretch):
        return False
    few = SCATTER * math.sqrt(stretch.outstanding / max(expected, 1.0))
    return stretch.outstanding / FACTOR - few <= interval.outstanding <= stretch.outstanding * FACTOR + few


def like(one: DeviceInterval, other: DeviceInterval) -> bool:
    """Whether two intervals have requests of the same kind, as far as that is known."""
    sizes = sorted((one.block_bytes, other.block_bytes))
    shares = abs(one.read_share - other.read_share)
    few = SCATTER * math.sqrt(0.25 / max(1.0, min(one.requests, other.requests)))
    return not (sizes[1] > SIZES * sizes[0] or shares > SHARES + few)  # NaN, unknown, matches everything


def kinds(parts: Iterable[list[DeviceInterval]]) -> list[list[list[DeviceInterval]]]:
    """The stretches of each kind of requests, in the order in which the kinds first appear."""
    found: list[list[list[DeviceInterval]]] = []
    for part in parts:
        if (kind := next((k for k in found if like(pooled(part), pooled(k[0]))), None)) is None:
            found.append(kind := [])
        kind.append(part)
    return found


def series_of(device: str, parts: Sequence[list[DeviceInterval]]) -> list[tuple[str, list[list[DeviceInterval]]]]:
    """(name, stretches) of each curve: the device, and its kind of requests where there are several."""
    of_kinds = kinds(parts)
    if len(of_kinds) == 1:
        return [(device, of_kinds[0])]
    wholes = [pooled([interval for part in kind for interval in part]) for kind in of_kinds]
    shares = [round(whole.read_share, 1) for whole in wholes]
    names = [
        f"{device} {describe_series(SECTOR_BYTES * np.round(w.block_bytes / SECTOR_BYTES), s, None)}"
        for w, s in zip(wholes, shares, strict=True)
    ]
    return list(zip(names, of_kinds, strict=True))


def _rows(series: str, parts: Sequence[list[DeviceInterval]]) -> list[dict[str, float | str]]:
    """Rows of one curve: stretches of nearly equal load are one point, in repeats of at least ``LEAST_S``."""
    return [
        {
            "series": series,
            "load": float(f"{pooled([interval for part in group for interval in part]).outstanding:.3g}"),
            "throughput_per_s": piece.throughput_per_s,
            "latency_s": piece.response_time_s,
            PUBLISHED["latency_s"]: _ratio(piece.printed_s, piece.requests),
            "repeat": repeat,
            "read_fraction": piece.read_share,
            "bandwidth_bytes_per_s": (piece.read_bytes + piece.written_bytes) / piece.seconds,
        }
        for group in _alike(sorted(parts, key=lambda part: pooled(part).outstanding))
        for repeat, piece in enumerate(_pieces(group))
    ]


def _alike(parts: Iterable[list[DeviceInterval]]) -> Iterator[list[list[DeviceInterval]]]:
    """Stretches in the order of their loads, grouped where these are within ``ALIKE``."""
    group: list[list[DeviceInterval]] = []
    most = math.inf
    for part in parts:
        outstanding = pooled(part).outstanding
        if outstanding > most:
            yield group
            group = []
        if not group:
            most = (1 + ALIKE) * outstanding
        group.append(part)
    yield group


def _pieces(group: Sequence[list[DeviceInterval]]) -> list[DeviceInterval]:
    """The stretches in pieces of equal length: at least ``LEAST_S`` each, ``MOST_REPEATS`` at most in all."""
    seconds = sum(i.seconds for part in group for i in part)
    length = max(LEAST_S, seconds / MOST_REPEATS)
    pieces: list[list[DeviceInterval]] = []
    for part in group:
        many = min(len(part), max(1, int(sum(i.seconds for i in part) / length)))
        cuts = [round(len(part) * k / many) for k in range(many + 1)]
        pieces += [part[a:b] for a, b in pairwise(cuts)]
    return [pooled(piece) for piece in pieces]


def _used(device: str, seen: Sequence[DeviceInterval], parts: Sequence[list[DeviceInterval]]) -> Finding:
    steady_s = sum(i.seconds for part in parts for i in part)
    many = f"{len(parts)} stretch{'' if len(parts) == 1 else 'es'} of {LEAST_S:g} s or more"
    message = f"{steady_s:.0f} of {sum(i.seconds for i in seen):.0f} s were steady, in {many}; the rest is left out"
    return Finding("steady-load", "info", message, series=device)


_FIRST = ["time", "device", "seconds"]
_NEEDED = {"outstanding", "reads_per_s", "writes_per_s", "busy_share"}  # the columns that every record had


def record_header() -> str:
    """The header line of a record."""
    return ",".join(DeviceInterval("", "", 1.0).to_dict()) + "\n"


def record_line(interval: DeviceInterval) -> str:
    """One interval as a line; unknown values stay empty."""
    return pd.DataFrame([interval.to_dict()]).to_csv(
        header=False, index=False, float_format="%.9g", lineterminator="\n"
    )


def looks_like_record(text: str) -> bool:
    """Whether the text begins with the first line of a record, also of an older one with fewer or other columns."""
    columns = text.lstrip("\ufeff").partition("\n")[0].strip().split(",")
    return columns[:3] == _FIRST and set(columns) >= _NEEDED


def record_sweep(text: str, name: str) -> Sweep:
    """The sweep of the steady stretches of a record, without a truncated last line. DataError as ``watched_sweep``."""
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
