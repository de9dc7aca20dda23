"""A surface fitted to a few points, and its predictions at other places.

The misfit of the structure of :mod:`calibrate.surface.model` is correlated between near places
(:mod:`calibrate.inference`). A parameter that the points do not determine keeps its prior, from other devices.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import LEVEL, ROUGH, Array, Estimate, Mask, Observed, covariance_of
from calibrate.inference.tables import linearised
from calibrate.inference.weights import Known, Predictive, Quantity, Weights, predictive, quantiles
from calibrate.surface.model import NEAR, SurfaceModel
from calibrate.surface.places import MEASURE, WORDS, Places, SurfacePoints, value_text
from measure.errors import DataError
from measure.units import format_bytes, format_duration, format_rate, missed_text, plain_number
from qsim.result import Result, table

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Row = dict[str, Any]
"""Plain values in SI units by the names of the columns."""

PREDICTED = {
    f"predicted_throughput{end}_per_s": (heading, format_rate)
    for end, heading in (("", "PREDICTED"), ("_low", "LOW"), ("_high", "HIGH"))
}

KNEES = {
    "knee": "QUEUEING STARTS",
    "low": "LOW",
    "high": "HIGH",
    "knee90": "90 % OF PEAK AT",
    "low90": "LOW",
    "high90": "HIGH",
}
"""The columns of the two knees of a place."""

HEADINGS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "parameter": ("", str),
    "block_bytes": ("BLOCK", format_bytes),
    "read_fraction": ("READS", lambda share: f"{100 * share:.3g} %"),
    "outstanding": ("N", "{:g}".format),
    "jobs": ("JOBS", "{:g}".format),
    "throughput_per_s": ("MEASURED", format_rate),
    **PREDICTED,
    **{name: (heading, lambda v: plain_number(v, 2)) for name, heading in KNEES.items()},
    "peak_per_s": ("PEAK", format_rate),
    "idle_latency_s": ("IDLE LATENCY", format_duration),
    "estimate": ("ESTIMATE", str),
    "interval": ("INTERVAL", str),
    "sure": ("", str),
    "error_pct": ("ERROR", missed_text),
    "use": ("", str),
}
"""Columns in the order in which they are printed, with their headings."""

LEFT = ("parameter", "interval", "sure", "use")  # columns of words, aligned to the left


class Tabled(Result):
    """A result with rows."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """One row per point or place."""

    def to_frame(self) -> pd.DataFrame:
        """The rows, SI units in the names of the columns."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def table(self, most: int | None = None) -> str:
        """The rows with units, columns aligned; the first ``most`` of them."""
        return table_of(self.rows(), most)


def table_of(rows: Sequence[Row], most: int | None = None) -> str:
    """Rows with units, columns aligned, jobs left out where all have one; the first ``most`` of them."""
    shown = rows[:most]
    one_job = all(row.get("jobs") == 1 for row in rows)
    names = [n for n in HEADINGS if rows and n in rows[0] and not (n == "jobs" and one_job)]
    cells = [[HEADINGS[n][1](r[n]) for n in names] for r in shown]
    text = table([HEADINGS[n][0] for n in names], cells, left=[n in LEFT for n in names])
    more = f"\n... and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    return f"{text}{more}"


ENDS = ("", "_low", "_high")
BAND = (0.5 - LEVEL / 2, 0.5, 0.5 + LEVEL / 2)  # the quantiles of a band
ROUNDING = 1e-6
"""Relative precision below which the other points do not predict a point, as it alone determines a parameter."""


@dataclass(frozen=True, repr=False)
class SurfacePrediction(Tabled):
    """Throughput and response time with bands for a single new measurement at ``places`` (m,)."""

    places: Places
    throughput_per_s: Array
    throughput_low_per_s: Array
    throughput_high_per_s: Array
    extrapolated: Mask

    @property
    def response_time_s(self) -> Array:
        """N / X, by Little's law."""
        return np.asarray(self.places.outstanding / self.throughput_per_s)

    def rows(self) -> list[Row]:
        """One row per place, SI units in the names."""
        n, x = self.places.outstanding, (self.throughput_per_s, self.throughput_low_per_s, self.throughput_high_per_s)
        columns = {name: getattr(self.places, name) for name in WORDS}
        columns |= {f"predicted_throughput{end}_per_s": v for end, v in zip(ENDS, x, strict=True)}
        columns |= {f"predicted_response_time{e}_s": n / v for e, v in zip(ENDS, (x[0], x[2], x[1]), strict=True)}
        columns["extrapolated"] = self.extrapolated
        return [{name: values[i].item() for name, values in columns.items()} for i in range(len(self.places))]

    def plot(self) -> Figure:
        """The predicted throughput with its band against the outstanding requests, by block size."""
        from calibrate.report.plots import surface_prediction_figure

        return surface_prediction_figure(self)

    def __repr__(self) -> str:
        return f"SurfacePrediction at {len(self.places)} places, {100 * LEVEL:g} % bands\n{self.table(most=5)}"


@dataclass(frozen=True, repr=False)
class Surface:
    """A calibrated surface: the ``used`` points, the noise of each (k,), and the table of weights."""

    model: SurfaceModel
    used: SurfacePoints
    noise: Array
    weights: Weights

    def predict(self, places: Places) -> SurfacePrediction:
        """The prediction of a new measurement at ``places``. DataError for another depth where only one was used."""
        low, middle, high = self.predictive(places).quantiles(BAND)
        return SurfacePrediction(places, middle, low, high, self._extrapolated(places))

    def predictive(self, places: Places) -> Predictive:
        """The log throughputs at ``places`` as a mixture, and their covariance."""
        depth = self.used.places.outstanding[0]
        other = places.outstanding[~np.isclose(places.outstanding, depth, rtol=1e-3)]
        if self.model.line and len(other):
            raise DataError(
                f"all points used have the queue depth {depth:g}, so nothing is known of {other[0]:g}; measure a "
                f"second depth: {MEASURE}"
            )
        used, rates = self.used.places.as_rows(), self.used.throughput_per_s
        return predictive(Known(self.weights, self.model.throughput, NEAR, used, self.noise, rates), places.as_rows())

    def left_out(self) -> tuple[Array, Array]:
        """The residual of each used point from the prediction of the others (k,): in ln X, and in standard deviations.

        In closed form at the heaviest row of the table: with C the covariance of the points over parameters and misfit,
        the residual is (C^-1 r)_i / (C^-1)_ii (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
        equation 5.12).
        """
        heaviest = int(self.weights.weight.argmax())
        values, loads = self.weights.values[heaviest], self.used.places.as_rows()
        step = np.exp(self.weights.directions[heaviest].T)
        up, down = (self.model.log_throughput(v, loads) for v in (values * step, values / step))
        slopes = 0.5 * (up - down).T
        inverse = np.linalg.inv(covariance_of(NEAR, loads, self.noise, float(self.weights.misfit[heaviest])))
        missed = np.log(self.used.throughput_per_s) - self.model.log_throughput(values[None, :], loads)[0]
        weighted, own = inverse @ missed, (inverse - inverse @ slopes @ (inverse @ slopes).T).diagonal()
        own = np.maximum(own, ROUNDING * inverse.diagonal())
        return weighted / own, weighted / np.sqrt(own)

    def knee(self, places: Places) -> tuple[Array, Array, Array] | None:
        """N* = R / D of the structure alone, at ``places`` (m,), and its interval; None at one depth."""
        if len(self.used.places.values("outstanding")) == 1:
            return None
        loads, model = places.as_rows(), self.model
        return self._interval(lambda v: np.maximum(model.lone_s(v, loads) / model.busy_s(v, loads), 1.0))

    def ninety(self, places: Places) -> tuple[Array, Array, Array] | None:
        """The structure's depth at 90 % of its peak, at ``places`` (m,), and its interval; None at one depth."""
        if len(self.used.places.values("outstanding")) == 1:
            return None
        return self._interval(lambda v: self.model.ninety(v, places.as_rows()))

    def parameters(self) -> dict[str, Estimate]:
        """The reported parameters, of the classes and limits that the points show."""
        named = self.model.report(self.weights.values, self.used.places)
        ends = self._interval(
            lambda values: np.column_stack([v for _, v in self.model.report(values, self.used.places).values()])
        )
        return {
            name: Estimate(float(middle), float(low), float(high), bool(high < ROUGH * low), unit)
            for (name, (unit, _)), middle, low, high in zip(named.items(), *ends, strict=True)
        }

    def _interval(self, quantity: Quantity) -> tuple[Array, Array, Array]:
        """Median, low and high (m,) of a positive quantity of the parameters."""
        found = quantiles(*self.weights.moments(quantity), self.weights.weight, BAND)
        low, middle, high = np.exp(found)
        return middle, low, high

    def _extrapolated(self, places: Places) -> Mask:
        """True (m,) outside the box of the points used."""
        outside = np.zeros(len(places), dtype=bool)
        for name in WORDS:
            values, known = getattr(places, name), self.used.places.values(name)
            outside |= (values < known[0] * 0.999) | (values > known[-1] * 1.001)
        return outside

    def guesses(self, places: Places) -> tuple[str, ...]:
        """The assumptions, in words, where ``places`` vary in a column that was constant at all used points."""
        known = {name: self.used.places.values(name) for name in WORDS}
        return tuple(
            f"all points used have the {WORDS[name]} {value_text(name, values[0])}: predictions at others rest on what "
            "other devices do"
            for name, values in known.items()
            if len(values) == 1 and not np.isclose(getattr(places, name), values[0], rtol=1e-3).all()
        )

    def __repr__(self) -> str:
        lines = [f"  {name}  {e}" for name, e in list(self.parameters().items())[:5]]
        return "\n".join([f"Surface of {self.used.source or 'a device'} from {len(self.used)} points", *lines])


def fit_surface(points: SurfacePoints, used: Mask, *, doubt: Array | None = None) -> Surface:
    """Calibrate on the points of the mask ``used`` (m,); deterministic, about 10 ms.

    ``doubt`` (m,) are relative standard errors added to the points' own. Raises DataError where no point is
    used.
    """
    if not used.any():
        raise DataError(f"{points.source or 'the surface'}: no point to calibrate on; name one at least")
    chosen = points.at(used)
    noise = chosen.noise() if doubt is None else np.hypot(chosen.noise(), doubt[used])
    line = len(points.places.values("outstanding")) == 1
    model = SurfaceModel.of(chosen.places, chosen.throughput_per_s, line)
    loads = chosen.places.as_rows()
    weights = linearised(
        model.parameters(),
        lambda values: model.log_throughput(values, loads),
        Observed(loads, np.log(chosen.throughput_per_s), noise),
        NEAR,
        model.misfit,
    )
    return Surface(model, chosen, noise, weights)
