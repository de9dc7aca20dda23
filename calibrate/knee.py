"""The knee: where more load stops buying throughput and starts buying latency.

There is no single knee; each definition answers another question. These are here:

``asymptote crossing``  N* = R1 Xmax, the load at which the two asymptotes of a closed system cross (Denning and Buzen,
                        ACM Computing Surveys 1978, section 4.2; Lazowska et al., Quantitative System Performance,
                        1984, chapter 5). It needs the idle latency and the peak, and no model of the bend between.
``tangent``             rho* = 1 / (1 + sqrt(a / L0)) for an open latency curve R = L0 + a rho / (1 - rho): the load of
                        maximal power rho / R (Kleinrock, ICC 1979), where a line through the origin touches the curve.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Knee:
    """A knee with its interval: ``load`` is the estimate, ``low`` and ``high`` the ends of its interval.

    ``throughput_per_s`` and ``response_time_s`` are the model's at that load. ``load`` is None where the knee lies
    outside what this device can be driven to; ``note`` then says so. ``identified`` is False where the points leave
    the knee open by more than a factor of two.
    """

    load: float | None
    low: float | None
    high: float | None
    throughput_per_s: float
    response_time_s: float
    definition: str
    load_name: str
    identified: bool = True
    note: str = ""
    throughput_low_per_s: float | None = None
    throughput_high_per_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return asdict(self)
