"""What is outstanding, as watched: a mean number of requests in the device, from all programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from measure.loads.base import CountedLoad

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present

STEPS = 20
"""Bisections to the rate under which a mean number is present."""


@dataclass(frozen=True, repr=False)
class Outstanding(CountedLoad):
    """The mean number of requests in the device that the kernel or a tool counted; nobody set it.

    It varies around its mean, so N = X R becomes L = X R. Where it is that under Poisson ``arrivals`` its variance is
    that of the queue; else it is taken to stay about its mean.

    >>> Outstanding().at(2.5), Outstanding().law
    ('2.5 outstanding', 'L = X R')
    """

    arrivals: bool = False

    law = "L = X R"
    singular = "outstanding"
    plural = "outstanding"

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        """As for other closed loads; under arrivals X is that which keeps ``load`` present, in proportion to X(n)."""
        if not self.arrivals:
            return curves.closed(load)
        last = np.exp(curves.log_rate[:, -1])
        low, high = 0 * last, last
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            more = curves.under_arrivals(middle, 0.5 * (1 + scv)).mean > load
            low, high = np.where(more, low, middle), np.where(more, middle, high)
        found = curves.under_arrivals(low, 0.5 * (1 + scv))
        fixed = np.full(len(last), float(load))
        return replace(found, mean=fixed, throughput=high, response=fixed / high, sensitivity=np.ones(len(last)))

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({"load_arrivals": True} if self.arrivals else {})
