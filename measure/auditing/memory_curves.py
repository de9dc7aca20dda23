"""Checks of memory curves: caches, units, lines in flight.

The product bandwidth x latency / 64 bytes is the number of cache lines in flight (Little's law again, with the line as
the request). The chaser alone keeps one, so less than one is impossible; more than a machine has line buffers for is a
unit error. A DRAM access takes no less than about 45 ns on any machine, and a latency below 20 ns is a cache's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.loads import BufferSize, InjectedDelay, MemoryLoad
from measure.origin import judged
from measure.repeats import each_series
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration, plain_number

CACHE_LATENCY_S = 20e-9
DRAM_LATENCY_S = 45e-9
_MOST_LINES = 20_000  # some hundred cores with some hundred lines each
_CONTRADICTS = 0.25
"""Listed figures contradict a curve from here on. In four files of servers the latency was 0 to 5 % above and the peak
5 % below to 1 % above; on laptops latencies at rest scatter by 20 %, and the bandwidth falls by 20 % past its peak."""
_RISE = 0.05
"""The least rise of the bandwidth over delay that is told: the rows of quiet machines are out of order by 1 to 3 %."""
_PAST_PEAK = 0.8  # of the peak: above it a shorter delay may cost bandwidth, as on laptops (20 %)
_AT_REST = 0.1  # of the peak: a curve whose longest delay is above has no point at rest (whole ones end at 1 to 4 %)

Floats = NDArray[np.float64]


def check_memory(sweep: Sweep) -> Iterator[Finding]:
    """Findings on a memory under load, over injected delay or over the bandwidth alone, by what was measured."""
    of_delay, caches = isinstance(sweep.load_type, InjectedDelay), recorded_caches(sweep.provenance.details)
    points = sweep.mean_points()
    for series, group in each_series(judged(points, ["latency_s"])):
        yield from _cache(sweep, series, group["latency_s"].to_numpy(float), caches)
    for series, group in each_series(judged(points)):
        load, throughput, latency = (group[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s"))
        idle = ("longest delay", int(load.argmax())) if of_delay else ("lowest bandwidth", int(load.argmin()))
        if of_delay:
            yield from _rising(series, load, CACHE_LINE_BYTES * throughput)
        yield from _lines(series, load, throughput * latency, idle)
        listed = sweep.provenance.details.get("listed", {}).get(series, {})
        if listed and group["read_fraction"].eq(1).all():
            yield from _listed_figures(series, listed, CACHE_LINE_BYTES * throughput, latency, int(load.argmax()))


def check_buffer_sizes(sweep: Sweep) -> Iterator[Finding]:
    """Findings on a sweep over buffer sizes, which is not a curve over load."""
    sizes, caches, fit = sweep.points["load"], recorded_caches(sweep.provenance.details), ""
    if inside := [size for size in sizes if any(size <= cache for cache in caches.values())]:
        name = next(n for n, size in caches.items() if max(inside) <= size)
        fit = f", of which those up to {format_bytes(max(inside))} fit the {name} cache of {format_bytes(caches[name])}"
    yield Finding(
        "buffer-sizes",
        "info",
        f"the latency was measured without load, in buffers of {format_bytes(sizes.min())} to "
        f"{format_bytes(sizes.max())}{fit}.",
        "a buffer that fits a cache is not a memory curve.",
        "measure under load for a latency-bandwidth curve: qsim measure memory --out DIR.",
    )


def listed_peak(sweep: Sweep) -> float | None:
    """The peak that the tool listed for the one curve of a memory, in cache lines a second; None where it did not.

    Raises DataError where no model fits: for a sweep over buffer sizes, or a curve measured in a buffer that fits a
    cache.
    """
    peak, caches = known_peak(sweep), recorded_caches(sweep.provenance.details)
    if isinstance(sweep.load_type, BufferSize):
        raise DataError(_of_sizes(sweep, caches))
    latency = judged(sweep.points, ["latency_s"])["latency_s"].to_numpy(float)
    for f in _cache(sweep, sweep.series[0], latency, caches) if len(latency) else ():
        if f.severity == "error":
            why, message, remedy = (text.rstrip(".") for text in (f.hypothesis, f.message, f.remedy))
            raise DataError(f"{f.series}: {why} ({message}); {remedy}")
    return None if peak is None else peak / CACHE_LINE_BYTES


def _of_sizes(sweep: Sweep, caches: Mapping[str, float]) -> str:
    """The message that no model fits a sweep over buffer sizes, with the caches that it shows."""
    sizes = sweep.points["load"]
    ends = [(name, size) for name, size in caches.items() if sizes.min() <= size]
    fit = " and ".join(f"the {name} cache of {format_bytes(size)}" for name, size in ends) or "a cache"
    return (
        f"{sweep.name or 'the sweep'} varies the buffer size, from {format_bytes(sizes.min())} to "
        f"{format_bytes(sizes.max())}, and injects no load; a buffer that fits a cache is not a memory curve (some fit "
        f"{fit}). Measure under load instead: qsim measure memory --delays 0,100,500,2500 --out DIR"
    )


def _cache(sweep: Sweep, series: str, latency: Floats, caches: Mapping[str, float]) -> Iterator[Finding]:
    """Findings on a cache that answered: by the recorded buffer and caches, or by the latency."""
    details = sweep.provenance.details
    given = details.get("buffer_bytes")
    value = given.get(series) if isinstance(given, Mapping) else given
    buffer = float(value) if isinstance(value, int | float) and value > 0 else None
    median, lowest = float(np.median(latency)), float(latency.min())
    fits = [c for c, size in caches.items() if buffer is not None and buffer <= size]
    words = f"a buffer of {format_bytes(buffer)}" if buffer else "the buffer"
    remedy = "measure with a buffer of at least four times the last-level cache (MLC: -b200m)."
    dram = f"{DRAM_LATENCY_S * 1e9:.0f} ns"
    if median < CACHE_LATENCY_S or fits:
        yield Finding(
            "fits-a-cache",
            "error",
            f"the latency is {format_duration(lowest)} to {format_duration(latency.max())}, at the median "
            f"{format_duration(median)}; a DRAM access takes {dram} and more.",
            f"{words} fits {f'the {fits[0]} cache' if fits else _which_cache(buffer, median)}, so this curve is not of "
            "the memory.",
            remedy,
            series,
        )
    elif lowest < DRAM_LATENCY_S:
        yield Finding(
            "fits-a-cache",
            "warning",
            f"the lowest latency is {format_duration(lowest)}, below the {dram} of the fastest DRAM.",
            f"part of {words.removeprefix('a ')} is served by the last-level cache.",
            remedy,
            series,
        )


def _rising(series: str, delay: Floats, bandwidth: Floats) -> Iterator[Finding]:
    """A finding where a longer delay, which can only ask for less, moves more; ``delay`` ascends."""
    least = np.minimum.accumulate(bandwidth)
    rise = bandwidth[1:] / least[:-1] - 1
    if not len(rise) or rise.max() < _RISE:
        return
    after = 1 + int(rise.argmax())
    before = int(np.flatnonzero(bandwidth[:after] == least[after - 1])[-1])
    saturated = bandwidth[before] > _PAST_PEAK * bandwidth.max()
    disturbed = "other programs, or a neighbour on the same host, loaded the memory during the lower point."
    yield Finding(
        "rises-with-delay",
        "info" if saturated else "warning",
        f"the bandwidth rises from {format_bandwidth(bandwidth[before])} at delay {delay[before]:g} to "
        f"{format_bandwidth(bandwidth[after])} at delay {delay[after]:g} (+{100 * rise.max():.0f} %), where a longer "
        "delay can only ask for less.",
        f"beyond its peak a memory loses bandwidth to conflicts; or {disturbed}" if saturated else disturbed,
        "measure again at a quieter time, with more repeats, which go in rounds.",
        series,
        float(delay[after]),
    )


def _which_cache(buffer: float | None, latency_s: float) -> str:
    """The smallest cache of today's CPUs that holds the buffer, or the one that the latency suggests."""
    if buffer is not None and buffer <= 32 * 2**10:
        return "a level-1 cache (32 KiB and more)"
    if buffer is not None and buffer <= 256 * 2**10:
        return "a level-2 cache (256 KiB and more)"
    return "a level-1 or level-2 cache" if latency_s < 8e-9 else "a cache of the CPU"


def _lines(series: str, load: Floats, lines: Floats, idle: tuple[str, int]) -> Iterator[Finding]:
    """Findings on the number of lines in flight; ``idle``: the point without load, in words, and its index."""
    low, peak, product = int(np.argmin(lines)), int(np.argmax(lines)), f"bandwidth x latency / {CACHE_LINE_BYTES} B"
    units = "check the units of both columns: MLC prints ns and decimal MB/s."
    if lines[low] < 0.9:
        scaled = 1000 * lines[low]
        why = f"a unit off by 1000 (then it is {plain_number(scaled)}), or a bandwidth without the chaser's own."
        why = why if scaled >= 0.9 else "a unit is wrong by more than 1000."
        text = f"{product} is {plain_number(lines[low])} lines in flight, and the chaser alone keeps one."
        yield Finding("lines-in-flight", "error", text, why, units, series, float(load[low]))
    elif lines[peak] > _MOST_LINES:
        text = f"{product} is {plain_number(lines[peak])} lines in flight, more than any machine has line buffers for."
        yield Finding("lines-in-flight", "error", text, "a unit off by 1000.", units, series, float(load[peak]))
    else:
        where, unloaded = idle
        text = f"at most {plain_number(lines[peak])} cache lines are in flight ({product}), "
        text += f"at the {where} {plain_number(lines[unloaded])}."
        yield Finding("lines-in-flight", "info", text, series=series, load=float(load[peak]))


def _listed_figures(
    series: str, listed: Mapping[str, float], bandwidth: Floats, latency: Floats, unloaded: int
) -> Iterator[Finding]:
    """Whether a curve of reads begins at the idle latency that MLC listed, and stays below the listed peak."""
    peak, rest = float(bandwidth.max()), float(latency[unloaded])
    lists, shows, contradicts = [], [], False
    if idle := listed.get("idle_latency_s"):
        lists.append(f"an idle latency of {format_duration(idle)}")
        shows.append(f"begins at {format_duration(rest)} ({100 * (rest / idle - 1):+.1f} %)")
        contradicts = bool(bandwidth[unloaded] < _AT_REST * peak) and abs(rest / idle - 1) > _CONTRADICTS
    if most := listed.get("peak_bytes_per_s"):
        lists.append(f"a peak of {format_bandwidth(most)}")
        shows.append(f"reaches {format_bandwidth(peak)} ({100 * (peak / most - 1):+.1f} %)")
        contradicts = contradicts or peak / most - 1 > _CONTRADICTS
    why = "they are of different machines, cores, nodes, buffers or units, or other programs ran during one of them."
    once = "run mlc without options on an idle machine, which measures all of it at once."
    yield Finding(
        "listed-figures",
        "warning" if contradicts else "info",
        f"MLC lists {' and '.join(lists)}; the curve {' and '.join(shows)}.",
        why if contradicts else "",
        once if contradicts else "",
        series,
    )


def known_peak(sweep: Sweep) -> float | None:
    """The peak bandwidth (bytes/s) of a sweep's one traffic, measured by ``qsim measure memory``; else None."""
    if not isinstance(sweep.load_type, MemoryLoad):
        return None
    series = sweep.series[0]
    probed = sweep.provenance.details.get("peaks_bytes_per_s", {}).items()
    found = {float(peak["mean"]) for traffic, peak in probed if series == traffic or series.startswith(f"{traffic},")}
    return found.pop() if len(found) == 1 else None


def recorded_caches(details: Mapping[str, Any]) -> dict[str, float]:
    """The data caches of the measured machine, smallest first; {name: bytes}."""
    given = details.get("caches")
    if isinstance(given, Mapping):
        sizes = {str(k): float(v) for k, v in given.items() if isinstance(v, int | float)}
    else:
        facts = details.get("host_facts")
        listed = facts.get("caches", ()) if isinstance(facts, Mapping) else ()
        sizes = {
            f"level-{c['level']}": float(c["size_bytes"])
            for c in listed
            if isinstance(c, Mapping) and c.get("kind") != "Instruction" and {"level", "size_bytes"} <= c.keys()
        }
    return dict(sorted(sizes.items(), key=lambda item: item[1]))
