"""What each baseline misses on the points that were held out of a calibration."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrate.prediction.baselines import Array, Baseline, baselines_for

if TYPE_CHECKING:
    from calibrate.points import Points


@dataclass(frozen=True)
class BaselineError:
    """Absolute errors in percent over ``points`` held-out points: the median, and what nine in ten stay below.

    Throughput errors are None where the load is the throughput itself (arrival rates, bandwidths). All errors are None
    where the baseline has no answer; ``why`` gives the reason.
    """

    name: str
    points: int
    throughput_median_pct: float | None = None
    throughput_p90_pct: float | None = None
    response_median_pct: float | None = None
    response_p90_pct: float | None = None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def baseline_errors(points: Points, held_out: NDArray[np.bool_]) -> tuple[BaselineError, ...]:
    """Every baseline for this kind of load, calibrated on the points where ``held_out`` (m,) is False.

    Empty where no point is held out, or all are. Raises ValueError where no baseline predicts over this kind of load.
    """
    found = baselines_for(points.load_kind)
    if held_out.all() or not held_out.any():
        return ()
    used, unseen = points.at(~held_out), points.at(held_out)
    return tuple(_error_of_baseline(name, baseline, used, unseen) for name, baseline in found.items())


def error_of(
    name: str, predicted: tuple[Array, Array], observed_throughput: Array | None, observed_response: Array
) -> BaselineError:
    """The errors of a predicted (throughput, response time), (m,) each; None for a throughput that is the load."""
    x_errors = _median_and_p90(predicted[0], observed_throughput)
    return BaselineError(name, len(observed_response), *x_errors, *_median_and_p90(predicted[1], observed_response))


def _error_of_baseline(name: str, baseline: Baseline, used: Points, unseen: Points) -> BaselineError:
    try:
        predicted = baseline(used.load, used.throughput_per_s, used.response_time_s, unseen.load)
    except ValueError as error:
        return BaselineError(name, len(unseen), why=str(error))
    observed = None if unseen.throughput_is_given else unseen.throughput_per_s
    return error_of(name, predicted, observed, unseen.response_time_s)


def _median_and_p90(predicted: Array, observed: Array | None) -> tuple[float, float] | tuple[None, None]:
    if observed is None:
        return None, None
    median, p90 = np.percentile(100 * np.abs(predicted / observed - 1), (50, 90))
    return float(median), float(p90)
