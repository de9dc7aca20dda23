"""How well a run of an open queue tells the mean response time.

Near saturation a long queue is followed by a long queue, so that a million requests may tell as little as a few hundred
independent ones. For M/M/1 the mean of n successive waiting times has, for large n, the variance (Daley, Advances in
Applied Probability 1968)

    rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4  S^2 / n

To it come that of the services, S^2 / n, and twice the covariance of a service with the waits of all later requests.
A service that takes v longer delays as many as still come in its busy period, rho (Wq + v) / (1 - rho) / S in the mean,
which makes the covariance rho (2 - rho) / (1 - rho)^2 S^2 / n. The sum of the three is simple:

    Var(mean response) = (1 + rho)^2 / (1 - rho)^4  S^2 / n

which beside W = S / (1 - rho) is a relative standard error of (1 + rho) / (1 - rho) / sqrt(n): that of independent
exponential times, 1 / sqrt(n), where nobody waits, and at rho = 0.95 and 10,000 requests 39 %. Such a point says
little, whatever its repeats within one run say.
"""

from __future__ import annotations

import numpy as np

from calibrate.inference.parameters import Array


def error_of_mean(response: Array, requests: Array) -> Array:
    """Relative standard errors (m,) of mean response times (m,), each over ``requests`` (m,), NaN where unknown.

    They are about right: the utilization is taken from how many times the least response time each is, as in M/M/1,
    where that is 1 / (1 - rho) if nobody waits at the least. With several servers, another law of service or a least
    rate at which requests wait, the error may be more or less.
    """
    idle = response.min() / response
    return np.asarray((2 - idle) / idle / np.sqrt(np.maximum(requests, 1.0)))
