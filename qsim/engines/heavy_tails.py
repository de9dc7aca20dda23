"""Service laws whose rare long times decide the mean wait: how long a run must be to have seen enough of them.

The mean wait of a queue follows E[S²], so a run knows it no better than its n services know E[S²]: to a relative
error of √((E[S⁴]/E[S²]² - 1)/n).  Where that is above a tenth, or the third moment is infinite (and with it the
variance of the waits), 95 % intervals hold the truth less often than 90 % of the time.  A queue whose servers keep up
without one of them, one that shares (PS), and closed ones are not exposed: there the intervals hold.

Source: Whitt (1989), Management Science 35, "Planning queueing simulations"; Asmussen (2003), Applied Probability and
Queues, section X.9; the tenth: `examples/accuracy/heavy_tails.py`.
"""

from __future__ import annotations

import math

from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Distribution
from qsim.models import Network

WORST_ERROR = 0.1
INSENSITIVE = ("PS", "LCFS-PR")


def exposed(model: OpenQueue) -> bool:
    """Whether one long service holds everyone up: an open queue that falls behind when a server is taken away."""
    return (
        model.capacity is None
        and model.speeds is None
        and model.discipline not in INSENSITIVE
        and model.servers < math.inf
        and model.offered_load > (model.servers - 1 if model.queues == "shared" else 0)
    )


def services_needed(law: Distribution, servers: int = 1) -> float:
    """Services after which E[S²] is known to a tenth; infinite where the third moment is.

    >>> from qsim import Exponential, LogNormal
    >>> f"{services_needed(Exponential(1.0)):.0f}, {services_needed(LogNormal(1.0, scv=20)):.3g}"
    '500, 1.94e+07'
    """
    unit = law.scaled(1 / law.mean)  # any unit of time will do
    second, third, fourth = (unit.moment(k) for k in (2, 3, 4))
    if not math.isfinite(third):
        return math.inf
    if not math.isfinite(fourth):
        return 0.0  # the waits have a variance, and intervals held
    return (fourth / second**2 - 1) / (WORST_ERROR * servers) ** 2


def customers_needed(network: Network) -> float:
    """Customers after which the second moment of the service times is known to a tenth; 0 where it does not matter."""
    queue = open_queue(network)
    return services_needed(queue.service, queue.servers) if queue is not None and exposed(queue) else 0.0


def complaint(model: Network, customers: int) -> str | None:
    """What keeps the intervals of a run from holding; None where nothing does."""
    needed = customers_needed(model)
    if needed <= customers:
        return None
    if math.isinf(needed):
        return (
            "its service times have no third moment, and no run is long enough for an interval of the mean wait (take "
            "a law that ends, such as a histogram of measured times)"
        )
    error = 100 * WORST_ERROR * math.sqrt(needed / customers)
    return (
        f"its service times are so skewed that {customers:,} of them leave their second moment, which decides the mean "
        f"wait, uncertain by {error:.0f} % (10 % are wanted; a law that ends sooner needs fewer)"
    )
