"""Checks of memory curves under an injected delay: caches, units, lines in flight.

The product bandwidth x latency / 64 bytes is the number of cache lines in flight (Little's law again, with the line as
the request). The chaser alone keeps one, so less than one is impossible; more than a machine has line buffers for is a
unit error. A DRAM access takes no less than about 45 ns on any machine, and a latency below 20 ns is a cache's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from measure.findings import Finding
from measure.sweep import Sweep, each_series, recorded_caches
from measure.units import CACHE_LINE_BYTES, format_bytes, format_duration

CACHE_LATENCY_S = 20e-9
DRAM_LATENCY_S = 45e-9
_MOST_LINES = 20_000  # some hundred cores with some hundred lines each


def check_memory(sweep: Sweep) -> Iterator[Finding]:
    """Findings on a sweep over injected delay."""
    # A list that was cut may have lost the highest of its peaks.
    listed = [section for section in _sections(sweep.provenance.details) if "ALL Reads" in section]
    peak = max((float(bandwidth) for section in listed for bandwidth in section.values()), default=0.0)
    caches = recorded_caches(sweep.provenance.details)
    for series, group in each_series(sweep.mean_points()):
        name = series
        latency = group["latency_s"].to_numpy(float)
        yield from _cache(name, latency, _buffer(sweep.provenance.details, name), caches)
        yield from _above_the_peak(name, group["bandwidth_bytes_per_s"].to_numpy(float), peak)
        yield from _lines(name, group["load"].to_numpy(float), group["throughput_per_s"].to_numpy(float), latency)


def check_bandwidth_curves(sweep: Sweep) -> Iterator[Finding]:
    """Findings on curves that were published as bandwidth and latency only."""
    yield Finding(
        "no-load",
        "info",
        "the curves hold bandwidth and latency and not what was varied (a delay, a pause, a depth), so only the "
        "latency can be predicted.",
        "they were published for plotting.",
        "load a table that has the pause or the delay as a column, or measure one: qsim measure memory --out DIR.",
    )
    caches = recorded_caches(sweep.provenance.details)
    for series, group in each_series(sweep.mean_points()):
        name = series
        bandwidth, latency = group["load"].to_numpy(float), group["latency_s"].to_numpy(float)
        yield from _cache(name, latency, _buffer(sweep.provenance.details, name), caches)
        yield from _lines(name, bandwidth, group["throughput_per_s"].to_numpy(float), latency, varied="bandwidth")
        yield from _bends_back(name, bandwidth, latency)


def cache_sized(sweep: Sweep) -> Finding | None:
    """The error that a curve of ``sweep`` is one of a cache; None where none is, or the sweep is no memory."""
    if not sweep.load_type.is_memory:
        return None
    caches = recorded_caches(sweep.provenance.details)
    for series, group in each_series(sweep.points):
        name, latency = series, group["latency_s"].to_numpy(float)
        for finding in _cache(name, latency, _buffer(sweep.provenance.details, name), caches):
            if finding.severity == "error":
                return finding
    return None


def check_buffer_sizes(sweep: Sweep) -> Iterator[Finding]:
    """Findings on a sweep over buffer sizes: what it is not."""
    caches = recorded_caches(sweep.provenance.details)
    yield Finding(
        "buffer-sizes",
        "info",
        f"the latency was measured without load, in buffers of {format_bytes(sweep.points['load'].min())} to "
        f"{format_bytes(sweep.points['load'].max())}{_which_fit(sweep, caches)}.",
        "a buffer that fits a cache is not a memory curve.",
        "measure under load for a latency-bandwidth curve: qsim measure memory --out DIR.",
    )


def _which_fit(sweep: Sweep, caches: Mapping[str, float]) -> str:
    """Which of the buffers fit a reported cache, in words: ", of which ... fit the level-3 cache of 32 MiB"."""
    largest = max(caches.values(), default=0.0)
    sizes = sweep.points["load"]
    inside = sizes[sizes <= largest]
    if inside.empty:
        return ""
    name = next(n for n, size in caches.items() if inside.max() <= size)
    return f", of which those up to {format_bytes(inside.max())} fit the {name} cache of {format_bytes(caches[name])}"


def _bends_back(name: str, bandwidth: np.ndarray[Any, Any], latency: np.ndarray[Any, Any]) -> Iterator[Finding]:
    """Past saturation more load brings less bandwidth: the highest latency lies below the highest bandwidth."""
    slowest = int(np.argmax(latency))
    if bandwidth[slowest] < 0.99 * bandwidth.max():
        yield Finding(
            "bends-back",
            "info",
            f"the highest latency, {format_duration(float(latency[slowest]))}, is reached at "
            f"{bandwidth[slowest] / 1e9:.4g} GB/s, below the peak of {bandwidth.max() / 1e9:.4g} GB/s.",
            "past saturation more requests in flight lose bandwidth (row buffers, turns between reads and writes), "
            "so one bandwidth has two latencies.",
            "repeat the shortest delays: qsim measure memory --delays 0,25,50 --repeats 5 --out DIR.",
            series=name,
            load=float(bandwidth[slowest]),
        )


def _cache(
    name: str, latency: np.ndarray[Any, Any], buffer: float | None, caches: Mapping[str, float]
) -> Iterator[Finding]:
    median = float(np.median(latency))
    fits = [c for c, size in caches.items() if buffer is not None and buffer <= size]
    words = f"a buffer of {format_bytes(buffer)}" if buffer else "the buffer"
    remedy = "measure with a buffer of at least four times the last-level cache (MLC: -b200m)."
    span = f"{format_duration(latency.min())} to {format_duration(latency.max())}"
    if median < CACHE_LATENCY_S or fits:
        which = f"the {fits[0]} cache" if fits else _which_cache(buffer, median)
        yield Finding(
            "fits-a-cache",
            "error",
            f"the latency is {span}, at the median {format_duration(median)}; a DRAM access takes "
            f"{DRAM_LATENCY_S * 1e9:.0f} ns and more.",
            f"{words} fits {which}, so this curve is not of the memory.",
            remedy,
            name,
        )
    elif latency.min() < DRAM_LATENCY_S:
        yield Finding(
            "fits-a-cache",
            "warning",
            f"the lowest latency is {format_duration(float(latency.min()))}, below the "
            f"{DRAM_LATENCY_S * 1e9:.0f} ns of the fastest DRAM.",
            f"part of {words.removeprefix('a ')} is served by the last-level cache.",
            remedy,
            name,
        )


def _which_cache(buffer: float | None, latency_s: float) -> str:
    """The smallest cache that holds the buffer in any CPU of today, or what the latency suggests."""
    if buffer is not None and buffer <= 32 * 2**10:
        return "a level-1 cache (32 KiB and more)"
    if buffer is not None and buffer <= 256 * 2**10:
        return "a level-2 cache (256 KiB and more)"
    return "a level-1 or level-2 cache" if latency_s < 8e-9 else "a cache of the CPU"


def _above_the_peak(name: str, bandwidth: np.ndarray[Any, Any], peak: float) -> Iterator[Finding]:
    """The curve against the highest bandwidth that the same run of the tool listed as a peak."""
    if not peak or not np.isfinite(bandwidth).any() or np.nanmax(bandwidth) <= 1.1 * peak:
        return
    yield Finding(
        "above-the-peak",
        "warning",
        f"the curve reaches {np.nanmax(bandwidth) / 1e9:.4g} GB/s, and the same file lists a peak of "
        f"{peak / 1e9:.4g} GB/s.",
        "a cache served part of the lines, or the two runs used other threads or buffers.",
        "measure again with a larger buffer (MLC: -b200m) and compare with mlc --max_bandwidth.",
        name,
    )


def _lines(
    name: str,
    load: np.ndarray[Any, Any],
    throughput: np.ndarray[Any, Any],
    latency: np.ndarray[Any, Any],
    varied: str = "delay",
) -> Iterator[Finding]:
    lines = throughput * latency
    low, peak = int(np.argmin(lines)), int(np.argmax(lines))
    if lines[low] < 0.9:
        scaled = lines[low] * 1000
        yield Finding(
            "lines-in-flight",
            "error",
            f"bandwidth x latency / {CACHE_LINE_BYTES} B is {lines[low]:.3g} lines in flight, and the chaser alone "
            "keeps one.",
            f"a unit off by 1000 (then it is {scaled:.3g}), or a bandwidth without the chaser's own."
            if scaled >= 0.9
            else "a unit is wrong by more than 1000.",
            "check the units of both columns: MLC prints ns and decimal MB/s.",
            name,
            float(load[low]),
        )
    elif lines[peak] > _MOST_LINES:
        yield Finding(
            "lines-in-flight",
            "error",
            f"bandwidth x latency / {CACHE_LINE_BYTES} B is {lines[peak]:.3g} lines in flight, more than any machine "
            "has line buffers for.",
            "a unit off by 1000.",
            "check the units of both columns: MLC prints ns and decimal MB/s.",
            name,
            float(load[peak]),
        )
    else:
        unloaded = int(np.argmax(load) if varied == "delay" else np.argmin(load))
        yield Finding(
            "lines-in-flight",
            "info",
            f"at the peak {lines[peak]:.3g} cache lines are in flight (bandwidth x latency / {CACHE_LINE_BYTES} B), "
            f"at the {'longest delay' if varied == 'delay' else 'lowest bandwidth'} {lines[unloaded]:.3g}.",
            series=name,
            load=float(load[peak]),
        )


def _buffer(details: Mapping[str, Any], series: str) -> float | None:
    given = details.get("buffer_bytes")
    value = given.get(series) if isinstance(given, Mapping) else given
    return float(value) if isinstance(value, int | float) and value > 0 else None


MLC_TRAFFIC = {1.0: "ALL Reads", 0.75: "3:1 Reads-Writes", 0.67: "2:1 Reads-Writes", 0.5: "1:1 Reads-Writes"}
"""How MLC names the traffic of its peak injection bandwidths, by the share of reads."""


def known_peak(sweep: Sweep) -> float | None:
    """The peak (bytes/s) of the traffic of a sweep of one series; None where none is listed, or several differ.

    The probe of ``qsim measure memory`` lists one for each traffic, MLC for its usual mixes with ordinary stores.
    """
    if not sweep.load_type.is_memory:
        return None
    found = {*_of_probe(sweep), *_of_mlc(sweep)}
    return found.pop() if len(found) == 1 else None


def _of_probe(sweep: Sweep) -> Iterator[float]:
    series = sweep.series[0]
    for traffic, peak in sweep.provenance.details.get("peaks_bytes_per_s", {}).items():
        if series == traffic or series.startswith(f"{traffic},"):
            yield float(peak["mean"])


def _of_mlc(sweep: Sweep) -> Iterator[float]:
    shares = set(sweep.points["read_fraction"].dropna().round(2)) if "read_fraction" in sweep.points else set()
    if len(shares) != 1 or "non-temporal" in sweep.series[0]:
        return
    name = MLC_TRAFFIC.get(shares.pop(), "")
    for section in _sections(sweep.provenance.details):
        if name in section:
            yield float(section[name])


def _sections(details: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every list of peaks by traffic, at any depth."""
    for key, value in details.items():
        if key == "bandwidths_bytes_per_s" and isinstance(value, Mapping):
            yield from (section for section in value.values() if isinstance(section, Mapping))
        elif isinstance(value, Mapping):
            yield from _sections(value)
