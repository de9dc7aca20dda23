"""The stations behind a closed curve as a device model: c servers of mean service S, and a delay Z.

A row of the table is a possible device: c, S, Z, whether each server has a queue of its own, and the squared
coefficient of variation of service. Their posterior is that of :mod:`calibrate.models.structure`. What-if questions
change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrate.inference.misfit import MisfitProcess
from calibrate.inference.parameters import Array, Parameter
from calibrate.inference.weights import Weights
from calibrate.models.closed_structures import busy_servers
from calibrate.models.curves import ClosedModel, CurveModel, Peak, Tabulated
from calibrate.models.servers_and_delay import few_points
from calibrate.models.structure import KINDS, structure_posterior
from calibrate.points import Points

LEAST_DELAY = 1e-12
"""A delay of no time at all, so that it has a logarithm."""


class ServersAndDelay(Tabulated):
    """``c, S, Z, own queues, scv`` a row; ``servers`` is their number where it is known."""

    name = "servers and delay"
    assumption = "c equal servers with one queue or a queue each, and a delay without queueing"

    def __init__(self, servers: int | None = None) -> None:
        self.servers = servers

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        return ()

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        found = structure_posterior(few_points(points), self.servers)
        delay = np.maximum(found.ratio * found.service_s, LEAST_DELAY)
        values = np.column_stack([found.servers, found.service_s, delay, found.own_queues, found.scv])
        along = np.zeros((len(values), values.shape[1], 1))
        along[:, 1:3, 0] = found.width[:, None]
        return Weights.of(values, found.error, found.log_mass, along)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        own = {"R1": ("s", self.lone(values)), "Xmax": ("1/s", self.peak(values)), "N*": ("", self.knee_load(values))}
        return {**own, "c": ("", values[:, 0]), "S": ("s", values[:, 1]), "Z": ("s", values[:, 2])}

    def throughput(self, values: Array, loads: Array) -> Array:
        found = np.empty((len(values), len(loads)))
        crossing = values[:, 0] * (1 + values[:, 2] / values[:, 1])
        for kind in KINDS:
            rows = np.flatnonzero((values[:, 3] > 0.5) == (kind == "random"))
            if len(rows):
                servers = np.rint(values[rows, 0]).astype(np.int64)
                busy = busy_servers(kind, servers, values[rows, 4], crossing[rows], np.maximum(loads, 1.0))
                found[rows] = busy * np.minimum(loads, 1.0) / values[rows, 1, None]
        return found

    def peak(self, values: Array) -> Array:
        return np.asarray(values[:, 0] / values[:, 1])

    def lone(self, values: Array) -> Array:
        return np.asarray(values[:, 1] + values[:, 2])


@dataclass(frozen=True)
class SharedLoad(MisfitProcess):
    """What the curve of one of ``factor`` copies misses, which depends on its share of the load."""

    factor: float = 1.0

    def place(self, loads: Array) -> Array:
        return np.asarray(np.log(np.maximum(loads / self.factor, 1.0) + self.pivot))


class Copies(ClosedModel):
    """``factor`` times as many of a device, between which requests are spread evenly; a lone request gains nothing.

    Each of them has 1 / factor of the load, and a load below one request is that share of a lone one.
    """

    def __init__(self, base: ClosedModel, factor: float) -> None:
        self.base = base
        self.factor = factor
        self.name = f"{base.name}{TIMES}{factor:.12g}"
        self.assumption = f"{base.assumption}; {factor:g} times as many of it, with the load spread evenly"
        self.process = SharedLoad(base.process.length, base.process.own, base.process.pivot, factor)
        self.misfit = base.misfit
        self.declines = base.declines

    def parameters(self, loads: Array, throughput: Array, response: Array) -> Sequence[Parameter]:  # type: ignore[override]
        return self.base.parameters(loads, throughput, response)

    def throughput(self, values: Array, loads: Array) -> Array:
        each = loads / self.factor
        return self.factor * self.base.throughput(values, np.maximum(each, 1.0)) * np.minimum(each, 1.0)

    def at_own(self, values: Array, loads: Array) -> Array:
        each = loads / self.factor
        return np.asarray(self.factor * self.base.at_own(values, np.maximum(each, 1.0)) * np.minimum(each, 1.0))

    def _at(self, values: Array, loads: Array) -> Array:
        raise NotImplementedError("copies ask their base")

    def peak(self, values: Array) -> Array:
        return self.factor * self.base.peak(values)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {"R1": ("s", self.lone(values)), "Xmax": ("1/s", self.peak(values)), "N*": ("", self.knee_load(values))}


TIMES = " times "


def copies_named(name: str, base: CurveModel) -> Copies | None:
    """``p-norm times 2``, of the model before "times"; None where the name is no such thing."""
    try:
        factor = float(name.rpartition(TIMES)[2])
    except ValueError:
        return None
    return Copies(base, factor) if isinstance(base, ClosedModel) and factor > 0 else None
