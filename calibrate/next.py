"""Recommends which loads to measure first, and which to measure next, for every command.

The first loads are the same for every command, and also the loads to calibrate on where others are held out: queue
depths 1 and 32, or of three 1, 8 and 64, or the nearest that were measured; of other loads the two ends, and the
middle. For a memory a fourth point follows, near the bend, where the fit to three predicts 85 % of the peak.

The next load is the one that narrows the curve or the knee most, and never a measured one. The fit predicts
measurements at all loads, with a covariance V of their logarithms (parameters and misfit together). Measuring at a is
expected to reduce the variance at each load b by V(b, a)^2 / V(a, a), and that of the logarithm of the knee by
cov(knee, a)^2 / V(a, a), as in a linear regression on one new observation. That is Bayesian experimental design
in its linear-Gaussian form (Lindley 1956; Chaloner and Verdinelli, Statistical Science 1995).

An adaptive sweep is the loop around :func:`next_load`: depths 1 and 32 first, then the depth that narrows the knee
most (``examples/accuracy/adaptive_accuracy.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from calibrate.fitting.calibrating import fit, fit_points
from calibrate.fitting.fit import Fit
from calibrate.fitting.own_load import measurements
from calibrate.fitting.predicted_curve import Knee
from calibrate.inference.parameters import Array
from calibrate.inference.weights import Predictive
from calibrate.models.choice import model_for
from calibrate.models.curves import DECLINE_FROM
from calibrate.points import Points
from measure.loads import ArrivalRate, Bandwidth, ClosedLoad, Depth, InjectedDelay, Load, MemoryLoad, ThroughputLoad
from measure.repeats import first_highest, first_lowest
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_percent, format_rate

Goal = Literal["curve", "knee"]

PAIR: tuple[float, ...] = (1.0, 32.0)
TRIPLE: tuple[float, ...] = Depth.default_points

ENOUGH = 6
"""From this number of loads on three are for calibration and the rest for comparison; with fewer, two."""

MIDDLE = 0.65
"""The share of the highest bandwidth to measure between the ends, where the steady climb shows best."""

SHALLOWEST_DEEP = 64
SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
"""Candidate rates and bandwidths, as shares of the least peak that the points allow."""

MOST_PERCENT = 0.5
"""Wider bands are written as a factor."""

NEAR = math.log(2)
"""The largest log distance of the third depth from N*."""

NARROWER, LEAST_GAIN = 0.8, 0.01
"""An interval is worth a measurement where it becomes at least that much narrower, as a ratio of the logarithms of its
ends, and a band where its half width falls by a percentage point at least."""


@dataclass(frozen=True)
class NextLoad:
    """The load to measure next; typical half width of the bands (relative) and the knee's interval, before and after.

    The bands are those at all loads from the first to the second of ``over``.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> from calibrate import next_load
    >>> next_load(fit(sweep)).load
    1.0
    """

    load: float
    load_type: Load
    goal: Goal
    over: tuple[float, float]
    half_width_now: float
    half_width_then: float
    knee_now: tuple[float, float] | None
    knee_then: tuple[float, float] | None

    @property
    def where(self) -> str:
        """``depth 8``, ``8 clients``, ``delay 100``, ``8.00 k/s``, ``80.0 GB/s``."""
        if isinstance(self.load_type, ArrivalRate):
            return f"a rate of {format_rate(self.load)}"
        if isinstance(self.load_type, Bandwidth):
            return f"near {format_bandwidth(self.load)}"
        return self.load_type.at(self.load)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        values = asdict(self)
        del values["load_type"]
        return {"load": self.load, **self.load_type.to_dict(), **values}

    @property
    def narrows_bands(self) -> bool:
        """Whether the bands become narrower by more than next to nothing."""
        now, then = self.half_width_now, self.half_width_then
        return now - then >= LEAST_GAIN and math.log1p(then) <= NARROWER * math.log1p(now)

    @property
    def narrows_knee(self) -> bool:
        """Whether the interval of the knee does so; never of a memory, whose knee is known by its bandwidth."""
        if isinstance(self.load_type, InjectedDelay) or self.knee_now is None or self.knee_then is None:
            return False
        now, then = (math.log(high / low) for low, high in (self.knee_now, self.knee_then))
        return now - then >= 2 * LEAST_GAIN and then <= NARROWER * now

    def gain(self, printed: Knee | None = None) -> str:
        """The widths of bands and knee that become narrower in a fit to all points with the new one; may be empty.

        The knee is left out where another one is ``printed``, as of a fit to some points, unless it alone is narrower.
        """
        now, then = (
            f"±{format_percent(100 * width)}" if width <= MOST_PERCENT else f"a factor of {1 + width:.2g} either way"
            for width in (self.half_width_now, self.half_width_then)
        )
        over = self.load_type.place(" to ".join(map(self.load_type.text, self.over)))
        gains = [f"bands of about {then}, not {now}, at {over}"] if self.narrows_bands else []
        same = printed is None or (printed.low, printed.high) == self.knee_now
        if self.narrows_knee and (same or not gains):
            show = self.load_type.figure
            ends = [pair for pair in (self.knee_now, self.knee_then) if pair is not None]
            ranges = [[f"{show(low, digits, high)} to {show(high, digits)}" for low, high in ends] for digits in (2, 3)]
            before, after = next((pair for pair in ranges if pair[0] != pair[1]), ranges[-1])
            what = "the start of queueing" if isinstance(self.load_type, ClosedLoad) else "the knee"
            gains.append(f"{what} in {after}, not {before}")
        return f"a fit to all points then has {', and '.join(gains)}" if gains else ""

    def __str__(self) -> str:
        return ": ".join(filter(None, [f"measure {self.where} next", self.gain()]))


def advice(points: Points, between_runs: float = 0.0) -> NextLoad | None:
    """The load to measure next, by all of ``points``: never one of them. None where nothing would tell enough.

    ``between_runs`` is that of the fit whose knee is printed: what moves between runs, which its interval holds.

    """
    if len(points) < points.load_type.least_points:
        return None
    made = fit_points(points, model_for(points, None))
    return next_load(replace(made, between_runs=max(made.between_runs, between_runs)), measured=points.load.tolist())


def next_load(
    fit: Fit, loads: Sequence[float] | None = None, *, measured: Sequence[float] = (), goal: Goal | None = None
) -> NextLoad | None:
    """The load to measure next, of ``loads`` (None: depths 1, 2, 4...; sensible delays; shares of the peak).

    ``measured`` are further loads that were measured. ``goal`` None means the knee where its interval spans more than
    a factor of two, else the curve. Returns None where no load would help, or without ``loads`` none enough to say so.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> next_load(fit(sweep, [4, 32])).load
    64.0
    """
    known = np.array([*fit.used, *measured])
    if not fit.used:
        return None
    candidates = unmeasured(_candidates(fit) if loads is None else np.array(sorted(set(loads))), known)
    if isinstance(fit.load_type, ClosedLoad):
        candidates = candidates[candidates < DECLINE_FROM]
    if not len(candidates):
        return None
    chosen = goal or ("curve" if fit.knee.identified or fit.knee.load is None else "knee")
    over = np.unique(np.concatenate([candidates, _candidates(fit)]))
    found = _Design(fit, over)
    shares = found.of_curve if chosen == "curve" else found.of_knee
    best = float(candidates[first_highest(shares[np.searchsorted(over, candidates)])])
    if goal is None and (third := third_depth(fit, candidates)) is not None:
        best = third
    elif goal is None and len(fit.used) == 3 and (fourth := fourth_point(fit, candidates.tolist())) is not None:
        best = fourth
    wanted = found.described(int(np.searchsorted(over, best)), chosen)
    return wanted if loads is not None or wanted.gain() else None


def third_depth(fit: Fit, candidates: Array) -> float | None:
    """The third depth after depth 1 and a deeper one: of the ``candidates`` between, the nearest to N* = R1 X.

    None for any other fit, where no candidate is near, and where the deeper one hardly saturates the device.
    """
    points = fit.points
    if points is None or not isinstance(fit.load_type, ClosedLoad) or len(fit.used) != 2 or min(fit.used) > 1:
        return None
    crossing = float(points.response_time_s[0] * points.throughput_per_s[-1])
    inner = candidates[(candidates > min(fit.used)) & (candidates < max(fit.used))]
    if not len(inner) or crossing > max(fit.used) / 2:
        return None
    apart = np.abs(np.log(inner / crossing))
    return float(inner[first_lowest(apart)]) if apart.min() <= NEAR else None


class _Design:
    """The reduction of the variances by a measurement at each of m loads, as shares (m,)."""

    def __init__(self, fit: Fit, loads: Array) -> None:
        self.fit, self.loads = fit, loads
        expected = measurements(fit, loads, "response" if isinstance(fit.load_type, ThroughputLoad) else "throughput")
        covariance = expected.covariance
        self.variance, self.noise = np.maximum(covariance.diagonal(), 1e-12), expected.noise
        self.taken = (covariance**2 / self.variance[:, None]).sum(axis=1)
        self.of_curve = self.taken / self.variance.sum()
        self.of_knee = self._of_knee(expected)

    def _of_knee(self, expected: Predictive) -> Array:
        table, model = self.fit.table, self.fit.curve_model
        delay = isinstance(self.fit.load_type, InjectedDelay)  # whose knee is known by its throughput

        def knee(rows: Array) -> Array:
            return model.knee(rows).throughput if delay else model.knee_load(rows)

        values = knee(table.values)
        reached = np.isfinite(values) & (values > 0)
        if table.weight[reached].sum() < 0.5:
            return np.zeros(len(self.loads))
        logs = np.log(
            np.where(reached, values, np.exp(np.average(np.log(values[reached]), weights=table.weight[reached])))
        )
        slopes = np.zeros((len(logs), expected.slopes.shape[2]))
        for axis in range(table.directions.shape[2]):  # a change of model in `expected` moves no knee
            step = np.exp(table.directions[:, :, axis])
            ends = [knee(v) for v in (table.values * step, table.values / step)]
            with np.errstate(all="ignore"):
                slopes[:, axis] = np.nan_to_num(0.5 * np.log(ends[0] / ends[1]), posinf=0.0, neginf=0.0)
        apart = logs - table.weight @ logs
        shared = (table.weight * apart) @ (expected.mean - table.weight @ expected.mean)
        shared = shared + np.einsum("n,nr,nmr->m", table.weight, slopes, expected.slopes)
        whole = float(table.weight @ (apart**2 + (slopes**2).sum(axis=1)))
        return np.asarray(np.clip(shared**2 / self.variance / max(whole, 1e-12), 0.0, 0.99))

    def described(self, best: int, goal: Goal) -> NextLoad:
        """The advice to measure at the load of that index."""
        wide = NormalDist().inv_cdf(0.5 + self.fit.level / 2)
        variance, left = self.variance.mean(), max(0.0, 1 - self.of_curve[best])
        now, then = (float(np.sqrt(share * variance + self.noise**2)) for share in (1.0, left))
        knee, power = self.fit.knee, float(np.sqrt(1 - self.of_knee[best]))
        ends = narrower = None
        if knee.load is not None and knee.low is not None and knee.high is not None:
            ends = (knee.low, knee.high)
            narrower = (knee.load * (ends[0] / knee.load) ** power, knee.load * (ends[1] / knee.load) ** power)
        return NextLoad(
            float(self.loads[best]),
            self.fit.load_type,
            goal,
            (float(self.loads[0]), float(self.loads[-1])),
            float(np.expm1(wide * now)),
            float(np.expm1(wide * then)),
            ends,
            narrower,
        )


def _candidates(fit: Fit) -> Array:
    """Candidate loads: doublings of the jobs' least depth, delays 1, 2, 5 times powers of ten, shares of the peak."""
    if isinstance(fit.load_type, ClosedLoad):
        deepest = min(max(SHALLOWEST_DEEP, 2 * max(fit.used)), DECLINE_FROM / 2)
        depths = np.array([fit.load_type.step * 2.0**i for i in range(64)])
        return depths[depths <= deepest]
    if isinstance(fit.load_type, InjectedDelay):
        most = max(float(max(fit.used)), 10.0)
        steps = np.outer(10.0 ** np.arange(1, np.ceil(np.log10(most)) + 1), [1, 2, 5]).ravel()
        return np.unique(np.concatenate([[0.0], steps[steps <= most]]))
    name = "B" if isinstance(fit.load_type, Bandwidth) else "Xmax"
    peak = float(fit.table.quantiles(lambda values: fit.curve_model.report(values)[name][1], (0.05,))[0])
    return np.unique([float(f"{share * peak:.2g}") for share in SHARES])


def recommended(depths: Sequence[float], count: int) -> list[float]:
    """The measured ``depths`` nearest (by ratio) to the recommended two or three, ascending: shallow ones, if any.

    Where one depth is the nearest to all, the least and the deepest.

    >>> recommended([1.0, 2, 4, 8, 16, 32, 64, 128], 3), recommended([16.0, 64, 256], 2)
    ([1.0, 8.0, 64.0], [16.0, 256.0])
    """
    shallow = [n for n in depths if n < DECLINE_FROM]
    kept = np.array(sorted(shallow if len(shallow) > 1 else depths), dtype=float)
    wanted = PAIR if count < len(TRIPLE) else TRIPLE
    found = {float(kept[np.argmin(np.abs(np.log(kept / n)))]) for n in wanted}
    return sorted(found if len(found) > 1 or len(shallow) < 2 else {float(min(shallow)), float(max(shallow))})


def to_calibrate_on(points: Points) -> list[float]:
    """The loads of ``points`` to calibrate on where the others are held out: two of few depths, three of many."""
    load = points.load
    if not isinstance(points.load_type, InjectedDelay) or len(load) < 3:
        return to_begin_with(points.load_type, load.tolist())
    rates = np.log(points.throughput_per_s)
    middle = load[1:-1][np.argmin(np.abs(rates[1:-1] - 0.5 * (rates[0] + rates[-1])))]
    return sorted({float(load[0]), float(middle), float(load[-1])})


def to_begin_with(kind: Load, loads: Sequence[float]) -> list[float]:
    """The ``loads`` to measure first, ascending: a plan has no throughputs yet.

    >>> to_begin_with(Depth(), [1, 2, 4, 8, 16, 32, 64]), to_begin_with(Depth(), [1, 8, 32, 64])
    ([1.0, 8.0, 64.0], [1.0, 32.0])
    """
    if isinstance(kind, ClosedLoad):
        return recommended(loads, 2 if len(loads) < ENOUGH else 3)
    middle = MIDDLE * max(loads) if isinstance(kind, Bandwidth) else 0.5 * (min(loads) + max(loads))
    wanted = kind.default_points or (min(loads), middle, max(loads))
    found = sorted({float(min(loads, key=lambda n, at=at: (abs(n - at), n))) for at in wanted})  # type: ignore[misc]
    if len(found) < len(wanted) <= len(loads):  # two of them are nearest to one: the ends and the middle
        ordered = sorted(float(n) for n in loads)
        return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
    return found


FOURTH = 0.85
"""The share of the peak at the fourth point."""

WITHIN = (0.6, 0.97)
"""Predicted shares of the peak between which a load is informative about the bend."""

NEW = 0.05
"""The least relative distance of a new load from measured ones; a memory's delay also by ``NEW_DELAY`` units."""

NEW_DELAY = 5.0


def loads_to_calibrate_on(points: Points) -> list[float]:
    """``to_calibrate_on``, with the fourth point for a memory with at least ``ENOUGH`` loads."""
    three = to_calibrate_on(points)
    if not isinstance(points.load_type, MemoryLoad) or len(points) < ENOUGH or len(three) < 3:
        return three
    chosen = points.choose(three)
    fourth = fourth_point(fit_points(chosen, model_for(chosen, None)), points.load.tolist())
    return three if fourth is None else sorted([*three, fourth])


def fourth_point(fit: Fit, loads: Sequence[float]) -> float | None:
    """The delay or bandwidth of ``loads`` to add to the three or more of ``fit``; never one of these.

    None where the fit is of another kind of load, or no load is near the share ``FOURTH``.
    """
    if not isinstance(fit.load_type, MemoryLoad) or not fit.used:
        return None
    candidates = np.array(sorted(set(loads)), dtype=float)
    fresh = unmeasured(candidates, np.array(fit.used), NEW_DELAY if isinstance(fit.load_type, InjectedDelay) else 0.0)
    if isinstance(fit.load_type, Bandwidth):  # the peak lies just below the wall of the latency curve
        shares = fresh / max(*fit.used, (fit.known_peak_per_s or 0.0) * CACHE_LINE_BYTES)
    else:
        row = fit.table.most_probable[None, :]
        throughput = fit.curve_model.curve(row, np.append(fresh, min(fit.used)))[0][0]
        shares = throughput[:-1] / throughput[-1]
    useful = (WITHIN[0] <= shares) & (shares <= WITHIN[1])
    return float(fresh[useful][first_lowest(np.abs(shares[useful] - FOURTH))]) if useful.any() else None


def unmeasured(loads: Array, measured: Array, least: float = 0.0) -> Array:
    """The ``loads`` (m,) that are not near any of ``measured`` (k,): further than ``NEW``, and than ``least``.

    >>> unmeasured(np.array([1.0, 8.0, 64.0]), np.array([8.2])).tolist()
    [1.0, 64.0]
    """
    apart = np.abs(loads[:, None] - measured[None, :])
    far = apart > np.maximum(NEW * np.maximum(loads[:, None], measured[None, :]), least)
    return np.asarray(loads[far.all(axis=1)])


DEPTHS: tuple[int, ...] = tuple(int(n) for n in np.unique(np.round(2 ** (np.arange(33) / 4))))
"""Candidate depths: every whole number at first, then four per octave, up to 256."""

LEAST = 4
"""The least number of points: the two ends, one at the knee, and one to check the model."""

REACH = 4.0
"""The next point is at most this multiple of the deepest one: past the peak throughput can fall."""


def next_depth(
    sweep: Sweep | None, most: int, *, depths: Sequence[float] = DEPTHS, tolerance: float = 0.2
) -> float | None:
    """The depth to measure next for the knee of a closed device; ``sweep`` holds one series, or None at the start.

    None where ``most`` depths were measured, the 90 % interval of the knee lies within ``tolerance`` (relative) to
    either side, or no other depth would help. It depends on the points alone, so a search resumes from them.

    >>> import pandas as pd
    >>> from calibrate import from_datasheet
    >>> drive, found = from_datasheet(idle_latency=80e-6, peak_iops=600e3), []
    >>> while (depth := next_depth(sweep if found else None, 4)) is not None:
    ...     found.append(depth)
    ...     rates = drive.predict(found).throughput_per_s
    ...     columns = {"load": found, "throughput_per_s": rates, "latency_s": found / rates}
    ...     sweep = Sweep(pd.DataFrame(columns).assign(series="4 KiB read"))
    >>> found[:2], len(found)
    ([1.0, 32.0], 4)
    """
    measured = set() if sweep is None else {float(n) for n in sweep.points["load"]}
    if missing := [n for n in PAIR if n not in measured]:
        return missing[0]
    if sweep is None or len(measured) >= most:
        return None
    made = fit(sweep, sorted(measured))
    if len(measured) >= LEAST and half_width(made.knee) <= tolerance:
        return None
    within_reach = [n for n in depths if n <= REACH * max(measured)]
    # The third depth has a rule of its own; later ones narrow the knee.
    choice = next_load(made, within_reach, goal=None if len(measured) == len(PAIR) else "knee")
    return None if choice is None else choice.load


def half_width(knee: Knee) -> float:
    """Relative half width of the knee's interval: 0.1 for 10 % to either side; infinite where it is unbounded."""
    return float(np.sqrt(knee.high / knee.low) - 1) if knee.low is not None and knee.high is not None else np.inf
