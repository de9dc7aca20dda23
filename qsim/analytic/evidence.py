"""The measured error of each approximation, and the range of queues where it was measured."""

from __future__ import annotations

from collections.abc import Iterable

P_WAIT, P_WAIT_FITTED = "P(wait) of two moments", "P(wait) of the phase-type fit"
ERRORS = {
    "phase-type fit": (2.8, 34),
    "Allen-Cunneen": (7.6, 33),
    "Krämer-Langenbach-Belz": (4.2, 37),
    "Kimura": (2.2, 17),
    P_WAIT: (7.7, 21),
    P_WAIT_FITTED: (0.8, 25),
    "closed FCFS classes": (0.5, 21),
    "closed FCFS of general services": (2.5, 73),
}
"""Error of each approximation's W, in percent, and of P(wait), in points: median and worst of 60 random queues of each
kind, solved and simulated by ``python examples/accuracy/approximations.py``."""
SCV, MOST_LOAD, MOST_SERVERS = (0.02, 4.0), 0.9, 8  # the range of scv, rho and servers in which errors were measured
ROUNDING = 1e-9  # values this near beyond the range are in it
LAWS = "gamma, lognormal and two-point times"
SCOPE = f"{LAWS} of scv {SCV[0]:g} to {SCV[1]:g}, rho up to {MOST_LOAD:g}, up to {MOST_SERVERS} servers"


def with_errors(
    method: str,
    name: str,
    scv: Iterable[float],
    load: float,
    servers: float,
    alike: bool = True,
    scope: str = SCOPE,
    p_wait: str = "",
) -> str:
    """The text ``method`` with the measured errors of W of ``name``, or with "error unknown" for other queues.

    ``p_wait`` names how P(wait) was found, whose error is then said too. ``alike``: whether the queue is of the
    measured kind, apart from its scv, load and servers.

    >>> from qsim import Gamma, GGc, solve
    >>> method = solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=0.8), servers=2)).method
    >>> method.partition(", for ")[0]
    'phase-type fit (W off by 2.8 % at the median, 34 % at worst, P(wait) by 0.01 and 0.25'
    >>> solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=30), servers=2)).method[:70]
    'phase-type fit (error unknown: measured only for gamma, lognormal and '
    """
    inside = all(SCV[0] - ROUNDING <= v <= SCV[1] + ROUNDING for v in scv)
    if name not in ERRORS or not (alike and inside) or load > MOST_LOAD + ROUNDING or servers > MOST_SERVERS:
        return f"{method} (error unknown: measured only for {scope})"
    median, worst = ERRORS[name]
    waits = f", P(wait) by {ERRORS[p_wait][0] / 100:.2f} and {ERRORS[p_wait][1] / 100:.2f}" if p_wait else ""
    return f"{method} (W off by {median:g} % at the median, {worst} % at worst{waits}, for {scope})"
