"""A device that falls asleep between arrivals: latency falls with the rate before it rises.

An idle device is switched off after a time t, and takes D to wake (power states of drives, of links, of processors).
With Poisson arrivals at rate lambda a request finds an idle device asleep with p = exp(-lambda t), and M/G/c is longer
by (Welch 1964, Operations Research 12; exact for one server and a constant D)

    p D (1 + lambda D / 2) / (1 + lambda p D)

No other open model falls with the rate, so points tell it. In closed sweeps a lone request that is late is the onset of
:class:`~calibrate.models.curves.OnsetPNorm`; a term at depth 1 alone misses 98 public curves by more, not by less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array, Parameter
from calibrate.models.open import NEARLY_ONE, OpenModel

if TYPE_CHECKING:
    from calibrate.points import Points

SETUP_LOG_SD, OFF_LOG_SD = 1.0, 2.0
"""The prior of D about the fall that is seen, and of t about the middle of the times between arrivals."""

MATTERS = 0.05
"""Falls of less than this share of the response time are no setup."""


class SleepingQueue(OpenModel):
    """M/G/c whose device sleeps after an idle time ``off after``, and takes ``setup`` to wake."""

    def __init__(self) -> None:
        super().__init__(
            "M/G/c with setup",
            "Poisson arrivals, one queue, c equal servers; an idle device falls asleep, and the next request wakes it",
        )
        self._free = [*self._free, "setup", "off after"]

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        fall = max(float(response[0] - response.min()), 0.1 * float(response.min()))
        between = float(np.exp(-np.log(loads).mean()))
        return (
            *super().parameters(loads, throughput, response),
            Parameter("setup", "s", 1e-9, 1e4, fall, SETUP_LOG_SD),
            Parameter("off after", "s", 1e-9, 1e6, between, OFF_LOG_SD),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "setup": ("s", values[:, -2]), "off after": ("s", values[:, -1])}

    def _response(self, values: Array, rho: Array) -> Array:
        setup, off_after = values[:, -2, None], values[:, -1, None]
        rate = np.minimum(rho, NEARLY_ONE) * values[:, :1]
        asleep = np.exp(-rate * off_after)
        late = asleep * setup * (1 + rate * setup / 2) / (1 + rate * asleep * setup)
        return np.asarray(super()._response(values, rho) + late)


def falls(points: Points) -> bool:
    """Whether the response time falls with the rate, by more than noise and by what matters."""
    _, noise = points.noise()
    least = int(np.argmin(points.response_time_s))
    fall = np.log(points.response_time_s[0] / points.response_time_s[least])
    return bool(fall > max(MATTERS, 3 * float(np.hypot(noise[0], noise[least]))))
