"""What is typed for ``qsim measure fio``: depths, the time per point, how often points are repeated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from measure import units
from measure.fio.settings import Settling
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.plan import FioPlan

FEWEST_POINTS = 3
FEWEST_REPEATS, MOST_REPEATS = 3, 10
PRECISION = 2.0
"""The half width of 95 % intervals, in percent, at which ``--repeats auto`` ends."""


@dataclass(frozen=True)
class Depths:
    """Depths as typed; ``points`` is the most that ``auto`` may measure, None where depths are listed."""

    loads: tuple[float, ...] = ()
    points: int | None = None


@parsing.parser
def depths(text: str) -> Depths:
    """``1,2,4``, ``1..64``, ``auto:9``."""
    word, colon, most = text.strip().lower().partition(":")
    if word != "auto":
        return Depths(parsing.depths(text))
    points = units.parse_count(most) if colon else 9
    if points != int(points) or points < FEWEST_POINTS:
        raise ValueError(f"invalid depths {text!r}: auto takes {FEWEST_POINTS} points at least, as auto:9")
    return Depths(points=int(points))


@dataclass(frozen=True)
class Runtime:
    """The time per point, or how it settles (None: it is not waited for)."""

    seconds: float | None = None
    settling: Settling | None = None


@parsing.parser
def runtime(text: str) -> Runtime:
    """``5s``, ``steady``."""
    if text.strip().lower() == "steady":
        return Runtime(settling=Settling())
    return Runtime(units.parse_duration(text))


@dataclass(frozen=True)
class Repeats:
    """``first`` rounds over all points, and ``most`` of each point (None: no more than the rounds)."""

    first: int = 1
    most: int | None = None

    def first_rounds(self, plan: FioPlan) -> FioPlan:
        """The plan without the repeats that are measured only where they are needed."""
        return replace(plan, points=tuple(p for p in plan.points if p.repeat < self.first))


@parsing.parser
def repeats_of(text: str) -> Repeats:
    """``3``, ``auto``, ``auto:20``."""
    word, colon, most = text.strip().lower().partition(":")
    if word == "auto":
        limit = units.parse_count(most) if colon else MOST_REPEATS
        if limit != int(limit) or limit < FEWEST_REPEATS:
            raise ValueError(f"{text!r}: an interval takes {FEWEST_REPEATS} repeats at least; write it like auto:10")
        return Repeats(FEWEST_REPEATS, int(limit))
    rounds = units.parse_count(text)
    if rounds != int(rounds):
        raise ValueError(f"{text!r} is not a whole number; write it like 3, auto or auto:20")
    return Repeats(int(rounds))


def further_text(plan: FioPlan, repeats: Repeats) -> str:
    """What may come after the plan, in words; empty where nothing can."""
    if repeats.most is None:
        return ""
    longest = format_duration(len({p.job for p in plan.points}) * (repeats.most - repeats.first) * plan.point_seconds)
    return (
        f"up to {repeats.most} repeats of each point until its mean is known within {PRECISION:g} %: up to {longest} "
        "more; flagged points again, twice at most"
    )
