"""A calibrated device model: the model by its name, its table of weights, and the points that it was fitted to.

Whatever is computed of a fit is a function that takes it; its methods lead there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.predicted_curve import Knee, Prediction
from calibrate.inference.parameters import LEVEL, Array, Estimate, Mask, how_sure
from calibrate.inference.weights import Weights
from calibrate.models.choice import ANY_LOAD, is_open, model_named
from calibrate.models.curves import ClosedModel, CurveModel
from calibrate.points import Points
from measure.auditing.curve_shape import BUSY, rise
from measure.errors import DataError
from measure.loads import ArrivalRate, ClosedLoad, Depth, Load, PeakShare, ThroughputLoad, load_from_dict
from measure.units import counted, format_duration, format_rate
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure
    from simpy import Environment

    from calibrate.fitting.in_simpy import DeviceInSimPy
    from qsim import Network, Station

EVEN = 1.05
"""Response times that rise by less than this factor tell nothing of waiting."""

SCHEMA = "qsim-fit/3"

USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
"""The fields that hold the calibration points."""

NOTHING_USED: Mapping[str, Any] = dict.fromkeys(USED, ())
"""The fields of a fit without measurements."""

TABLE = ("values", "misfit", "weight", "directions")
"""The columns of a table of weights in a file."""

PRESENT = "most requests present"
"""The key in a device's details of the highest mean number present, X R, that was measured."""

ALSO = "also calibrated on"
"""The key in a fit's details of points under other loads: each with ``points`` of load, throughput and response."""

TAILS = "p99 over the mean"
"""The key in a fit's details of loads whose p99 was measured, each with its ratio to the mean."""

LONE_SCV = "scv of lone requests"
"""The key in a fit's details of the squared coefficient of variation of the latencies at depth 1."""

CAPACITY = "capacity, 1/s"
"""The throughput where a higher rate was asked for; it tells the peak, of which no rate that was served need tell."""

PEAK, BANDWIDTH = "Xmax", "B"
"""The names of the peak throughput among the parameters of a closed or open model, and of a memory's."""

FAR = 0.2
"""A relative error at a calibration point from which the model does not fit the device: 3 to 9 % is usual."""


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """A calibrated device model: a table of weights, and from it parameters with intervals, the knee, predictions.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are the points that it was fitted to (empty for a data
    sheet), ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown).
    ``measured`` is the number of points of the whole curve (0: unknown). ``given`` are parameters that do not come from
    the table: of a fit on file, a data sheet, a what-if. ``known_peak_per_s`` is a peak throughput from another source
    (of a memory in cache lines a second). ``law`` is the law of latencies at depth 1 as plain data, where their
    histogram is known. ``between_runs`` is the relative standard deviation of a figure between runs. ``collapse`` is
    (load from which throughput falls, power of the fall) of a device drawn from the fit of a service.
    ``contradicted``: the audit of the curve has errors, so that its figures are doubtful; ``doubted``: why no figure is
    sure, in words, as where the audit has warnings about the runs; ``refuted``: what was held out lies outside its
    bands more often than by chance.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> fit(sweep)
    4 KiB read: a smooth curve through all 5 points
    QUEUEING STARTS depth 20 (11 to 30), rough: 216 k/s at 92 µs
    90 % OF PEAK AT depth 40 (15 to 55), rough: 249 k/s at 159 µs
    PEAK    276 k/s (227 to 300), up to 282 k/s measured, sure; idle latency 72 µs (42 to 113)
    """

    model: str
    assumption: str
    load_type: Load
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
    contradicted: bool = False
    refuted: bool = False
    doubted: str = ""

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of draws below the ends of an interval."""
        return 0.5 * (1 - self.level), 0.5 * (1 + self.level)

    @property
    def block_bytes(self) -> float | None:
        """The block size of the points, bytes; None where unknown."""
        known: float | None = self.details.get("calibrated_on", {}).get("block_bytes")
        return known if self.points is None else self.points.closed.block_bytes

    @cached_property
    def curve_model(self) -> CurveModel:
        """The model of the curve."""
        return model_named(self.model).under(self.load_type)

    @property
    def closed_model(self) -> ClosedModel:
        """The model of a closed load. DataError for any other."""
        if not isinstance(self.curve_model, ClosedModel):
            raise DataError(
                f"{self.series or 'the fit'} is of the model {self.model}; fit queue depths, clients or threads: "
                "qsim fit DATA --out fit.json"
            )
        return self.curve_model

    @cached_property
    def figures(self) -> Mapping[str, Estimate]:
        """What the model reports of the table, or what was given in its place, by name, with intervals."""
        from calibrate.fitting.readings import figures_of

        return figures_of(self)

    @cached_property
    def asymptotes(self) -> tuple[Estimate, Estimate]:
        """The idle latency and the peak of a closed model, as printed."""
        from calibrate.fitting.readings import asymptotes_of

        return asymptotes_of(self)

    @property
    def peak(self) -> Estimate | None:
        """The peak throughput as printed (of a memory in bytes/s); None for a model that has none."""
        if isinstance(self.curve_model, ClosedModel):
            return self.asymptotes[1]
        return self.figures.get(BANDWIDTH, self.figures.get(PEAK))

    @property
    def crossing(self) -> float | None:
        """N* = (R1 + Z) Xpeak of the printed figures of a closed load; None for another."""
        if not (isinstance(self.curve_model, ClosedModel) and isinstance(self.load_type, ClosedLoad)):
            return None
        idle, peak = self.asymptotes
        return max(((idle.estimate or 0.0) + self.load_type.thinking_s) * (peak.estimate or 0.0), 1.0)

    @property
    def device(self) -> Fit:
        """The fit over requests present, X(n): of points under thinking users or arrivals, that of their device."""
        if not self.is_seen_through_chain:
            return self
        details = {**self.details, PRESENT: self.deepest}
        return replace(self, load_type=Depth(), points=None, given=None, details=details, **NOTHING_USED)

    @property
    def deepest(self) -> float:
        """The most requests present, on average, at a point that it was calibrated on, of whatever kind of load."""
        is_set = isinstance(self.load_type, ClosedLoad) and not self.is_seen_through_chain
        own = self.used if is_set else np.multiply(self.used_throughput_per_s, self.used_response_s)
        others = [seen[:, 1] * seen[:, 2] for _, seen in self.also]
        return float(np.nanmax(np.concatenate([[0.0], own, *others])))

    @property
    def is_under_any_load(self) -> bool:
        """Whether the spread of service times is fitted, with points that are seen through the chain."""
        return self.model.startswith(ANY_LOAD)

    @property
    def is_seen_through_chain(self) -> bool:
        """Whether the points vary another load than the requests present: users who think, or arrivals."""
        load = self.load_type
        chained = isinstance(load, ArrivalRate) or load.thinking_s > 0 or is_open(load)
        return self.model == ANY_LOAD and chained

    @property
    def never_waits(self) -> str:
        """What to measure where requests hardly wait at any rate of arrivals, so that none tells the peak; or empty."""
        known = self.known_peak_per_s is not None or CAPACITY in self.details
        if not isinstance(self.load_type, ArrivalRate) or not self.used or known or self._rise >= BUSY:
            return ""
        least, most = min(self.used_response_s), max(self.used_response_s)
        return (
            f"requests hardly wait at these rates ({format_duration(least)} to {format_duration(most)} up to "
            f"{format_rate(max(self.used))}), which hold no information on the peak: measure higher rates, until "
            "responses rise, or a closed test, as 1, 8 and 64 connections"
        )

    @property
    def hides_its_peak(self) -> bool:
        """Whether no response rises with the rate by ``EVEN``: what is assumed of the peak then ends no interval."""
        return bool(self.never_waits) and self._rise < EVEN

    @property
    def _rise(self) -> float:
        """By which factor the response times rise with the load."""
        return rise(np.array(self.used_response_s)[np.argsort(self.used)])

    @property
    def load_name(self) -> str:
        """The name of the load, with its unit."""
        return self.load_type.named

    @property
    def also(self) -> list[tuple[Load, Array]]:
        """Other kinds of load that it was calibrated on, each with loads, throughputs and responses (m, 3)."""
        return [(load_from_dict(one), np.array(one["points"])) for one in self.details.get(ALSO, ())]

    def was_used(self, points: Points) -> Mask:
        """True (m,) for ``points`` that this fit was calibrated on: the same load and the same throughput."""
        own, same = np.column_stack([self.used, self.used_throughput_per_s]), np.zeros(len(points), dtype=bool)
        for load, seen in ((self.load_type, own), *self.also):
            if load.kind == points.load_type.kind and load.thinking_s == points.load_type.thinking_s:
                near = np.isclose(points.load[:, None], seen[:, 0])
                same |= (near & np.isclose(points.throughput_per_s[:, None], seen[:, 1])).any(axis=1)
        return same

    @property
    def basis(self) -> str:
        """The calibration points in words: ``all 8 points``, ``depth 1 (1 of 8 points)``, no measurement."""
        if not self.used:
            return "no measurement"
        count = len(self.used) + sum(len(seen) for _, seen in self.also)
        of = counted(self.measured, "point")
        if self.measured == count > 1:
            return f"all {of}{f', {self.listed}' if self.also else ''}"
        return f"{self.listed} ({count} of {of})" if self.measured > count else self.listed

    @property
    def listed(self) -> str:
        """The calibration points of every kind of load: ``depths 1 and 8 and rates 30.0 /s and 80.0 /s``."""
        others = (load.listed(seen[:, 0]) + load.who for load, seen in self.also)
        return " and ".join([self.load_type.listed(self.used) + (self.load_type.who if self.also else ""), *others])

    @cached_property
    def parameters(self) -> Mapping[str, Estimate]:
        """The reported parameters with intervals; for queue depths also c, S and Z."""
        closed = isinstance(self.load_type, ClosedLoad) and not self.is_seen_through_chain
        if self.given is not None or self.points is None or not closed:
            return self.curve_parameters
        from calibrate.models.structure import servers_and_think

        return {**self.curve_parameters, **servers_and_think(self.points, self.level)}

    @cached_property
    def curve_parameters(self) -> Mapping[str, Estimate]:
        """The parameters of the curve alone, without c, S and Z."""
        found = dict(self.figures)
        if "N*" in found and isinstance(self.load_type, ClosedLoad):  # the same as the knee
            k = self.knee
            found["N*"] = Estimate(k.load, k.low, k.high, k.identified, found["N*"].unit)
        return found

    @cached_property
    def knee(self) -> Knee:
        """The knee with its interval (:mod:`calibrate.fitting.readings`)."""
        from calibrate.fitting.readings import knee_of

        return knee_of(self)

    @cached_property
    def ninety(self) -> Knee:
        """The load that gives 90 % of the peak, with its interval."""
        from calibrate.fitting.readings import ninety_of

        return ninety_of(self)

    @cached_property
    def rises(self) -> bool:
        """Whether twice the deepest load of a closed fit would still raise its throughput."""
        from calibrate.fitting.readings import still_rises

        return still_rises(self)

    @cached_property
    def over_measured(self) -> Array:
        """The model over what was measured, at each point that it was calibrated on."""
        response = isinstance(self.load_type, ThroughputLoad)
        measured = self.used_response_s if response else self.used_throughput_per_s
        curve = self.curve_model.curve(self.table.values, np.array(self.used))[1 if response else 0]
        middle = np.exp(self.table.weight @ np.log(curve))  # a prediction would add the misfit
        return np.asarray(middle / np.array(measured))

    @property
    def missed(self) -> Array:
        """The relative error of the model at each point that it was calibrated on."""
        return np.abs(self.over_measured - 1)

    @property
    def is_far_off(self) -> bool:
        """Whether the model misses a calibration point by ``FAR`` or more: then none of its figures is sure."""
        return bool(self.used) and bool(self.missed.max() >= FAR)

    def sureness(self, identified: bool, low: float | None, high: float | None) -> str:
        """``how_sure`` for a figure; ``doubtful`` where the data contradict themselves, ``assumed`` without points.

        At best ``rough`` where the model is far off its points, others refute it, or the audit doubts the runs.
        """
        if self.contradicted:
            return "doubtful"
        if not self.used or (len(self.used) == 1 and not identified):
            return "assumed"
        word = how_sure(identified, low, high)
        return "rough" if word == "sure" and (self.refuted or self.doubted or self.is_far_off) else word

    def predict(self, at: Sequence[float] | Array | Load | PeakShare, *, refuse: bool = True) -> Prediction:
        """Throughput and response time at the loads ``at``, with bands, as ``calibrate.predict``."""
        from calibrate.fitting.readings import predict

        return predict(self, at, refuse=refuse)

    def station(self, visits: float = 1.0, *, extrapolate: bool = False) -> Station:
        """The device as a station of a queueing network, which a customer visits ``visits`` times.

        It serves at the fitted rate X(n) while n are present, up to four times the deepest load measured; with
        ``extrapolate`` the last rate holds beyond.

        >>> from calibrate import from_datasheet
        >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station().most
        192
        """
        from calibrate.fitting.device_station import station_of

        return station_of(self, visits, extrapolate)

    def queue(self, n: int, *, extrapolate: bool = False, structure: bool = False) -> Network:
        """``n`` requests that circle on the device: a closed queue, whose throughput is that of ``predict``.

        With ``structure`` it consists of the servers and the delay behind the curve. Raises DataError where the points
        do not determine these, naming the measurement that would.

        >>> from calibrate import from_datasheet
        >>> from qsim import solve
        >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
        >>> bool(abs(solve(drive.queue(32)).throughput / drive.predict([32]).throughput_per_s[0] - 1) < 1e-9)
        True
        """
        from calibrate.fitting.device_station import queue_of

        return queue_of(self, n, extrapolate, structure)

    def draws(self, k: int, *, seed: int = 0) -> list[Fit]:
        """``k`` fits, each a possible device: rows of the table of weights, drawn with their weights."""
        from calibrate.fitting.device_station import draws_of

        return draws_of(self, k, seed)

    def simpy(self, env: Environment, *, seed: int = 0, extrapolate: bool = False) -> DeviceInSimPy:
        """The device in your own SimPy simulation: ``yield device.request()`` returns when it is served."""
        from calibrate.fitting.in_simpy import DeviceInSimPy

        return DeviceInSimPy(env, self.station(extrapolate=extrapolate), seed)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the table of weights, so that ``from_dict`` predicts the same bands."""
        left_out = ("load_type", "table", "points", "given", "collapse", "refuted")
        return {
            "schema": SCHEMA,
            **self.load_type.to_dict(),
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out},
            "parameters": {k: asdict(v) for k, v in self.parameters.items()},
            "knee": self.knee.to_dict(),
            "table": {**{name: getattr(self.table, name).tolist() for name in TABLE}, "scale": self.table.scale},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fit:
        """The inverse of ``to_dict``. Raises DataError for another schema or a missing or damaged field."""
        from calibrate.fitting.fit_file import read_fit

        return read_fit(cls, values)

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter: ``parameter``, ``estimate``, ``low``, ``high``, their ``unit``, and sureness.

        The parameters have units of their own, so the unit is a column.
        """
        import pandas as pd

        return pd.DataFrame([{"parameter": name, **vars(e)} for name, e in self.parameters.items()])

    def plot(self) -> Figure:
        """The predicted curve with its band, and the points it was calibrated on."""
        from calibrate.report.plots import fit_figure

        return fit_figure(self)

    def __repr__(self) -> str:
        from calibrate.fitting.fit_answer import short_text

        return short_text(self)

    def __str__(self) -> str:
        from calibrate.fitting.fit_answer import long_text

        return long_text(self)
