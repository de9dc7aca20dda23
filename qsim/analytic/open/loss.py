"""M/G/c/c, Erlang's loss system: Poisson arrivals, c servers, no place to wait, any service law.

The share lost is Erlang's B of the offered load, and the number present has the law of M/M/c/c: of the service law
only the mean counts (insensitivity).

Source: Erlang (1917); insensitivity: Sevastyanov (1957), Theory Prob. Appl. 2.

>>> from qsim import Deterministic, Exponential, Open, solve
>>> round(solve(Open(Exponential(1 / 8), Deterministic(1.0), servers=10, capacity=10)).p_block, 6)
0.121661
"""

from __future__ import annotations

from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import TabulatedStates, require_few_states
from qsim.analytic.open.infinite_servers import ServiceTimes
from qsim.analytic.open.mmck import state_probabilities
from qsim.analytic.views import OpenQueue, open_queue
from qsim.metrics import Metrics

METHOD = "Erlang B (Erlang 1917), insensitive to the service law (Sevastyanov 1957)"


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, as many places as servers; the order of service plays no part."""
    return (
        model.poisson
        and model.capacity == model.servers
        and model.queues == "shared"
        and model.speeds is None
        and (model.plain or model.discipline in ("LCFS", "SJF", "SIRO", "PS"))
    )


def solve(model: OpenQueue) -> Metrics:
    """Exact, at any load; raises NoFormulaError for millions of servers."""
    assert model.capacity is not None  # noqa: S101
    require_few_states(model, model.capacity)
    S, c = model.service.mean, model.servers
    p = state_probabilities(model.offered_load, c, model.capacity)
    return Metrics.from_times(
        model,
        throughput=model.arrival_rate * float(p[:-1].sum()),
        service=S,
        servers=c,
        Wq=0.0,
        p_wait=0.0,
        p_block=float(p[-1]),
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
        times=ServiceTimes(model.service),
    )


FORMULA = Formula(open_queue, applies, solve)
