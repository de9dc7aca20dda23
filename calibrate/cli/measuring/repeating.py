"""How often points are measured, and when a point counts as settled, as typed; and what is said about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import shared
from measure import units
from measure.fio.settings import Settling
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.plan import FioPlan, FioPoint
    from measure.store.measuring import More
    from measure.sweep import Sweep

FEWEST, MOST, PRECISION = 3, 10, 2.0


@dataclass(frozen=True)
class Repeats:
    """``first`` rounds over all points, and ``most`` of each point (None: no more than the rounds)."""

    first: int = 1
    most: int | None = None


@parsing.parser
def _repeats(text: str) -> Repeats:
    """``3``, ``auto``, ``auto:20``."""
    word, colon, most = text.strip().lower().partition(":")
    if word == "auto":
        limit = units.parse_count(most) if colon else MOST
        if limit != int(limit) or limit < FEWEST:
            raise ValueError(f"{text!r}: an interval takes {FEWEST} repeats at least; write it like auto:10")
        return Repeats(FEWEST, int(limit))
    rounds = units.parse_count(text)
    if rounds != int(rounds):
        raise ValueError(f"{text!r} is not a whole number; write it like 3, auto or auto:20")
    return Repeats(int(rounds))


@parsing.parser
def _settling(text: str) -> Settling:
    """``5%``, ``5%:10s``, ``5%:10s:2min``, ``slope:0.3%:30s``."""
    parts = [part.strip() for part in text.split(":")]
    kind = parts.pop(0).lower() if parts[0].lower() in ("range", "slope") else "range"
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"invalid steady state {text!r}: expected e.g. 5%, 5%:10s or 5%:10s:2min")
    tolerance = units.parse_count(parts[0].removesuffix("%"), "tolerance") / 100
    window_s = units.parse_duration(parts[1], "window") if len(parts) > 1 else Settling.window_s
    longest_s = units.parse_duration(parts[2], "longest time") if len(parts) > 2 else max(120.0, 6 * window_s)
    return Settling(tolerance, window_s, longest_s, "slope" if kind == "slope" else "range")


HowOften: TypeAlias = Annotated[
    Repeats,
    shared(
        "N|auto",
        _repeats,
        "Rounds over all points; auto (or auto:20, at most 20) goes on until --precision.",
        shown="1",
    ),
]
Precision: TypeAlias = Annotated[
    float | None,
    shared("PCT", parsing.percent, "With --repeats auto: the half width of the 95 % intervals.", shown="2%"),
]
Steady: TypeAlias = Annotated[
    Settling | None,
    shared(
        "PCT[:WINDOW[:LONGEST]]",
        _settling,
        "Run each point until its throughput is steady, as 5%:10s:2min or slope:0.3%:30s.",
    ),
]
Remeasure: TypeAlias = Annotated[bool, typer.Option("--remeasure", help="Measure flagged points again, twice at most.")]


def first_rounds(plan: FioPlan, repeats: Repeats) -> FioPlan:
    """The plan without the repeats that are measured only where they are needed."""
    return replace(plan, points=tuple(p for p in plan.points if p.repeat < repeats.first))


def further_points(
    plan: FioPlan, repeats: Repeats, precision_pct: float | None, remeasure: bool
) -> More[Sweep, FioPoint] | None:
    """What adds points to the plan while it is measured; CommandError where the options contradict each other."""
    if precision_pct is not None and repeats.most is None:
        raise wrong_usage("--precision is for --repeats auto, which repeats each point until its mean is that precise")
    from measure.again import either, flagged_again, until_precise

    mores = []
    if repeats.most is not None:
        mores.append(until_precise(plan, (PRECISION if precision_pct is None else precision_pct) / 100, repeats.most))
    if remeasure:
        mores.append(flagged_again(plan))
    return either(*mores) if mores else None


def further_text(plan: FioPlan, repeats: Repeats, precision_pct: float | None, remeasure: bool) -> str:
    """What may come on top of the plan, in words; empty where nothing can."""
    told = []
    loads = len({p.job for p in plan.points})
    if repeats.most is not None:
        share = PRECISION if precision_pct is None else precision_pct
        longest = format_duration(loads * (repeats.most - repeats.first) * plan.point_seconds)
        told.append(
            f"up to {repeats.most} repeats of each point until its mean is known within {share:g} %: up to "
            f"{longest} more"
        )
    if remeasure:
        told.append(f"flagged points again, {format_duration(plan.point_seconds)} each")
    return "; ".join(told)
