"""What describes a queue on the command line: its options, and what was given.

Rates and times may be bare numbers in any consistent unit, or carry units (``20k/s``, ``80us``). As soon as one of
them does, all are in seconds and so are the results.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.option_groups import OptionGroup, shared
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory.laws import Law, law
from measure.units import format_duration, format_rate

DISCIPLINES = ("FCFS", "LCFS", "LCFS-PR", "SJF", "PSJF", "SRPT", "PS", "SIRO")


@dataclass(frozen=True)
class Given:
    """What was typed: option name without dashes -> value, None where it was left out."""

    model: str
    values: Mapping[str, Any]

    @property
    def with_units(self) -> bool:
        """Whether any quantity carried its unit, so that results are in seconds."""
        return any(
            v.has_unit if isinstance(v, Quantity) else isinstance(v, Law) and v.has_unit for v in self.values.values()
        )

    def number(self, option: str) -> float:
        """A quantity's bare value."""
        value = self.values[option]
        return value.value if isinstance(value, Quantity) else float(value)

    def has(self, option: str) -> bool:
        """Whether the option was given."""
        return self.values.get(option) is not None

    def described(self) -> str:
        """The options in words, for a title: "service rate 20, servers 3"."""
        told = {o: _in_words(o, v) for o, v in self.values.items() if v is not None}
        return ", ".join(f"{option.replace('-', ' ')} {text}" for option, text in told.items())

    def command_line(self) -> str:
        """The options as they could be typed again."""
        words = [self.model]
        for option, value in self.values.items():
            if value is not None:
                words += [f"--{option}", value.text if isinstance(value, Law) else _typed(option, value)]
        return shlex.join(words)


def _in_words(option: str, value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, Law):
        return value.text
    if isinstance(value, Quantity) and value.has_unit:
        return format_rate(value.value) if option.endswith("rate") else format_duration(value.value)
    return _typed(option, value)


def _typed(option: str, value: Any) -> str:
    if isinstance(value, parsing.Numbers):
        return ",".join(f"{number:.12g}" for number in value)
    if not isinstance(value, Quantity):
        return str(value) if isinstance(value, str) else f"{value:.12g}"
    unit = ("/s" if option.endswith("rate") else "s") if value.has_unit else ""
    return f"{value.value:.12g}{unit}"


ArrivalRate: TypeAlias = Annotated[
    Quantity | None, shared("RATE", parsing.rate, "Mean arrivals per time, as 16 or 20k/s.")
]
ServiceRate: TypeAlias = Annotated[
    Quantity | None, shared("RATE", parsing.rate, "What one busy server finishes per time, as 20 or 12k/s.")
]
ServiceTime: TypeAlias = Annotated[Quantity | None, shared("TIME", parsing.time, "Mean service time, as 0.05 or 80us.")]
Servers: TypeAlias = Annotated[int | None, shared("C", parsing.whole, "Identical servers.")]
Capacity: TypeAlias = Annotated[int | None, shared("K", parsing.whole, "Places in all, the servers included.")]
Population: TypeAlias = Annotated[int | None, shared("N", parsing.whole, "Customers that circle: fio's iodepth.")]
ThinkTime: TypeAlias = Annotated[
    Quantity | None, shared("TIME", parsing.time, "Mean time between an answer and the next request.")
]
Queues: TypeAlias = Annotated[
    str | None,
    shared(
        "QUEUES",
        parsing.choice("shared", "random", "round-robin", "shortest"),
        "shared: one queue for all servers; or one each, joined at random, in turn (round-robin), the shortest.",
    ),
]
Discipline: TypeAlias = Annotated[
    str | None, shared("ORDER", parsing.choice(*DISCIPLINES), f"Order of service: {', '.join(DISCIPLINES)}.")
]
Service: TypeAlias = Annotated[
    Law | None,
    shared(
        "LAW",
        law,
        "Service times, as lognormal:mean=80us,scv=2, histogram:FILE (fio's) or fitted:FILE (qsim fit-service).",
    ),
]
Arrivals: TypeAlias = Annotated[Law | None, shared("LAW", law, "Times between arrivals, written like --service.")]
Scv: TypeAlias = Annotated[
    float | None,
    shared(
        "C2",
        parsing.number,
        "Squared coefficient of variation of the service times: 0 constant, 1 exponential.",
        "--scv",
    ),
]
ArrivalScv: TypeAlias = Annotated[
    float | None, shared("C2", parsing.number, "The same for the times between arrivals.", "--arrival-scv")
]
Quantiles: TypeAlias = Annotated[
    parsing.Numbers | None,
    shared(
        "Q,...", parsing.shares, "Also the response times that these shares stay below, as 0.5,0.99.", "--quantiles"
    ),
]
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Also print the derivation, with the numbers put in.")
]


class _Typed(OptionGroup):
    def values(self) -> dict[str, Any]:
        """Option name without dashes -> what was typed, None where it was left out."""
        return {name.replace("_", "-"): value for name, value in vars(self).items()}


@dataclass(frozen=True)
class FollowedOptions(_Typed):
    """The options of a queue that is followed by hand: one line, first come first served."""

    arrival_rate: ArrivalRate = None
    service_rate: ServiceRate = None
    service_time: ServiceTime = None
    servers: Servers = None
    service: Service = None
    scv: Scv = None
    arrivals: Arrivals = None
    arrival_scv: ArrivalScv = None


@dataclass(frozen=True)
class QueueOptions(FollowedOptions):
    """Those of any queue."""

    capacity: Capacity = None
    population: Population = None
    think_time: ThinkTime = None
    queues: Queues = None
    discipline: Discipline = None
