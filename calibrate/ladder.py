"""The ladder: several device models fitted to the same points, from the crudest to the most particular.

Each rung states what it assumes. The ranking is by the error at the points that no rung was fitted to, and only ranks:
the model that a comparison reports was fixed before the held-out points were looked at.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from calibrate.curve_models import (
    AsymptoticBounds,
    CurveModel,
    DelayMMc,
    OnsetPNorm,
    PNorm,
    RandomRouting,
    server_counts,
)
from calibrate.delay_law import DelayLaw, Unloaded
from calibrate.fitting import curve_of_mode, mode_of
from calibrate.memory_curve import MemoryCurve, MemoryQueue
from calibrate.open_models import MD1, MG1, MM1, MGc, ggc, mmc
from calibrate.past_the_peak import Declining, ScalabilityLaw, shows_decline
from calibrate.points import Points
from calibrate.posterior import Array, Mask


@dataclass(frozen=True)
class Rung:
    """One model of the ladder: errors are mean absolute percentages; held-out ones are None without such points.

    It is ranked by its throughput, and in open sweeps, whose throughput is given, by its response time.
    """

    name: str
    assumption: str
    parameters: dict[str, float]
    in_sample_mape_throughput_pct: float
    in_sample_mape_response_pct: float
    held_out_mape_throughput_pct: float | None
    held_out_mape_response_pct: float | None
    ranked_by: Literal["throughput", "response time"]
    rank: int
    why: str

    @property
    def in_sample_pct(self) -> float:
        """The error at the calibrated points of what it is ranked by."""
        open_sweep = self.ranked_by == "response time"
        return self.in_sample_mape_response_pct if open_sweep else self.in_sample_mape_throughput_pct

    @property
    def held_out_pct(self) -> float | None:
        """The error at the held-out points of what it is ranked by."""
        open_sweep = self.ranked_by == "response time"
        return self.held_out_mape_response_pct if open_sweep else self.held_out_mape_throughput_pct

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def mape(predicted: Array, observed: Array) -> float:
    """Mean absolute error in percent of what was observed."""
    return float(100 * np.mean(np.abs(predicted / observed - 1)))


def ladder(points: Points, calibrated: Mask) -> list[Rung]:
    """Every model that fits these points' kind of load, calibrated where ``calibrated`` (m,) is true, best first."""
    chosen, rest = points.at(calibrated), points.at(~calibrated)
    climbed = [_climb(model, chosen, rest) for model in _models(chosen)]
    by_error = sorted(climbed, key=_order)
    return [Rung(**{**asdict(rung), "rank": i, "why": _why(rung, by_error[0])}) for i, rung in enumerate(by_error, 1)]


def _models(points: Points) -> list[CurveModel]:
    if points.load_kind == "injected_delay":
        return [DelayLaw(), Unloaded()]
    if points.load_kind == "bandwidth":
        return [MemoryCurve(), MemoryQueue()]
    if points.load_kind == "arrival_rate":
        known = [ggc(*points.variability)] if points.variability is not None else []
        servers = float(MGc.report(mode_of(points, MGc)[None, :])["c"][1][0])
        return [MGc, MM1, MD1, MG1, *(mmc(c) for c in server_counts(servers) if c > 1), *known]
    crossing = float(mode_of(points, PNorm())[0])
    decline = [Declining()] if shows_decline(points.load, points.throughput_per_s) else []
    return [
        OnsetPNorm(), *decline, PNorm(), AsymptoticBounds(), RandomRouting(), ScalabilityLaw(),
        *(DelayMMc(c) for c in server_counts(crossing)),
    ]  # fmt: skip


def _climb(model: CurveModel, chosen: Points, rest: Points) -> Rung:
    mode = mode_of(chosen, model)
    fitted, response = curve_of_mode(chosen, model, mode, chosen.load)
    x_error = r_error = None
    if len(rest):
        x, r = curve_of_mode(chosen, model, mode, rest.load)
        x_error, r_error = mape(x, rest.throughput_per_s), mape(r, rest.response_time_s)
    parameters = {name: float(values[0]) for name, (_, values) in model.report(mode[None, :]).items()}
    return Rung(
        model.name, model.assumption, parameters,
        mape(fitted, chosen.throughput_per_s), mape(response, chosen.response_time_s), x_error, r_error,
        "response time" if chosen.throughput_is_given else "throughput", 0, "",
    )  # fmt: skip


def _order(rung: Rung) -> tuple[float, float]:
    held_out = rung.held_out_pct
    return (np.inf if held_out is None else held_out, rung.in_sample_pct)


def _why(rung: Rung, best: Rung) -> str:
    if rung.held_out_pct is None or best.held_out_pct is None:
        return (
            f"no held-out point; misses its own calibration points by {rung.in_sample_pct:.2g} %, "
            "which says little about others"
        )
    error = f"misses the held-out {rung.ranked_by}s by {rung.held_out_pct:.3g} % on average"
    if rung.name == best.name:
        return f"{error}, the least of all"
    return f"{error}, against {best.held_out_pct:.3g} % for {best.name}"
