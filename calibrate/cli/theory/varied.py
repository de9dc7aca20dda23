"""An option of a queue that takes many values: ``arrival-rate=0.1..0.99``, ``servers=1,2,4``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrate.cli import parsing
from calibrate.cli.parsing import Quantity

_TIMES, _RATES = ("service-time", "think-time"), ("arrival-rate", "service-rate")
_WHOLE = ("servers", "capacity", "population", "batch-size")
VARIED = (*_RATES, *_TIMES, *_WHOLE, "scv", "arrival-scv")
_POINTS = 200
_MOST_WHOLE = 300


@dataclass(frozen=True)
class Varied:
    """An option and the values that it takes, as ``arrival-rate=0.1..0.99``."""

    option: str
    values: tuple[Any, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values as numbers."""
        return tuple(v.value if isinstance(v, Quantity) else float(v) for v in self.values)


@parsing.parser
def varied(text: str) -> Varied:
    """``arrival-rate=0.1..0.99`` (evenly, from end to end), ``servers=1,2,4``."""
    option, equals, values = (part.strip() for part in text.partition("="))
    option = option.removeprefix("--").replace("_", "-")
    if option not in VARIED:
        raise ValueError(f"{parsing.not_one_of(option, VARIED)}; write it like arrival-rate=0.1..0.99")
    if not equals or not values:
        raise ValueError(f"{text!r} names no values; write it like {option}=1..8 or {option}=1,2,4")
    first, dots, last = values.partition("..")
    if not dots:
        return Varied(option, tuple(_one(option, v.strip()) for v in values.split(",") if v.strip()))
    low, high = _one(option, first), _one(option, last)
    return Varied(option, _between(option, low, high, text))


def _one(option: str, text: str) -> Any:
    read = parsing.rate if option in _RATES else parsing.time if option in _TIMES else None
    return (read or (parsing.whole if option in _WHOLE else parsing.number))(text)


def _between(option: str, low: Any, high: Any, text: str) -> tuple[Any, ...]:
    import numpy as np

    ends = Varied(option, (low, high)).numbers
    if not ends[0] < ends[1]:
        raise ValueError(f"{text!r} must go from a smaller value to a larger one")
    if option in _WHOLE:
        if ends[1] - ends[0] <= _MOST_WHOLE:
            return tuple(range(low, high + 1))
        return tuple(int(n) for n in np.unique(np.geomspace(max(ends[0], 1), ends[1], _POINTS).round()))
    values = np.linspace(ends[0], ends[1], _POINTS).tolist()
    if isinstance(low, Quantity):
        return tuple(Quantity(v, low.has_unit or high.has_unit) for v in values)
    return tuple(values)
