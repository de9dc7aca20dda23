"""Compares a prediction with measurements: calibrates on a few points, predicts the others, reports the errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.calibrating import OTHER_LOAD, fit, missing_its_own_points
from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_answer import knees_document
from calibrate.fitting.own_load import is_own_kind
from calibrate.fitting.predicted_curve import Knee, Prediction, grid
from calibrate.inference.parameters import Array, Mask
from calibrate.next import NextLoad, advice, loads_to_calibrate_on
from calibrate.points import Points, points_of, residuals_pct
from measure.auditing.all_checks import audit
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import ArrivalRate, ClosedLoad, Depth, InjectedDelay, ThroughputLoad
from measure.origin import MEASURED, ORIGIN, PUBLISHED, Provenance, as_measured
from measure.sweep import Sweep
from measure.units import counted, format_percent
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from calibrate.prediction.baselines import BaselineError, Rung
    from calibrate.prediction.truth import TruthCheck

DRAWN = 120
"""Number of loads of a smooth curve."""


@dataclass(frozen=True, repr=False)
class Summary:
    """Errors of a comparison in percent: mean absolute (``mape``) and median absolute (``mdape``) ones.

    Errors are scored against measured values alone: points whose throughput or response time was computed are left out.
    Held-out numbers are None where no such point was held out; ``repeat_noise_pct`` is the median relative standard
    deviation of one repeat of a point's throughput, None without repeats: the least error to expect of any model.
    ``inside_band_pct`` is the share of held-out throughputs inside the band. In open sweeps, whose throughput is given,
    both are those of the response time.
    """

    held_out_points: int
    held_out_mape_throughput_pct: float | None
    held_out_mape_response_pct: float | None
    held_out_mdape_throughput_pct: float | None
    held_out_mdape_response_pct: float | None
    in_sample_mape_throughput_pct: float | None
    in_sample_mape_response_pct: float | None
    inside_band_pct: float | None
    band_level: float
    repeat_noise_pct: float | None

    def __repr__(self) -> str:
        """A line or two: the errors at the held-out points, and the share inside their bands."""
        medians = {"throughput": self.held_out_mdape_throughput_pct, "response time": self.held_out_mdape_response_pct}
        missed = [f"{what} missed by {format_percent(m)}" for what, m in medians.items() if m is not None]
        noise = self.repeat_noise_pct
        repeats = "" if noise is None else f"\nrepeats have a standard deviation of {format_percent(noise)}"
        if self.inside_band_pct is None:
            return f"no point held out{repeats}"
        inside = f"{self.inside_band_pct:.0f} % inside their {100 * self.band_level:g} % bands"
        return f"{counted(self.held_out_points, 'point')} held out: {', '.join(missed)} (medians); {inside}{repeats}"


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """One series: the fit, its predictions at every measured load, and the residuals (predicted over observed - 1).

    >>> from calibrate import compare
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> compare(sweep).summary()
    3 points held out: throughput missed by 10 %, response time missed by 8.9 % (medians); 100 % inside their 90 % bands
    """

    fit: Fit
    points: Points
    held_out: Mask
    predicted: Prediction
    sweep: Sweep
    left_out: bool = False
    """Whether the points that a sealed fit used were left out of these."""

    @cached_property
    def audit(self) -> tuple[Finding, ...]:
        """Findings of the audit of the curve, of the points and of the importer."""
        noticed = (f for f in self.sweep.findings if f.series in (None, self.series))
        own = (*missing_its_own_points(self.fit), *self._doubts_of_load())
        return (*audit(self.sweep, self.series), *own, *noticed)

    def _doubts_of_load(self) -> Iterator[Finding]:
        """Findings against the prediction under the load of these points."""
        for doubt in self.predicted.doubts:
            yield Finding(OTHER_LOAD, "warning", f"{doubt}.", series=self.series)
        rows = self.sweep.select(self.series).points if self.series in self.sweep.series else self.sweep.points
        jobs, before = rows["jobs"].max(), self.fit.load_type
        if not self.is_own_kind and isinstance(before, Depth) and jobs > 1 and before.jobs != jobs:
            yield Finding(
                OTHER_LOAD,
                "warning",
                f"{jobs:g} jobs sent these requests, and the points of the fit {before.jobs or 'several'}.",
                "another number of jobs is another load on the host, so that latencies may differ by a factor.",
                "measure both with as many jobs.",
                self.series,
            )

    @property
    def provenance(self) -> Provenance:
        """The sweep's provenance."""
        return self.sweep.provenance

    @property
    def series(self) -> str:
        """The curve's name."""
        return self.points.series

    @property
    def knee(self) -> Knee:
        """The fit's knee."""
        return self.fit.knee

    @property
    def calibrated_here(self) -> bool:
        """Whether all calibration points are among these points."""
        return 0 < len(self.fit.used) <= int((~self.held_out).sum())

    @cached_property
    def models(self) -> tuple[Rung, ...]:
        """The ladder of models on the same points; empty where too few of them are calibration points."""
        from calibrate.prediction.baselines import ladder

        enough = (~self.held_out).sum() >= self.points.load_type.least_points
        return tuple(ladder(self.points, self.fit, self.predicted)) if enough else ()

    @cached_property
    def smooth(self) -> Prediction:
        """The predicted curve over the measured loads, for drawing, with the knee's load among its own."""
        load, knee = self.points.load, self.knee.load
        if self.is_open:
            drawn = np.linspace(0.02, 1.0, DRAWN) * float(load.max())
        elif isinstance(self.points.load_type, InjectedDelay):
            drawn = grid(0.0, float(load.max()))
        else:
            drawn = grid(min(1.0, float(load.min())), float(load.max()), 48)
        if not self.is_own_kind:
            return self.fit.predict(replace(self.points.load_type, values=drawn.tolist()), refuse=False)
        among = knee is not None and drawn[0] <= knee <= drawn[-1]
        return self.fit.predict(np.union1d(drawn, [knee]) if among else drawn, refuse=False)

    @cached_property
    def at_knee(self) -> tuple[float, float]:
        """Throughput and response time of the predicted curve at the knee's load; without a load, the knee's own.

        The knee's own are medians over all curves, each at its own knee, and may lie off the median curve.
        """
        knee, curve = self.knee, self.smooth
        if knee.load is None or not self.is_own_kind:
            return knee.throughput_per_s, knee.response_time_s
        curve = curve if knee.load in curve.load else self.fit.predict([knee.load], refuse=False)
        at = int(np.searchsorted(curve.load, knee.load))
        return float(curve.throughput_per_s[at]), float(curve.response_time_s[at])

    @property
    def is_own_kind(self) -> bool:
        """Whether the points vary the load that the fit was calibrated under."""
        return is_own_kind(self.fit.load_type, self.points.load_type)

    @property
    def is_open(self) -> bool:
        """Whether loads are throughputs (arrival rates, or bandwidths), so that only response times are predicted."""
        return isinstance(self.points.load_type, ThroughputLoad)

    @cached_property
    def truth(self) -> TruthCheck | None:
        """The fit against the truth, for a known device; else None."""
        if "truth" not in self.provenance.details or not isinstance(self.fit.load_type, ClosedLoad | ArrivalRate):
            return None
        from calibrate.prediction.truth import check_truth  # which simulates

        return check_truth(self.provenance.details["truth"], self.fit, self.points.load)

    @cached_property
    def true_smooth(self) -> tuple[Array, Array] | None:
        """The true throughput and response time at the loads of ``smooth``, where the truth is known."""
        if self.truth is None:
            return None
        from calibrate.prediction.truth import true_curve

        return true_curve(self.truth.truth, self.fit.load_type, self.smooth.load)

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Load, throughput and latency of each point, with their origins, as columns of ``Sweep.points``."""
        import pandas as pd

        p = self.points
        origin = np.full((len(p), len(ORIGIN)), MEASURED, object) if p.origin is None else p.origin
        published = np.full(origin.shape, np.nan) if p.published is None else p.published
        figures = dict(zip(ORIGIN, (p.load, p.throughput_per_s, p.response_time_s), strict=True))
        figures |= dict(zip(ORIGIN.values(), origin.T, strict=True))
        return pd.DataFrame(figures | dict(zip(PUBLISHED.values(), published.T, strict=True)))

    @cached_property
    def computed_response_s(self) -> Array:
        """Response times that were computed (m,), seconds; NaN where one was measured."""
        return np.where(self.points.measured("latency_s"), np.nan, self.points.response_time_s)

    @cached_property
    def observed_response_s(self) -> Array:
        """Response times as measured (m,), seconds, also where a law gave others; NaN where none was measured."""
        measured = as_measured(self.measured, "latency_s")
        return np.where(measured == self.computed_response_s, np.nan, measured)

    @cached_property
    def residual_throughput_pct(self) -> Array:
        """Residuals of the throughput, 100 (predicted / observed - 1), (m,); NaN where it was not measured."""
        missed = residuals_pct(self.predicted.throughput_per_s, self.points.throughput_per_s)
        return np.where(self.points.measured("throughput_per_s"), missed, np.nan)

    @cached_property
    def residual_response_pct(self) -> Array:
        """The same of the response time."""
        missed = residuals_pct(self.predicted.response_time_s, self.points.response_time_s)
        return np.where(self.points.measured("latency_s"), missed, np.nan)

    @cached_property
    def judges_response(self) -> Mask:
        """Whether a point is judged by its response time (m,): its throughput is given, or was not measured.

        Users who think complete almost N / Z whatever the device is, so that their throughput hardly judges it.
        """
        thinking = self.points.measured("latency_s") & (self.points.load_type.thinking_s > 0)
        return np.asarray(self.is_open | thinking | ~self.points.measured("throughput_per_s"))

    @cached_property
    def inside(self) -> Mask:
        """Whether what was measured lies inside its band (m,): the response time where that judges the point."""
        p, x, r = self.predicted, self.points.throughput_per_s, self.points.response_time_s
        of_throughput = (p.throughput_low_per_s <= x) & (x <= p.throughput_high_per_s)
        of_response = (p.response_time_low_s <= r) & (r <= p.response_time_high_s)
        return np.where(self.judges_response, of_response, of_throughput)

    @property
    def refutes(self) -> bool:
        """Whether so many of the held-out points lie outside their bands that chance explains it less than 1 - level.

        By the binomial distribution, as if points missed independently: of 2 both, of 3 to 5 two, of 6 to 11 three.
        """
        n, level = int(self.held_out.sum()), self.predicted.level
        counts = range(int(self.inside[self.held_out].sum()) + 1)
        each = (math.log(math.comb(n, k)) + k * math.log(level) + (n - k) * math.log1p(-level) for k in counts)
        return n > 0 and sum(map(math.exp, each)) < 1 - level

    def summary(self) -> Summary:
        """The errors, held out and in sample, and the noise of repeats."""
        held, used = self.held_out, ~self.held_out
        x, r = np.abs(self.residual_throughput_pct), np.abs(self.residual_response_pct)

        def of(values: Array, which: Mask, average: Callable[[Array], Any] = np.mean) -> float | None:
            known = values[which & np.isfinite(values)]
            return float(average(known)) if len(known) else None

        return Summary(
            held_out_points=int(held.sum()),
            held_out_mape_throughput_pct=of(x, held),
            held_out_mape_response_pct=of(r, held),
            held_out_mdape_throughput_pct=of(x, held, np.median),
            held_out_mdape_response_pct=of(r, held, np.median),
            in_sample_mape_throughput_pct=of(x, used),
            in_sample_mape_response_pct=of(r, used),
            inside_band_pct=of(np.where(self.inside, 100.0, 0.0), held),
            band_level=self.predicted.level,
            repeat_noise_pct=self.points.repeat_noise_pct(),
        )

    @cached_property
    def baselines(self) -> tuple[BaselineError, ...]:
        """The errors of each baseline at the same held-out points; empty where none can be calibrated here."""
        from calibrate.prediction.baselines import baseline_errors

        return baseline_errors(self.points, self.held_out) if self.calibrated_here else ()

    @cached_property
    def model_error(self) -> BaselineError:
        """The model's errors at the held-out points (at least one), as for ``baselines``."""
        from calibrate.prediction.baselines import error_of

        unseen, made = self.points.at(self.held_out), self.predicted
        predicted = made.throughput_per_s[self.held_out], made.response_time_s[self.held_out]
        return error_of(self.fit.model, predicted, unseen)

    @cached_property
    def next(self) -> NextLoad | None:
        """The load to measure next, given all points (:mod:`calibrate.next`)."""
        return advice(self.points, self.fit.between_runs)

    @property
    def split(self) -> str:
        """``calibrated on depths 1, 8, 64; the other 5 points are held out``."""
        used, held = self.fit.load_type.texts(self.fit.used), int(self.held_out.sum())
        are = f"{counted(held, 'point')} {'is' if held == 1 else 'are'} held out"
        if not self.calibrated_here:
            where = "before, on" if self.left_out else "elsewhere, on"
            made = f"calibrated {where} {self.fit.load_type.plural} {used}" if used else "not calibrated"
            return f"{made}; {'all ' if held == len(self.points) else ''}{are}"
        if not held:
            return f"calibrated on all {counted(len(self.points), 'point')}; none is held out"
        return f"calibrated on {self.fit.load_type.plural} {used}; the other {are}"

    def verdict(self) -> str:
        """The result in a few sentences with numbers."""
        from calibrate.prediction.comparison_answer import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units, the keys of ``qsim compare --json``."""
        frame = self.to_frame()
        points = [
            {
                "load": float(self.points.load[i]),
                "held_out": bool(self.held_out[i]),
                "observed": {
                    "throughput_per_s": float(self.points.throughput_per_s[i]),
                    "response_time_s": float(self.points.response_time_s[i]),
                    "repeats": int(self.points.repeats[i]),
                    "origin": {name: frame[column].iloc[i] for name, column in _ORIGIN.items()},
                    **{column: _known(frame[column].iloc[i]) for column in _PUBLISHED},
                },
                "predicted": {k: v for k, v in row.items() if k != "load"},
                "residual_pct": {
                    "throughput_per_s": _known(self.residual_throughput_pct[i]),
                    "response_time_s": _known(self.residual_response_pct[i]),
                },
            }
            for i, row in enumerate(self.predicted.to_dicts())
        ]
        return {
            "series": self.series,
            "load": self.fit.load_name if self.is_own_kind else self.points.load_type.named,
            **({} if self.is_own_kind else {"knee_load": self.fit.load_name}),
            "model": {"name": self.fit.model, "assumption": self.fit.assumption, "used": list(self.fit.used)},
            "parameters": {k: asdict(v) for k, v in self.fit.parameters.items()},
            **knees_document(self.fit),
            "points": points,
            "summary": asdict(self.summary()),
            "audit": [f.to_dict() for f in self.audit],
            "models": [asdict(m) for m in self.models],
            "baselines": [asdict(e) for e in self.baselines],
            "verdict": self.verdict(),
            "next": None if self.next is None else self.next.to_dict(),
            "notes": list(self.fit.notes),
            "provenance": self.provenance.to_dict(),
            **({} if self.truth is None else {"truth": self.truth.to_dict()}),
        }

    def to_frame(self) -> pd.DataFrame:
        """A row for each measured point: observed with its origins, predicted with its band, residuals in percent."""
        points = self.points
        frame = self.predicted.to_frame().rename(columns=lambda name: name if name == "load" else f"predicted_{name}")
        return frame.assign(
            held_out=self.held_out,
            throughput_per_s=points.throughput_per_s,
            response_time_s=points.response_time_s,
            repeats=points.repeats,
            residual_throughput_pct=self.residual_throughput_pct,
            residual_response_pct=self.residual_response_pct,
            **{name: self.measured[column] for column, name in _FRAME.items()},
        )

    def plot(self) -> Figure:
        """Latency against throughput: the predicted curve, the points it was calibrated on and those held out."""
        from calibrate.report.plots import comparison_figure

        return comparison_figure(self)

    def __repr__(self) -> str:
        from calibrate.prediction.comparison_answer import short_text

        return short_text(self)

    def __str__(self) -> str:
        from calibrate.prediction.comparison_answer import long_text

        return long_text(self)


_ORIGIN = {"load": "load_origin", "throughput_per_s": "throughput_origin", "response_time_s": "response_time_origin"}
_PUBLISHED = ("load_published", "throughput_published_per_s", "response_time_published_s")
_FRAME = dict(zip((*ORIGIN.values(), *PUBLISHED.values()), (*_ORIGIN.values(), *_PUBLISHED), strict=True))


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def compare(
    sweep: Sweep,
    use: Sequence[float] | None = None,
    *,
    series: str | None = None,
    model: str | None = None,
    fitted: Fit | None = None,
) -> Comparison:
    """Calibrate on the loads ``use``, predict every point of one series, and report the residuals.

    ``use`` None means the loads that :mod:`calibrate.next` recommends. ``series`` and ``model`` are as in ``fit``.
    ``fitted`` is an existing fit (from a data sheet, another run, another kind of load, or this one) to use instead;
    its calibration points are those with the same load and throughput as one of the fit's.
    Raises DataError and ValueError as ``fit`` does.

    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> compare(sweep, [4, 32]).summary()
    3 points held out: throughput missed by 10 %, response time missed by 8.9 % (medians); 100 % inside their 90 % bands
    """
    points = points_of(sweep, series)
    if fitted is None:
        chosen = loads_to_calibrate_on(points) if use is None else use
        fitted = fit(sweep, chosen, series=series, model=model)
    made = fitted
    if made.load_type.kind != points.load_type.kind and not isinstance(points.load_type, ArrivalRate | ClosedLoad):
        raise DataError(
            f"the fit is for {made.load_name}, but {points.series} varies the "
            f"{points.load_type.kind.replace('_', ' ')}; fit this sweep itself: qsim fit DATA"
        )
    used = made.was_used(points)
    predicted = made.predict(replace(points.load_type, values=points.load.tolist()), refuse=False)
    done = Comparison(fit=made, points=points, held_out=~used, predicted=predicted, sweep=sweep)
    return replace(done, fit=replace(made, refuted=True)) if done.refutes else done


def compare_all(
    sweep: Sweep, use: Sequence[float] | None = None, *, model: str | None = None
) -> tuple[list[Comparison], dict[str, str]]:
    """``compare`` for every series with enough points, and {series: reason} for the others.

    Raises DataError where no series can be compared, with the first reason.

    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read")
    >>> done, refused = compare_all(sweep)
    >>> [one.series for one in done]
    ['4 KiB read', '16 KiB read', '32 KiB read', '128 KiB read']
    """
    done: list[Comparison] = []
    refused: dict[str, str] = {}
    for series in sweep.series:
        try:
            done.append(compare(sweep, use, series=series, model=model))
        except DataError as error:
            refused[series] = str(error)
    if not done:
        raise DataError(next(iter(refused.values())))
    return done, refused
