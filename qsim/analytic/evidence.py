"""What an approximation says of itself: how far it was off where the truth is known."""

from __future__ import annotations

from qsim.analytic.measured_errors import ERRORS


def with_errors(method: str, name: str) -> str:
    """The method with the errors of its W that were measured under ``name``.

    >>> from qsim import Gamma, GGc, solve
    >>> solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=0.8), servers=2)).method
    'phase-type fit (W off by 1.3 % at the median, 27 % at worst)'
    """
    if name not in ERRORS:
        return method
    median, worst = ERRORS[name]
    return f"{method} (W off by {median:g} % at the median, {worst} % at worst)"
