"""Fit a device model to a few points of a sweep, or write it down from a data sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrate.curve_models import (
    SHARPNESS_LOG_SD,
    SHARPNESS_MEDIAN,
    AsymptoticBounds,
    CurveModel,
    DelayMMc,
    OnsetPNorm,
    PNorm,
    RandomRouting,
)
from calibrate.delay_law import DelayLaw, Unloaded
from calibrate.discrepancy import beyond_the_points
from calibrate.knee import Knee
from calibrate.memory_curve import MemoryCurve, MemoryQueue
from calibrate.open_models import MGc, OpenModel, ggc, open_named
from calibrate.past_the_peak import Declining, ScalabilityLaw, shows_decline
from calibrate.points import Points, points_of
from calibrate.posterior import Array, Mask, most_probable, posterior
from measure.dataset import LOAD_NAMES, LoadKind, Sweep
from measure.errors import DataError
from measure.units import format_bandwidth, format_duration, format_rate

SCHEMA = "qsim-fit/2"
USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
LEVEL = 0.9
KEPT_DRAWS = 1000


@dataclass(frozen=True)
class Estimate:
    """A parameter [low estimate high]; ``identified`` is False where the points cannot pin it (``note``: why)."""

    estimate: float | None
    low: float | None
    high: float | None
    identified: bool
    unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fit:
    """A calibrated device model: parameters with intervals, the knee, and what is needed to predict.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are the points it was fitted to (empty for a data
    sheet), ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown). It
    prints itself as a table.
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
    parameters: Mapping[str, Estimate]
    mode: Array
    draws: Array
    error_draws: Array
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def curve_model(self) -> CurveModel:
        """The model that draws the curve."""
        return model_named(self.model)

    @property
    def load_name(self) -> str:
        """What the load is, with its unit."""
        name = LOAD_NAMES[self.load_kind]
        return name if self.load_kind == "queue_depth" else f"{name} ({self.load_unit})"

    @cached_property
    def knee(self) -> Knee:
        """The knee by the model's definition, with its interval."""
        at_mode = self.curve_model.knee(self.mode[None, :])
        drawn = self.curve_model.knee(self.draws)
        tails = [50 * (1 - self.level), 50 * (1 + self.level)]
        x_low, x_high = np.percentile(drawn.throughput, tails)
        reached = np.isfinite(drawn.load)
        load, low, high, note = float(at_mode.load[0]), None, None, ""
        if reached.mean() > 1 - self.level:
            low, high = (float(v) for v in np.percentile(drawn.load[reached], tails))
            if self.load_kind == "queue_depth":
                low = reaching(low, high, LEAST["N*"], self.level)
        if not np.isfinite(load):
            note = "the loaders of this sweep do not reach the knee"
        elif self.used and self.load_kind != "injected_delay" and load > max(self.used):
            end, more = (
                ("deepest calibrated point", "deeper")
                if self.load_kind == "queue_depth"
                else ("highest calibrated load", "at higher loads")
            )
            note = f"beyond the {end} ({max(self.used):g}): an extrapolation; measure {more} to pin it"
        spread = drawn.throughput if self.load_kind == "injected_delay" else drawn.load
        inner = (
            np.percentile(spread[np.isfinite(spread)], tails) if np.isfinite(spread).any() else np.array([1.0, np.inf])
        )
        return Knee(
            load=load if np.isfinite(load) else None, low=low, high=high,
            throughput_per_s=float(at_mode.throughput[0]), response_time_s=float(at_mode.response[0]),
            definition=self.curve_model.knee_definition, load_name=self.load_name,
            identified=bool(inner[1] / inner[0] < 2), note=note,
            throughput_low_per_s=float(x_low), throughput_high_per_s=float(x_high),
        )  # fmt: skip

    def was_used(self, points: Points) -> Mask:
        """True (m,) for those of ``points`` that this fit was calibrated on: the same load and the same throughput."""
        pairs = list(zip(self.used, self.used_throughput_per_s, strict=True))
        measured = zip(points.load, points.throughput_per_s, strict=True)
        return np.array([any(np.isclose(n, u) and np.isclose(x, v) for u, v in pairs) for n, x in measured], dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the draws, so that ``from_dict`` predicts the same bands."""
        plain = {k: v for k, v in asdict(self).items() if k not in ("mode", "draws", "error_draws", "parameters")}
        return {
            "schema": SCHEMA,
            **plain,
            "parameters": {k: asdict(v) for k, v in self.parameters.items()},
            "knee": self.knee.to_dict(),
            "mode": self.mode.tolist(),
            "draws": self.draws.tolist(),
            "error_draws": self.error_draws.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fit:
        """The inverse of ``to_dict``. Raises DataError for another schema or a missing or damaged field."""
        if values.get("schema") != SCHEMA:
            raise DataError(f"this is no fit of schema {SCHEMA}; write one with: qsim fit DATA --out fit.json")
        try:
            kept = {k: values[k] for k in cls.__dataclass_fields__ if k in values}
            kept["parameters"] = {k: Estimate(**v) for k, v in values["parameters"].items()}
            kept["mode"] = np.asarray(values["mode"], dtype=float)
            kept["draws"] = np.asarray(values["draws"], dtype=float)
            kept["error_draws"] = np.asarray(values["error_draws"], dtype=float)
            kept.update({k: tuple(values[k]) for k in (*USED, "notes")})
            fit = cls(**kept)
            model_named(fit.model)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"the fit is damaged ({error}); make it again with: qsim fit DATA --out fit.json"
            ) from error
        return fit

    def __str__(self) -> str:
        used = ", ".join(f"{n:g}" for n in self.used) or "no measurement (data sheet)"
        lines = [f"{self.series or 'device'}: {self.model} from {used}", f"  assumes: {self.assumption}"]
        for name, e in self.parameters.items():
            lines.append(f"  {name:<6} {_interval(e)}{'' if e.identified else '   not identifiable'}")
            if e.note:
                lines.append(f"         {e.note}")
        k = self.knee
        if k.load is None:
            lines.append(f"  knee   {k.note} (throughput {format_rate(k.throughput_per_s)})")
        else:
            interval = f"  [{k.low:.4g}, {k.high:.4g}]" if k.low is not None and k.high is not None else ""
            open_end = "" if k.identified else "   not identifiable"
            lines.append(
                f"  knee   {k.load:.4g}{interval}{open_end}   {k.definition}{f' ({k.note})' if k.note else ''}"
            )
        lines += [f"  note: {n}" for n in self.notes]
        return "\n".join(lines)


def quantity(value: float | None, unit: str) -> str:
    """A parameter's value with its unit, for people; empty for None."""
    if value is None:
        return ""
    if unit in ("1/s", "lines/s"):
        return format_rate(value)
    if unit == "B/s":
        return format_bandwidth(value)
    base, per, rest = unit.partition(" per ")
    return format_duration(value) + per + rest if base == "s" else f"{value:.3g} {unit}".strip()


def _interval(e: Estimate) -> str:
    ends = "" if e.low is None or e.high is None else f"  [{quantity(e.low, e.unit)}, {quantity(e.high, e.unit)}]"
    return f"{quantity(e.estimate, e.unit):>10}{ends}"


def fit(
    sweep: Sweep,
    use: Sequence[float] | None = None,
    *,
    series: str | None = None,
    model: str | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Fit:
    """Calibrate a device model on the points of ``sweep`` at the loads ``use``.

    ``use`` None takes the depths that the model asks for (a closed sweep: the first, the first of at least 32, and a
    third where four or more were measured; ``probe_depths.asked_loads``), or the smallest, the middle and the largest
    delay (a memory sweep) or arrival rate (an open one). ``series`` names the curve where there
    are several. ``model`` None means ``p-norm with onset`` for closed sweeps (with a decline, where the deepest of
    the points used shows one), ``delay law`` for memory sweeps and ``M/G/c`` for open ones. ``level`` is that of
    intervals and bands.

    Raises DataError where the series or a load is missing or the points are too few for the model: two for a closed
    sweep, three for a memory sweep.
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level:g} must lie between 0 and 1, like 0.9")
    points = points_of(sweep, series)
    if use is None:
        from calibrate.probe_depths import asked_loads  # which fits itself, to ask

        use = asked_loads(points, seed=seed)
    chosen = points.choose(use)
    return fit_points(chosen, _model_for(chosen, model), level=level, seed=seed)


def fit_points(points: Points, curve_model: CurveModel, *, level: float = LEVEL, seed: int = 0) -> Fit:
    """Calibrate ``curve_model`` on all of ``points``; ``fit`` chooses them first."""
    from calibrate.servers_and_delay import servers_and_think  # which takes Estimate from here

    needed = 3 if points.load_kind in ("injected_delay", "bandwidth") else 2
    if len(points) < needed:
        raise DataError(
            f"{points.series}: {len(points)} point(s) cannot calibrate the {curve_model.name} model, which needs "
            f"{needed}; {_lacking(points)} (here: {points.loads_text()})"
        )
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    parameters = curve_model.parameters(load, throughput, response)
    noise = points.noise(len(curve_model.observables(throughput, response)) // len(load))

    found = posterior(
        parameters, curve_model.start(load, throughput, response), _log_prediction(curve_model, load),
        curve_model.observables(throughput, response), noise, curve_model.error_prior,
        correlation_of(curve_model, load), seed=seed,
    )  # fmt: skip
    keep = np.linspace(0, len(found.draws) - 1, KEPT_DRAWS).astype(int)
    draws = found.draws[keep]
    estimates = _estimates(curve_model, found.mode, draws, {p.name: p.prior_log_sd for p in parameters}, level)
    notes = list(points.notes)
    if not found.settled:
        notes.append("the sampler has not settled on these points: the intervals are rough")
    return Fit(
        model=curve_model.name, assumption=curve_model.assumption, load_kind=points.load_kind,
        load_unit=points.load_unit, series=points.series, used=tuple(float(n) for n in load),
        parameters={**estimates, **servers_and_think(points, level)},
        mode=found.mode, draws=draws, error_draws=found.error[keep],
        used_throughput_per_s=tuple(float(x) for x in throughput), used_noise=tuple(float(e) for e in points.noise(1)),
        used_response_s=tuple(float(r) for r in response),
        used_response_noise=tuple(float(e) for e in points.noise(2)[-len(load) :]),
        level=level, notes=tuple(notes), source=points.source,
    )  # fmt: skip


def _lacking(points: Points) -> str:
    """What else to measure, where the points are too few."""
    if points.load_kind != "queue_depth":
        return "measure or name more loads"
    deep = len(points) and points.load[-1] > 4
    return f"measure or name {'depth 1' if deep else 'a depth of 32 or more'} as well"


LEAST = {"N*": 1.0}
"""What a parameter cannot be below, whatever the device."""


def reaching(low: float, high: float, least: float, level: float) -> float:
    """The lower end of an interval, or ``least`` where the draws pile up at that bound.

    An interval between two quantiles never holds the bound itself, though a device of one server is there (N* = c = 1).
    Where the lower quantile is no further from the bound than that of a uniform density would be, the density does not
    fall towards the bound, and nothing speaks against the bound.
    """
    tail = (1 - level) / 2
    return least if low - least <= tail / (1 - tail) * (high - least) else low


def mode_of(points: Points, curve_model: CurveModel) -> Array:
    """The most probable parameters (d,) alone, without intervals: what the ladder of models needs."""
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    observed = curve_model.observables(throughput, response)
    return most_probable(
        curve_model.parameters(load, throughput, response), curve_model.start(load, throughput, response),
        _log_prediction(curve_model, load), observed, points.noise(len(observed) // len(load)), curve_model.error_prior,
        correlation_of(curve_model, load),
    )  # fmt: skip


def curve_of_mode(points: Points, curve_model: CurveModel, mode: Array, loads: Array) -> tuple[Array, Array]:
    """Throughput and response (m,) at ``loads`` by a ``mode_of`` these points, with what it misses carried over."""
    throughput, response = (v[0] for v in curve_model.curve(mode[None, :], loads))
    at_used = curve_model.curve(mode[None, :], points.load)
    error = np.array([curve_model.error_prior.median])

    def carried(observed: Array, fitted: Array, noise: Array) -> Array:
        misses = np.log(observed / fitted)
        factor, _ = beyond_the_points(curve_model.discrepancy, points.load, noise, misses, error, loads)
        return np.asarray(np.exp(factor[0]))

    noise = points.noise(2)
    more = carried(points.throughput_per_s, at_used[0], noise[: len(points)])
    if points.load_kind == "queue_depth":
        return throughput * more, response / more  # N = X R
    slower = carried(points.response_time_s, at_used[1], noise[-len(points) :])
    return throughput if points.throughput_is_given else throughput * more, response * slower


def correlation_of(curve_model: CurveModel, load: Array) -> Array | None:
    """That of the model's misses at ``load``; None where they are independent.

    Where throughput and response are both fitted, those of the one tell nothing of the other's.
    """
    if curve_model.discrepancy is None:
        return None
    ones = np.ones_like(load)
    blocks = len(curve_model.observables(ones, ones)) // len(load)
    return np.asarray(np.kron(np.eye(blocks), curve_model.discrepancy.seen(load).among(load)), dtype=np.float64)


def _log_prediction(curve_model: CurveModel, load: Array) -> Callable[[Array], Array]:
    def predict_log(values: Array) -> Array:
        return curve_model.observables(*curve_model.curve(values, load))

    return predict_log


def _estimates(
    model: CurveModel, mode: Array, draws: Array, prior_log_sd: Mapping[str, float | None], level: float
) -> dict[str, Estimate]:
    at_mode = model.report(mode[None, :])
    estimates: dict[str, Estimate] = {}
    for name, (unit, values) in model.report(draws).items():
        low, high = (float(v) for v in np.percentile(values, [50 * (1 - level), 50 * (1 + level)]))
        identified, note = _identified(values, unit, prior_log_sd.get(name))
        low = reaching(low, high, LEAST[name], level) if name in LEAST else low
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        estimates[name] = Estimate(float(at_mode[name][1][0]), low, high, identified, unit, note)
    return estimates


def _identified(draws: Array, unit: str, prior_log_sd: float | None) -> tuple[bool, str]:
    """Whether the points pin a parameter: narrower than a factor of two over 90 %, and narrower than its prior."""
    logs = np.log(draws)
    if prior_log_sd is not None and logs.std() > 0.6 * prior_log_sd:
        return False, f"mostly its prior (a factor of {np.exp(prior_log_sd):.2g} either way), not these points"
    low, high = np.percentile(draws, [5, 95])
    if high / low > 2:
        return False, f"anything from {quantity(float(low), unit)} to {quantity(float(high), unit)} fits these points"
    return True, ""


def _model_for(points: Points, name: str | None) -> CurveModel:
    """The model of that name, or the usual one; ValueError where it is for another kind of load."""
    is_open = points.load_kind == "arrival_rate"
    if name is None and points.load_kind == "queue_depth":
        return Declining() if shows_decline(points.load, points.throughput_per_s) else OnsetPNorm()
    if name is None:
        return MGc if is_open else MemoryCurve() if points.load_kind == "bandwidth" else DelayLaw()
    found = model_named(name)
    if isinstance(found, MemoryQueue) != (points.load_kind == "bandwidth"):
        raise ValueError(
            f"model {name!r} is for {'' if isinstance(found, MemoryQueue) else 'no '}curves over the bandwidth itself, "
            f"and the load of {points.series} is {LOAD_NAMES[points.load_kind]}"
        )
    if isinstance(found, OpenModel) != is_open:
        meant = "arrival rates (open)" if isinstance(found, OpenModel) else "queue depths or delays (closed)"
        raise ValueError(f"model {name!r} is for a sweep over {meant}, and {points.series} is none")
    if name == "G/G/c":
        if points.variability is None:
            raise ValueError(
                "model 'G/G/c' takes the measured variability of arrivals and service, which this sweep does not hold; "
                "take M/G/c, where that of the service is fitted"
            )
        return ggc(*points.variability)
    return found


def model_named(name: str) -> CurveModel:
    """The device model of that name (``p-norm``, ``delay + M/M/4``...). Raises ValueError listing what there is."""
    models: dict[str, CurveModel] = {
        m.name: m
        for m in (
            OnsetPNorm(), Declining(), PNorm(), AsymptoticBounds(), RandomRouting(), ScalabilityLaw(), DelayLaw(),
            Unloaded(), MemoryCurve(), MemoryQueue(),
        )
    }  # fmt: skip
    if name in models:
        return models[name]
    if (found := open_named(name)) is not None:
        return found
    servers = name.removeprefix("delay + M/M/")
    if servers != name and servers.isdigit() and int(servers) > 0:
        return DelayMMc(int(servers))
    raise ValueError(
        f"model {name!r} is unknown; there are: {', '.join(models)}, delay + M/M/c, and for arrival rates M/M/1, "
        "M/D/1, M/G/1, M/M/c, M/G/c, G/G/c, where the c of M/M/c is a number"
    )


def from_datasheet(
    idle_latency: float,
    peak_iops: float,
    *,
    sharpness: float = SHARPNESS_MEDIAN,
    tolerance: float = 0.1,
    level: float = LEVEL,
    seed: int = 0,
) -> Fit:
    """The closed device model before any run: ``idle_latency`` in seconds and ``peak_iops`` in 1/second.

    Nothing is measured, so the bands say only what is assumed: the sheet's two figures to within ``tolerance``
    (relative standard deviation), and a knee sharpness around ``sharpness`` as uncertain as it is over public
    devices. Raises ValueError for a figure that is not positive.
    """
    for name, value in (("idle_latency", idle_latency), ("peak_iops", peak_iops), ("sharpness", sharpness)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, not {value!r}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in 0 <= tolerance < 1, not {tolerance!r}")
    if idle_latency * peak_iops < 1:
        raise ValueError(
            f"idle_latency x peak_iops = {idle_latency * peak_iops:.3g} outstanding requests, less than one: a device "
            "that answers in that time can do more than that rate; check the units (seconds, requests a second)"
        )
    rng = np.random.default_rng(seed)
    model = PNorm()
    mode = np.array([idle_latency * peak_iops, peak_iops, sharpness])
    factors = np.exp(rng.standard_normal((KEPT_DRAWS, 3)) * [tolerance, tolerance, SHARPNESS_LOG_SD])
    peaks, crossings = peak_iops * factors[:, 1], idle_latency * peak_iops * factors[:, 0] * factors[:, 1]
    draws = np.column_stack([np.maximum(crossings, 1.0), peaks, sharpness * factors[:, 2]])
    estimates = _estimates(model, mode, draws, {"p": SHARPNESS_LOG_SD}, level)
    sheet = f"from the data sheet, assumed right to {100 * tolerance:g} %"
    return Fit(
        model=model.name, assumption=model.assumption, load_kind="queue_depth", load_unit="requests",
        series="data sheet", used=(), used_throughput_per_s=(), used_noise=(),
        used_response_s=(), used_response_noise=(),
        parameters={
            name: replace(e, note="assumed, not measured" if name == "p" else sheet, identified=name != "p")
            for name, e in estimates.items()
        },
        mode=mode, draws=draws,
        error_draws=model.error_prior.median * np.exp(model.error_prior.log_sd * rng.standard_normal(KEPT_DRAWS)),
        level=level,
        notes=("before any measurement: two points of a run (depth 1 and 32) replace these assumptions",),
        source="data sheet",
    )  # fmt: skip
