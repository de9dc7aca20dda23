"""A live run of a known queue: Poisson arrivals at c servers, whose points land on the curve of M/M/c one by one.

Before the arrivals three depths of a closed test are measured. They calibrate the model, and what it predicts for the
arrivals is sealed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction
from calibrate.lab.run.orders import Order
from measure.loads import ArrivalRate
from qsim import Metrics, MMc, solve

DRAWN, TOP = 80, 0.95  # places of a curve, and up to which share of the peak it is drawn
TIMES = 2.0  # the question: at which rate does a request take so many service times?


def curve(order: Order) -> list[dict[str, float]]:
    """The curve of theory over arrival rates, JSON-ready."""
    return [
        {"load": rate, "rho": found.utilization, "response_time_s": found.W, "waiting": found.Lq}
        for rate in _rates(order)
        for found in [_at(order, rate)]
    ]


def in_numbers(order: Order, rate: float, latency_s: float, requests: float) -> dict[str, Any]:
    """What a measured point says of the queue, with the numbers put into the formula; JSON-ready.

    ``chance`` is how far, in seconds, 95 % of runs of so many requests are from the mean (Daley 1968); it is known for
    one server alone.
    """
    found = _at(order, rate)
    rho = found.utilization
    tail = f"{rho:.3f}² / (1 - {rho:.3f})"
    if order.servers > 1:
        tail = f"C · {rho:.3f} / (1 - {rho:.3f}), C = {found.p_wait:.3f} (Erlang)"
    chance = 1.96 * (1 + rho) / (1 - rho) / math.sqrt(requests) * found.W if order.servers == 1 else None
    return {
        "rho": rho,
        "sum": f"Lq = {tail} = {found.Lq:.3g}",
        "waiting": rate * (latency_s - order.service_s),
        "chance": chance,
    }


def doubling(order: Order) -> float:
    """The arrival rate at which a request takes ``TIMES`` service times."""
    from scipy.optimize import brentq

    peak = order.servers / order.service_s
    found = brentq(lambda rate: _at(order, rate).W - TIMES * order.service_s, 1e-6 * peak, (1 - 1e-6) * peak)
    return float(found)


def predicted_curve(order: Order, fit: Fit) -> Prediction:
    """What a fit to depths predicts over arrival rates."""
    return fit.predict(ArrivalRate(_rates(order)), refuse=False)


def predicted_doubling(order: Order, fit: Fit) -> float | None:
    """The model's answer to the question; None where it reaches so long a time at no rate."""
    found = predicted_curve(order, fit)
    times = np.maximum.accumulate(found.response_time_s)
    wanted = TIMES * order.service_s
    if not times[0] <= wanted <= times[-1]:
        return None
    return float(np.interp(wanted, times, found.load))


def _rates(order: Order) -> list[float]:
    peak = order.servers / order.service_s
    return [float(rate) for rate in peak * np.linspace(0.02, TOP, DRAWN)]


def _at(order: Order, rate: float) -> Metrics:
    return solve(MMc(min(rate, 0.9999 * order.servers / order.service_s), 1 / order.service_s, order.servers))
