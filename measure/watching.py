"""Watches the kernel's counters of block devices, /proc/diskstats, every second or while a tool measures the device.

The fields are those of the kernel's Documentation/admin-guide/iostats.rst. Since Linux 5.0 the weighted time is the sum
of the times of completed requests, which is X R; the number in flight is the other side of Little's law: it is sampled,
and weighted by the time that the kernel counted the device busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from measure.errors import MeasureError
from measure.formats.block_device_counts import LOOKS_PER_S, DeviceInterval
from measure.machine.host import storage_behind
from measure.machine.scheduling_delay import repeating

DISKSTATS = Path("/proc/diskstats")
SECTOR_BYTES = 512
WRAPS = 2**32  # times in ms are printed in 32 bits, and on 32-bit machines so are the other counters


@dataclass(frozen=True)
class Counters:
    """The kernel's counters of one device since it appeared; ``in_flight`` is the present number."""

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
    """The counters of this machine's devices. Raises MeasureError where its kernel does not count."""
    try:
        return read_counters(DISKSTATS.read_text("ascii"))
    except OSError as error:
        raise MeasureError(
            f"{DISKSTATS} cannot be read ({error.strerror}): only Linux counts what its devices do; on another machine "
            "give the log of a tool: qsim fit FILE"
        ) from error


def device_name(given: str, known: dict[str, Counters]) -> str:
    """The kernel's name of a device given as ``nvme0n1``, /dev/nvme0n1, /dev/mapper/root, /dev/disk/by-id/....

    Raises MeasureError listing the known devices.
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
    """The activity between two readings; None where the counters were reset (the device was replaced)."""
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
    """Mean and variance over time of the number in flight, from samples.

    A sample is taken when a processor is free, so that samples see a busy device too seldom, or too often. The kernel
    counts how long the device was busy: samples that saw it busy get that weight (post-stratification: Cochran,
    Sampling Techniques, 1977, section 5A.9). Where none did, one request at a time is assumed; where the kernel does
    not count, all samples have equal weight. Linux 5.0 to 6.9 counts a whole clock tick for a lone short request: a
    busy share above ``most_share`` (total response time) is used only up to the share of samples that saw it busy.

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
    """The increase of a counter, also across its overflow; None where it was reset."""
    if after >= before:
        return after - before
    wrapped = after - before + WRAPS
    return wrapped if before < WRAPS and wrapped < WRAPS // 2 else None


LATE_S = 1e-3  # seconds: a sample later than this waited for a processor


@dataclass(frozen=True)
class Lost:
    """An interval without data, and why: ``gone`` (the device vanished) or ``reset``."""

    device: str
    why: str


def watch(
    devices: Sequence[str],
    every_s: float = 1.0,
    *,
    look: Callable[[], dict[str, Counters]] = counters_now,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[list[DeviceInterval | Lost]]:
    """The activity of each of ``devices`` in every interval, until all of them are gone.

    Nothing is written and no request is sent. Raises MeasureError for an unknown device. A device that vanishes is
    ``Lost`` once; when it comes back its counters are followed again.
    """
    known = look()
    names = list(dict.fromkeys(device_name(given, known) for given in devices))
    before, began = known, clock()
    present = set(names)
    while present:
        samples = _sample(names, began + every_s, look, clock, sleep)
        after, ended, now = look(), clock(), datetime.now(UTC).isoformat(timespec="milliseconds")
        gone = present - after.keys()
        found: list[DeviceInterval | Lost] = [Lost(name, "gone") for name in names if name in gone]
        for name in names:
            if name not in before or name not in after:
                continue
            looks = samples[name] or [(after[name].in_flight, 0.0)]
            in_flight, late_s = zip(*looks, strict=True)
            late = sum(one > LATE_S for one in late_s) / len(looks)
            did = between(name, before[name], after[name], ended - began, now, in_flight, late)
            found.append(did or Lost(name, "reset"))
        present = (present - gone) | (after.keys() & set(names))
        yield found
        before, began = after, ended


def _sample(
    names: Sequence[str],
    until: float,
    look: Callable[[], dict[str, Counters]],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> dict[str, list[tuple[int, float]]]:
    """Samples until the time ``until``: the number in flight in each device, and how late the sample was, seconds."""
    seen: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    while (left := until - (asleep := clock())) > 0:
        rest = min(left, 1 / LOOKS_PER_S)
        sleep(rest)
        late, counters = clock() - asleep - rest, look()
        for name in names:
            if name in counters:
                seen[name].append((counters[name].in_flight, late))
    return seen


EVERY_S = 0.02
AT_WORK = 50
"""Requests completed that show that a tool has begun: fio takes half a second to start, on a busy machine more."""


def counted_device(target: Path | None) -> str:
    """The kernel's name of the device behind ``target``; "" where there is none, as for a network address (None).

    >>> counted_device(None)
    ''
    """
    if target is None:
        return ""
    try:
        storage = storage_behind(target)
        return device_name(storage.device, counters_now()) if storage.device else ""
    except MeasureError:
        return ""


Seen = list[tuple[float, Counters]]  # readings of a device's counters: monotonic time, and counters


@contextmanager
def counting(device: str, look: Callable[[], dict[str, Counters]] = counters_now) -> Iterator[Seen]:
    """Read the counters of ``device`` repeatedly while the block runs; not at all where it is "".

    >>> with counting("") as seen:
    ...     pass
    >>> seen
    []
    """
    seen: Seen = []

    def step() -> None:
        time.sleep(EVERY_S)
        counters = look()
        if device in counters:
            seen.append((time.monotonic(), counters[device]))

    if not device:
        yield seen
        return
    with repeating(step):
        yield seen


def began(seen: Sequence[tuple[float, Counters]]) -> float | None:
    """Monotonic time at which the device's work began; None before."""
    done = [(when, counters.reads + counters.writes) for when, counters in seen]
    return next((when for when, count in done if count - done[0][1] >= AT_WORK), None)


def rate_since(seen: Sequence[tuple[float, Counters]], moment: float, least_s: float = 0.2) -> float | None:
    """Requests completed a second since monotonic time ``moment``; None before ``least_s`` seconds of readings."""
    since = [(when, counters.reads + counters.writes) for when, counters in seen if when >= moment]
    if not since or (seconds := since[-1][0] - since[0][0]) < least_s:
        return None
    return (since[-1][1] - since[0][1]) / seconds
