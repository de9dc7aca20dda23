"""The curves of a closed sweep, N, X and R over the depths, repeats averaged, and checks of their shape.

Beyond Little's law: drift, a fall past the peak, and what a calibration needs: a saturated point, one way of
submission, wider tails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure import repeats
from measure.findings import Finding
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Depth, Load
from measure.origin import ORIGIN, by_littles_law, judged, rows_to_judge, word_of
from measure.repeats import each_series, first_highest, rows_of_each
from measure.sweep import Sweep
from measure.units import format_bytes, format_duration, format_rate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClosedCurve:
    """One closed curve, sorted by depth: arrays of N, X (1/s), R (s) and their ratio X R / N."""

    series: str
    load: Floats
    throughput: Floats
    latency: Floats
    block_bytes: float | None
    read_fraction: float | None
    load_type: Load
    file_bytes: float | None = None  # set where the claimed block turned out to be the size of the file
    by_law: NDArray[np.bool_] | None = None  # points that N = X R corrected, so that they cannot show that it holds

    @property
    def ratio(self) -> Floats:
        """X (R + Z) / N; 1 where Little's law holds."""
        return self.throughput * (self.latency + self.load_type.thinking_s) / self.load

    @property
    def independent(self) -> NDArray[np.bool_]:
        """The points whose figures owe nothing to N = X R, so that they can show that it holds."""
        return np.ones(len(self.load), bool) if self.by_law is None else ~self.by_law

    @property
    def implied_latency(self) -> Floats:
        """N / X - Z, seconds: the response time that depth and throughput imply."""
        return self.load / self.throughput - self.load_type.thinking_s

    def at(self, point: int) -> str:
        """A point's load in words: "depth 8", "8 clients"."""
        return self.load_type.at(float(self.load[point]))

    @property
    def worst(self) -> int:
        """The index of the point whose ratio is farthest from 1, on a logarithmic scale."""
        return int(np.argmax(np.abs(np.log(self.ratio))))


def closed_curves(sweep: Sweep, figures: Sequence[str] = tuple(ORIGIN)) -> tuple[ClosedCurve, ...]:
    """The curves of a closed sweep, repeats averaged, without points of unknown depth or limited rate.

    Points of which one of the ``figures`` was not measured are left out too: no check may rest on them.
    """
    return _closed_curves(sweep, tuple(ORIGIN) if sweep.all_measured else tuple(figures))


@lru_cache(maxsize=8)
def _closed_curves(sweep: Sweep, figures: tuple[str, ...]) -> tuple[ClosedCurve, ...]:
    """``closed_curves``, which several checks ask for."""
    unknown = {(f.series, f.load) for f in sweep.findings if f.check in ("depth-not-recorded", "rate-limited")}
    files = sweep.provenance.details.get("file_bytes")
    files = files if isinstance(files, Mapping) else {}
    points = sweep.mean_points()
    names = points["series"].to_numpy()
    columns = ("load", "throughput_per_s", "latency_s", "block_bytes", "read_fraction")
    load, throughput, latency, block, read = (points[c].to_numpy(float) for c in columns)
    known = rows_to_judge(points, figures)
    by_law = ~rows_to_judge(points, figures, lambda origin: not by_littles_law(origin))
    if "unchecked" in points:
        known &= points["unchecked"].isna().to_numpy(bool)
    if unknown:
        known &= [not {(name, n), (name, None)} & unknown for name, n in zip(names, load, strict=True)]
    curves = []
    for every in rows_of_each(points["series"]):
        if len(rows := every[known[every]]):
            name, values = str(names[rows[0]]), (load[rows], throughput[rows], latency[rows])
            held = (_single(block[rows]), _single(read[rows].round(2)))
            curves.append(ClosedCurve(name, *values, *held, sweep.load_type, files.get(name), by_law[rows]))
    return tuple(curves)


def without_outliers(curve: ClosedCurve) -> ClosedCurve:
    """The curve without the points that are off its course, which have a finding of their own."""
    if len(curve.load) < repeats.FEWEST_POINTS or curve.load[0] <= 0:
        return curve
    kept = ~repeats.outlying_points(curve.load, curve.throughput)
    by_law = None if curve.by_law is None else curve.by_law[kept]
    figures = (curve.load[kept], curve.throughput[kept], curve.latency[kept])
    return replace(curve, load=figures[0], throughput=figures[1], latency=figures[2], by_law=by_law)


def with_block(curve: ClosedCurve, block_bytes: float) -> ClosedCurve:
    """The curve with throughput counted in blocks of ``block_bytes``; the claimed block is the size of the file."""
    if curve.block_bytes is None:
        return curve
    scale = curve.block_bytes / block_bytes
    return replace(curve, throughput=curve.throughput * scale, block_bytes=block_bytes, file_bytes=curve.block_bytes)


def ratio_range(values: Floats) -> str:
    """The least and the greatest ratio in words; one where they are equal."""
    low, high = ratio_text(values.min()), ratio_text(values.max())
    return low if low == high else f"{low} to {high}"


def ratio_text(value: float) -> str:
    """A ratio to three digits or so."""
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


def _single(values: Floats) -> float | None:
    """The one value of a column, or None where there is none or more than one."""
    known = values[~np.isnan(values)]
    return float(known[0]) if len(known) and (known == known[0]).all() else None


_KNOWN_SCALES = (
    (1.024, "a kB of 1000 bytes was printed for 1024, or an MB of 1000 KiB"),
    (1.048576, "an MB of 2^20 bytes was printed for 10^6"),
)


def check_curve(curve: ClosedCurve) -> Iterator[Finding]:
    """Findings on the shape of one curve over its depths."""
    if len(curve.load) > 1:
        yield from _drift(curve)
        yield from _past_the_peak(curve)


SECTOR = 512
_RAMP = 0.015
"""The least excess of the bandwidth at the deepest point, relative: beyond what rounded columns show."""


def _is_read(origin: str) -> bool:
    """Whether the tool or the table gave the figure, so that it can be held against the bandwidth."""
    return word_of(origin) not in ("computed", "assumed")


def check_bandwidth(sweep: Sweep) -> Iterator[Finding]:
    """Findings on bandwidth against throughput x block, where all three are given; a ramp shows without the block."""
    if sweep.points["bandwidth_bytes_per_s"].isna().all():
        return
    points = judged(sweep.points, ["throughput_per_s"], _is_read)
    if isinstance(sweep.load_type, Depth) and (ramped := list(_after_a_ramp(sweep))):
        yield from ramped
        return
    points = points[(points["bandwidth_bytes_per_s"] + points["block_bytes"]).notna()]
    if points.empty:
        return
    times = points["bandwidth_bytes_per_s"] / (points["throughput_per_s"] * points["block_bytes"])
    middle = float(times.median())
    if abs(middle - 1) <= 0.015:
        return
    known = next((text for scale, text in _KNOWN_SCALES if abs(max(middle, 1 / middle) / scale - 1) < 0.002), "")
    if not known and abs(middle - 1) < 0.05:
        known = "bandwidth and throughput were counted over different times, as in a short run"
    per_request = float((points["bandwidth_bytes_per_s"] / points["throughput_per_s"]).iloc[0])
    yield Finding(
        "bandwidth-block",
        "info" if known else "warning",
        f"bandwidth / throughput is {middle:.3f} times the block size (the first row: {format_bytes(per_request)} a "
        f"request where the block is {format_bytes(float(points['block_bytes'].iloc[0]))}).",
        f"{known}." if known else "the block is another one, or reads and writes were counted apart.",
        "" if known else "compare the bs= of the command with the table.",
    )


def _after_a_ramp(sweep: Sweep) -> Iterator[Finding]:
    """Findings on curves whose bandwidth exceeds throughput x block by more the deeper the queue: requests are missing.

    A block that is not given is that of the lightest load, in whole sectors.
    """
    for series, group in each_series(judged(sweep.mean_points(), ["throughput_per_s"], _is_read)):
        load, moved, rate, block = (
            group[c].to_numpy(float) for c in ("load", "bandwidth_bytes_per_s", "throughput_per_s", "block_bytes")
        )
        block = np.where(np.isnan(block), SECTOR * np.round(moved[0] / rate[0] / SECTOR), block)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = moved / (rate * block) - 1
        if not (more[-1] > _RAMP and abs(more[0]) < _RAMP and np.all(np.diff(more) > -_RAMP / 2)):  # also where unknown
            continue
        of, deepest = sweep.load_type, float(load[-1])
        yield Finding(
            "bandwidth-block",
            "warning",
            f"bandwidth / throughput is {1 + more[0]:.3f} times the block at {of.at(load[0])} and {1 + more[-1]:.3f} "
            f"times at {of.at(deepest)}: the bandwidth is that of {format_rate(moved[-1] / block[-1])}, where "
            f"{format_rate(rate[-1])} stands.",
            "a ramp (ramp_time): fio leaves the requests in flight at its end out of its count, more of them the "
            "deeper the queue, and holds their bytes.",
            "take bandwidth / block for the throughput, or measure without ramp_time or for longer; qsim reads fio's "
            "JSON so.",
            series,
            deepest,
        )


def check_open(sweep: Sweep) -> Iterator[Finding]:
    """Findings on open arrivals: the measured rate against the requested one. N = X R cannot be checked."""
    points = sweep.mean_points()
    for series, group in each_series(judged(points, ["load", "throughput_per_s"])):
        asked = group["asked_rate_per_s" if "asked_rate_per_s" in group else "load"].to_numpy(float)
        reached = group["throughput_per_s"].to_numpy(float)
        if "asked_rate_per_s" not in group and (asked == reached).all():
            says = "the loads are the rates that came: whether more was asked for cannot be checked."
            yield Finding("arrival-rate", "info", says, series=series)
            continue
        share = reached / np.where(asked > 0, asked, np.nan)
        requests = (group["requests"] * group["repeats"]).to_numpy(float) if "requests" in group else np.nan
        by_chance = 3 / np.sqrt(requests)  # three standard errors of a Poisson count
        if not np.any(np.abs(share - 1) > np.fmax(0.02, by_chance)):
            says = "every rate that was asked for came, within 2 % or the error of counting."
            yield Finding("arrival-rate", "info", says, series=series)
            continue
        worst = int(np.nanargmax(np.abs(share - 1)))
        why = "the tool rounds the gaps between arrivals to whole microseconds."
        remedy = "calibrate on the measured rate, never on the one asked for."
        if share[worst] < 1:
            why = "the device is saturated, or the jobs are too few to send that fast."
            remedy = "a rate that did not come is a capacity, and its response lasts as long as the run: ask for less."
        says = f"{format_rate(asked[worst])} was asked for and {format_rate(reached[worst])} came "
        says += f"({100 * (share[worst] - 1):+.1f} %)."
        yield Finding("arrival-rate", "warning", says, why, remedy, series, float(asked[worst]))


def _drift(curve: ClosedCurve) -> Iterator[Finding]:
    """A finding where throughput falls from one depth to the next and stays down: the drive changed."""
    x = curve.throughput
    falls = (i for i in range(len(x) - 1) if x[i + 1] < (0.5 if i else 0.85) * x[i] and x[i + 1 :].max() < 0.95 * x[i])
    if (i := next(falls, None)) is None:
        return
    first, second = x[i : i + 2]
    drive = (
        "the drive left its write cache, or throttled, during the sweep: drift, not queueing; or a cache answered the "
        "shallower depths."
    )
    server = "requests hold each other up (a lock, a core), or the server had other work during the sweep."
    yield Finding(
        "drift",
        "warning",
        f"the throughput falls from {format_rate(first)} at {curve.at(i)} to "
        f"{format_rate(second)} at {curve.at(i + 1)} ({100 * (second / first - 1):.0f} %) and "
        "does not come back.",
        server if isinstance(curve.load_type, CountedLoad) else drive,
        "run this load until its throughput is steady, then measure the points again in another order.",
        curve.series,
        float(curve.load[i + 1]),
    )


def check_latency(curve: ClosedCurve) -> Iterator[Finding]:
    """A finding where the latency falls as the load grows; queueing makes it longer."""
    steps = curve.latency[1:] / curve.latency[:-1]
    if not len(steps) or (least := steps.min()) > FALLING:
        return
    i = int(steps.argmin())
    yield Finding(
        "latency-falls",
        "warning" if i else "info",
        f"the latency falls from {format_duration(curve.latency[i])} at {curve.at(i)} to "
        f"{format_duration(curve.latency[i + 1])} at {curve.at(i + 1)} ({100 * (least - 1):.0f} %).",
        "more requests were answered by a cache, or the run at the shallower load was disturbed."
        if i
        else "idle states of the host or of the device slow a lone request; or a cache answered the others.",
        "measure both loads again, in the other order.",
        curve.series,
        float(curve.load[i + 1]),
    )


FALLING = 0.8
"""The latency over that at the next shallower load below which it is said to fall."""


def _past_the_peak(curve: ClosedCurve) -> Iterator[Finding]:
    peak = first_highest(curve.throughput)
    last = curve.throughput[-1]
    if peak == 0 or last >= 0.97 * curve.throughput[peak]:
        return
    yield Finding(
        "past-the-peak",
        "info",
        f"the throughput peaks at {format_rate(curve.throughput[peak])} at {curve.at(peak)} and falls to "
        f"{format_rate(last)} at {curve.load[-1]:g} ({100 * (last / curve.throughput[peak] - 1):.0f} %).",
        "overhead of the host or of the device beyond the knee, a regime of its own.",
        "give the model a measured point beyond the peak, or leave the points beyond it out.",
        curve.series,
        float(curve.load[peak]),
    )


RISING = 0.7
"""d ln X / d ln N from which throughput still follows the depth: it is 1 far below the knee and 0 far beyond it."""
FEWEST_POINTS = 3
BUSY = 1.3
"""For arrivals or users who think: the factor by which response times rise from which a queue is visible."""


def rise(response: np.ndarray) -> float:
    """By which factor response times (m,), in order of the load, rise at most: slower first answers are no queue.

    >>> rise(np.array([15.0, 10.0, 10.2, 10.4])).__round__(2)
    1.04
    """
    return float((response / np.minimum.accumulate(response)).max())


def check_saturation(sweep: Sweep) -> Iterator[Finding]:
    """Findings on curves whose heaviest load does not saturate the device, so that no point shows its peak.

    Where users think or requests arrive at a rate, throughput follows the load, and the wait shows where the peak is.
    """
    if not isinstance(sweep.load_type, ClosedLoad | ArrivalRate):
        return
    figures = ["throughput_per_s", "latency_s" if isinstance(sweep.load_type, ArrivalRate) else "load"]
    for series, group in each_series(judged(sweep.mean_points(), figures)):
        if len(group) < FEWEST_POINTS:
            continue
        load, x, r = (group[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s"))
        if isinstance(sweep.load_type, ArrivalRate):
            yield from _never_busy(series, x, r, by_fio="asked_rate_per_s" in group)
            continue
        if sweep.load_type.thinking_s and rise(r) >= BUSY:  # users wait, while their number sets X
            continue
        if (slope := math.log(x[-1] / x[-2]) / math.log(load[-1] / load[-2])) > RISING:
            deeper, of = ",".join(f"{round(load[-1]) * k}" for k in (2, 4, 8)), sweep.load_type
            yield Finding(
                "no-saturated-point",
                "warning",
                f"the throughput still rises from {format_rate(x[-2])} at {of.at(load[-2])} to {format_rate(x[-1])} at "
                f"{of.at(load[-1])}, as the {of.heading} to the power of {slope:.2f}.",
                "the sweep ends below the knee, so that the peak and the knee of any model are extrapolations.",
                f"{'' if isinstance(of, CountedLoad) else 'measure deeper: '}{of.measure(deeper)}.",
                series,
                float(load[-1]),
            )


def _never_busy(series: str, rates: np.ndarray, response: np.ndarray, *, by_fio: bool) -> Iterator[Finding]:
    if rise(response) >= BUSY:
        return
    top = first_highest(rates)
    higher = [rates[top] * k for k in (2, 4)]
    remedy = f"measure higher rates with the tool that sent these, as {' and '.join(map(format_rate, higher))}."
    if by_fio:
        remedy = "measure higher rates: qsim measure fio TARGET --arrival-rates "
        remedy += f"{','.join(f'{round(x):d}' for x in higher)} --out DIR (a known device: qsim measure device "
        remedy += "--utilizations .5,.7,.9)."
    yield Finding(
        "no-saturated-point",
        "warning",
        f"the response time is {format_duration(response.min())} to {format_duration(response.max())} at all rates up "
        f"to {format_rate(rates[top])}.",
        "requests hardly wait, so that no point tells how many servers there are or what their peak is.",
        remedy,
        series,
        float(rates[top]),
    )


def check_submission(sweep: Sweep) -> Iterator[Finding]:
    """Findings on curves with several ways of submission, between which depths and latencies do not compare."""
    if "engine" not in sweep.points:
        return
    known = sweep.points.dropna(subset=["engine"])
    known = known.assign(way=known["engine"].astype(str), mix=known["read_fraction"].round(2))
    for series, group in each_series(known):
        if group["way"].nunique() > 1:
            yield _mixed(group, "this curve holds requests that were", "load each way apart, and fit it apart", series)
    for _, group in known.groupby(["block_bytes", "mix", "pattern"], dropna=False):
        apart = not (group.groupby("series")["way"].nunique() > 1).any()
        if apart and group["way"].nunique() > 1:
            yield _mixed(group, "the same requests were", "compare depths of one curve only", None)


def _mixed(group: pd.DataFrame, what: str, advice: str, series: str | None) -> Finding:
    loads = {str(way): sorted(set(rows["load"])) for way, rows in group.groupby("way", sort=False)}
    ways = [f"{way} (loads {', '.join(map('{:g}'.format, each))})" for way, each in loads.items()]
    return Finding(
        "mixed-submission",
        "error" if series else "warning",
        f"{what} handed to the device in {len(ways)} ways: {' and '.join(ways)}.",
        "a synchronous engine has one request outstanding for each job, an asynchronous one its depth: their "
        "latencies hold different things.",
        f"{advice}, or measure all depths in one way: qsim measure fio TARGET --depths 1,8,64 --out DIR.",
        series,
    )
