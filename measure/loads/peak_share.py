"""Shares of a device's peak, as loads of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measure.loads.arrival_rate import ArrivalRate
from measure.loads.closed_loads import ClosedLoad
from qsim.errors import InvalidParameterError

POISSON = ArrivalRate()


@dataclass(frozen=True)
class PeakShare:
    """The loads under which a device completes ``shares`` of its peak throughput.

    ``of`` is their kind: an arrival rate is the share of the peak itself, clients are as many as give that throughput.
    Which loads they are is known once a fit has a peak. Raises ValueError for a share outside 0 to 1.

    >>> from measure.loads import Clients
    >>> PeakShare([0.6, 0.8]).named, PeakShare([0.6], Clients(think=1.0)).shares
    (('60 %', '80 %'), (0.6,))
    """

    shares: Sequence[float]
    of: ArrivalRate | ClosedLoad = POISSON

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(map(float, self.shares)))
        for share in self.shares:
            if not 0 < share < 1:
                raise InvalidParameterError(
                    "shares", f"must lie between 0 and 1, as 0.6 for 60 % of the peak, not {share:g}", value=share
                )

    @property
    def named(self) -> tuple[str, ...]:
        """Each share in percent."""
        return tuple(f"{100 * share:.4g} %" for share in self.shares)
