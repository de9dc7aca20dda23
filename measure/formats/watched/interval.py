"""What a block device did in one interval, as the kernel counts it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LOOKS_PER_S = 50.0
AGREE = 0.1

MEANS = ("in_flight", "in_flight_variance", "late_looks_share")
SUMS = ("reads", "read_s", "read_bytes", "writes", "write_s", "written_bytes", "busy_s")


@dataclass(frozen=True)
class DeviceInterval:
    """What ``device`` did in ``seconds`` until ``time`` (ISO 8601, UTC).

    ``reads`` and ``writes`` are requests completed, ``read_s`` and ``write_s`` the time that they took in all,
    ``busy_s`` how long at least one was there (what %util divides by the interval). ``in_flight`` is the mean number
    of requests seen in the device, sampled, and ``in_flight_variance`` its variance; NaN where nobody looked. Looks
    that saw it busy have the weight of ``busy_s``, so that those that waited for a processor, a ``late_looks_share`` of
    them, do not bias either.

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
        """Mean time of a request in the device; NaN where none was completed."""
        return _ratio(self.read_s + self.write_s, self.requests)

    @property
    def outstanding(self) -> float:
        """Mean number of requests in the device by Little's law, X R."""
        return (self.read_s + self.write_s) / self.seconds

    @property
    def block_bytes(self) -> float:
        """Mean size of a request; NaN where it is unknown."""
        moved = self.read_bytes + self.written_bytes
        return _ratio(moved, self.requests) if moved else math.nan

    @property
    def seen_error(self) -> float:
        """The half width of a 99 % interval of ``in_flight``: looks on time are far enough apart to be independent."""
        looks = LOOKS_PER_S * self.seconds * (1 - self.late_looks_share)
        return 2.6 * math.sqrt(self.in_flight_variance / looks) if looks >= 1 else math.nan

    @property
    def agrees(self) -> bool:
        """Whether Little's law and the looks agree within the interval and 10 %; True where nobody looked."""
        apart = abs(self.outstanding - self.in_flight)
        return not apart > self.seen_error + AGREE * self.outstanding

    @property
    def read_share(self) -> float:
        """The share of reads; NaN where it is unknown."""
        return _ratio(self.reads, self.requests)

    @property
    def busy_share(self) -> float:
        """The share of the time in which the device had something to do: %util."""
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
        """The inverse of ``to_dict``: from means over the interval. A column that is missing counts nothing.

        >>> DeviceInterval.of_rates({"device": "sda", "seconds": 2, "reads_per_s": 500}).reads
        1000.0
        """

        def mean(name: str, missing: float = math.nan) -> float:
            value = row.get(name)
            return missing if value in ("", None) else float(value)

        def rate(name: str) -> float:
            value = mean(name, 0.0)
            return 0.0 if math.isnan(value) else value

        seconds = mean("seconds", 1.0)
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
    """Several intervals of one device as one."""
    seconds = sum(p.seconds for p in parts)
    values = {name: sum(getattr(p, name) for p in parts) for name in SUMS}
    values |= {name: sum(getattr(p, name) * p.seconds for p in parts) / seconds for name in MEANS}
    return DeviceInterval(parts[0].device, parts[-1].time, seconds, **values)
