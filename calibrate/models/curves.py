"""Device models as curves: given parameters and a load, what throughput and response time?

A model is a small object: its parameters with their priors, its curve, and its knee. Everything is vectorised over
rows of parameters: ``curve(values (n, d), loads (m,))`` gives throughput and response, each (n, m). ``weights`` gives
the posterior of the parameters as a table (:mod:`calibrate.inference`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrate.inference.parameters import (
    ASSUMED,
    ROUGH,
    Array,
    Estimate,
    MisfitPrior,
    MisfitProcess,
    Parameter,
    quantity,
)
from calibrate.inference.weights import Weights, quantiles, widened
from calibrate.points import Points
from measure.loads import Load

TOLERANCE = 0.1
"""Relative standard deviation of a peak (or a data sheet's figure) from what a device reaches."""

TIMES = " times "
"""Separates the name of a model from the number of copies, as in ``p-norm times 2``."""


@dataclass(frozen=True)
class KneePoint:
    """A model's knee for each row of parameters: load, throughput, response, each (n,). NaN: not reached."""

    load: Array
    throughput: Array
    response: Array


class CurveModel(ABC):
    """The interface of every device model."""

    name: str
    assumption: str
    knee_definition: str
    misfit: MisfitPrior
    process: MisfitProcess
    is_formula = True
    """Whether a curve is a formula, not a loop over populations."""
    plain: CurveModel | None = None
    """The model that shares the predicted throughput where a fit has its most probable values."""

    @abstractmethod
    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors wide around the range suggested by these points (m,)."""

    @abstractmethod
    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        """The reported parameters, {name: (unit, values (n,))}, from the fitted ones (n, d)."""

    @abstractmethod
    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Throughput and response (n, m) at ``loads`` (m,) for parameter values (n, d)."""

    @abstractmethod
    def knee(self, values: Array) -> KneePoint:
        """The knee for each row of parameter values (n, d)."""

    def under(self, load: Load) -> CurveModel:
        """The model over another kind of ``load``, where it has one for each."""
        return self

    def knee_load(self, values: Array) -> Array:
        """The load (n,) of the knee alone, which some models compute faster."""
        return self.knee(values).load

    @abstractmethod
    def weights(self, points: Points, peak: float | None = None) -> Weights:
        """The table of weights given ``points``, and a ``peak`` from another source where known."""


class MemoryModel(CurveModel):
    """A memory's model, which reports its fitted parameters; ``units`` are theirs, by name, in order."""

    units: ClassVar[Mapping[str, str]]

    @abstractmethod
    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors; ``known_peak`` is a bandwidth test's result."""

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(self.units.items())}


def estimates(
    model: CurveModel, table: Weights, prior_log_sd: Mapping[str, float], level: float, between_runs: float = 0.0
) -> dict[str, Estimate]:
    """The parameters that ``model`` reports; ``prior_log_sd`` are the widths of informative priors.

    Times and rates also vary by the relative standard deviation ``between_runs``; the shape of a curve does not.
    """
    made: dict[str, Estimate] = {}
    mean, deviation = table.moments(lambda rows: np.stack([v for _, v in model.report(rows).values()], axis=1))
    log_sd = np.sqrt(table.weight @ ((mean - table.weight @ mean) ** 2 + deviation**2))
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level), 0.05, 0.95)
    with np.errstate(over="ignore"):  # infinite where a float cannot hold it
        found = np.exp(quantiles(mean, deviation, table.weight, shares)).T.tolist()
    reports = model.report(table.values[:1]).items()
    for (name, (unit, _)), of_one, width in zip(reports, found, log_sd, strict=True):
        estimate, low, high, least, most = of_one
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        narrow, open_to = most / least <= ROUGH, "fits these points"
        if unit:
            low, high = widened(low, estimate, high, between_runs, level)
            narrow, open_to = narrow and high / low < ROUGH, "may come in another run" if narrow else open_to
        prior, note = prior_log_sd.get(name), ""
        if prior is not None and width > ASSUMED * prior:
            narrow = False
            note = "mostly its prior, not these points"
        elif not narrow:
            note = f"anything from {quantity(low, unit)} to {quantity(high, unit)} {open_to}"
        made[name] = Estimate(estimate, low, high, narrow, unit, note)
    return made
