"""A calibrated device model: what was fitted to which points, and what is needed to predict with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.predicted_curve import Prediction, predict
from calibrate.inference.parameters import Array, Estimate, how_sure
from calibrate.knees.knee import CurvePaths, Knee, knee_of, ninety_of, paths
from calibrate.models.calibration import TABLE, Calibration, estimates
from measure.errors import DataError
from qsim.result import Result, shown_by

if TYPE_CHECKING:
    import pandas as pd
    from simpy import Environment

    from calibrate.fitting.in_simpy import DeviceInSimPy
    from calibrate.fitting.station import DeviceStation
    from qsim import Network

SCHEMA = "qsim-fit/3"

FAR = 0.2
"""A model that misses a point it was calibrated on by so much is not of this device: usual models miss by 3 to 9 %."""


@dataclass(frozen=True, repr=False)
class Fit(Calibration, Result):
    """A calibrated device model: a table of weights, and from it parameters with intervals, the knee, predictions.

    It prints itself as a table.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> fit(sweep)
    4 KiB read: a smooth curve through all 5 points
    QUEUEING STARTS depth 18 (11 to 30), rough: 212 k/s at 87 µs
    90 % OF PEAK AT depth 22 (15 to 54), rough: 232 k/s at 96 µs
    PEAK    258 k/s (227 to 300), sure; idle latency 72 µs (42 to 113)
    """

    @cached_property
    def parameters(self) -> Mapping[str, Estimate]:
        """The parameters as people name them, with intervals; of queue depths also c, S and Z."""
        if self.given is not None or self.points is None or not self.load_type.is_closed:
            return self.curve_parameters
        from calibrate.models.stations import servers_and_think

        return {**self.curve_parameters, **servers_and_think(self.points, self.level)}

    @cached_property
    def curve_parameters(self) -> Mapping[str, Estimate]:
        """Those of the curve alone, without c, S and Z."""
        if self.given is not None:
            return self.given
        columns = (np.array(c) for c in (self.used, self.used_throughput_per_s, self.used_response_s))
        priors = {p.name: p.prior_log_sd for p in self.curve_model.parameters(*columns) if p.prior_log_sd is not None}
        found = estimates(self.curve_model, self.table, priors, self.level, self.between_runs)
        if "N*" in found:  # one knee, whoever asks
            k = self.knee
            found["N*"] = replace(
                found["N*"], estimate=k.load, low=k.low, high=k.high, identified=k.identified, note=""
            )
        return found

    @cached_property
    def paths(self) -> CurvePaths:
        """The curves of devices that stand for the table, along which knees are looked for."""
        return paths(self, self.knee.load)

    @cached_property
    def knee(self) -> Knee:
        """The knee with its interval (:mod:`calibrate.knees.knee`)."""
        return knee_of(self)

    @cached_property
    def ninety(self) -> Knee:
        """The load that gives 90 % of the peak, with its interval."""
        return ninety_of(self, self.paths)

    @cached_property
    def missed(self) -> Array:
        """The relative error of the model at each point that it was calibrated on."""
        response = self.load_type.is_throughput
        measured = self.used_response_s if response else self.used_throughput_per_s
        curve = self.curve_model.curve(self.table.values, np.array(self.used))[1 if response else 0]
        middle = np.exp(self.table.weight @ np.log(curve))  # a prediction adds what the curve misses, and is near them
        return np.asarray(np.abs(middle / np.array(measured) - 1))

    @property
    def is_far_off(self) -> bool:
        """Whether the model misses a point that it was calibrated on by ``FAR``: no figure of it is sure."""
        return bool(self.used) and bool(self.missed.max() >= FAR)

    def sureness(self, identified: bool, low: float | None, high: float | None) -> str:
        """``how_sure`` of a figure; ``doubtful`` where the data contradict themselves.

        Where the model is far off its own points, a figure is rough at best.
        """
        if self.contradicted:
            return "doubtful"
        word = how_sure(identified, low, high)
        return "rough" if word == "sure" and self.is_far_off else word

    def predict(self, at: Sequence[float] | Array) -> Prediction:
        """Throughput and response time at the loads ``at``, with bands, as ``calibrate.predict``."""
        return predict(self, at)

    def station(self, visits: float = 1.0, *, extrapolate: bool = False) -> DeviceStation:
        """The device as a station of a queueing network, which a customer visits ``visits`` times.

        It serves at the fitted rate X(n) while n are present, and covers up to four times the deepest load measured;
        ``extrapolate`` lets the last rate hold beyond.

        >>> from calibrate import from_datasheet
        >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station().most
        193
        """
        from calibrate.fitting.station import station_of

        return station_of(self, visits, extrapolate)

    def queue(self, n: int, *, extrapolate: bool = False, structure: bool = False) -> Network:
        """``n`` requests that circle on the device: a closed queue, whose throughput is that of ``predict``.

        With ``structure`` it is made of the servers and the delay behind the curve. Raises DataError where the points
        do not determine these, with the measurement that would.

        >>> from calibrate import from_datasheet
        >>> from qsim import solve
        >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
        >>> bool(abs(solve(drive.queue(32)).throughput / drive.predict([32]).throughput_per_s[0] - 1) < 1e-9)
        True
        """
        from calibrate.fitting.station import queue_of, structure_queue

        return structure_queue(self, n) if structure else queue_of(self, n, extrapolate)

    def draws(self, k: int, *, seed: int = 0) -> list[Fit]:
        """``k`` fits, each a possible device: rows of the table of weights, drawn by their weight."""
        from calibrate.fitting.station import draws_of

        return draws_of(self, k, seed)

    def simpy(self, env: Environment, *, seed: int = 0, extrapolate: bool = False) -> DeviceInSimPy:
        """The device in your own SimPy simulation: ``yield device.request()`` returns when it is served."""
        from calibrate.fitting.in_simpy import DeviceInSimPy

        return DeviceInSimPy(env, self.station(extrapolate=extrapolate), seed)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the table, so that ``from_dict`` predicts the same bands."""
        left_out = ("table", "points", "given", "collapse")
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
        from calibrate.fitting.fit_file import read_fit

        return read_fit(cls, values)

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter: ``parameter``, ``estimate``, ``low``, ``high``, their ``unit``, and how sure.

        The parameters have units of their own, so the unit is a column.
        """
        import pandas as pd

        return pd.DataFrame([{"parameter": name, **vars(e)} for name, e in self.parameters.items()])

    plot = shown_by(
        "calibrate.report.plots:fit_figure", "The predicted curve with its band, and the points it was calibrated on."
    )
    __repr__ = shown_by("calibrate.fitting.answer:short_text")
    __str__ = shown_by("calibrate.fitting.answer:long_text")
