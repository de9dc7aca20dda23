"""Little's law as an audit: in a closed sweep N requests circulate, so N = X R at every point.

X is the throughput and R the mean response time (Little 1961, L = lambda W, with L = N because no request is ever
anywhere else). The ratio X R / N is 1 for a correct table: over 3,450 public fio runs it is within 0.3 % at the
median and 2 % at the 90th percentile. Where it is not 1, its *pattern* over depth, block size and direction shows why;
the hypotheses below test for such patterns, from the most specific to the least. Each one uses all points of a curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from measure.auditing.curve_shape import ClosedCurve, closed_curves, ratio_range, ratio_text, with_block
from measure.findings import Finding, Severity
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ClosedLoad, CountedLoad
from measure.origin import ORIGIN, by_littles_law, can_judge, reason_of, rows_to_judge, word_of
from measure.repeats import each_series
from measure.sweep import Sweep
from measure.units import counted, format_bytes, format_duration, plain_number

TOLERANCE = 0.02
"""Largest |X R / N - 1| at which the law holds (the 90th percentile of public runs)."""

_WARNING, _ERROR = 0.10, 0.20
_LONGEST_GAP = 200e-6
"""The longest time per request between a completion and the next submission in a host, seconds."""


def think_time_is_found(sweep: Sweep) -> bool:
    """Whether the think time was found by N = X (R + Z), so that these points cannot check that law."""
    return str(sweep.provenance.details.get(ORIGIN_OF_KIND, "")).endswith("found")


@dataclass(frozen=True)
class Diagnosis:
    """The cause of one curve's pattern of ratios. ``factor`` is the number found (1000, a number of jobs)."""

    curve: ClosedCurve
    cause: str
    severity: Severity
    more: str = ""
    hypothesis: str = ""
    remedy: str = ""
    factor: float = math.nan

    @property
    def evidence(self) -> str:
        """The ratios with their depths (all where there are few, else their range and the worst), and ``more``."""
        of, ratios = self.curve.load_type, [ratio_text(r) for r in self.curve.ratio]
        loads, worst = [f"{n:g}" for n in self.curve.load], self.curve.worst
        found, places = ", ".join(ratios), f"at {of.place(', '.join(loads))}"
        if len(ratios) > 8:
            found, places = ratio_range(self.curve.ratio), f"from {of.place(f'{loads[0]} to {loads[-1]}')}"
            places += f" (worst {ratios[worst]} at {loads[worst]})"
        ratio = "X (R + Z) / N" if of.thinking_s else "X R / N"
        return f"{ratio} is {found} {places}.{self.more}"

    def finding(self) -> Finding:
        """The finding, at the point farthest from the law."""
        at = float(self.curve.load[self.curve.worst])
        return Finding("littles-law", self.severity, self.evidence, self.hypothesis, self.remedy, self.curve.series, at)


@dataclass(frozen=True)
class BlockVerdict:
    """The block that makes the law hold where the table's "block" was something else (the size of the file)."""

    block_bytes: float
    claimed: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    def finding(self) -> Finding:
        """The finding, of the whole table."""
        claimed, block = ", ".join(format_bytes(c) for c in self.claimed), format_bytes(self.block_bytes)
        before, after = (ratio_range(np.array(ratios)) for ratios in (self.before, self.after))
        return Finding(
            "littles-law",
            "error",
            f"at the lowest depth X R / N is {before} with blocks of {claimed} as tabulated; with blocks of {block} it "
            f"is {after}.",
            f"the size of the file (fio's size=) was taken for the size of a block (bs=); the block was {block}.",
            "look for bs= in the command; fio's default is 4 KiB, and its JSON tells it as bandwidth / iops.",
        )


def block_verdict(sweep: Sweep, curves: Sequence[ClosedCurve]) -> BlockVerdict | None:
    """The verdict that a table gives the file's size as the block's, tested where throughput is bandwidth / block.

    A wrong block b scales every ratio by b'/b, at the lowest depth as nothing else does: b' = b * ratio must come out
    as one power of two from at least two curves, within 6 %.
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
    block, supporters = max(votes.items(), key=lambda item: len(item[1]), default=(math.nan, []))
    if len(supporters) < 2 or 2 * len(supporters) < len(curves):
        return None
    claimed = tuple(dict.fromkeys(c.block_bytes for c, _ in supporters if c.block_bytes))
    before, after = zip(*((float(c.ratio[0]), float(i / block)) for c, i in supporters), strict=True)
    return BlockVerdict(block, claimed, before, after)


def diagnoses(sweep: Sweep) -> tuple[BlockVerdict | None, list[Diagnosis]]:
    """The verdict on the block size, and one diagnosis per closed curve (with the true block, where it was wrong)."""
    curves: Sequence[ClosedCurve] = closed_curves(sweep)
    verdict = block_verdict(sweep, curves)
    if verdict is not None:
        curves = [with_block(c, verdict.block_bytes) for c in curves]
    return verdict, [diagnose(c, curves) for c in curves]


def diagnose(curve: ClosedCurve, siblings: Sequence[ClosedCurve] = ()) -> Diagnosis:
    """Test the hypotheses in order and return the first that fits; "holds" where there is nothing to explain.

    ``siblings`` are the curves of the same sweep, which show what reads alone and writes alone do.
    """
    if np.all(np.abs(curve.ratio - 1) <= TOLERANCE):
        return Diagnosis(curve, "holds", "info")
    for test in () if curve.load_type.thinking_s else _HYPOTHESES:
        if (found := test(curve, siblings)) is not None:
            return found
    of_fio = "" if isinstance(curve.load_type, CountedLoad) else " (fio's iops, lat and iodepth_level; not clat)"
    again = curve.load_type.measure(f"{curve.load[curve.worst]:g}")
    remedy = f"measure one of these points again ({again}) and compare its throughput and mean latency{of_fio}."
    return Diagnosis(curve, "unexplained", _severity(curve), remedy=remedy)


def check_littles_law(sweep: Sweep) -> Iterator[Finding]:
    """Findings on the law: how well it holds, or why not. Points that it corrected do not show that it holds."""
    verdict, found = diagnoses(sweep)
    if think_time_is_found(sweep):
        yield Finding("littles-law", "info", *_FOUND)
        return
    if not found and rows_to_judge(sweep.points).any():
        yield Finding("littles-law", "info", *_UNKNOWN_DEPTH)
    if verdict is not None:
        yield verdict.finding()
    holding = [np.abs(d.curve.ratio - 1)[d.curve.independent] for d in found if d.cause == "holds"]
    if holding := [points for points in holding if len(points)]:
        deviation = np.concatenate(holding)
        law = "N = X (R + Z)" if sweep.load_type.thinking_s else "N = X R"
        yield Finding(
            "littles-law",
            "info",
            f"{law} holds at {counted(len(deviation), 'point')} of {counted(len(holding), 'curve')}: the deviation "
            f"is {100 * np.median(deviation):.2f} % at the median, {100 * deviation.max():.2f} % at most.",
        )
    for diagnosis in found:
        if diagnosis.cause != "holds" and (diagnosis.severity != "info" or diagnosis.curve.independent.any()):
            yield diagnosis.finding()


_FOUND = (
    "N = X (R + Z) cannot be checked: the think time Z was found by it.",
    "",
    "tell the think time: --columns think=1s",
)
_UNKNOWN_DEPTH = (
    "N = X R cannot be checked at any point: the depth is unknown, or the runs were limited in rate.",
    "the load was not recorded, or it was given in requests a second and not in requests.",
    "measure a few depths without a rate limit: qsim measure fio TARGET --depths 1,8,64 --out DIR",
)


def _unit(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """A unit off by a power of 1000: corrected for it, every ratio is close to 1."""
    for factor in (1e3, 1e-3, 1e6, 1e-6):
        corrected, first = curve.ratio / factor, curve.latency[0]
        if not (np.all((corrected > 0.4) & (corrected < 1.25)) and 0.7 < np.median(corrected) < 1.1):
            continue
        size, undone = f"{max(factor, 1 / factor):,.0f}", "divided" if factor > 1 else "multiplied"
        right, wrong = format_duration(first / factor), format_duration(first)
        where = ": fio 3 prints (nsec), (usec) or (msec) with every latency."
        where = " for the unit of its latency." if isinstance(curve.load_type, CountedLoad) else where
        return Diagnosis(
            curve,
            "unit",
            "error",
            f" With the latency {undone} by {size} it is {ratio_range(corrected)}.",
            f"a unit off by {size}: the first latency is {right}, not {wrong} (or the throughput has that error).",
            f"look at the tool's own output{where}",
            factor,
        )
    return None


def _jobs_not_counted(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """More in flight than the depth: the ratio is one whole number at all depths, that of the jobs."""
    jobs = round(float(np.median(curve.ratio)))
    if jobs < 2 or not np.all(np.abs(curve.ratio / jobs - 1) < 0.08):
        return None
    why = f"{jobs} jobs ran at once and only one job's depth was tabulated; the load is {jobs} times the depth."
    remedy = f"look for numjobs in the command; the load is depth x jobs (of a table: --columns jobs={jobs})."
    if isinstance(curve.load_type, CountedLoad):
        why = f"each of the {curve.load_type.plural} keeps about {jobs} requests outstanding (pipelining or batches)."
        remedy = f"say how many, so that the load counts requests: --columns pipeline={jobs}"
    return Diagnosis(curve, "jobs-not-counted", "error", "", why, remedy, jobs)


def _page_cache(curve: ClosedCurve, siblings: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Writes that only reached the page cache: each far faster than a read of the device, yet few a second."""
    if curve.read_fraction != 0 or np.max(curve.ratio) >= 0.7:
        return None
    alike = (curve.block_bytes, curve.file_bytes, curve.load[0])
    reads = (s for s in siblings if s.read_fraction == 1 and (s.block_bytes, s.file_bytes, s.load[0]) == alike)
    read = next(reads, None)
    if read is None or curve.latency[0] * 20 > read.latency[0]:
        return None
    write_s, read_s = format_duration(curve.latency[0]), format_duration(read.latency[0])
    return Diagnosis(
        curve,
        "page-cache",
        "error",
        f" A write takes {write_s} where a read of the same device takes {read_s}.",
        "the writes went to the page cache: their latency is that of memory, and the device's time is in none of the "
        "columns.",
        "run the writes again with --direct=1 on a file larger than the memory.",
    )


def _one_direction(curve: ClosedCurve, siblings: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Of a mix only the reads (or the writes) were tabulated: a third to a half of N at all depths."""
    ratio = curve.ratio
    if curve.read_fraction in (0, 1) or not np.all((ratio > 0.2) & (ratio < 0.65)) or ratio.max() > 1.5 * ratio.min():
        return None
    reads, writes = (
        next((s for s in siblings if s.read_fraction == f and s.block_bytes == curve.block_bytes), None) for f in (1, 0)
    )
    alone = {what: float(np.median(s.ratio)) for what, s in (("reads", reads), ("writes", writes)) if s is not None}
    if any(middle < 0.7 for middle in alone.values()):
        return None
    if not alone and (curve.read_fraction is None or len(curve.load) < 2):
        return None
    missing = format_duration(curve.implied_latency[0] - curve.latency[0])
    compared = "" if writes is None else f" (writes alone take {format_duration(writes.latency[0])})"
    listed = ", ".join(f"{what} alone {middle:.2f}" for what, middle in alone.items())
    return Diagnosis(
        curve,
        "one-direction",
        "error",
        f" In the same table: {listed}." if alone else "",
        "only one direction of the mix was tabulated. If it was half of the requests, the other half took "
        f"{missing} each at {curve.at(0)}{compared}.",
        "add fio's read and write IOPS, and weight their mean latencies by them.",
    )


def _submission_gap(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """A time Z of the host outside the measured latency, N = X (R + Z): at depth 1, or felt less with the depth."""
    ratio, gap = curve.ratio, curve.implied_latency - curve.latency
    low = ratio < 1 - TOLERANCE
    if np.any(ratio > 1 + TOLERANCE) or ratio[0] < 0.5 or gap[0] > _LONGEST_GAP:
        return None
    only_first = curve.load[0] == 1 and bool(low[0]) and not np.any(low[1:])
    climbs = len(ratio) > 2 and ratio[-1] >= 1 - 1.5 * TOLERANCE and bool(np.all(np.diff(ratio) > -TOLERANCE))
    if not (only_first or climbs) or (len(ratio) == 1 and ratio[0] < 0.8):
        return None
    small = ratio.min() >= 0.8
    return Diagnosis(
        curve,
        "submission-gap",
        "info" if small else "warning",
        f" The gap N/X - R is {format_duration(gap[0])} a request at {curve.at(0)}.",
        "the host's own time between a completion and the next submission, which the latency does not hold"
        f"{'' if only_first else '; it matters less the longer a request waits'}.",
        "" if small else "fewer depths at idle, a faster engine (io_uring), or a CPU without idle states.",
    )


def _mostly_outside(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """Measured at depth 1 only, with much time outside the latency: no pattern can show more."""
    if np.any(curve.load > 1) or np.any(curve.ratio > 1 + TOLERANCE):
        return None
    whole, held = format_duration(curve.implied_latency[0]), format_duration(curve.latency[0])
    return Diagnosis(
        curve,
        "mostly-outside",
        _severity(curve),
        f" Of {whole} a request, the latency holds {held}.",
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
    whole, printed = format_duration(curve.implied_latency[-1]), format_duration(curve.latency[-1])
    return Diagnosis(
        curve,
        "half-latency",
        "error",
        f" With {curve.at(-1)} N/X is {whole}, and {printed} is printed.",
        "one side of the latency: the completion time (clat) without the submission time (slat), which blocks where "
        "the I/O is not direct; or half of the requests never reached the device.",
        "run one deep depth with --direct=1 --output-format=json+ and compare slat + clat with lat.",
    )


def _depth_not_filled(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """The ratio falls with the depth: the requested number was never outstanding."""
    ratio, flight, of = curve.ratio, curve.throughput * curve.latency, curve.load_type
    if len(ratio) < 2 or ratio[-1] > 0.8 * ratio[0] or ratio[-1] > 0.8 or np.any(ratio > 1.25):
        return None
    held = ", ".join(f"{plain_number(f, 2)} at {n:g}" for n, f in zip(curve.load, flight, strict=True))
    remedy = "look at fio's iodepth_level, and run again with an asynchronous engine, --direct=1 and a large file."
    blocks = curve.file_bytes / curve.block_bytes if curve.file_bytes and curve.block_bytes else None
    if isinstance(of, CountedLoad):
        why = (
            f"the {of.plural} think between requests, or the load generator is the bottleneck: it was busy when an "
            "answer came."
        )
        remedy = "give the load generator more threads or a machine of its own; then X R / N is 1."
    elif blocks and np.all(flight <= blocks * 1.05):
        why = (
            f"the file of {format_bytes(curve.file_bytes or 0)} holds only {blocks:g} blocks of "
            f"{format_bytes(curve.block_bytes or 0)}: the run ends before the queue is filled."
        )
    elif flight[-1] < 1.2 * flight[-2] and curve.load[-1] >= 1.8 * curve.load[-2]:
        limit = "a limit of the queue, of the controller, or of the operating system."
        limit = "the engine is synchronous, or the I/O is buffered." if flight[-1] < 1.3 else limit
        why = f"no more than about {plain_number(flight[-1], 2)} requests can be outstanding: {limit}"
    else:
        why = "the depth was not filled: buffered I/O, a submission that blocks, or a run too short for its depth."
    return Diagnosis(curve, "depth-not-filled", "error", f" In flight were X R = {held}.", why, remedy)


def _constant_share(curve: ClosedCurve, _: Sequence[ClosedCurve]) -> Diagnosis | None:
    """The same share of N is missing at all depths, or nearly: not a fixed time, but a part of the requests."""
    ratio, gap = curve.ratio, curve.implied_latency - curve.latency
    if np.any(ratio > 1 + TOLERANCE) or ratio.min() < 0.5 or ratio.max() - ratio.min() > 0.25:
        return None
    if ratio.min() >= 1 - _WARNING:
        few = "a few per cent of the depth are outside the measured latency (submission, ramp and drain)."
        return Diagnosis(curve, "constant-share", "info", hypothesis=few)
    first, last = format_duration(gap[0]), format_duration(gap[-1])
    grows = gap[-1] > gap[0] * (1 + TOLERANCE)
    return Diagnosis(
        curve,
        "constant-share",
        _severity(curve),
        f" N/X - R grows from {first} to {last}, so it is no fixed time." if grows else "",
        "a share of the depth was not outstanding, or a share of the latency is missing: a submission that queues in "
        "the host (posixaio threads), flushes counted in the run time, or a mean over another interval than the IOPS.",
        "run one depth with io_uring or libaio and without end_fsync, and compare N with IOPS x lat.",
    )


_HYPOTHESES: tuple[Callable[[ClosedCurve, Sequence[ClosedCurve]], Diagnosis | None], ...] = (
    _unit,
    _jobs_not_counted,
    _page_cache,
    _one_direction,
    _submission_gap,
    _mostly_outside,
    _half_latency,
    _depth_not_filled,
    _constant_share,
)


def _severity(curve: ClosedCurve) -> Severity:
    worst = abs(float(curve.ratio[curve.worst]) - 1)
    return "error" if worst > _ERROR else "warning" if worst > _WARNING else "info"


# --- where the law stays unchecked ------------------------------------------------------------------------------------

# A law never proves itself: a figure that N = X R gave, or corrected, cannot show that N = X R holds.

_WORDS = {"load": "load", "throughput_per_s": "throughput", "latency_s": "latency"}


def _stands_open(origin: str) -> bool:
    """Whether N = X R cannot be shown to hold with a figure of this origin."""
    return by_littles_law(origin) or not can_judge(origin)


def check_origins(sweep: Sweep, broken: Collection[str | None] = ()) -> Iterator[Finding]:
    """A finding for each curve and each figure that N = X R gave: what cannot be checked, and at which points.

    On the curves ``broken`` the law was checked with what it had corrected, and does not hold even so.
    """
    closed = isinstance(sweep.load_type, ClosedLoad)
    if sweep.all_measured:
        return
    for series, curve in each_series(sweep.mean_points()):
        for figure, column in ORIGIN.items():
            origins = curve[column].to_numpy(object)
            for given in dict.fromkeys(o for o in origins if _stands_open(o)):
                if can_judge(given) and series in broken:
                    continue
                at = sweep.load_type.at(*dict.fromkeys(curve["load"][origins == given].tolist()))
                checks = ["N = X R"] if closed else []
                checks += ["the course of the throughput"] if figure != "latency_s" and not can_judge(given) else []
                yield Finding(
                    "littles-law" if closed else "not-measured",
                    "info",
                    f"{' and '.join(checks) or 'the latency'} cannot be checked at {at}: the {_WORDS[figure]} was "
                    f"{word_of(given)} ({reason_of(given)}).",
                    remedy="measure load, throughput and latency.",
                    series=series,
                )


def not_measured(sweep: Sweep) -> str:
    """Which figures leave N = X R unchecked, and at how many points: "latency computed at 3 of 5 points"; or ""."""
    if not isinstance(sweep.load_type, ClosedLoad):
        return ""
    points, parts = sweep.mean_points(), []
    for figure, name in _WORDS.items():
        origins = points[ORIGIN[figure]]
        words = origins[origins.map(_stands_open)].map(word_of)
        parts += [
            f"{name} {word} at {count} of {counted(len(points), 'point')}"
            for word, count in words.value_counts().items()
        ]
    return ", ".join(parts)
