"""A device made of other drives than were measured, as one more in the stripe: requests go to one of them at random.

A request that joins a closed network finds the others where they would be without it (the arrival theorem; Sevcik and
Mitrani 1981). Of N - 1 others, evenly likely at each of k drives, (N - 1) / k are at its own on average: so it takes as
long as at one drive with 1 + (N - 1) / k requests. From m drives to k that is R'(N) = R(1 + (N - 1) m / k): a lone
request gains nothing, and the peak is k / m times as high. For drives of one exponential server it is exact; else the
number at a drive varies about its mean, and the throughput is too high by up to 4 %, for knees as sharp as a corner by
up to 10 % at the knee (against convolution over drives whose rates are the curve). The peak is never passed.
"""

from __future__ import annotations

import re

import numpy as np

from calibrate.inference.parameters import Array, Parameter
from calibrate.inference.weights import Weights
from calibrate.models.curves import ClosedModel, CurveModel, KneePoint, Peak
from calibrate.points import Points
from measure.units import counted

_NAME = re.compile(r"(?P<base>.+), (?P<then>[1-9]\d*) drives? for (?P<now>[1-9]\d*)")


class Striped(CurveModel):
    """The curve of ``then`` drives by the parameters of ``base``, the model of the ``now`` drives that were measured.

    It is never calibrated. What is reported are peak and N* of all the drives, and the other parameters as they were.
    """

    measurable = False

    def __init__(self, base: ClosedModel, now: int, then: int) -> None:
        self.base, self.factor = base, then / now
        self.name = f"{base.name}, {counted(then, 'drive')} for {now}"
        self.assumption = f"{base.assumption}; each request goes to one of the drives at random"
        self.knee_definition = base.knee_definition
        self.misfit, self.process = base.misfit, base.process

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        raise ValueError(f"the model {self.name} is that of a what-if; calibrate {self.base.name}")

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        raise ValueError(f"the model {self.name} is that of a what-if; calibrate {self.base.name}")

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        told = self.base.report(self._possible(values))
        return {n: (unit, v * self.factor if n in ("Xmax", "N*") else v) for n, (unit, v) in told.items()}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        possible = self._possible(values)
        peak = self.factor * self.base.peak(possible)[:, None]
        response = np.maximum(self.base.curve(possible, self.met(loads))[1], loads / peak)
        return loads / response, response

    def knee(self, values: Array) -> KneePoint:
        load = self.factor * self.base.knee(self._possible(values)).load
        possible = self._possible(values)
        peak = self.factor * self.base.peak(possible)
        met = self.met(load)
        response = np.maximum(met / self.base.at_own(possible, met), load / peak)
        return KneePoint(load, load / response, response)

    def met(self, loads: Array) -> Array:
        """The load (m,) of the drives that were measured at which a request takes as long as here at ``loads`` (m,)."""
        return np.asarray(np.where(loads < 1, loads, 1 + (loads - 1) / self.factor))

    def beyond(self, loads: Array) -> Array:
        """The loads (m,) here at which a request takes as long as it did at ``loads`` (m,) where it was measured."""
        return np.asarray(np.where(loads < 1, loads, 1 + (loads - 1) * self.factor))

    def _possible(self, values: Array) -> Array:
        """Values (w, d) with which the drives together keep at least one request busy."""
        changed = values.copy()
        changed[:, 0] = np.maximum(changed[:, 0], 1 / self.factor)
        return changed


def striped_name(name: str) -> tuple[str, int, int] | None:
    """The base model's name, drives now and drives then, of a ``Striped`` model's name; None of any other."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found["base"], int(found["now"]), int(found["then"]))
