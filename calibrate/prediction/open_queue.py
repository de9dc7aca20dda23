"""The mean number waiting in an open sweep, as measured, by the fitted model, and by the textbook's M/M/1.

By Little's law the requests that wait are Lq = lambda (W - S): the measured arrival rate and response time, less the
mean service time S, which is the fit's. Beside it Lq = rho^2 / (1 - rho) of M/M/1 (Kleinrock 1975, section 3.2) at the
same utilization rho = lambda S / c. With more servers, or times that vary otherwise, the two differ: that is what is to
be seen.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from calibrate.fitting.curve_fit import Fit
from calibrate.models.open import OpenModel
from calibrate.points import Points
from measure.units import format_rate
from qsim.text_table import table


@dataclass(frozen=True)
class WaitingNumbers:
    """One rate: the utilization and the mean number waiting (measured: below zero where W is below the fitted S).

    ``mm1`` is None from a utilization of 1 on, where M/M/1 has no steady state.

    >>> import pandas as pd
    >>> from calibrate import fit, points_of, waiting
    >>> from measure import Sweep
    >>> rates, times = [100.0, 500.0, 900.0], [1.11e-3, 2.0e-3, 10.0e-3]
    >>> points = pd.DataFrame({"series": "reads", "load": rates, "throughput_per_s": rates, "latency_s": times})
    >>> sweep = Sweep(points, load_kind="arrival_rate", load_unit="requests/s")
    >>> number = waiting(fit(sweep), points_of(sweep))[1]
    >>> round(number.utilization, 1)
    0.5
    """

    arrival_rate_per_s: float
    utilization: float
    measured: float
    model: float
    mm1: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def waiting(fit: Fit, points: Points) -> tuple[WaitingNumbers, ...]:
    """The queue at each of ``points``; empty where ``fit`` is none of an open sweep.

    >>> import pandas as pd
    >>> from calibrate import fit, points_of
    >>> from measure import Sweep
    >>> rates, times = [100.0, 500.0, 900.0], [1.11e-3, 2.0e-3, 10.0e-3]
    >>> points = pd.DataFrame({"series": "reads", "load": rates, "throughput_per_s": rates, "latency_s": times})
    >>> sweep = Sweep(points, load_kind="arrival_rate", load_unit="requests/s")
    >>> [round(one.utilization, 1) for one in waiting(fit(sweep), points_of(sweep))]
    [0.1, 0.5, 0.9]
    """
    model = fit.curve_model
    if not isinstance(model, OpenModel):
        return ()
    values, rates = fit.table.most_probable[None, :], points.load
    rho, by_model = model.utilization(values, rates)[0], model.queue(values, rates)[0]
    measured = rates * (points.response_time_s - model.service(values)[0])
    return tuple(
        WaitingNumbers(float(x), float(u), float(seen), float(told), float(u**2 / (1 - u)) if u < 1 else None)
        for x, u, seen, told in zip(rates, rho, measured, by_model, strict=True)
    )


def waiting_table(queue: tuple[WaitingNumbers, ...]) -> str:
    """A table for people; empty for an empty queue."""
    if not queue:
        return ""
    rows = [
        (
            format_rate(q.arrival_rate_per_s),
            f"{q.utilization:.3f}",
            f"{q.measured:.3g}",
            f"{q.model:.3g}",
            "" if q.mm1 is None else f"{q.mm1:.3g}",
        )
        for q in queue
    ]
    return table(("arrivals", "utilization", "waiting Lq", "the model", "M/M/1: ρ²/(1-ρ)"), rows, left=0)
