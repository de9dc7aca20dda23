"""Answers that no board has room for: the values, what they must obey, and what one would estimate by hand."""

from __future__ import annotations

import math

from qsim.analytic.open.approximations import applies as two_moments_apply
from qsim.analytic.views import closed_chain, open_queue
from qsim.derivations.closed_stations import bounds
from qsim.derivations.derivation import Page
from qsim.derivations.general import allen_cunneen, moments
from qsim.metrics import Metrics
from qsim.models import Network


def write(page: Page, model: Network, answer: Metrics) -> None:
    """The values of ``answer`` with the laws between them."""
    circle, queue = closed_chain(model), open_queue(model)
    if circle is not None:
        bounds(page, circle)
    elif queue is not None and queue.arrival_rate > 0 and two_moments_apply(queue):
        moments(page, queue)
        allen_cunneen(page)
        page.let("estimate", "AC + S", "so much for the response by hand; the answer:")
    page.without("throughput", "utilization")
    idle = queue is not None and queue.arrival_rate == 0
    page.remark("nobody ever comes" if idle else f"solved numerically: {answer.method}")
    how = "" if idle else "numerically"
    for name, value in (("X", answer.throughput), ("W", answer.W), ("Wq", answer.Wq)):
        if math.isfinite(value):
            page.found(name, value, "", how)
    for name, formula, inputs in (("L", "X * W", (answer.W,)), ("Lq", "X * Wq", (answer.Wq,))):
        if all(map(math.isfinite, inputs)):
            page.let(name, formula, "Little's law")
    for name, value in (("rho", answer.utilization), ("p_wait", answer.p_wait), ("p_block", answer.p_block)):
        if math.isfinite(value):
            page.found(name, value, "", how)
