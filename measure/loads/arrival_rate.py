"""An arrival rate: requests come from outside, whether or not others have completed; and shares of a peak as loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from measure.loads.base import ClosedLoad, LoadKind, ThroughputLoad
from measure.units import format_rate
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present

Gaps = Literal["poisson", "paced"]


@dataclass(frozen=True, repr=False)
class ArrivalRate(ThroughputLoad):
    """Requests arrive at a rate, 1/s, in gaps that are exponential (``poisson``) or even (``paced``).

    fio's Poisson jobs, ``pgbench --rate`` and strangers are Poisson; k6's arrival rates, wrk2 and vegeta are paced.
    Raises ValueError for other gaps.

    >>> ArrivalRate([2e3, 8e3]), ArrivalRate(gaps="paced").gap_scv, ArrivalRate().place_of(63900.7)
    (ArrivalRate([2000, 8000]), 0.0, 'arrival rate 63.9 k/s')
    """

    gaps: Gaps = "poisson"

    kind: ClassVar[LoadKind] = "arrival_rate"
    law = "L = X R"
    name = "arrival rate"
    plural = "rates"
    symbol = "arrivals"
    knee_symbol = "λ*"
    knee_unit = "1/s"
    unit = "requests/s"
    column = "load_per_s"
    option = "--arrival-rates"
    more = "more rates with the tool that sent these"
    most = 1e12
    may_be_zero = False
    least_points = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gaps not in get_args(Gaps):
            known = " or ".join(get_args(Gaps))
            raise InvalidParameterError("gaps", f"must be {known}, not {self.gaps!r}", value=self.gaps)

    @property
    def gap_scv(self) -> float:
        """The squared coefficient of variation of the gaps between arrivals."""
        return 0.0 if self.gaps == "paced" else 1.0

    @property
    def arrivals(self) -> str:
        """How requests come, in words."""
        return "evenly spaced arrivals" if self.gaps == "paced" else "Poisson arrivals"

    def in_full(self, values: str) -> str:
        return f"{values} of {self.arrivals}"

    def present(self, curves: Curves, load: FloatArray | float, scv: FloatArray | float) -> Present:
        """What is present at stations of these ``curves`` under the rate ``load``; ``scv`` (w,): of service times.

        Several rates (k, 1) give arrays (k, w).
        """
        return curves.under_arrivals(load, 0.5 * (self.gap_scv + scv), gap_scv=self.gap_scv)

    def text(self, value: float, digits: int = 3) -> str:
        return format_rate(value, digits)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.gaps == "poisson" else {"load_gaps": self.gaps})


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
