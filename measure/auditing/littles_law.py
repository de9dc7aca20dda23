"""Little's law as an audit: in a closed sweep N requests circulate, so N = X R at every point.

X is the throughput and R the mean response time (Little 1961, L = lambda W, with L = N because no request is ever
anywhere else). The ratio X R / N is 1 for a truthful table: over 3,450 public fio runs it is within 0.3 % at the
median and 2 % at the 90th percentile. Where it is not 1, its *pattern* over depth, block size and direction tells why,
and that is what the hypotheses below test, from the most specific to the least. Each one looks at all points of a
curve, so that what it says is evidence and not a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from measure.auditing.curve_shape import ClosedCurve, closed_curves, ratio_range, ratio_text, with_block
from measure.findings import Severity
from measure.sweep import Sweep
from measure.units import format_bytes, format_duration


@dataclass(frozen=True)
class BlockVerdict:
    """The block that makes the law hold where the table's "block" was something else (the size of the file)."""

    block_bytes: float
    claimed: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def block_verdict(sweep: Sweep, curves: Sequence[ClosedCurve]) -> BlockVerdict | None:
    """The file's size taken for the block's, tested where throughput was computed as bandwidth / block.

    A wrong block b scales every ratio by b'/b, the same at all depths; at the lowest depth nothing else does. So b' =
    b * ratio must come out as one power of two from at least two different claimed blocks (or from one, over at least
    two curves), within 6 %.
    """
    if sweep.provenance.details.get("throughput_from") != "bandwidth / block":
        return None
    votes: dict[float, list[tuple[ClosedCurve, float]]] = {}
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


def ratios_by_claim(verdict: BlockVerdict) -> Mapping[str, str]:
    """Words for a finding: what was claimed and the ratios before and after."""
    return {
        "claimed": ", ".join(format_bytes(c) for c in verdict.claimed),
        "before": ratio_range(np.array(verdict.before)),
        "after": ratio_range(np.array(verdict.after)),
    }


Cause = Literal[
    "holds",
    "unit",
    "jobs-not-counted",
    "one-direction",
    "page-cache",
    "submission-gap",
    "mostly-outside",
    "half-latency",
    "depth-not-filled",
    "constant-share",
    "unexplained",
]

#: |X R / N - 1| up to which the law holds (the 90th percentile of public runs).
TOLERANCE = 0.02
_WARNING, _ERROR = 0.10, 0.20
#: The longest time a request that a host can lose between a completion and the next submission, seconds.
_LONGEST_GAP = 200e-6
_OF_FIO = " (fio's iops, lat and iodepth_level; not clat)"


@dataclass(frozen=True)
class Diagnosis:
    """What the ratio's pattern says of one curve. ``factor`` is the number found (1000, a number of jobs)."""

    curve: ClosedCurve
    cause: Cause
    severity: Severity
    evidence: str
    hypothesis: str = ""
    remedy: str = ""
    factor: float = 1.0


def diagnose(curve: ClosedCurve, siblings: Sequence[ClosedCurve] = ()) -> Diagnosis:
    """Test the hypotheses in order and return the first that fits; "holds" where there is nothing to explain.

    ``siblings`` are the curves of the same sweep, which show what reads alone and writes alone do.
    """
    if np.all(np.abs(curve.ratio - 1) <= TOLERANCE):
        return Diagnosis(curve, "holds", "info", _evidence(curve))
    for test in (
        _unit,
        _jobs_not_counted,
        _page_cache,
        _one_direction,
        _submission_gap,
        _mostly_outside,
        _half_latency,
        _depth_not_filled,
        _constant_share,
    ):
        found = test(curve, siblings)
        if found is not None:
            return found
    return Diagnosis(
        curve,
        "unexplained",
        _severity(curve),
        _evidence(curve),
        remedy=f"measure one of these points again ({curve.load_type.measure(f'{curve.load[curve.worst]:g}')}) and "
        f"compare its throughput and mean latency{_OF_FIO if not curve.load_type.is_counted else ''}.",
    )


def diagnoses(sweep: Sweep) -> tuple[BlockVerdict | None, list[Diagnosis]]:
    """The verdict on the block size, and one diagnosis per closed curve (with the true block, where it was wrong)."""
    curves = closed_curves(sweep)
    verdict = block_verdict(sweep, curves)
    if verdict is not None:
        curves = [with_block(c, verdict.block_bytes) for c in curves]
    return verdict, [diagnose(c, curves) for c in curves]


# --- the hypotheses -------------------------------------------------------------------------------------------------


def _unit(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """A unit off by a power of 1000: after the correction every point is close to 1."""
    for factor in (1e3, 1e-3, 1e6, 1e-6):
        corrected = curve.ratio / factor
        if np.all((corrected > 0.4) & (corrected < 1.25)) and 0.7 < np.median(corrected) < 1.1:
            up = factor > 1
            return Diagnosis(
                curve,
                "unit",
                "error",
                f"{_evidence(curve)} With the latency {'divided' if up else 'multiplied'} by "
                f"{factor if up else 1 / factor:,.0f} it is {ratio_range(corrected)}.",
                f"a unit off by {factor if up else 1 / factor:,.0f}: the first latency is "
                f"{format_duration(curve.latency[0] / factor)}, not {format_duration(curve.latency[0])} "
                "(or the throughput has that error).",
                "look at the tool's own output: fio 3 prints (nsec), (usec) or (msec) with every latency.",
                factor,
            )
    return None


def _jobs_not_counted(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """More in flight than the depth: the ratio is one whole number at all depths, that of the jobs."""
    jobs = round(float(np.median(curve.ratio)))
    if jobs < 2 or not np.all(np.abs(curve.ratio / jobs - 1) < 0.08):
        return None
    return Diagnosis(
        curve,
        "jobs-not-counted",
        "error",
        _evidence(curve),
        f"{jobs} jobs ran at once and only one job's depth was tabulated; the load is {jobs} times the depth.",
        f"look for numjobs in the command; the load is depth x jobs (of a table: --columns jobs={jobs}).",
        jobs,
    )


def _page_cache(curve: ClosedCurve, siblings: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Writes that only reached memory: each far faster than a read of the same device, yet few of them a second."""
    if curve.read_fraction != 0 or np.max(curve.ratio) >= 0.7:
        return None
    reads = next(
        (
            s
            for s in siblings
            if s.read_fraction == 1
            and s.block_bytes == curve.block_bytes
            and s.file_bytes == curve.file_bytes
            and s.load[0] == curve.load[0]
        ),
        None,
    )
    if reads is None or curve.latency[0] * 20 > reads.latency[0]:
        return None
    return Diagnosis(
        curve,
        "page-cache",
        "error",
        f"{_evidence(curve)} A write takes {format_duration(curve.latency[0])} where a read of the same device takes "
        f"{format_duration(reads.latency[0])}.",
        "the writes went to the page cache: their latency is that of memory, and the device's time is in none of the "
        "columns.",
        "run the writes again with --direct=1 on a file larger than the memory.",
    )


def _one_direction(curve: ClosedCurve, siblings: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Of a mix only the reads (or the writes) were tabulated: a third to a half of N at all depths."""
    if curve.read_fraction in (0, 1) or not np.all((curve.ratio > 0.2) & (curve.ratio < 0.65)):
        return None
    if curve.ratio.max() > 1.5 * curve.ratio.min():
        return None
    alone = {
        f: next((s for s in siblings if s.read_fraction == f and s.block_bytes == curve.block_bytes), None)
        for f in (0, 1)
    }
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
    compare = f" (writes alone take {format_duration(writes.latency[0])})" if writes is not None else ""
    context = f" In the same table:{compared.rstrip(',')}." if compared else ""
    return Diagnosis(
        curve,
        "one-direction",
        "error",
        f"{_evidence(curve)}{context}",
        "only one direction of the mix was tabulated. If it was half of the requests, the other half took "
        f"{format_duration(missing)} each at {curve.at(0)}{compare}.",
        "add fio's read and write IOPS, and weight their mean latencies by them.",
    )


def _submission_gap(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
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
        curve,
        "submission-gap",
        "info" if ratio.min() >= 0.8 else "warning",
        f"{_evidence(curve)} The gap N/X - R is {format_duration(gap[0])} a request at {curve.at(0)}.",
        "the host's own time between a completion and the next submission, which the latency does not hold"
        f"{'' if only_first else '; it matters less the longer a request waits'}.",
        "" if ratio.min() >= 0.8 else "fewer depths at idle, a faster engine (io_uring), or a CPU without idle states.",
    )


def _mostly_outside(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Measured at depth 1 only, and a good part of the time is not in the latency: no pattern can tell more."""
    if np.any(curve.load > 1) or np.any(curve.ratio > 1 + TOLERANCE):
        return None
    return Diagnosis(
        curve,
        "mostly-outside",
        _severity(curve),
        f"{_evidence(curve)} Of {format_duration(curve.implied_latency[0])} a request, the latency holds "
        f"{format_duration(curve.latency[0])}.",
        "the host or the engine was measured, not the device (a null or buffered engine, a rate limit, flushes between "
        "the writes), or a unit or a size is wrong.",
        "measure a depth of 4 and of 32 too: a gap of the host shrinks with the depth, a wrong unit stays.",
    )


def _half_latency(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """The latency printed is one side of two: right at depth 1, half of N/X once the device is saturated."""
    ratio = curve.ratio
    if curve.file_bytes or len(ratio) < 3 or ratio[0] < 0.85 or not np.all((ratio[-2:] > 0.42) & (ratio[-2:] < 0.58)):
        return None
    if np.any(np.diff(ratio) > TOLERANCE) or abs(ratio[-1] - ratio[-2]) > 0.06:
        return None
    return Diagnosis(
        curve,
        "half-latency",
        "error",
        f"{_evidence(curve)} With {curve.at(-1)} N/X is {format_duration(curve.implied_latency[-1])}, and "
        f"{format_duration(curve.latency[-1])} is printed.",
        "one side of the latency: the completion time (clat) without the submission time (slat), which blocks where "
        "the I/O is not direct; or half of the requests never reached the device.",
        "run one deep depth with --direct=1 --output-format=json+ and compare slat + clat with lat.",
    )


def _depth_not_filled(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """The ratio falls with the depth: the requests asked for were never outstanding."""
    ratio = curve.ratio
    if len(ratio) < 2 or ratio[-1] > 0.8 * ratio[0] or ratio[-1] > 0.8 or np.any(ratio > 1.25):
        return None
    flight = curve.in_flight
    held = ", ".join(f"{f:.2g} at {n:g}" for n, f in zip(curve.load, flight, strict=True))
    evidence = f"{_evidence(curve)} In flight were X R = {held}."
    if curve.load_type.is_counted:
        return Diagnosis(
            curve,
            "depth-not-filled",
            "error",
            evidence,
            f"the {curve.load_type.plural} think between requests, or the load generator is the bottleneck: it was "
            "busy when an answer came.",
            "give the load generator more threads or a machine of its own; then X R / N is 1.",
        )
    settle = "look at fio's iodepth_level, and run again with an asynchronous engine, --direct=1 and a large file."
    if curve.file_bytes and curve.block_bytes and np.all(flight <= curve.file_bytes / curve.block_bytes * 1.05):
        blocks = curve.file_bytes / curve.block_bytes
        cause = (
            f"the file of {format_bytes(curve.file_bytes)} holds only {blocks:g} blocks of "
            f"{format_bytes(curve.block_bytes)}: the run ends before the queue is filled."
        )
    elif flight[-1] < 1.2 * flight[-2] and curve.load[-1] >= 1.8 * curve.load[-2]:
        cause = f"no more than about {flight[-1]:.2g} requests can be outstanding" + (
            ": the engine is synchronous, or the I/O is buffered."
            if flight[-1] < 1.3
            else ": a limit of the queue, of the controller, or of the operating system."
        )
    else:
        cause = "the depth was not filled: buffered I/O, a submission that blocks, or a run too short for its depth."
    return Diagnosis(curve, "depth-not-filled", "error", evidence, cause, settle)


def _constant_share(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """The same share of N is missing at all depths, or nearly: not a fixed time, but a part of the requests."""
    ratio = curve.ratio
    if np.any(ratio > 1 + TOLERANCE) or ratio.min() < 0.5 or ratio.max() - ratio.min() > 0.25:
        return None
    if ratio.min() >= 1 - _WARNING:
        return Diagnosis(
            curve,
            "constant-share",
            "info",
            _evidence(curve),
            "a few per cent of the depth are outside the measured latency (submission, ramp and drain).",
        )
    gap = curve.implied_latency - curve.latency
    grown = ""
    if gap[-1] > gap[0] * (1 + TOLERANCE):
        grown = f" N/X - R grows from {format_duration(gap[0])} to {format_duration(gap[-1])}, so it is no fixed time."
    return Diagnosis(
        curve,
        "constant-share",
        _severity(curve),
        _evidence(curve) + grown,
        "a share of the depth was not outstanding, or a share of the latency is missing: a submission that queues in "
        "the host (posixaio threads), flushes counted in the run time, or a mean over another interval than the IOPS.",
        "run one depth with io_uring or libaio and without end_fsync, and compare N with IOPS x lat.",
    )


# --- words ----------------------------------------------------------------------------------------------------------


def _severity(curve: ClosedCurve) -> Severity:
    worst = abs(float(curve.ratio[curve.worst]) - 1)
    return "error" if worst > _ERROR else "warning" if worst > _WARNING else "info"


def _evidence(curve: ClosedCurve) -> str:
    """The ratios with their depths: all of them where they are few, else their range and the worst."""
    ratios = [ratio_text(r) for r in curve.ratio]
    loads, of = [f"{n:g}" for n in curve.load], curve.load_type
    if len(ratios) <= 8:
        return f"X R / N is {', '.join(ratios)} at {of.place(', '.join(loads))}."
    worst = curve.worst
    return (
        f"X R / N is {ratio_range(curve.ratio)} from {of.place(f'{loads[0]} to {loads[-1]}')} (worst "
        f"{ratios[worst]} at {loads[worst]})."
    )
