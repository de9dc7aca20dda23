"""Adaptive sweeps: measure where the knee is least certain, and stop when it is certain enough.

>>> from calibrate.next.adaptive_sweep import LOADS
>>> LOADS[:8], LOADS[-1], len(LOADS)
((1, 2, 3, 4, 5, 6, 7, 8), 256, 28)

A full sweep over those 28 depths gives the knee to a few percent; an adaptive one of at most nine points comes within
10 % of it on most devices. How the next load is chosen is in :mod:`calibrate.next.adaptive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from calibrate.fitting.curve_fit import Fit, fit
from calibrate.knees.knee import Knee
from calibrate.knees.peak_share import share_text
from calibrate.next.adaptive import SURPRISING, LoadChoice, Why, first_choices, half_width, next_choice, pooled_noise
from calibrate.points import points_of
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import format_rate
from qsim.errors import InvalidParameterError
from qsim.text_table import table

Measure = Callable[[float, int], Sweep | None]
"""Measure a load, for the time that the second argument counts from 0, and return every point measured so far.

The sweep holds one series. A load that could not be measured is not in it; None where no load could be yet."""

Stopped = Literal["narrow enough", "budget", "nothing left"]

LOADS: tuple[int, ...] = tuple(int(n) for n in np.unique(np.round(2 ** (np.arange(33) / 4))))
"""The depths to choose among: every whole number at first, then four to an octave, up to 256."""

LEAST_BUDGET = 3
LEAST_TO_STOP = 4
"""The two ends, one where the knee is, one to check the model. Then a lone request, which the knee is proportional to,
is measured again: with so few points the model's error is mostly assumed, and a repeat shows noise beyond it."""


@dataclass(frozen=True)
class AdaptiveStep:
    """One choice: the load, the reason, and what was known of the knee after it (None before there were two points).

    ``why`` is ``there`` for a point that was measured before and would not have been chosen. ``measured`` is False
    where the load could not be measured.
    """

    load: float
    repeat: int
    why: Why
    reason: str
    measured: bool
    throughput_per_s: float | None = None
    knee: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class AdaptiveResult:
    """The points, the model fitted to all of them, and how it came to that. It prints itself as a table of steps.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from calibrate import adaptive, from_datasheet
    >>> from measure import Sweep
    >>> drive, depths = from_datasheet(idle_latency=80e-6, peak_iops=600e3), []
    >>> def measure(depth, repeat):
    ...     depths.append(depth)
    ...     x = drive.predict(depths).throughput_per_s
    ...     latency = np.array(depths) / x
    ...     columns = {"load": depths, "throughput_per_s": x, "latency_s": latency}
    ...     return Sweep(pd.DataFrame(columns).assign(series="4 KiB read"))
    >>> adaptive(measure, budget=4).stopped
    'narrow enough'
    """

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

    @property
    def measured_crossing(self) -> float | None:
        """R1 Xmax from the points alone: the latency of a lone request times the best throughput. None without one."""
        means = self.sweep.mean_points()
        lone = means[means["load"] == 1]
        return None if lone.empty else float(lone["latency_s"].iloc[0] * means["throughput_per_s"].max())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What stands in the way of a sure knee, in words."""
        found = []
        error, crossing = self.fit.table.typical_misfit(), self.measured_crossing
        if error > SURPRISING * self.fit.curve_model.misfit.median:
            found.append(
                f"the {self.fit.model} model misses these points by about {100 * error:.2g} %, more than it should"
                + ("" if crossing is None else f"; depth 1 and the best throughput alone give R1 Xmax = {crossing:.3g}")
            )
        if self.repeat_noise is not None and self.repeat_noise > self.tolerance / 2:
            found.append(
                f"a repeat differs by {100 * self.repeat_noise:.2g} %: nothing else should run, or each point longer"
            )
        return tuple(found)

    def __str__(self) -> str:
        rows = [(f"{s.load:g}", _rate(s), _interval(s), s.reason) for s in self.steps]
        text = table(_HEADER, rows, left=(False, False, True, True))
        return "\n".join([text, "", self.verdict, *(f"note: {r}" for r in self.remarks)])

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
            "model_error": self.fit.table.typical_misfit(),
            "measured_crossing": self.measured_crossing,
            "remarks": list(self.remarks),
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
    on_choice: Callable[[LoadChoice], None] | None = None,
    on_step: Callable[[AdaptiveStep], None] | None = None,
) -> AdaptiveResult:
    """Find the knee of a closed device in at most ``budget`` points, each chosen after the ones before it.

    ``loads`` are those that may be measured. The sweep ends before its budget where the knee's interval (of level
    0.9) is within ``tolerance`` (relative) either way, from four points and one repeat on. ``already`` holds what is
    there; it is used first, in the order in which it was measured, and counts. A load that could not be measured
    counts and is not tried again. ``on_choice`` is called before each measurement, ``on_step`` after each step.

    The ``model`` is a name as in ``fit``, and None the one that ``fit`` takes.

    Raises ValueError for a setting, DataError where fewer than two loads could be measured.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from calibrate import from_datasheet
    >>> from measure import Sweep
    >>> drive, depths = from_datasheet(idle_latency=80e-6, peak_iops=600e3), []
    >>> def measure(depth, repeat):
    ...     depths.append(depth)
    ...     x = drive.predict(depths).throughput_per_s
    ...     latency = np.array(depths) / x
    ...     columns = {"load": depths, "throughput_per_s": x, "latency_s": latency}
    ...     return Sweep(pd.DataFrame(columns).assign(series="4 KiB read"))
    >>> [step.load for step in adaptive(measure, budget=4).steps]
    [1.0, 32.0, 128.0, 6.0]
    """
    search = Search(budget, loads=loads, tolerance=tolerance, model=model, on_choice=on_choice, on_step=on_step)
    sweep = already
    while choice := search.after(sweep):
        sweep = measure(choice.load, search.repeats(choice.load)) or sweep
    return search.result()


class Search:
    """An adaptive sweep under way: given what is measured so far, what to measure next. ``adaptive`` drives one.

    ``steps`` is how it came here, ``sweep`` the points that it has taken in, ``fit`` what they say (None before there
    are two). The settings and errors are those of ``adaptive``.
    """

    def __init__(
        self,
        budget: int,
        *,
        loads: Sequence[float] = LOADS,
        tolerance: float = 0.1,
        model: str | None = None,
        on_choice: Callable[[LoadChoice], None] | None = None,
        on_step: Callable[[AdaptiveStep], None] | None = None,
    ) -> None:
        self.allowed = tuple(sorted({float(n) for n in loads}))
        if budget < LEAST_BUDGET:
            raise InvalidParameterError(
                "budget",
                f"is {budget}",
                f"at least {LEAST_BUDGET} points are needed: two ends and one to choose",
                budget,
            )
        if len(self.allowed) < LEAST_BUDGET or self.allowed[0] <= 0:
            raise InvalidParameterError(
                "loads", f"must hold at least {LEAST_BUDGET} different numbers above zero, to choose among"
            )
        if not 0 < tolerance < 1:
            raise InvalidParameterError(
                "tolerance", f"is {tolerance:g}", "it must lie between 0 and 1, like 0.1 for 10 %", value=tolerance
            )
        self.budget, self.tolerance, self.model = budget, tolerance, model
        self.on_choice, self.on_step = on_choice or _silent, on_step or _silent
        self.steps: list[AdaptiveStep] = []
        self.sweep: Sweep | None = None
        self.fit: Fit | None = None
        self._taken: set[tuple[float, int]] = set()  # loads, each with the number of its repeat
        self._pending: LoadChoice | None = None

    def after(self, sweep: Sweep | None) -> LoadChoice | None:
        """Take in ``sweep``, all that is measured so far, and choose what to measure next; None where it is over.

        What was measured without having been asked for is taken in the order of its ``sequence``, as a sweep directory
        keeps it, or else of its ``started_at``. A choice of which there is no point now could not be measured.
        """
        for key, grown in self._new(sweep):
            choice = self._pending or self._choose()
            if choice is None or choice.load != key[0]:
                choice = LoadChoice(key[0], "there", "measured before")
            else:
                self._pending = None
            self._note(choice, grown)
            self._taken.add(key)
        if self._pending is not None:
            self._note(self._pending, None)
        self._pending = self._choose() if len(self.steps) < self.budget else None
        if self._pending is not None:
            self.on_choice(self._pending)
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
        return AdaptiveResult(
            self.sweep,
            self.fit,
            tuple(self.steps),
            "narrow enough" if self.is_narrow() else used_up,
            self.budget,
            self.tolerance,
            self.allowed,
            pooled_noise(points_of(self.sweep)),
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

    def _choose(self) -> LoadChoice | None:
        """What to measure next; None where the knee is known, or where nothing is left to measure."""
        failed = {s.load for s in self.steps if not s.measured}
        loads = [n for n in self.allowed if n not in failed]
        measured = [load for load, _ in self._taken]
        missing = _missing_end(loads, measured)
        if missing or self.sweep is None or self.fit is None:
            return missing
        points = points_of(self.sweep)
        if not self.is_narrow():
            return next_choice(self.fit, points, loads, len(self.steps))
        if pooled_noise(points) is None and min(measured) not in failed:
            return LoadChoice(min(measured), "repeat", "again: the interval is narrow enough, if this repeats")
        return None

    def _fitted(self, sweep: Sweep, loads: Sequence[float]) -> Fit:
        return fit(sweep, loads, model=self.model)

    def _note(self, choice: LoadChoice, grown: Sweep | None) -> None:
        """A step: ``grown`` holds what is known with it, None where the choice could not be measured."""
        step = AdaptiveStep(
            choice.load, self.repeats(choice.load), choice.why, choice.reason, measured=grown is not None
        )
        if grown is not None:
            self.sweep, loads = grown, sorted({float(n) for n in grown.points["load"]})
            rates = grown.points.loc[grown.points["load"] == choice.load, "throughput_per_s"]
            step = replace(step, throughput_per_s=float(rates.iloc[-1]))
            if len(loads) > 1:
                self.fit = self._fitted(grown, loads)
        if self.fit is not None:
            knee = self.fit.knee
            step = replace(step, knee=knee.load, low=knee.low, high=knee.high)
        self.steps.append(step)
        self.on_step(step)


def _missing_end(loads: Sequence[float], measured: Sequence[float]) -> LoadChoice | None:
    """The first of the two choices to begin with that is not ``measured`` yet; None where both are."""
    if not loads:
        return None
    first, deep = first_choices(loads)
    if not measured or min(measured) > first.load:
        return first
    return deep if max(measured) < deep.load else None


_HEADER = ("load", "throughput", "knee so far", "why")


def _rate(step: AdaptiveStep) -> str:
    return "failed" if step.throughput_per_s is None else format_rate(step.throughput_per_s)


def _interval(step: AdaptiveStep) -> str:
    if step.knee is None or step.low is None or step.high is None:
        return ""
    return f"{step.knee:.4g} [{step.low:.4g}, {step.high:.4g}]"


def _silent(_what: object) -> None:
    return
