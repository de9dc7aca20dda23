"""Mixed networks: open classes pass through stations where closed ones circle.

Open customers do not care how many closed ones there are; to a closed customer they make a single server slower by
what they use of it.  With Uᵢ the utilization of station i by the open classes, the closed classes are solved alone
with their services stretched to Sᵢᵣ/(1 - Uᵢ); the open ones then find the closed ones' queues on top of their own:

    Wᵢᵣ = Sᵢᵣ·(1 + Lᵢ(closed))/(1 - Uᵢ).

Exact for single servers with product form (see :mod:`qsim.analytic.closed.classes` for when).

Source: Lazowska et al. (1984), Quantitative System Performance, chapter 7; Zahorjan & Wong (1981), Performance
Evaluation 1, "The solution of separable queueing network models using mean value analysis".

>>> from qsim import Arrivals, Exponential, Network, Station, solve
>>> r = solve(Network({"disk": Station(Exponential(1.0))}, {"write": Arrivals(0.5), "read": 1}))
>>> [round(c.W, 6) for c in r.classes]
[4.0, 2.0]
"""

from __future__ import annotations

import math

import numpy as np

from qsim.analytic.class_metrics import ClassTimes, class_metrics
from qsim.analytic.closed.classes import has_product_form, is_small, product_form
from qsim.analytic.closed.normalizing import Centre
from qsim.analytic.formula import Formula
from qsim.analytic.stability import ROUNDING
from qsim.analytic.views import ClassNetwork, class_network
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics

METHOD = "mixed network of product form (Zahorjan & Wong 1981)"


def applies(model: ClassNetwork) -> bool:
    """Single servers of a kind that keeps product form, and populations that are not too large."""
    if not (model.arrival_rates and model.populations):
        return False
    return all(s.servers == 1 and has_product_form(s) for s in model.stations) and is_small(
        model.stations, model.populations
    )


def solve(model: ClassNetwork) -> Metrics:
    """Exact; ``classes`` holds each class per passage or cycle; raises UnstableQueueError for the open classes."""
    rates, opens = np.array(model.arrival_rates), len(model.arrival_rates)
    services, visits = np.array([s.means for s in model.stations]), np.array([s.visits for s in model.stations])
    demands = services * visits
    used = demands[:, :opens] @ rates
    for i, station in enumerate(model.stations):
        if used[i] > 1 - ROUNDING:
            name = f"{station.name} of {model.kendall}"
            arriving = float(visits[i, :opens] @ rates)
            raise UnstableQueueError(name, arriving, arriving / float(used[i]), 1)
    stretched = services[:, opens:] / (1 - used)[:, None]
    centres = [Centre(tuple(row)) for row in (demands[:, opens:] / (1 - used)[:, None]).tolist()]
    closed = product_form(model.populations, model.think_times, stretched.tolist(), centres)
    X = np.array(model.populations) / (np.array(model.think_times) + (visits[:, opens:] * closed.response).sum(axis=0))
    circling = (X * visits[:, opens:] * closed.response).sum(axis=1)
    passing = services[:, :opens] * ((1 + circling) / (1 - used))[:, None]
    response = np.hstack([passing, closed.response])
    times = ClassTimes(response, response - services, np.full_like(response, math.nan), (None,) * len(model.stations))
    return class_metrics(model, np.concatenate([rates, X]), times, "exact", METHOD)


FORMULA = Formula(class_network, applies, solve)
