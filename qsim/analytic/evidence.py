"""The measured error of each approximation, and the range of queues where it was measured."""

from __future__ import annotations

from collections.abc import Iterable

ERRORS = {
    "phase-type fit": (1.3, 27),
    "Allen-Cunneen": (7.3, 31),
    "Krämer-Langenbach-Belz": (4.2, 19),
    "Kimura": (1.4, 7),
    "closed FCFS classes": (0.4, 21),
    "closed FCFS of general services": (2.4, 54),
}
"""Error of each approximation's W, in percent, median and worst of 60 random queues of each kind, solved and simulated
by ``python examples/accuracy/approximations.py``."""
SCV, MOST_LOAD, MOST_SERVERS = (0.1, 4.0), 0.9, 8
"""The range of scv, rho and servers in which errors were measured."""
ROUNDING = 1e-9
"""Values this near beyond the range are in it."""
SCOPE = f"scv {SCV[0]:g} to {SCV[1]:g}, rho up to {MOST_LOAD:g}, up to {MOST_SERVERS} servers"


def with_errors(
    method: str, name: str, scv: Iterable[float], load: float, servers: float, alike: bool = True, scope: str = SCOPE
) -> str:
    """The text ``method`` with the measured errors of W of ``name``, or with "error unknown" for other queues.

    ``alike``: whether the queue is of the measured kind, apart from its scv, load and servers.

    >>> from qsim import Gamma, GGc, solve
    >>> method = solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=0.8), servers=2)).method
    >>> method.partition(", for ")[0]
    'phase-type fit (W off by 1.3 % at the median, 27 % at worst'
    >>> solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=30), servers=2)).method
    'phase-type fit (error unknown: measured only for scv 0.1 to 4, rho up to 0.9, up to 8 servers)'
    """
    inside = all(SCV[0] - ROUNDING <= v <= SCV[1] + ROUNDING for v in scv)
    if name not in ERRORS or not (alike and inside) or load > MOST_LOAD + ROUNDING or servers > MOST_SERVERS:
        return f"{method} (error unknown: measured only for {scope})"
    median, worst = ERRORS[name]
    return f"{method} (W off by {median:g} % at the median, {worst} % at worst, for {scope})"
