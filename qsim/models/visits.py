"""How often a customer is served at a station before it goes on: counted, or drawn from a geometric law."""

from __future__ import annotations

from collections.abc import Callable

from qsim.errors import InvalidParameterError

GEOMETRIC = "geometric:"


class GeometricVisits(float):
    """A mean number of visits, each of which is the last with the same chance, whatever was before."""

    def __repr__(self) -> str:
        return repr(f"{GEOMETRIC}{float(self):g}")


def visits_of(parameter: str, given: object, check: Callable[[str, object], float]) -> float:
    """A checked number of visits; ``"geometric:12"`` gives GeometricVisits."""
    if isinstance(given, str):
        try:
            given = GeometricVisits(given.removeprefix(GEOMETRIC) if given.startswith(GEOMETRIC) else "")
        except ValueError:
            remedy = 'write 12 for twelve each time, or "geometric:12"'
            raise InvalidParameterError(parameter, f"is {given!r}", remedy, given) from None
    visits = check(parameter, given)
    if not isinstance(given, GeometricVisits):
        return visits
    if visits < 1:
        problem = f"must be at least 1, not {given!r}"
        raise InvalidParameterError(parameter, problem, "for a chance give a plain number", given)
    return given
