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
from calibrate.cli.option_groups import OptionGroup
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory.laws import FILES, LAWS, Law, law
from measure.units import format_duration, format_rate

DISCIPLINES = ("FCFS", "LCFS", "LCFS-PR", "SJF", "PSJF", "PS", "SIRO")


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
    if not isinstance(value, Quantity):
        return str(value) if isinstance(value, str) else f"{value:.12g}"
    unit = ("/s" if option.endswith("rate") else "s") if value.has_unit else ""
    return f"{value.value:.12g}{unit}"


ArrivalRate: TypeAlias = Annotated[
    Quantity | None,
    typer.Option(
        metavar="RATE", parser=parsing.rate, show_default=False, help="Mean arrivals per time, as 16 or 20k/s."
    ),
]
ServiceRate: TypeAlias = Annotated[
    Quantity | None,
    typer.Option(metavar="RATE", parser=parsing.rate, show_default=False,
                 help="What one busy server finishes per time, as 20 or 12k/s."),
]  # fmt: skip
ServiceTime: TypeAlias = Annotated[
    Quantity | None,
    typer.Option(metavar="TIME", parser=parsing.time, show_default=False, help="Mean service time, as 0.05 or 80us."),
]
Servers: TypeAlias = Annotated[
    int | None, typer.Option(metavar="C", parser=parsing.whole, show_default=False, help="Identical servers.")
]
Capacity: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="K", parser=parsing.whole, show_default=False, help="Places in all, the servers included."),
]
Population: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", parser=parsing.whole, show_default=False, help="Customers that circle: fio's iodepth."),
]
ThinkTime: TypeAlias = Annotated[
    Quantity | None,
    typer.Option(metavar="TIME", parser=parsing.time, show_default=False,
                 help="Mean time between an answer and the next request (0 when left out)."),
]  # fmt: skip
Queues: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="QUEUES", parser=parsing.choice("shared", "random", "round-robin", "shortest"),
                 show_default=False,
                 help="One queue for all servers (shared), or one for each, as dies have, joined at random, in turn "
                      "(round-robin), or where the fewest are (shortest)."),
]  # fmt: skip
Discipline: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ORDER", parser=parsing.choice(*DISCIPLINES), show_default=False,
                 help=f"The order of service: {', '.join(DISCIPLINES)} (SIRO: in random order; PR, P: preemptive)."),
]  # fmt: skip
BatchSize: TypeAlias = Annotated[
    int | None,
    typer.Option("--batch-size", metavar="B", parser=parsing.whole, show_default=False,
                 help="mx1: customers that come together; --arrival-rate then counts batches."),
]  # fmt: skip
Service: TypeAlias = Annotated[
    Law | None,
    typer.Option(metavar="LAW", parser=law, show_default=False,
                 help=f"Service times by family, as lognormal:mean=80us,scv=2. Families: "
                 f"{', '.join(name for name, values in LAWS.items() if values != ('FILE',))}, {FILES}."),
]  # fmt: skip
Arrivals: TypeAlias = Annotated[
    Law | None,
    typer.Option(metavar="LAW", parser=law, show_default=False, help="Times between arrivals, written like --service."),
]
Scv: TypeAlias = Annotated[
    float | None,
    typer.Option("--scv", metavar="C2", parser=parsing.number, show_default=False,
                 help="Variance / mean² of the service times: 0 constant, 1 exponential (gamma below, H2 above)."),
]  # fmt: skip
ArrivalScv: TypeAlias = Annotated[
    float | None,
    typer.Option("--arrival-scv", metavar="C2", parser=parsing.number, show_default=False,
                 help="The same for the times between arrivals."),
]  # fmt: skip
Quantiles: TypeAlias = Annotated[
    parsing.Numbers | None,
    typer.Option("--quantiles", metavar="Q,...", parser=parsing.shares, show_default=False,
                 help="Also the response times that these shares stay below, as 0.5,0.99."),
]  # fmt: skip
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Also print how it comes about, step by step with the numbers put in.")
]


class _Typed(OptionGroup):
    def values(self) -> dict[str, Any]:
        """Option name without dashes -> what was typed, None where it was left out."""
        return {name.replace("_", "-"): value for name, value in vars(self).items()}


@dataclass(frozen=True)
class QueueOptions(_Typed):
    """The options of a queue."""

    arrival_rate: ArrivalRate = None
    service_rate: ServiceRate = None
    service_time: ServiceTime = None
    servers: Servers = None
    capacity: Capacity = None
    population: Population = None
    think_time: ThinkTime = None
    queues: Queues = None
    discipline: Discipline = None
    batch_size: BatchSize = None
    service: Service = None
    scv: Scv = None
    arrivals: Arrivals = None
    arrival_scv: ArrivalScv = None


@dataclass(frozen=True)
class FollowedOptions(_Typed):
    """Those of a queue that is followed by hand: one line, first come first served."""

    arrival_rate: ArrivalRate = None
    service_rate: ServiceRate = None
    service_time: ServiceTime = None
    servers: Servers = None
    batch_size: BatchSize = None
    service: Service = None
    scv: Scv = None
    arrivals: Arrivals = None
    arrival_scv: ArrivalScv = None
