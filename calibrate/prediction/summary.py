"""The errors of a comparison in a few numbers, with the noise of repeats beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, Mask
from calibrate.points import Points
from calibrate.prediction.fit_ladder import mape
from measure.units import counted, format_percent


@dataclass(frozen=True, repr=False)
class Summary:
    """Errors of a comparison in percent: mean absolute (``mape``) and median absolute (``mdape``) ones.

    Held-out numbers are None where no point was held out; ``repeat_noise_pct`` is the median relative standard
    deviation of one repeat of a point's throughput, None where nothing was repeated: no model can be expected to miss
    by less. ``inside_band_pct`` is the share of held-out throughputs inside the band. In open sweeps, whose throughput
    is given, both are those of the response time.
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
        """A line or two: what is missed at the held-out points, and how many lie inside their bands."""
        missed = [
            f"{what} missed by {format_percent(median)}"
            for what, median in (
                ("throughput", self.held_out_mdape_throughput_pct),
                ("response time", self.held_out_mdape_response_pct),
            )
            if median is not None
        ]
        noise = "" if self.repeat_noise_pct is None else f"\nrepeats differ by {format_percent(self.repeat_noise_pct)}"
        if self.inside_band_pct is None:
            return f"no point held out{noise}"
        inside = f"{self.inside_band_pct:.0f} % inside their {100 * self.band_level:g} % bands"
        return f"{counted(self.held_out_points, 'point')} held out: {', '.join(missed)} (medians); {inside}{noise}"


def residuals_pct(predicted: Array, observed: Array) -> Array:
    """100 (predicted / observed - 1), (m,)."""
    return np.asarray(100 * (predicted / observed - 1))


def summary_of(points: Points, predicted: Prediction, held_out: Mask) -> Summary:
    """The errors of ``predicted`` at the loads of ``points``, held out (m,) and in sample."""
    x, r, used = points.throughput_per_s, points.response_time_s, ~held_out
    inside = (predicted.throughput_low_per_s <= x) & (x <= predicted.throughput_high_per_s)
    if points.throughput_is_given:
        inside = (predicted.response_time_low_s <= r) & (r <= predicted.response_time_high_s)

    def error(which: Mask, expected: Array, observed: Array) -> float | None:
        return mape(expected[which], observed[which]) if which.any() else None

    def median(expected: Array, observed: Array) -> float | None:
        misses = np.abs(residuals_pct(expected, observed))[held_out]
        return float(np.median(misses)) if held_out.any() else None

    return Summary(
        held_out_points=int(held_out.sum()),
        held_out_mape_throughput_pct=error(held_out, predicted.throughput_per_s, x),
        held_out_mape_response_pct=error(held_out, predicted.response_time_s, r),
        held_out_mdape_throughput_pct=median(predicted.throughput_per_s, x),
        held_out_mdape_response_pct=median(predicted.response_time_s, r),
        in_sample_mape_throughput_pct=error(used, predicted.throughput_per_s, x),
        in_sample_mape_response_pct=error(used, predicted.response_time_s, r),
        inside_band_pct=float(100 * inside[held_out].mean()) if held_out.any() else None,
        band_level=predicted.level,
        repeat_noise_pct=points.repeat_noise_pct(),
    )
