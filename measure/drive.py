"""The drive probe, a substitute for fio: ``python -m measure.drive`` takes the options that this package gives fio.

N threads each keep one request outstanding by ``pread`` or ``pwrite`` with direct I/O, in a compiled loop without the
GIL: the closed loop of fio's ``psync`` with N jobs. It prints fio's json+ (mean, standard deviation, percentiles and
the histogram of all requests, reads and writes apart) and writes fio's log of throughput, so the same plan, store,
resume, audit and readers serve both.

A thread for each request costs more processor time than a ring of requests. So the probe measures how many requests it
could submit (:func:`ceiling`): the same loop on cached pages. Above half of that rate the host limits the result too.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from measure.formats.fio.latency_bins import BINS_FIO_3, BITS, PER_OCTAVE, bin_edges
from measure.machine import files
from qsim.engines.jit import cached_njit

CEILING_S = 0.06
START_S = 2e-4  # time that a thread takes to start
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
INTERVALS = 4096  # of the throughput log, at most

_pread = types.ExternalFunction("pread", types.intp(types.intc, types.voidptr, types.uintp, types.int64))
_pwrite = types.ExternalFunction("pwrite", types.intp(types.intc, types.voidptr, types.uintp, types.int64))
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))
_CLOCK = np.int32(time.CLOCK_MONOTONIC)


@njit(nogil=True)
def _now(clock: Any, timespec: Any) -> Any:
    """Time of the clock in ns; ``timespec`` is scratch space."""
    _clock_gettime(clock, timespec.ctypes)
    return timespec[0] * 1_000_000_000 + timespec[1]


@cached_njit(nogil=True)
def closed_loop(  # type: ignore[no-untyped-def]
    file, buffer, blocks, first, stride, read_share, state, begin_ns, end_ns, limit, each_ns, totals, bins, intervals
):  # pragma: no cover - compiled
    """Send one request after another until ``end_ns`` or ``limit`` requests; -1, or the offset at which one failed.

    ``stride`` is 0 for random blocks, else the step of a sequential walk from block ``first``. Requests that end after
    ``begin_ns`` are added to ``totals`` [direction, (number, sum, sum of squares) of ns], ``bins`` [direction, fio's
    bin] and ``intervals`` of ``each_ns``. ``buffer`` holds 8-byte words; the first of each sector is rewritten.
    """
    timespec = np.empty(2, dtype=np.int64)
    size = buffer.size * 8
    block, done = first, 0
    sent = _now(_CLOCK, timespec)
    while sent < end_ns and done < limit:
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        direction = np.int64(float(state >> np.uint64(40)) / 16777216.0 >= read_share)
        if stride == 0:
            block = np.int64((state & np.uint64(0xFFFFFFFF)) * np.uint64(blocks) >> np.uint64(32))
        offset = block * size
        if direction == 0:
            moved = _pread(file, buffer.ctypes, size, offset)
        else:
            for sector in range(0, buffer.size, 64):
                buffer[sector] = np.int64(state) + sector
            moved = _pwrite(file, buffer.ctypes, size, offset)
        if moved != size:
            return offset
        ended = _now(_CLOCK, timespec)
        if begin_ns <= ended < end_ns:
            taken = ended - sent
            totals[direction, 0] += 1
            totals[direction, 1] += taken
            totals[direction, 2] += float(taken) * float(taken)
            octave, high = 0, taken >> BITS
            while high > 1:
                high >>= 1
                octave += 1
            bins[direction, min(octave * PER_OCTAVE + (taken >> octave), BINS_FIO_3 - 1)] += 1
            intervals[direction, min((ended - begin_ns) // each_ns, INTERVALS - 1)] += 1
        if stride:
            block += stride
            if block >= blocks:
                block = first
        sent = ended
        done += 1
    return -1


@dataclass(frozen=True)
class Workload:
    """One section of the command line: fio's options by their names."""

    name: str
    options: dict[str, str]

    def number(self, key: str, default: int = 0) -> int:
        """A whole number."""
        return int(self.options.get(key, default))

    def seconds(self, key: str) -> float:
        """A time in seconds, from fio's unit; 0 where the option is absent."""
        text = self.options.get(key, "0s")
        return float(text[:-2]) / 1e3 if text.endswith("ms") else float(text.removesuffix("s"))

    @property
    def threads(self) -> int:
        """The number of requests that circulate."""
        return self.number("iodepth", 1) * self.number("numjobs", 1)

    @property
    def read_share(self) -> float:
        """The share of reads, 0 to 1."""
        kind = self.options["rw"].removeprefix("rand")
        return {"read": 1.0, "write": 0.0}.get(kind, self.number("rwmixread", 50) / 100)


@dataclass
class Counted:
    """The counts of all threads of one workload; the fields are those of :func:`closed_loop`."""

    seconds: float
    each_s: float
    totals: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 3)))
    bins: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, BINS_FIO_3), dtype=np.int64))
    intervals: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, INTERVALS), dtype=np.int64))

    @property
    def throughput_per_s(self) -> float:
        """Completed requests a second, both directions."""
        return float(self.totals[:, 0].sum()) / self.seconds


def sections(argv: Sequence[str]) -> Iterator[Workload]:
    """The workloads in fio's command line, one after another.

    >>> [(w.name, w.threads, w.read_share) for w in sections(["--bs=512", "--name=a", "--rw=randrw", "--iodepth=8"])]
    [('a', 8, 0.5)]
    """
    shared: dict[str, str] = {}
    name, own = "", shared
    for word in argv:
        key, _, value = word.removeprefix("--").partition("=")
        if key == "name":
            if name:
                yield Workload(name, own)
            name, own = value, dict(shared)
        else:
            own[key] = value
    if name:
        yield Workload(name, own)


def circulate(
    file: int,
    threads: int,
    block_bytes: int,
    size_bytes: int,
    *,
    read_share: float = 1.0,
    sequential: bool = False,
    ramp_s: float = 0.0,
    seconds: float = 1.0,
    requests: int = 2**62,
    each_s: float = 1.0,
    seed: int = 1,
) -> Counted:
    """A closed loop of ``threads`` requests on the first ``size_bytes`` of an open file.

    It counts for ``seconds`` after the ramp, or until each thread has done ``requests``. OSError where one fails.
    """
    blocks = size_bytes // block_bytes
    rng = np.random.default_rng(seed)
    parts = [Counted(seconds, each_s) for _ in range(threads)]
    buffers = [mmap.mmap(-1, -(-block_bytes // mmap.PAGESIZE) * mmap.PAGESIZE) for _ in parts]
    words = [np.frombuffer(buffer, dtype=np.int64)[: block_bytes // 8] for buffer in buffers]
    failed: list[int] = []

    def run(place: int, state: np.uint64, begin_ns: int, end_ns: int) -> None:
        stride, part = threads if sequential else 0, parts[place]
        offset = closed_loop(  # type: ignore[no-untyped-call]
            file, words[place], blocks, place % blocks, stride, read_share, state, begin_ns, end_ns, requests,
            int(1e9 * each_s), part.totals, part.bins, part.intervals,
        )  # fmt: skip
        if offset >= 0:
            failed.append(offset)

    for word in words:
        word[:] = rng.integers(-(2**62), 2**62, len(word))
    states = rng.integers(1, 2**63, threads, dtype=np.uint64)
    run(0, states[0], 0, 0)  # compiles the loop, or loads it, before the clock starts
    begin_ns = time.monotonic_ns() + int(1e9 * (ramp_s + START_S * threads))
    end_ns = begin_ns + int(1e9 * seconds)
    workers = [
        threading.Thread(target=run, args=(k, state, begin_ns, end_ns), daemon=True) for k, state in enumerate(states)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise OSError(f"a request of {block_bytes} bytes at {failed[0]} failed")
    for part in parts[1:]:
        parts[0].totals += part.totals
        parts[0].bins += part.bins
        parts[0].intervals += part.intervals
    return parts[0]


def ceiling(threads: int, block_bytes: int) -> float:
    """Requests a second that the same loop completes on cached pages: the highest rate of the probe itself."""
    with tempfile.TemporaryFile() as cached:
        cached.write(bytes(max(2**20, 4 * block_bytes)))
        cached.flush()
        size = cached.tell()
        return circulate(cached.fileno(), threads, block_bytes, size, seconds=CEILING_S, ramp_s=0.01).throughput_per_s


def measured(workload: Workload) -> dict[str, Any]:
    """Run the workload and return fio's JSON of it, an entry of ``jobs``. OSError where a request fails."""
    options, block, size = workload.options, workload.number("bs", 4096), workload.number("size")
    timed = workload.number("time_based") > 0
    each_s = workload.number("log_avg_msec", 1000) / 1e3
    limit = 2**62 if timed else -(-size // block // workload.threads)
    most = ceiling(workload.threads, block) if timed else 0.0
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    file = files.opened_direct(options["filename"], writes=workload.read_share < 1 and "readonly" not in options)
    try:
        found = circulate(
            file,
            workload.threads,
            block,
            size,
            read_share=workload.read_share,
            sequential=not options["rw"].startswith("rand"),
            ramp_s=workload.seconds("ramp_time"),
            seconds=workload.seconds("runtime") or 86400.0,
            requests=limit,
            each_s=each_s,
            seed=workload.number("randseed", 1),
        )
        if "end_fsync" in options:
            os.fsync(file)
    finally:
        os.close(file)
    after, took_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - started
    runtime_s = found.seconds if timed else took_s
    if prefix := options.get("write_iops_log"):
        _write_log(Path(f"{prefix}_iops.1.log"), found, runtime_s)
    return {
        "jobname": workload.name,
        "error": 0,
        "job options": {
            **{k: v for k, v in options.items() if not k.startswith("write_")},
            "ioengine": "probe",
            **({"ceiling_per_s": f"{most:.0f}"} if timed else {}),
        },
        "job_runtime": round(1e3 * took_s),
        "usr_cpu": 100 * (after.ru_utime - before.ru_utime) / took_s,
        "sys_cpu": 100 * (after.ru_stime - before.ru_stime) / took_s,
        **{d: _direction(found, k, runtime_s, block) for k, d in enumerate(("read", "write"))},
    }


def _direction(found: Counted, place: int, runtime_s: float, block_bytes: int) -> dict[str, Any]:
    number, total, squares = found.totals[place].tolist()
    if not number:
        return {}
    mean = total / number
    held = np.flatnonzero(found.bins[place])
    counts, lower_upper = found.bins[place][held], bin_edges(held)
    middles = ((lower_upper[0] + lower_upper[1]) // 2).astype(int).tolist()
    seen = np.cumsum(counts)
    ranks = np.searchsorted(seen, np.array(PERCENTILES) / 100 * seen[-1])
    return {
        "total_ios": int(number),
        "io_bytes": int(number) * block_bytes,
        "runtime": round(1e3 * runtime_s),
        "iops": number / runtime_s,
        "bw_bytes": number * block_bytes / runtime_s,
        "lat_ns": {
            "mean": mean,
            "stddev": max(0.0, squares / number - mean**2) ** 0.5,
            "percentile": {f"{p:.6f}": middles[min(r, len(held) - 1)] for p, r in zip(PERCENTILES, ranks, strict=True)},
            "bins": dict(zip(map(str, middles), counts.tolist(), strict=True)),
        },
    }


def _write_log(path: Path, found: Counted, runtime_s: float) -> None:
    """Write the throughput of each whole interval, in the format of fio's ``write_iops_log``."""
    lines = [
        f"{round(1e3 * (k + 1) * found.each_s)}, {found.intervals[d, k] / found.each_s:.0f}, {d}, 0, 0\n"
        for k in range(min(int(runtime_s / found.each_s + 1e-9), INTERVALS))
        for d in (0, 1)
        if found.totals[d, 0]
    ]
    path.write_text("".join(lines))


def main(argv: Sequence[str]) -> int:
    """Run each workload in turn and print fio's JSON of all; returns 1, with the reason on stderr, where one fails."""
    jobs = []
    for workload in sections(argv):
        try:
            jobs.append(measured(workload))
        except OSError as error:
            sys.stderr.write(f"{workload.name}: {error}\n")
            return 1
    document = {"fio version": "qsim drive probe", "timestamp_ms": time.time_ns() // 10**6, "jobs": jobs}
    json.dump(document, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
