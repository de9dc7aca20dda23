"""What kind of open queue a model is, for the families to ask."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import OpenQueue
from qsim.arrivals import Source
from qsim.distributions import Deterministic, Distribution, Exponential


def plain(model: OpenQueue) -> bool:
    """An open queue that is Kendall's A/S/c/K and nothing more (see OpenQueue.plain)."""
    return model.plain


def poisson(model: OpenQueue) -> bool:
    """Whether customers arrive as a Poisson process."""
    return isinstance(model.arrivals, Exponential)


def markovian(model: OpenQueue) -> bool:
    """Whether arrivals are Poisson and service times exponential."""
    return poisson(model) and isinstance(model.service, Exponential)


def is_insensitive(discipline: str, servers: float, queues: str) -> bool:
    """Whether the mean of each class's service is all that matters at a station of a network (BCMP 1975).

    Nobody waits there, or servers are shared, or the last to come to a server takes it.
    """
    apart = servers == 1 or queues == "random"
    return servers == math.inf or discipline == "PS" or (discipline == "LCFS-PR" and apart)


def is_one_exponential(laws: Sequence[Distribution | None]) -> bool:
    """Whether all these services are exponential with one mean, but for rounding."""
    means = [law.mean for law in laws if isinstance(law, Exponential)]
    return len(means) == len(laws) and all(math.isclose(mean, means[0]) for mean in means)


CLOCKWORK = "; all its times are constant, so that one run repeats how it began: this is the mean over all beginnings"
"""What a method says of a closed system where :func:`is_clockwork` holds."""


def is_clockwork(laws: Sequence[Distribution | None], population: int) -> bool:
    """Whether customers circle through constant times alone, and so keep their distances forever."""
    return population > 1 and all(law is None or isinstance(law, Deterministic) for law in laws)


def phases_of_arrivals(arrivals: Source) -> tuple[FloatArray, FloatArray] | None:
    """The rates (D0, D1) between the phases of the arrival process without and with an arrival, or None."""
    if not isinstance(arrivals, Distribution) or math.isinf(arrivals.mean):
        return None
    known = arrivals.phases()
    if known is None:
        return None
    alpha, T = known
    return T, np.outer(np.maximum(-T.sum(axis=1), 0.0), alpha)
