"""The named queues of ``solve``, ``simulate`` and ``trace``, their options and laws as typed, and the models of these.

Rates and times may be bare numbers in any consistent unit, or carry units (``20k/s``, ``80us``). As soon as one of
them does, all are in seconds and so are the results.

Laws of times are typed as ``lognormal:mean=80us,scv=2``, ``lognormal:80us:scv=2`` or ``fitted:FILE``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import getdoc
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

import qsim
from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import OptionGroup, Run, option
from calibrate.cli.parsing import Quantity
from measure.units import parse_count, parse_duration


class Law(NamedTuple):
    """A distribution as typed, and whether its times carry a unit."""

    distribution: qsim.Distribution
    has_unit: bool


LAWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "exponential": ("Exponential", ("mean",)),
    "deterministic": ("Deterministic", ("mean",)),
    "erlang": ("Erlang", ("k", "mean")),
    "gamma": ("Gamma", ("mean", "scv")),
    "hyperexponential": ("HyperExponential.from_moments", ("mean", "scv")),
    "lognormal": ("LogNormal", ("mean", "scv")),
    "weibull": ("Weibull", ("shape", "mean")),
    "burr": ("BurrXII", ("c", "k", "mean")),
    "histogram": ("", ("FILE",)),
    "fitted": ("", ("FILE",)),
}
"""By family: what makes it in qsim, and its parameters, in that order."""
_TIMES = ("mean", "shift")


def law_of(text: str) -> Law:
    """The law of a text. Raises ValueError with the way to write it, DataError where a file holds none."""
    family, _, rest = text.partition(":")
    family = family.strip().lower()
    if family not in LAWS:
        raise ValueError(
            f"distribution {parsing.not_one_of(family, tuple(LAWS))}; write it like lognormal:mean=80us,scv=2"
        )
    wanted = LAWS[family][1]
    if wanted == ("FILE",):
        return Law(_read(family, parsing.path(rest.strip())), True)
    example = f"{family}:{','.join(f'{name}=...' for name in wanted)}"
    values: dict[str, float] = {}
    has_unit = False
    parts = [p.strip() for p in rest.replace(":", ",").split(",") if p.strip()]
    for position, part in enumerate(parts):
        name, equals, number = (p.strip() for p in part.partition("="))
        if not equals and position == 0:  # the first may go without its name: the mean
            name, number = "mean", part
        if name not in (*wanted, "shift") or name in values:
            raise ValueError(f"{part!r} does not belong to the distribution {family}; write it like {example}")
        if name in _TIMES:
            values[name] = parse_duration(number, name)
            has_unit |= number[-1:].isalpha()
        else:
            values[name] = parse_count(number, name)
    if missing := [name for name in wanted if name not in values]:
        raise ValueError(f"the distribution {family} needs {' and '.join(missing)}; write it like {example}")
    base = attrgetter(LAWS[family][0])(qsim)(*(values[name] for name in wanted))
    return Law(qsim.Shifted(base=base, shift=values["shift"]) if "shift" in values else base, has_unit)


law = parsing.parser(law_of)


def _read(family: str, path: Path) -> qsim.Distribution:
    from measure.formats.law_file import read_histogram, read_law

    return read_law(path) if family == "fitted" else read_histogram(path)


DISCIPLINES = ("FCFS", "PS", "LCFS-PR", "SJF", "PSJF", "SRPT")


@dataclass(frozen=True)
class QueueArguments:
    """The model and its options as typed: option name without dashes -> value, None where it was left out."""

    model: str
    values: Mapping[str, Any]

    @property
    def with_units(self) -> bool:
        """Whether any quantity carries its unit, so that results are in seconds."""
        return any(isinstance(v, Quantity | Law) and v.has_unit for v in self.values.values())

    def get(self, option: str, default: Any = None) -> Any:
        """The value of an option, the default where it was left out."""
        value = self.values.get(option)
        return default if value is None else value

    def number(self, option: str) -> float:
        """A bare value; CommandError where a distribution was typed and this model takes its mean only."""
        value = self.values[option]
        if isinstance(value, Law):
            raise wrong_usage(f"--{option}: {self.model} takes a number; a distribution goes with mg1, mgc, gg1 or ggc")
        return value.value if isinstance(value, Quantity) else float(value)

    def positive(self, option: str) -> float:
        """A bare value above zero."""
        value = self.number(option)
        if value <= 0:
            raise wrong_usage(f"--{option} must be positive, not {value:g}")
        return value

    def arrivals(self, letter: str) -> qsim.Distribution:
        """The law of the times between arrivals by Kendall's letter: any for G, else a Poisson stream of this rate."""
        if letter == "G" and isinstance(law := self.values["arrival-rate"], Law):
            return law.distribution
        rate = self.number("arrival-rate")
        if rate < 0:
            raise wrong_usage(f"--arrival-rate must be zero or positive, not {rate:g}")
        return qsim.Exponential(1 / rate if rate > 0 else math.inf)

    def service(self, letter: str) -> qsim.Distribution:
        """The law of service by Kendall's letter: any for G, constant for D, else exponential."""
        if letter == "G" and isinstance(law := self.values.get("service"), Law):
            return law.distribution
        known = self.get("service") is not None
        mean = self.positive("service") if known else 1 / self.positive("service-rate")
        return qsim.Deterministic(mean) if letter == "D" else qsim.Exponential(mean)


@parsing.parser
def time_or_law(text: str) -> Quantity | Law:
    """``80us`` or ``lognormal:80us:scv=2``."""
    return law_of(text) if ":" in text else parsing.time(text)


@parsing.parser
def rate_or_law(text: str) -> Quantity | Law:
    """``20k/s`` or ``erlang:50us:k=2``."""
    return law_of(text) if ":" in text else parsing.rate(text)


Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Also print the derivation, with the numbers put in.")
]


@dataclass(frozen=True)
class FollowedOptions(OptionGroup):
    """The options of a queue that is followed by hand: one line, first come first served."""

    arrival_rate: Any = option(
        "RATE|LAW", rate_or_law, "Arrivals per unit of time: 16, 20k/s; for G/G the law of the gaps: erlang:50us:k=2."
    )
    service_rate: Quantity | None = option(
        "RATE", parsing.rate, "Customers that one busy server finishes per unit of time: 20, 12k/s."
    )
    service: Any = option(
        "TIME|LAW",
        time_or_law,
        "Mean service time: 0.05, 80us; for M/G and G/G a law: lognormal:80us:scv=2, histogram:FILE, fitted:FILE.",
    )
    servers: int | None = option("C", parsing.whole, "Number of servers.")

    def of(self, model: str) -> QueueArguments:
        """The arguments of ``model``."""
        return QueueArguments(model, {name.replace("_", "-"): value for name, value in vars(self).items()})


@dataclass(frozen=True)
class QueueOptions(FollowedOptions):
    """The options of any queue."""

    capacity: int | None = option("K", parsing.whole, "Places in all, the servers included.")
    population: int | None = option("N", parsing.whole, "Customers that circle: fio's iodepth.")
    think_time: Quantity | None = option("TIME", parsing.time, "Mean time between an answer and the next request.")
    queues: str | None = option(
        "QUEUES",
        parsing.choice("shared", "random", "round-robin", "shortest"),
        "shared: one queue for all servers; or one each, joined at random, in turn (round-robin), the shortest.",
    )
    discipline: str | None = option(
        "ORDER", parsing.choice(*DISCIPLINES), f"Order of service: {', '.join(DISCIPLINES)}."
    )


RATE, SERVICE = "arrival-rate", "service-rate|service"


@dataclass(frozen=True)
class QueueModel:
    """A queue by its name on the command line: which options must be given, one of these or that, and which may be."""

    name: str
    kendall: str
    what: str
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()

    def check(self, given: QueueArguments) -> None:
        """Raise CommandError (wrong usage) where an option is missing, given twice, or not for this queue."""
        named = f"{self.name} ({self.kendall})"
        known = [*(o for need in self.needs for o in need.split("|")), *self.may]
        for name in given.values:
            if given.get(name) is not None and name not in known:
                raise wrong_usage(f"--{name} means nothing for {named}; it takes {self.usage(given)}")
        for need in self.needs:
            present = [f"--{o}" for o in need.split("|") if given.get(o) is not None]
            if not present:
                raise wrong_usage(f"{named} needs {_or(need)}; it takes {self.usage(given)}")
            if len(present) > 1:
                raise wrong_usage(f"{' and '.join(present)} say the same thing; give one of them")

    def make(self, given: QueueArguments) -> qsim.Network:
        """The model that the options describe."""
        arrivals, service, *_ = self.kendall.split("/")
        servers: Any = math.inf if self.name == "mminf" else given.get("servers", 1)
        queues = given.get("queues", "shared")
        if self.name == "mmcn":
            think = given.number("think-time") if given.get("think-time") is not None else 0.0
            station = qsim.Station(given.service(service), servers, queues=queues)
            return qsim.Closed(given.values["population"], (qsim.Delay(think), station))
        return qsim.Open(
            given.arrivals(arrivals),
            given.service(service),
            servers,
            servers if self.name == "mmcc" else given.get("capacity"),
            given.get("discipline", "FCFS"),
            queues,
        )

    def usage(self, given: QueueArguments) -> str:
        """The options in words, those that are optional only where the command has them."""
        optional = [f"[--{o}]" for o in self.may if o in given.values]
        return ", ".join([*(_or(need) for need in self.needs), *optional])


def _or(need: str) -> str:
    return " or ".join(f"--{o}" for o in need.split("|"))


_ORDER, _MANY, _CIRCLE = ("discipline",), ("discipline", "queues"), ("think-time", "servers", "queues")

_ONE, _SEVERAL = (RATE, SERVICE), (RATE, SERVICE, "servers")
MODELS: Mapping[str, QueueModel] = {
    m.name: m
    for m in (
        QueueModel("mm1", "M/M/1", "one server", _ONE, _ORDER),
        QueueModel("mmc", "M/M/c", "several servers, one queue", _SEVERAL, _MANY),
        QueueModel("mm1k", "M/M/1/K", "one server, limited places", (*_ONE, "capacity")),
        QueueModel("mmck", "M/M/c/K", "several, limited places", (*_SEVERAL, "capacity")),
        QueueModel("mmcc", "M/M/c/c", "no place to wait: Erlang's loss", _SEVERAL),
        QueueModel("mminf", "M/M/∞", "a server for everyone", _ONE),
        QueueModel("mmcn", "M/M/c//N", "a fixed population: fio at depth N", ("population", SERVICE), _CIRCLE),
        QueueModel("md1", "M/D/1", "constant service times", _ONE, _ORDER),
        QueueModel("mdc", "M/D/c", "the same, several servers", _SEVERAL, _MANY),
        QueueModel("mg1", "M/G/1", "any service times", _ONE, _ORDER),
        QueueModel("mgc", "M/G/c", "the same, several servers", _SEVERAL, _MANY),
        QueueModel("gg1", "G/G/1", "any arrivals, any service times", _ONE, _ORDER),
        QueueModel("ggc", "G/G/c", "the same, several servers", _SEVERAL, _MANY),
    )
}


def queue_of(given: QueueArguments) -> qsim.Network:
    """The model that the options describe; CommandError or ValueError says what is wrong with them."""
    queue = MODELS[given.model]
    queue.check(given)
    return queue.make(given)


@contextmanager
def hinting_at_units(with_units: bool) -> Iterator[None]:
    """The error of an overloaded queue, with a hint at forgotten units where numbers are bare."""
    try:
        yield
    except qsim.UnstableQueueError as error:
        if with_units:
            raise
        hint = "Numbers without units share one time unit; with units, write 300us and 5/s."
        raise wrong_usage(f"{error} {hint}") from error


@parsing.parser
def model_name(text: str) -> str:
    """``mm1``, also written ``M/M/1``."""
    name = text.strip().lower().replace("/", "").replace("∞", "inf")
    if name not in MODELS:
        raise ValueError(f"model {parsing.not_one_of(text, tuple(MODELS))}")
    return name


def listing_models(command: Run) -> Run:
    """Put every model with its meaning into the help of a command, in place of MODELS."""
    models = "\n".join(f"{m.name:<5} {m.kendall:<8} {m.what}" for m in MODELS.values())
    command.__doc__ = (getdoc(command) or "").replace("MODELS", models)
    return command


ModelName: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", parser=model_name, help="One of the models listed above.")
]
