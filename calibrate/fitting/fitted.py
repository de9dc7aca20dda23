"""A calibrated device model: what was fitted to which points, and what is needed to predict with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from pkgutil import resolve_name
from textwrap import indent
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrate.fitting.answer import fit_answer
from calibrate.fitting.fit_checks import TABLE, USED, check_fields, check_numbers
from calibrate.inference.estimates import LEVEL, Estimate, estimates, quantity
from calibrate.inference.misfit import MisfitProcess
from calibrate.inference.parameters import Array, Mask
from calibrate.inference.weights import Predictive, Weights, expected_logs, predictive
from calibrate.knees.curve_places import CurvePaths, paths
from calibrate.knees.knee import Knee, knee_of
from calibrate.knees.peak_share import share_knee, share_text
from calibrate.load_text import knee_text, listed, throughput_text
from calibrate.models.curves import CurveModel, Peak
from calibrate.models.names import model_named
from calibrate.models.servers_and_delay import servers_and_think
from calibrate.points import Points
from measure.errors import DataError
from measure.loads import Load, LoadKind, load_of
from measure.units import counted
from qsim.distributions.as_dict import law_from_dict
from qsim.result import Result
from qsim.text_table import table

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure
    from simpy import Environment

    from calibrate.fitting.in_simpy import DeviceInSimPy
    from calibrate.fitting.predicted_curve import Prediction
    from calibrate.fitting.station import DeviceStation
    from qsim import Closed

SCHEMA = "qsim-fit/3"


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """A calibrated device model: a table of weights, and from it parameters with intervals, the knee, predictions.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are the points it was fitted to (empty for a data
    sheet), ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown).
    ``measured`` says how many points the curve has in all (0: unknown).
    ``told`` are the parameters where they are not read off the table: those of a fit on file, a data sheet, a what-if.
    ``known_peak_per_s`` is a peak throughput from elsewhere (of a memory in cache lines a second). ``law`` are the
    latencies of the requests that were alone, as plain data (:func:`qsim.distributions.as_dict.law_to_dict`), where
    their histogram is known. It prints itself as a table.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read", corrected=True).select("4 KiB read")
    >>> fit(sweep)
    4 KiB read: p-norm with onset from all 5 points
    KNEE    depth 18 (11 to 30), rough: 212 k/s at 87 µs
    PEAK    258 k/s (229 to 297), sure; 90 % of the peak at depth 22 (15 to 54); idle latency 72 µs (42 to 113)
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
    told: Mapping[str, Estimate] | None = None
    measured: int = 0
    points: Points | None = field(default=None, repr=False, compare=False)
    known_peak_per_s: float | None = None
    law: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        curve_model: CurveModel,
        points: Points,
        table: Weights,
        level: float,
        notes: Sequence[str] = (),
        peak: Peak | None = None,
    ) -> Fit:
        """The fit of a model to points, from the table that they leave."""
        noise = points.noise()
        columns = (points.load, points.throughput_per_s, noise[0], points.response_time_s, noise[1])
        used, throughput, x_noise, response, r_noise = (tuple(float(v) for v in column) for column in columns)
        return cls(
            model=curve_model.name,
            assumption=curve_model.assumption,
            load_kind=points.load_kind,
            load_unit=points.load_unit,
            series=points.series,
            used=used,
            used_throughput_per_s=throughput,
            used_noise=x_noise,
            used_response_s=response,
            used_response_noise=r_noise,
            table=table,
            level=level,
            notes=(*points.notes, *notes),
            source=points.source,
            points=points,
            known_peak_per_s=None if peak is None else peak.per_s,
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

    @cached_property
    def parameters(self) -> Mapping[str, Estimate]:
        """The parameters as people name them, with intervals; of queue depths also c, S and Z."""
        if self.told is not None or self.points is None:
            return self.curve_parameters
        return {**self.curve_parameters, **servers_and_think(self.points, self.level)}

    @cached_property
    def curve_parameters(self) -> Mapping[str, Estimate]:
        """Those of the curve alone, without c, S and Z."""
        if self.told is not None:
            return self.told
        columns = (self.used, self.used_throughput_per_s, self.used_response_s)
        priors = {
            p.name: p.prior_log_sd
            for p in self.curve_model.parameters(*(np.array(c) for c in columns))
            if p.prior_log_sd is not None
        }
        found = estimates(self.curve_model, self.table, priors, self.level)
        if "N*" in found:  # one knee, whoever asks
            k = self.knee
            found["N*"] = replace(
                found["N*"], estimate=k.load, low=k.low, high=k.high, identified=k.identified, note=""
            )
        return found

    @cached_property
    def paths(self) -> CurvePaths:
        """The curves of devices that stand for the table, along which knees are looked for."""
        return paths(self)

    @cached_property
    def knee(self) -> Knee:
        """The knee with its interval (:mod:`calibrate.knees.knee`)."""
        return knee_of(self)

    @cached_property
    def ninety(self) -> Knee:
        """The load that gives 90 % of the peak, with its interval (:mod:`calibrate.knees.peak_share`)."""
        return share_knee(self)

    def measurements(self, loads: Array, what: Literal["throughput", "response"] = "throughput") -> Predictive:
        """What is expected of new measurements at ``loads`` (m,), in logarithms."""
        return predictive(*self._known(what), loads)

    def expected(self, loads: Array, what: Literal["throughput", "response"] = "throughput") -> Array:
        """The geometric mean (m,) of new measurements at ``loads`` (m,)."""
        return np.asarray(np.exp(expected_logs(*self._known(what), loads)))

    def _known(
        self, what: Literal["throughput", "response"]
    ) -> tuple[Weights, Any, MisfitProcess, Array, Array, Array]:
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

    def predict(self, at: Sequence[float] | Array) -> Prediction:
        """Throughput and response time at the loads ``at``, with bands, as ``calibrate.predict``."""
        from calibrate.fitting.predicted_curve import predict

        return predict(self, at)

    def station(self, visits: float = 1.0, *, extrapolate: bool = False) -> DeviceStation:
        """The device as a station of a queueing network, which a customer visits ``visits`` times.

        It serves at the fitted rate X(n) while n are present, and covers up to four times the deepest load measured;
        ``extrapolate`` lets the last rate hold beyond.

        >>> from calibrate import from_datasheet
        >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station().most
        191
        """
        from calibrate.fitting.station import station_of

        return station_of(self, visits, extrapolate)

    def queue(self, n: int, *, extrapolate: bool = False) -> Closed:
        """``n`` requests that circle on the device: a closed queue, whose throughput is that of ``predict``.

        >>> from calibrate import from_datasheet
        >>> from qsim import solve
        >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
        >>> bool(abs(solve(drive.queue(32)).throughput / drive.predict([32]).throughput_per_s[0] - 1) < 1e-9)
        True
        """
        from calibrate.fitting.station import queue_of

        return queue_of(self, n, extrapolate)

    def draws(self, k: int, *, seed: int = 0) -> list[Fit]:
        """``k`` fits, each a possible device: rows of the table of weights, drawn by their weight."""
        from calibrate.fitting.station import draws_of

        return draws_of(self, k, seed)

    def simpy(self, env: Environment, *, seed: int = 0, extrapolate: bool = False) -> DeviceInSimPy:
        """The device in your own SimPy simulation: ``yield device.request()`` returns when it is served."""
        from calibrate.fitting.in_simpy import DeviceInSimPy

        return DeviceInSimPy(env, self.station(extrapolate=extrapolate), seed)

    def was_used(self, points: Points) -> Mask:
        """True (m,) for those of ``points`` that this fit was calibrated on: the same load and the same throughput."""
        pairs = list(zip(self.used, self.used_throughput_per_s, strict=True))
        measured = zip(points.load, points.throughput_per_s, strict=True)
        return np.array([any(np.isclose(n, u) and np.isclose(x, v) for u, v in pairs) for n, x in measured], dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the table, so that ``from_dict`` predicts the same bands."""
        left_out = ("table", "points", "told")
        return {
            "schema": SCHEMA,
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out},
            "parameters": {k: asdict(v) for k, v in self.parameters.items()},
            "knee": self.knee.to_dict(),
            "table": {**{name: getattr(self.table, name).tolist() for name in TABLE}, "scale": self.table.scale},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fit:
        """The inverse of ``to_dict``. Raises DataError for another schema or a missing or damaged field."""
        if values.get("schema") != SCHEMA:
            raise DataError(f"this is not a fit of schema {SCHEMA}; write one with: qsim fit DATA --out fit.json")
        try:
            needed = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
            check_fields(values, [*needed, "parameters"])
            kept = {k: values[k] for k in cls.__dataclass_fields__ if k in values}
            kept["told"] = {k: Estimate(**v) for k, v in values["parameters"].items()}
            read = {name: np.asarray(values["table"][name], dtype=float) for name in TABLE}
            rows, misfit, weight, along = (read[name] for name in TABLE)
            kept["table"] = Weights(rows, misfit, weight, along, scale=values["table"].get("scale"))
            kept.update({k: tuple(values[k]) for k in (*USED, "notes")})
            fit = cls(**kept)
            check_numbers(fit)
            if fit.law is not None and not isinstance(fit.law, Mapping):
                raise ValueError(f"law must be an object or null, not {fit.law!r}")
            if fit.law is not None:
                law_from_dict(fit.law)
        except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
            raise DataError(
                f"the fit is damaged ({error}); make it again with: qsim fit DATA --out fit.json"
            ) from error
        return fit

    @property
    def basis(self) -> str:
        """What it was calibrated on, in words: ``all 8 points``, ``depth 1 (1 of 8 points)``, no measurement."""
        if not self.used:
            return "no measurement"
        if self.measured == len(self.used) > 1:
            return f"all {counted(self.measured, 'point')}"
        part = f" ({len(self.used)} of {counted(self.measured, 'point')})" if self.measured > len(self.used) else ""
        return f"{listed(self.load_type, self.used)}{part}"

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter: ``parameter``, ``estimate``, ``low``, ``high``, their ``unit``, and how sure.

        The parameters have units of their own, so the unit is a column.
        """
        import pandas as pd

        return pd.DataFrame([{"parameter": name, **vars(e)} for name, e in self.parameters.items()])

    def plot(self) -> Figure:
        """The predicted curve with its band, and the points it was calibrated on."""
        return resolve_name("calibrate.report.plots:fit_figure")(self)  # what knows does not import what shows

    def __repr__(self) -> str:
        return "\n".join([self._heading(), *fit_answer(self)])

    def __str__(self) -> str:
        return self.text(self._heading())

    def _heading(self) -> str:
        return f"{self.series or 'device'}: {self.model} from {self.basis}"

    def text(self, heading: str) -> str:
        """The fit as a table below a ``heading``: parameters with intervals, the knee, notes."""
        rows = []
        for name, e in self.parameters.items():
            ends = "" if e.low is None else f"[{quantity(e.low, e.unit)}, {quantity(e.high, e.unit)}]"
            remarks = ("" if e.identified else "not identifiable", e.note)
            rows.append((name, quantity(e.estimate, e.unit), ends, "; ".join(filter(None, remarks))))
        parameters = table((), rows, left=(True, False, True, True))
        notes = (f"note: {n}" for n in self.notes)
        below = "\n".join([f"assumes: {self.assumption}", parameters, *self._knee_lines(), *notes])
        return f"{heading}\n{indent(below, '  ')}"

    def _knee_lines(self) -> list[str]:
        """The knee, and of queue depths where 90 % of the peak is had: that first where the knee is not sharp."""
        k = self.knee
        if k.load is None:
            return [f"knee   {k.note} (throughput {throughput_text(self.load_kind)(k.throughput_per_s)})"]
        told = partial(knee_text, self.load_kind, digits=4)
        interval = f"  [{told(k.low)}, {told(k.high)}]" if k.low is not None and k.high is not None else ""
        open_end = "" if k.identified else "   not identifiable"
        knee = f"{told(k.load)}{interval}{open_end}   {k.definition}{f' ({k.note})' if k.note else ''}"
        ninety = share_text(self.ninety, partial(knee_text, self.load_kind)) if self.load_type.is_closed else ""
        if k.sharp:
            return [f"knee   {knee}", *([f"       {ninety}"] if ninety else [])]
        return [f"no sharp knee: {ninety or '90 % of the peak is not reached'}", f"N*     {knee}"]
