"""The kernel's counters of block devices, /proc/diskstats, and what happened between two looks at them.

The fields are those of the kernel's Documentation/admin-guide/iostats.rst. Since Linux 5.0 the weighted time is the sum
of the times of completed requests, so that it says no more than X R; the number in flight is the other side of Little's
law: it is sampled, and weighted by the time that the kernel counted the device busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.errors import MeasureError
from measure.formats.watched.interval import DeviceInterval

DISKSTATS = Path("/proc/diskstats")
SECTOR_BYTES = 512
WRAPS = 2**32
"""Times in ms are printed in 32 bits, and on 32-bit machines so are the other counters."""


@dataclass(frozen=True)
class Counters:
    """What the kernel had counted of one device since it appeared; ``in_flight`` is of this moment."""

    reads: int
    sectors_read: int
    read_ms: int
    writes: int
    sectors_written: int
    write_ms: int
    in_flight: int
    busy_ms: int


def read_counters(text: str) -> dict[str, Counters]:
    """The counters of every device in the text of /proc/diskstats.

    >>> text = " 8 0 sda 10 0 80 5 4 0 32 2 1 6 7"
    >>> read_counters(text)["sda"].writes
    4
    """
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 14:
            v = [int(field) for field in fields[3:14]]
            found[fields[2]] = Counters(v[0], v[2], v[3], v[4], v[6], v[7], v[8], v[9])
    return found


def counters_now() -> dict[str, Counters]:
    """Those of this machine. Raises MeasureError where its kernel does not count."""
    try:
        return read_counters(DISKSTATS.read_text("ascii"))
    except OSError as error:
        raise MeasureError(
            f"{DISKSTATS} cannot be read ({error.strerror}): only Linux counts what its devices do; on another machine "
            "give the log of a tool: qsim fit FILE"
        ) from error


def device_name(given: str, known: dict[str, Counters]) -> str:
    """The kernel's name of a device that was given as ``nvme0n1``, /dev/nvme0n1, /dev/mapper/root, /dev/disk/by-id/....

    Raises MeasureError listing the devices there are.
    """
    path = Path(given)
    name = path.resolve().name if path.is_absolute() else given
    if name in known:
        return name
    if path.is_absolute() and not path.exists():
        problem = "this path does not exist"
    elif path.exists() and not path.is_block_device():
        problem = "it is no block device"
    else:
        problem = "the kernel counts no block device of this name"
    used = [n for n, c in known.items() if c.reads or c.writes]
    raise MeasureError(f"{given}: {problem}; there are: {', '.join(used) or 'none'}")


def between(
    device: str,
    before: Counters,
    after: Counters,
    seconds: float,
    time: str,
    in_flight: Sequence[int],
    late_looks_share: float = 0.0,
) -> DeviceInterval | None:
    """What happened between two looks; None where the counters are back at zero (the device was replaced)."""
    steps = {name: _step(getattr(before, name), getattr(after, name)) for name in Counters.__dataclass_fields__}
    counts = {name: step for name, step in steps.items() if name != "in_flight" and step is not None}
    if len(counts) < len(steps) - 1:
        return None
    busy_s, took_s = counts["busy_ms"] / 1e3, (counts["read_ms"] + counts["write_ms"]) / 1e3
    mean, variance = over_time(in_flight, min(busy_s / seconds, 1.0), took_s / seconds)
    return DeviceInterval(
        device,
        time,
        seconds,
        counts["reads"],
        counts["read_ms"] / 1e3,
        counts["sectors_read"] * SECTOR_BYTES,
        counts["writes"],
        counts["write_ms"] / 1e3,
        counts["sectors_written"] * SECTOR_BYTES,
        busy_s=busy_s,
        in_flight=mean,
        in_flight_variance=variance,
        late_looks_share=late_looks_share,
    )


def over_time(in_flight: Sequence[int], busy_share: float, most_share: float = 1.0) -> tuple[float, float]:
    """Mean and variance over time of the number in flight, sampled by looks.

    A look comes when a processor is free, so that looks see a busy device too seldom, or too often. How long the device
    was busy the kernel counts, whoever looks: looks that saw it busy get that weight (post-stratification: Cochran,
    Sampling Techniques, 1977, section 5A.9). Where none did, one request at a time is taken; where the kernel does not
    count, each look has the same weight. Linux 5.0 to 6.9 counts a whole tick of its clock for a lone short request: of
    the busy share, more than ``most_share`` (what all requests took together) is believed only as far as looks saw it.

    >>> over_time([0, 0, 0, 4], 0.5)
    (2.0, 4.0)
    """
    busy = [n for n in in_flight if n > 0]
    looked_share = len(busy) / len(in_flight)
    busy_share = min(busy_share, max(most_share, looked_share)) or looked_share
    mean = busy_share * (sum(busy) / len(busy) if busy else 1.0)
    square = busy_share * (sum(n * n for n in busy) / len(busy) if busy else 1.0)
    return mean, max(square - mean**2, 0.0)


def _step(before: int, after: int) -> int | None:
    """How far a counter went on; over its end where it is nearly there, and None where it is back at zero."""
    if after >= before:
        return after - before
    wrapped = after - before + WRAPS
    return wrapped if before < WRAPS and wrapped < WRAPS // 2 else None
