"""Adaptive sweeps: measure where the knee is least certain, and stop when it is certain enough.

>>> from calibrate.next.adaptive import LOADS
>>> LOADS[:8], LOADS[-1], len(LOADS)
((1, 2, 3, 4, 5, 6, 7, 8), 256, 28)

A full sweep over those 28 depths gives the knee to a few percent; an adaptive one of at most nine points comes within
10 % of it on most devices. It takes the load that narrows the knee most (:mod:`calibrate.next.load`). That trusts the
model, so every third choice goes to the middle of the widest gap between measured loads. Where a knee near the deepest
point is still possible, the peak has not been seen, and the next point lies deeper. Where the model misses more than
models do, the point that it misses most is measured again, once, which separates noise from misfit; from then on a
repeat is chosen where it narrows the knee more than any new load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from calibrate.fitting.curve_fit import fit
from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import Array, Mask
from calibrate.knees.knee import Knee, share_text
from calibrate.next.load import PAIR, knee_shares
from calibrate.points import Points, points_of
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import format_rate
from qsim.errors import InvalidParameterError
from qsim.text_table import table

Measure = Callable[[float, int], Sweep | None]
"""Measures a load for the time that the second argument counts from 0, and returns every point measured so far.

The sweep holds one series. A load that could not be measured is not in it; None where no load could be yet."""

Why = Literal["start", "deeper", "knee", "check", "repeat", "there"]
Stopped = Literal["narrow enough", "budget", "nothing left"]

LOADS: tuple[int, ...] = tuple(int(n) for n in np.unique(np.round(2 ** (np.arange(33) / 4))))
"""The depths to choose among: every whole number at first, then four to an octave, up to 256."""
LEAST_BUDGET = 3
LEAST_TO_STOP = 4
"""The two ends, one where the knee is, one to check the model. Then a lone request, which the knee is proportional to,
is measured again: with few points the model's error is mostly assumed, and a repeat shows noise beyond it."""
REACH = 4.0
"""How many times deeper than before the next point may lie: past the peak throughput can fall."""
SATURATED = 2.0
"""The deepest point must lie this many times above whatever knee is still possible."""
CHECK_EVERY = 3
SURPRISING = 2.0
"""How many times the error that is expected of a model counts as a surprise."""


@dataclass(frozen=True)
class AdaptiveStep:
    """A load that was chosen, and why; once it was tried, what was known of the knee after it.

    ``why`` is ``there`` for a point that was measured before and would not have been chosen. ``measured`` is False
    where the load could not be measured.
    """

    load: float
    why: Why
    reason: str
    repeat: int = 0
    measured: bool = False
    throughput_per_s: float | None = None
    knee: float | None = None
    low: float | None = None
    high: float | None = None

    def row(self) -> tuple[str, str, str, str]:
        """Cells of a table."""
        rate = "failed" if self.throughput_per_s is None else format_rate(self.throughput_per_s)
        known = self.knee is not None and self.low is not None
        knee = f"{self.knee:.4g} [{self.low:.4g}, {self.high:.4g}]" if known else ""
        return f"{self.load:g}", rate, knee, self.reason


@dataclass(frozen=True)
class AdaptiveResult:
    """The points, the model fitted to all of them, and the steps. It prints itself as a table of steps."""

    sweep: Sweep
    fit: Fit
    steps: tuple[AdaptiveStep, ...]
    stopped: Stopped
    budget: int
    tolerance: float
    allowed: tuple[float, ...]
    repeat_noise: float | None

    @property
    def knee(self) -> Knee:
        """The knee with its interval."""
        return self.fit.knee

    @property
    def half_width(self) -> float:
        """Half the width of the knee's interval, relative: 0.1 for ±10 %; infinite where it is open."""
        return half_width(self.fit)

    def __str__(self) -> str:
        header = ("load", "throughput", "knee so far", "why")
        lines = [table(header, [s.row() for s in self.steps], left=(False, False, True, True)), "", self.verdict]
        if self.repeat_noise is not None and self.repeat_noise > self.tolerance / 2:
            lines.append(
                f"note: a repeat differs by {100 * self.repeat_noise:.2g} %: stop other programs, or run longer"
            )
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The knee, the points it took, and why there were no more, in words."""
        knee, took = self.knee, f"{len(self.steps)} of {len(self.allowed)} points"
        if knee.load is None or knee.low is None or knee.high is None:
            return f"no knee after {took}: {knee.note}"
        asked = f"within the ±{100 * self.tolerance:.2g} % that were asked for"
        short = "too few points to be sure of it" if self.half_width <= self.tolerance else f"not {asked}"
        why = {
            "narrow enough": asked,
            "budget": f"{short}: the budget is used up",
            "nothing left": f"{short}: no other point would tell more",
        }[self.stopped]
        at, soft = f"{knee.load:.4g}  [{knee.low:.4g}, {knee.high:.4g}]", "" if knee.sharp else "no sharp knee: N* = "
        ninety = share_text(self.fit.ninety, "{:.3g}".format)
        return f"{soft or 'knee '}{at}  from {took}; {f'{ninety}; ' if ninety else ''}{why}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the points."""
        return {
            "knee": self.knee.to_dict(),
            "knee_half_width": self.half_width if np.isfinite(self.half_width) else None,
            "tolerance": self.tolerance,
            "model": self.fit.model,
            "stopped": self.stopped,
            "budget": self.budget,
            "points_used": len(self.steps),
            "points_allowed": len(self.allowed),
            "repeat_noise": self.repeat_noise,
            "steps": [asdict(s) for s in self.steps],
        }


def adaptive(
    measure: Measure,
    budget: int,
    *,
    loads: Sequence[float] = LOADS,
    tolerance: float = 0.1,
    already: Sweep | None = None,
    model: str | None = None,
) -> AdaptiveResult:
    """Find the knee of a closed device in at most ``budget`` points, each chosen after the ones before it.

    ``loads`` are those that may be measured. The sweep ends before its budget where the knee's interval (of level
    0.9) is within ``tolerance`` (relative) either way, from four points and one repeat on. ``already`` holds points
    measured before; they are used first, in their order, and count. A load that could not be measured counts and is
    not tried again. ``model`` is a name as in ``fit``.

    Raises ValueError for a setting, DataError where fewer than two loads could be measured.

    >>> import pandas as pd
    >>> from calibrate import from_datasheet
    >>> drive, depths = from_datasheet(idle_latency=80e-6, peak_iops=600e3), []
    >>> def measure(depth, repeat):
    ...     depths.append(depth)
    ...     x = drive.predict(depths).throughput_per_s
    ...     columns = {"load": depths, "throughput_per_s": x, "latency_s": depths / x}
    ...     return Sweep(pd.DataFrame(columns).assign(series="4 KiB read"))
    >>> [step.load for step in adaptive(measure, budget=4).steps]
    [1.0, 32.0, 128.0, 6.0]
    """
    search = Search(budget, loads=loads, tolerance=tolerance, model=model)
    sweep = already
    while choice := search.after(sweep):
        sweep = measure(choice.load, search.repeats(choice.load)) or sweep
    return search.result()


class Search:
    """An adaptive sweep under way: given what is measured so far, what to measure next. ``adaptive`` drives one."""

    def __init__(
        self, budget: int, *, loads: Sequence[float] = LOADS, tolerance: float = 0.1, model: str | None = None
    ) -> None:
        self.allowed = tuple(sorted({float(n) for n in loads}))
        if budget < LEAST_BUDGET:
            needed = f"at least {LEAST_BUDGET} points are needed: two ends and one to choose"
            raise InvalidParameterError("budget", f"is {budget}", needed, budget)
        if len(self.allowed) < LEAST_BUDGET or self.allowed[0] <= 0:
            reason = f"must hold at least {LEAST_BUDGET} different numbers above zero, to choose among"
            raise InvalidParameterError("loads", reason)
        if not 0 < tolerance < 1:
            reason = "it must lie between 0 and 1, like 0.1 for 10 %"
            raise InvalidParameterError("tolerance", f"is {tolerance:g}", reason, value=tolerance)
        self.budget, self.tolerance, self.model = budget, tolerance, model
        self.steps: list[AdaptiveStep] = []
        self.sweep: Sweep | None = None
        self.fit: Fit | None = None
        self._taken: set[tuple[float, int]] = set()  # loads, each with the number of its repeat
        self._pending: AdaptiveStep | None = None

    def after(self, sweep: Sweep | None) -> AdaptiveStep | None:
        """Take in ``sweep``, all that is measured so far, and choose what to measure next; None where it is over.

        Points that were not chosen here are taken in the order of their ``sequence``, as a sweep directory keeps it, or
        else of ``started_at``. A chosen load without a point could not be measured.
        """
        for key, grown in self._new(sweep):
            choice = self._pending or self._choose()
            if choice is None or choice.load != key[0]:
                choice = AdaptiveStep(key[0], "there", "measured before")
            else:
                self._pending = None
            self._note(choice, grown)
            self._taken.add(key)
        if self._pending is not None:
            self._note(self._pending, None)
        self._pending = self._choose() if len(self.steps) < self.budget else None
        return self._pending

    def repeats(self, load: float) -> int:
        """How often ``load`` was measured so far."""
        return sum(load == taken for taken, _ in self._taken)

    def is_narrow(self) -> bool:
        """Whether the knee's interval is within the tolerance, by enough points to be believed."""
        return self.fit is not None and len(self.steps) >= LEAST_TO_STOP and half_width(self.fit) <= self.tolerance

    def result(self) -> AdaptiveResult:
        """What is known now. DataError where fewer than two loads could be measured."""
        if self.sweep is None or self.fit is None:
            raise DataError("fewer than two loads could be measured, too few for a knee; see what the failed ones say")
        used_up: Stopped = "budget" if len(self.steps) >= self.budget else "nothing left"
        stopped: Stopped = "narrow enough" if self.is_narrow() else used_up
        noise = pooled_noise(points_of(self.sweep))
        return AdaptiveResult(
            self.sweep, self.fit, tuple(self.steps), stopped, self.budget, self.tolerance, self.allowed, noise
        )

    def _new(self, sweep: Sweep | None) -> Iterator[tuple[tuple[float, int], Sweep]]:
        """Each point that is not taken in yet, in the order of measurement: its load and repeat, and all up to it."""
        if sweep is None:
            return
        rows = sweep.points.assign(repeat=sweep.points.groupby("load").cumcount())
        keys = list(zip(rows["load"], rows["repeat"], strict=True))
        numbered = "sequence" in rows and rows["sequence"].notna().all()  # the clock may have been set
        for row in rows.sort_values("sequence" if numbered else "started_at", kind="stable").index:
            if keys[row] not in self._taken:
                known = [key in self._taken or key == keys[row] for key in keys]
                yield keys[row], replace(sweep, points=sweep.points[known])

    def _choose(self) -> AdaptiveStep | None:
        """What to measure next; None where the knee is known, or where nothing is left to measure."""
        failed = {s.load for s in self.steps if not s.measured}
        loads = [n for n in self.allowed if n not in failed]
        measured = [load for load, _ in self._taken]
        if not loads:
            return None
        first, deep = first_choices(loads)
        if not measured or min(measured) > first.load or max(measured) < deep.load:
            return deep if measured and min(measured) <= first.load else first
        if self.sweep is None or self.fit is None:
            return None
        points = points_of(self.sweep)
        if not self.is_narrow():
            return next_choice(self.fit, points, loads, len(self.steps))
        if pooled_noise(points) is None and min(measured) not in failed:
            return AdaptiveStep(min(measured), "repeat", "again: the interval is narrow enough, if this repeats")
        return None

    def _note(self, choice: AdaptiveStep, grown: Sweep | None) -> None:
        """A step: ``grown`` holds what is known with it, None where the choice could not be measured."""
        step = replace(choice, repeat=self.repeats(choice.load), measured=grown is not None)
        if grown is not None:
            self.sweep, loads = grown, sorted({float(n) for n in grown.points["load"]})
            rates = grown.points.loc[grown.points["load"] == choice.load, "throughput_per_s"]
            step = replace(step, throughput_per_s=float(rates.iloc[-1]))
            if len(loads) > 1:
                self.fit = fit(grown, loads, model=self.model)
        if self.fit is not None:
            knee = self.fit.knee
            step = replace(step, knee=knee.load, low=knee.low, high=knee.high)
        self.steps.append(step)


def first_choices(loads: Sequence[float]) -> tuple[AdaptiveStep, AdaptiveStep]:
    """Where to begin: a lone request (or the least load there is) and the first deep load (or the last)."""
    ordered = sorted(loads)
    deep = next((n for n in ordered if n >= PAIR[1]), ordered[-1])
    lone = "the latency of a lone request" if ordered[0] == 1 else "the least load there is"
    return AdaptiveStep(ordered[0], "start", lone), AdaptiveStep(deep, "start", "a deep queue, for the peak")


def next_choice(fitted: Fit, points: Points, loads: Sequence[float], chosen: int) -> AdaptiveStep | None:
    """The load among ``loads`` to measure next; None where nothing is left that would tell anything.

    ``points`` are what ``fitted`` was calibrated on, ``chosen`` how many choices have been made since the beginning.
    """
    deepest = points.load[-1]
    fresh = np.array([n for n in sorted(loads) if not np.any(np.isclose(points.load, n)) and n <= REACH * deepest])
    deeper = fresh[fresh > deepest]
    possible = fitted.knee.high if fitted.knee.high is not None else np.inf
    if len(deeper) and possible > deepest / SATURATED:
        reason = f"the knee may lie as high as {possible:.3g}, so that {deepest:g} need not have reached the peak"
        return AdaptiveStep(float(deeper[-1]), "deeper", reason)
    if len(fresh) and chosen % CHECK_EVERY == 0:
        return _check(points.load, fresh)
    allowed = np.isin(points.load, loads)
    return _surprise(fitted, points, allowed) or _most_telling(fitted, points, allowed, fresh)


def half_width(fitted: Fit) -> float:
    """Half the width of the knee's interval, relative: 0.1 for about 10 % either way; infinite where it is open."""
    knee = fitted.knee
    return float(np.sqrt(knee.high / knee.low) - 1) if knee.low is not None and knee.high is not None else np.inf


def pooled_noise(points: Points) -> float | None:
    """Relative standard deviation of one repeat, over all loads that were measured more than once; None without any."""
    known = np.isfinite(points.throughput_spread) & (points.repeats > 1)
    if not known.any():
        return None
    freedom = points.repeats[known] - 1
    return float(np.sqrt((freedom * points.throughput_spread[known] ** 2).sum() / freedom.sum()))


def _check(measured: Array, fresh: Array) -> AdaptiveStep:
    gap = np.abs(np.log(fresh[:, None] / measured[None, :])).min(axis=1)
    load = float(fresh[np.argmax(gap)])
    below, above = measured[measured < load], measured[measured > load]
    where = f"between {below[-1]:g} and {above[0]:g}" if len(above) else f"above {below[-1]:g}"
    return AdaptiveStep(load, "check", f"a check of the model {where}, where nothing was measured")


def _surprise(fitted: Fit, points: Points, allowed: Mask) -> AdaptiveStep | None:
    """The point that the model misses most, where it misses more than expected and nobody knows the noise."""
    expected = SURPRISING * fitted.curve_model.misfit.median
    few = fitted.table.values.shape[1]
    if len(points) <= few or pooled_noise(points) is not None or fitted.table.typical_misfit() < expected:
        return None
    curves = np.log(fitted.curve_model.curve(fitted.table.values, points.load)[0])
    missed = np.abs(np.expm1(fitted.table.weight @ curves - np.log(points.throughput_per_s)))
    worst = int(np.argmax(np.where(allowed, missed, 0.0)))
    reason = f"again, as the model misses it by {100 * missed[worst]:.2g} %: noise, or the model?"
    return AdaptiveStep(float(points.load[worst]), "repeat", reason) if allowed[worst] else None


def _most_telling(fitted: Fit, points: Points, allowed: Mask, fresh: Array) -> AdaptiveStep | None:
    """The load that narrows the knee most, a new one or, where the noise is known, a repeat."""
    noise = pooled_noise(points)
    again = points.load[allowed] if noise else np.array([])
    loads = np.concatenate([fresh, again])
    if not len(loads):
        return None
    share = knee_shares(fitted, loads)
    best, now = int(np.argmax(share)), half_width(fitted)
    then = np.expm1(np.log1p(now) * np.sqrt(max(0.0, 1 - share[best])))
    narrower = f"should narrow the knee from ±{100 * now:.2g} % to ±{100 * then:.2g} %"
    if best < len(fresh):
        return AdaptiveStep(float(loads[best]), "knee", narrower)
    reason = f"again, as repeats differ by {100 * (noise or 0):.2g} %; {narrower}"
    return AdaptiveStep(float(loads[best]), "repeat", reason)
