"""What is outstanding, as watched: a mean number of requests in the device, from all programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from measure.loads.base import CountedLoad

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present


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
        return curves.with_mean(load, 0.5 * (1 + scv)) if self.arrivals else curves.closed(load)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({"load_arrivals": True} if self.arrivals else {})
