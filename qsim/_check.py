"""Argument checks: one sentence that names the parameter, the value and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qsim.errors import InvalidParameterError

MOST = 2**53  # the largest count: beyond it floats do not distinguish neighbouring whole numbers

MOST_SIZE = 1e100  # the largest time, rate or variability: beyond it cubes and sums of squares are no floats


def number(name: str, value: object) -> float:
    """The value as a float; raises ValueError when it is not a number (or is NaN)."""
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidParameterError(name, f"must be a number, not {value!r}", value=value) from None
    except OverflowError:
        raise InvalidParameterError(name, "must be a number below 1.8e308, the largest there is") from None
    if math.isnan(result):
        remedy = "look for a missing value where it was computed"
        raise InvalidParameterError(name, "must be a number, not nan", remedy, value)
    return result


def keep(frozen: object, **values: object) -> None:
    """Set fields of a frozen value that are checked now."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def shown(value: object) -> str:
    """A value as it would be typed: 0.5, not np.float64(0.5)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def positive(name: str, value: object, remedy: str = "give a finite value above zero") -> float:
    """A finite number above zero."""
    result = number(name, value)
    if not 0 < result < math.inf:
        raise InvalidParameterError(name, f"must be positive and finite, not {shown(value)}", remedy, value)
    return at_most(MOST_SIZE, name, result)


def mean_of(name: str, rate: object, remedy: str = "give a finite value above zero") -> float:
    """1/rate, the mean time between the events of a rate above zero."""
    checked = positive(name, rate, remedy)
    if checked < 1 / MOST_SIZE:
        raise InvalidParameterError(name, f"must be at least {1 / MOST_SIZE:g}, not {shown(rate)}", value=rate)
    return 1 / checked


def at_most(most: float, name: str, value: float) -> float:
    """The value, where it is not above ``most``."""
    if value > most:
        raise InvalidParameterError(name, f"must be at most {most:g}, not {value:g}", value=value)
    return value


def non_negative(name: str, value: object, remedy: str = "give zero or a finite value above it") -> float:
    """A finite number, zero or more."""
    result = number(name, value)
    if not 0 <= result < math.inf:
        raise InvalidParameterError(name, f"must be zero or positive, and finite, not {shown(value)}", remedy, value)
    return at_most(MOST_SIZE, name, result)


def count(name: str, value: object, minimum: int = 1, remedy: str = "") -> int:
    """A whole number from ``minimum`` to MOST; 1e6 and numpy integers are welcome, 2.5 and True are not."""
    result = number(name, value)
    if MOST < result < math.inf:
        problem = f"must be at most {MOST:,}, up to where numbers are exact, not {result:.3g}"
        raise InvalidParameterError(name, problem, value=value)
    if isinstance(value, bool) or not math.isfinite(result) or result != int(result) or result < minimum:
        hint = remedy or f"give {minimum}, {minimum + 1}, {minimum + 2}, ..."
        problem = f"must be a whole number of at least {minimum}, not {shown(value)}"
        raise InvalidParameterError(name, problem, hint, value)
    return int(result)


def capacity(value: object, servers: float) -> int:
    """The places at a station, those at its ``servers`` included: at least that many."""
    least = 1 if servers == math.inf else int(servers)
    customers = "the customer" if least == 1 else f"the {least} customers"
    return count("capacity", value, least, f"it includes {customers} in service; None means no limit")


def fraction(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    result = number(name, value)
    if not 0 < result < 1:
        problem = f"must lie strictly between 0 and 1, not {shown(value)}"
        raise InvalidParameterError(name, problem, "0.95 means 95 %", value)
    return result


def sequence(name: str, values: object) -> tuple[Any, ...]:
    """The values as a tuple; raises ValueError when they are not a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        remedy = f"write [{values!r}] for a single one"
        raise InvalidParameterError(name, f"must be a list, not {values!r}", remedy, values)
    return tuple(values)


def as_many(name: str, values: Sequence[object], of: str, number: int) -> None:
    """Raise ValueError unless there are as many values as ``of``, of which there is a ``number``."""
    if len(values) != number:
        problem = f"must have as many entries as {of} ({number}), not {len(values)}"
        raise InvalidParameterError(name, problem, value=len(values))


def non_negatives(name: str, values: object) -> tuple[float, ...]:
    """A list of finite numbers, each zero or more."""
    listed = sequence(name, values.tolist() if isinstance(values, np.ndarray) else values)
    if all(type(v) is float and 0 <= v <= MOST_SIZE for v in listed):  # most lists, and at once
        return listed
    return tuple(non_negative(f"{name}[{i}]", v) for i, v in enumerate(listed))


def counts(name: str, values: object, minimum: int = 1) -> list[int]:
    """A list of whole numbers, each from ``minimum`` on."""
    return [count(f"{name}[{i}]", n, minimum) for i, n in enumerate(sequence(name, values))]


def speeds(values: object) -> tuple[float, ...]:
    """Speeds of a station with 1, 2, ... customers present: not empty, each above zero and finite."""
    checked = tuple(positive(f"speeds[{i}]", v) for i, v in enumerate(sequence("speeds", values)))
    if not checked:
        remedy = "give the work per time unit with 1, 2, ... customers present"
        raise InvalidParameterError("speeds", "must not be empty", remedy)
    return checked


def weights(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Probabilities: not empty, none negative, adding up to one within 1e-9 (then made exact)."""
    checked = non_negatives(name, values)
    if not checked:
        raise InvalidParameterError(name, "must not be empty", "give one probability for each part")
    total = math.fsum(checked)
    if abs(total - 1) > 1e-9:
        raise InvalidParameterError(name, f"must add up to 1, not {total!r}", "divide each by their sum", total)
    return tuple(w / total for w in checked)


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if value not in choices:
        raise InvalidParameterError(name, f"must be one of {', '.join(map(repr, choices))}, not {value!r}", value=value)
