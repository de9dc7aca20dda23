"""A calibrated curve model: the table of weights that some points left, and what it expects of new measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from calibrate.inference.estimates import LEVEL, Estimate
from calibrate.inference.parameters import Array, Mask, MisfitProcess, carried
from calibrate.inference.weights import SPREAD, Predictive, Weights, normal_nodes, predictive
from calibrate.load_text import listed
from calibrate.models.curves import CurveModel, Peak
from calibrate.models.names import model_named
from calibrate.points import Points
from measure.loads import Load, LoadKind, load_of
from measure.units import counted

Observable = Literal["throughput", "response"]

USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
"""The fields that hold the points calibrated on."""

TABLE = ("values", "misfit", "weight", "directions")
"""The columns of a table of weights in a file."""

AXES = 4
"""What a curve misses varies mostly along this many axes."""


@dataclass(frozen=True, repr=False)
class Calibration:
    """A curve model with its table of weights, and the points that it was fitted to.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are those points (empty for a data sheet),
    ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown).
    ``measured`` is how many points the curve has in all (0: unknown). ``given`` are the parameters where they are not
    read off the table: those of a fit on file, a data sheet, a what-if. ``known_peak_per_s`` is a peak throughput from
    elsewhere (of a memory in cache lines a second). ``law`` are the latencies at depth 1 as plain data, where their
    histogram is known. ``between_runs`` is the relative standard deviation of a figure between runs. ``collapse`` is
    the load from which throughput falls, and as which power, of a device drawn from the fit of a service.
    """

    model: str
    assumption: str
    load_kind: LoadKind
    load_unit: str
    series: str
    used: tuple[float, ...]
    used_throughput_per_s: tuple[float, ...]
    used_noise: tuple[float, ...]
    used_response_s: tuple[float, ...]
    used_response_noise: tuple[float, ...]
    table: Weights
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Estimate] | None = None
    measured: int = 0
    points: Points | None = field(default=None, repr=False, compare=False)
    known_peak_per_s: float | None = None
    law: Mapping[str, Any] | None = None
    between_runs: float = 0.0
    collapse: tuple[float, float] | None = None

    @property
    def block_bytes(self) -> float | None:
        """The size of a block of the points; None where it is not known."""
        if self.points is not None:
            return self.points.block_bytes
        known: float | None = self.details.get("calibrated_on", {}).get("block_bytes")
        return known

    @classmethod
    def of(
        cls,
        curve_model: CurveModel,
        points: Points,
        table: Weights,
        level: float,
        notes: Sequence[str] = (),
        peak: Peak | None = None,
    ) -> Self:
        """The fit of a model to points, from the table that they leave."""
        noise = points.noise()
        columns = (points.load, points.throughput_per_s, noise[0], points.response_time_s, noise[1])
        used: Any = {name: tuple(column.tolist()) for name, column in zip(USED, columns, strict=True)}
        return cls(
            model=curve_model.name,
            assumption=curve_model.assumption,
            load_kind=points.load_kind,
            load_unit=points.load_unit,
            series=points.series,
            table=table,
            level=level,
            notes=(*points.notes, *notes),
            source=points.source,
            points=points,
            between_runs=points.between_runs,
            known_peak_per_s=None if peak is None else peak.per_s,
            **used,
        )

    @cached_property
    def curve_model(self) -> CurveModel:
        """The model that draws the curve."""
        return model_named(self.model)

    @property
    def load_type(self) -> Load:
        """What varies."""
        return load_of(self.load_kind, self.load_unit)

    @property
    def load_name(self) -> str:
        """What the load is, with its unit."""
        return self.load_type.named(self.load_unit)

    def measurements(self, loads: Array, what: Observable = "throughput") -> Predictive:
        """What is expected of new measurements at ``loads`` (m,), in logarithms."""
        return predictive(*self._known(what), loads)

    def expected(self, loads: Array, what: Observable = "throughput") -> Array:
        """The geometric mean (m,) of new measurements at ``loads`` (m,)."""
        known = self.measurements(loads, what)
        return np.asarray(np.exp(known.weight @ known.mean))

    def drawn(self, loads: Array, what: Observable = "throughput", count: int = SPREAD) -> tuple[Array, Array]:
        """Logarithms (count, m) of what possible devices do at ``loads`` (m,), and the row of the table of each.

        A device is a row with what its curve misses, which goes together along the loads; the noise of a single
        measurement is left out. The devices are evenly spread over the table, so that their quantiles are its own.
        """
        known = self.measurements(loads, what)
        z = normal_nodes(count, 1 + AXES + known.slopes.shape[2])
        places = np.argsort(np.argsort(z[:, 0])) / count + 0.5 / count
        rows = np.minimum(np.searchsorted(np.cumsum(known.weight), places), len(known.weight) - 1)
        process, sizes = self.curve_model.process, self.table.misfit[rows]
        each = np.unique(sizes)
        noise = np.array(self.used_noise if what == "throughput" else self.used_response_noise)
        missed = np.empty((count, len(loads)))
        left = carried(process, np.array(self.used), noise, each, loads).covariance
        for size, covariance in zip(each, left, strict=True):
            smooth = covariance - process.own * size**2 * np.eye(len(loads))
            variance, vectors = np.linalg.eigh(smooth)
            axes = vectors[:, -AXES:] * np.sqrt(np.maximum(variance[-AXES:], 0.0))
            missed[sizes == size] = z[sizes == size, 1 : 1 + axes.shape[1]] @ axes.T
        along = np.einsum("kmr,kr->km", known.slopes[rows], z[:, 1 + AXES :])
        return known.mean[rows] + along + missed, rows

    def _known(self, what: Observable) -> tuple[Weights, Any, MisfitProcess, Array, Array, Array]:
        """The table, the curve, how it misses, the loads calibrated on, their noise, and what was observed there."""
        first = what == "throughput"
        seen, noise = (
            (self.used_throughput_per_s, self.used_noise) if first else (self.used_response_s, self.used_response_noise)
        )
        return (
            self.table,
            lambda values, at: self.curve_model.curve(values, at)[0 if first else 1],
            self.curve_model.process,
            np.array(self.used),
            np.array(noise),
            np.array(seen),
        )

    def was_used(self, points: Points) -> Mask:
        """True (m,) for those of ``points`` that this fit was calibrated on: the same load and the same throughput."""
        pairs = list(zip(self.used, self.used_throughput_per_s, strict=True))
        measured = zip(points.load, points.throughput_per_s, strict=True)
        return np.array([any(np.isclose(n, u) and np.isclose(x, v) for u, v in pairs) for n, x in measured], dtype=bool)

    @property
    def basis(self) -> str:
        """What it was calibrated on, in words: ``all 8 points``, ``depth 1 (1 of 8 points)``, no measurement."""
        if not self.used:
            return "no measurement"
        if self.measured == len(self.used) > 1:
            return f"all {counted(self.measured, 'point')}"
        part = f" ({len(self.used)} of {counted(self.measured, 'point')})" if self.measured > len(self.used) else ""
        return f"{listed(self.load_type, self.used)}{part}"
