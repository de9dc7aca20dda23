"""Little's law as an audit: in a closed sweep N requests circulate, so N = X R at every point.

X is the throughput and R the mean response time (Little 1961, L = lambda W, with L = N because no request is ever
anywhere else). The ratio X R / N is 1 for a truthful table: over 3,450 public fio runs it is within 0.3 % at the
median and 2 % at the 90th percentile. Where it is not 1, its *pattern* over depth, block size and direction tells why,
and that is what the hypotheses below test, from the most specific to the least. Each one looks at all points of a
curve, so that what it says is evidence and not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.dataset import Sweep
from measure.findings import Severity
from measure.units import format_bytes, format_duration

Floats = NDArray[np.float64]
Cause = Literal[
    "holds", "unit", "jobs-not-counted", "one-direction", "page-cache", "submission-gap", "mostly-outside",
    "half-latency", "depth-not-filled", "constant-share", "unexplained",
]  # fmt: skip

#: |X R / N - 1| up to which the law holds (the 90th percentile of public runs).
TOLERANCE = 0.02
_WARNING, _ERROR = 0.10, 0.20
#: The longest time a request that a host can lose between a completion and the next submission, seconds.
_LONGEST_GAP = 200e-6


@dataclass(frozen=True)
class Curve:
    """One closed curve, sorted by depth: arrays of N, X (1/s), R (s) and their ratio X R / N."""

    series: str
    load: Floats
    throughput: Floats
    latency: Floats
    block_bytes: float | None
    read_fraction: float | None
    file_bytes: float | None = None  # set where the claimed block turned out to be the size of the file

    @property
    def ratio(self) -> Floats:
        """X R / N; 1 where Little's law holds."""
        return self.throughput * self.latency / self.load

    @property
    def in_flight(self) -> Floats:
        """X R, the requests that were really outstanding."""
        return self.throughput * self.latency

    @property
    def implied_latency(self) -> Floats:
        """N / X, seconds: what the depth and the throughput say about the response time."""
        return self.load / self.throughput

    @property
    def worst(self) -> int:
        """The index of the point farthest from 1, on a logarithmic scale."""
        return int(np.argmax(np.abs(np.log(self.ratio))))


@dataclass(frozen=True)
class Diagnosis:
    """What the ratio's pattern says of one curve. ``factor`` is the number found (1000, a number of jobs)."""

    curve: Curve
    cause: Cause
    severity: Severity
    evidence: str
    hypothesis: str = ""
    remedy: str = ""
    factor: float = 1.0


@dataclass(frozen=True)
class BlockVerdict:
    """The block that makes the law hold where the table's "block" was something else (the size of the file)."""

    block_bytes: float
    claimed: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def closed_curves(sweep: Sweep) -> list[Curve]:
    """The curves of a closed sweep whose depth is known; repeats averaged. Depth 0 and rate-limited points are out.

    A point is rate-limited, or of unknown depth, where the importer's column ``unchecked`` or a finding of it says so.
    """
    unknown = {(f.series, f.load) for f in sweep.findings if f.check in ("depth-not-recorded", "rate-limited")}
    files = sweep.provenance.details.get("file_bytes")
    files = files if isinstance(files, Mapping) else {}
    curves = []
    for series, group in sweep.mean_points().groupby("series", sort=False):
        told = group["unchecked"].notna() if "unchecked" in group else np.zeros(len(group), dtype=bool)
        known = [n > 0 and not {(series, n), (series, None)} & unknown and not t
                 for n, t in zip(group["load"], told, strict=True)]  # fmt: skip
        points = group[np.array(known)]
        if len(points):
            load, throughput, latency = (points[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s"))
            block, read = _single(points["block_bytes"]), _single(points["read_fraction"].round(2))
            curves.append(Curve(str(series), load, throughput, latency, block, read, files.get(series)))
    return curves


def block_verdict(sweep: Sweep, curves: Sequence[Curve]) -> BlockVerdict | None:
    """The file's size taken for the block's, tested where throughput was computed as bandwidth / block.

    A wrong block b scales every ratio by b'/b, the same at all depths; at the lowest depth nothing else does. So b' =
    b * ratio must come out as one power of two from at least two different claimed blocks (or from one, over at least
    two curves), within 6 %.
    """
    if sweep.provenance.details.get("throughput_from") != "bandwidth / block":
        return None
    votes: dict[float, list[tuple[Curve, float]]] = {}
    for curve in curves:
        if curve.block_bytes is None:
            continue
        implied = curve.block_bytes * curve.ratio[0]
        power = 2.0 ** round(np.log2(implied))
        if power >= 512 and power != curve.block_bytes and abs(implied / power - 1) <= 0.06:
            votes.setdefault(power, []).append((curve, implied))
    if not votes:
        return None
    block, supporters = max(votes.items(), key=lambda item: len(item[1]))
    if len(supporters) < 2 or 2 * len(supporters) < len(curves):
        return None
    claimed = tuple(dict.fromkeys(c.block_bytes for c, _ in supporters if c.block_bytes))
    return BlockVerdict(
        block, claimed, tuple(float(c.ratio[0]) for c, _ in supporters), tuple(float(i / block) for _, i in supporters)
    )


def with_block(curve: Curve, block_bytes: float) -> Curve:
    """The curve as it is if its throughput is counted in blocks of ``block_bytes``; the claimed block is the file's."""
    if curve.block_bytes is None:
        return curve
    scale = curve.block_bytes / block_bytes
    return replace(
        curve, throughput=curve.throughput * scale, block_bytes=block_bytes, file_bytes=curve.block_bytes
    )  # fmt: skip


def diagnose(curve: Curve, siblings: Sequence[Curve] = ()) -> Diagnosis:
    """Test the hypotheses in order and return the first that fits; "holds" where there is nothing to explain.

    ``siblings`` are the other curves of the same sweep, which tell what reads alone and writes alone do.
    """
    if np.all(np.abs(curve.ratio - 1) <= TOLERANCE):
        return Diagnosis(curve, "holds", "info", _evidence(curve))
    for test in (_unit, _jobs_not_counted, _page_cache, _one_direction, _submission_gap, _mostly_outside,
                 _half_latency, _depth_not_filled, _constant_share):  # fmt: skip
        found = test(curve, siblings)
        if found is not None:
            return found
    return Diagnosis(
        curve, "unexplained", _severity(curve), _evidence(curve),
        remedy="measure one of these depths again and compare fio's iops, lat (not clat) and iodepth_level.",
    )  # fmt: skip


# --- the hypotheses -------------------------------------------------------------------------------------------------


def _unit(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """A unit off by a power of 1000: after the correction every point is close to 1."""
    for factor in (1e3, 1e-3, 1e6, 1e-6):
        corrected = curve.ratio / factor
        if np.all((corrected > 0.4) & (corrected < 1.25)) and 0.7 < np.median(corrected) < 1.1:
            up = factor > 1
            return Diagnosis(
                curve, "unit", "error",
                f"{_evidence(curve)} With the latency {'divided' if up else 'multiplied'} by "
                f"{factor if up else 1 / factor:,.0f} it is {_range(corrected)}.",
                f"a unit off by {factor if up else 1 / factor:,.0f}: the first latency is "
                f"{format_duration(curve.latency[0] / factor)}, not {format_duration(curve.latency[0])} "
                "(or the throughput has that error).",
                "look at the tool's own output: fio 3 prints (nsec), (usec) or (msec) beside every latency.",
                factor,
            )  # fmt: skip
    return None


def _jobs_not_counted(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """More in flight than the depth: the ratio is one whole number at all depths, that of the jobs."""
    jobs = round(float(np.median(curve.ratio)))
    if jobs < 2 or not np.all(np.abs(curve.ratio / jobs - 1) < 0.08):
        return None
    return Diagnosis(
        curve, "jobs-not-counted", "error", _evidence(curve),
        f"{jobs} jobs ran at once and only one job's depth was tabulated; the load is {jobs} times the depth.",
        "look for numjobs in the command; the load is depth x jobs.", jobs,
    )  # fmt: skip


def _page_cache(curve: Curve, siblings: Sequence[Curve]) -> Diagnosis | None:
    """Writes that only reached memory: each far faster than a read of the same device, yet few of them a second."""
    if curve.read_fraction != 0 or np.max(curve.ratio) >= 0.7:
        return None
    reads = next((s for s in siblings if s.read_fraction == 1 and s.block_bytes == curve.block_bytes
                  and s.file_bytes == curve.file_bytes and s.load[0] == curve.load[0]), None)  # fmt: skip
    if reads is None or curve.latency[0] * 20 > reads.latency[0]:
        return None
    return Diagnosis(
        curve, "page-cache", "error",
        f"{_evidence(curve)} A write takes {format_duration(curve.latency[0])} where a read of the same device takes "
        f"{format_duration(reads.latency[0])}.",
        "the writes went to the page cache: their latency is that of memory, and the device's time is in none of the "
        "columns.",
        "run the writes again with --direct=1 on a file larger than the memory.",
    )  # fmt: skip


def _one_direction(curve: Curve, siblings: Sequence[Curve]) -> Diagnosis | None:
    """Of a mix only the reads (or the writes) were tabulated: a third to a half of N at all depths."""
    if curve.read_fraction in (0, 1) or not np.all((curve.ratio > 0.2) & (curve.ratio < 0.65)):
        return None
    if curve.ratio.max() > 1.5 * curve.ratio.min():
        return None
    alone = {f: next((s for s in siblings if s.read_fraction == f and s.block_bytes == curve.block_bytes), None)
             for f in (0, 1)}  # fmt: skip
    compared = ""
    for what, sibling in (("reads", alone[1]), ("writes", alone[0])):
        if sibling is not None:
            if np.median(sibling.ratio) < 0.7:
                return None
            compared += f" {what} alone {np.median(sibling.ratio):.2f},"
    if not compared and (curve.read_fraction is None or len(curve.load) < 2):
        return None
    missing = curve.implied_latency[0] - curve.latency[0]
    writes = alone[0]
    beside = f" (writes alone take {format_duration(writes.latency[0])})" if writes is not None else ""
    context = f" In the same table:{compared.rstrip(',')}." if compared else ""
    return Diagnosis(
        curve, "one-direction", "error", f"{_evidence(curve)}{context}",
        "only one direction of the mix was tabulated. If it was half of the requests, the other half took "
        f"{format_duration(missing)} each at depth {curve.load[0]:g}{beside}.",
        "add fio's read and write IOPS, and weight their mean latencies by them.",
    )  # fmt: skip


def _submission_gap(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """A time Z per request outside the measured latency: N = X (R + Z), felt most where R is short.

    Either depth 1 alone deviates, or the ratio climbs to 1 with the depth while Z stays within the microseconds that a
    host takes.
    """
    ratio, gap = curve.ratio, curve.implied_latency - curve.latency
    low = ratio < 1 - TOLERANCE
    if np.any(ratio > 1 + TOLERANCE) or ratio[0] < 0.5 or gap[0] > _LONGEST_GAP:
        return None
    only_first = curve.load[0] == 1 and bool(low[0]) and not np.any(low[1:])
    climbs = len(ratio) > 2 and ratio[-1] >= 1 - 1.5 * TOLERANCE and bool(np.all(np.diff(ratio) > -TOLERANCE))
    if not (only_first or climbs) or (len(ratio) == 1 and ratio[0] < 0.8):
        return None
    return Diagnosis(
        curve, "submission-gap", "info" if ratio.min() >= 0.8 else "warning",
        f"{_evidence(curve)} The gap N/X - R is {format_duration(gap[0])} a request at depth {curve.load[0]:g}.",
        "the host's own time between a completion and the next submission, which the latency does not hold"
        f"{'' if only_first else '; it matters less the longer a request waits'}.",
        "" if ratio.min() >= 0.8 else "fewer depths at idle, a faster engine (io_uring), or a CPU without idle states.",
    )  # fmt: skip


def _mostly_outside(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """Measured at depth 1 only, and a good part of the time is not in the latency: no pattern can tell more."""
    if np.any(curve.load > 1) or np.any(curve.ratio > 1 + TOLERANCE):
        return None
    return Diagnosis(
        curve, "mostly-outside", _severity(curve),
        f"{_evidence(curve)} Of {format_duration(curve.implied_latency[0])} a request, the latency holds "
        f"{format_duration(curve.latency[0])}.",
        "the host or the engine was measured, not the device (a null or buffered engine, a rate limit, flushes between "
        "the writes), or a unit or a size is wrong.",
        "measure a depth of 4 and of 32 too: a gap of the host shrinks with the depth, a wrong unit stays.",
    )  # fmt: skip


def _half_latency(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """The latency printed is one side of two: right at depth 1, half of N/X once the device is saturated."""
    ratio = curve.ratio
    if curve.file_bytes or len(ratio) < 3 or ratio[0] < 0.85 or not np.all((ratio[-2:] > 0.42) & (ratio[-2:] < 0.58)):
        return None
    if np.any(np.diff(ratio) > TOLERANCE) or abs(ratio[-1] - ratio[-2]) > 0.06:
        return None
    return Diagnosis(
        curve, "half-latency", "error",
        f"{_evidence(curve)} At depth {curve.load[-1]:g} N/X is {format_duration(curve.implied_latency[-1])}, and "
        f"{format_duration(curve.latency[-1])} is printed.",
        "one side of the latency: the completion time (clat) without the submission time (slat), which blocks where "
        "the I/O is not direct; or half of the requests never reached the device.",
        "run one deep depth with --direct=1 --output-format=json+ and compare slat + clat with lat.",
    )  # fmt: skip


def _depth_not_filled(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """The ratio falls with the depth: the requests asked for were never outstanding."""
    ratio = curve.ratio
    if len(ratio) < 2 or ratio[-1] > 0.8 * ratio[0] or ratio[-1] > 0.8 or np.any(ratio > 1.25):
        return None
    flight = curve.in_flight
    held = ", ".join(f"{f:.2g} at {n:g}" for n, f in zip(curve.load, flight, strict=True))
    evidence = f"{_evidence(curve)} In flight were X R = {held}."
    settle = "look at fio's iodepth_level, and run again with an asynchronous engine, --direct=1 and a large file."
    if curve.file_bytes and curve.block_bytes and np.all(flight <= curve.file_bytes / curve.block_bytes * 1.05):
        blocks = curve.file_bytes / curve.block_bytes
        cause = (
            f"the file of {format_bytes(curve.file_bytes)} holds only {blocks:g} blocks of "
            f"{format_bytes(curve.block_bytes)}: the run ends before the queue is filled."
        )
    elif flight[-1] < 1.2 * flight[-2] and curve.load[-1] >= 1.8 * curve.load[-2]:
        cause = f"no more than about {flight[-1]:.2g} requests can be outstanding" + (
            ": the engine is synchronous, or the I/O is buffered." if flight[-1] < 1.3 else
            ": a limit of the queue, of the controller, or of the operating system."
        )  # fmt: skip
    else:
        cause = "the depth was not filled: buffered I/O, a submission that blocks, or a run too short for its depth."
    return Diagnosis(curve, "depth-not-filled", "error", evidence, cause, settle)


def _constant_share(curve: Curve, _: Sequence[Curve]) -> Diagnosis | None:
    """The same share of N is missing at all depths, or nearly: not a fixed time, but a part of the requests."""
    ratio = curve.ratio
    if np.any(ratio > 1 + TOLERANCE) or ratio.min() < 0.5 or ratio.max() - ratio.min() > 0.25:
        return None
    if ratio.min() >= 1 - _WARNING:
        return Diagnosis(
            curve, "constant-share", "info", _evidence(curve),
            "a few per cent of the depth are outside the measured latency (submission, ramp and drain).",
        )  # fmt: skip
    gap = curve.implied_latency - curve.latency
    return Diagnosis(
        curve, "constant-share", _severity(curve),
        f"{_evidence(curve)} N/X - R grows from {format_duration(gap[0])} to {format_duration(gap[-1])}, so it is no "
        "fixed time per request.",
        "a share of the depth was not outstanding, or a share of the latency is missing: a submission that queues in "
        "the host (posixaio threads), flushes counted in the run time, or a mean over another interval than the IOPS.",
        "run one depth with io_uring or libaio and without end_fsync, and compare N with IOPS x lat.",
    )  # fmt: skip


# --- words ----------------------------------------------------------------------------------------------------------


def _severity(curve: Curve) -> Severity:
    worst = abs(float(curve.ratio[curve.worst]) - 1)
    return "error" if worst > _ERROR else "warning" if worst > _WARNING else "info"


def _evidence(curve: Curve) -> str:
    """The ratios with their depths: all of them where they are few, else their range and the worst."""
    ratios = [_number(r) for r in curve.ratio]
    depths = [f"{n:g}" for n in curve.load]
    if len(ratios) <= 8:
        return f"X R / N is {', '.join(ratios)} at depth {', '.join(depths)}."
    worst = curve.worst
    return (
        f"X R / N is {_range(curve.ratio)} over depths {depths[0]} to {depths[-1]} "
        f"(worst {ratios[worst]} at {depths[worst]})."
    )


def _range(values: Floats) -> str:
    low, high = _number(values.min()), _number(values.max())
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


def _single(values: pd.Series[Any]) -> float | None:
    """The one value of a column, or None where there is none or more than one."""
    known = values.dropna().unique()
    return float(known[0]) if len(known) == 1 else None


def ratios_by_claim(verdict: BlockVerdict) -> Mapping[str, str]:
    """Words for a finding: what was claimed and the ratios before and after."""
    return {
        "claimed": ", ".join(format_bytes(c) for c in verdict.claimed),
        "before": _range(np.array(verdict.before)),
        "after": _range(np.array(verdict.after)),
    }


def natural_key(series: str) -> list[str | int]:
    """A sort key that puts "4 KiB" before "16 KiB"."""
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", series)]
