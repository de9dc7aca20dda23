"""The queues that ``solve``, ``simulate`` and ``trace`` know by name, their options, and how these become a model.

Rates and times may be bare numbers in any consistent unit, or carry units (``20k/s``, ``80us``). As soon as one of
them does, all are in seconds and so are the results.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import OptionGroup, shared
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory.laws import Law, law_of
from measure.units import parse_duration, parse_rate

if TYPE_CHECKING:
    from qsim import Distribution, Network

DISCIPLINES = ("FCFS", "LCFS", "LCFS-PR", "SJF", "PSJF", "SRPT", "PS", "SIRO")


@dataclass(frozen=True)
class QueueArguments:
    """The model and its options as typed: option name without dashes -> value, None where it was left out."""

    model: str
    values: Mapping[str, Any]

    @property
    def with_units(self) -> bool:
        """Whether any quantity carries its unit, so that results are in seconds."""
        return any(isinstance(v, Quantity | Law) and v.has_unit for v in self.values.values())

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

    def has(self, option: str) -> bool:
        """Whether the option was given."""
        return self.values.get(option) is not None

    def command_line(self) -> str:
        """The options as they could be typed again."""
        words = [self.model]
        for option, value in self.values.items():
            if value is not None:
                words += [f"--{option}", _typed(option, value)]
        return shlex.join(words)

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time."""
        return self.number("arrival-rate")

    @property
    def service_time(self) -> float:
        """The mean service time."""
        return self.number("service") if self.has("service") else 1 / self.positive("service-rate")

    @property
    def service_rate(self) -> float:
        """The rate of one busy server."""
        return self.number("service-rate") if self.has("service-rate") else 1 / self.positive("service")

    @property
    def service(self) -> Distribution:
        """The law of service: exponential where only its mean was typed."""
        value = self.values["service"]
        return value.distribution() if isinstance(value, Law) else _exponential(self.service_time)

    @property
    def arrivals(self) -> Distribution:
        """The law of the times between arrivals: exponential where only the rate was typed."""
        value = self.values["arrival-rate"]
        return value.distribution() if isinstance(value, Law) else _exponential(1 / self.positive("arrival-rate"))

    @property
    def servers(self) -> int:
        """The number of servers, 1 where none was typed."""
        return int(self.values["servers"]) if self.has("servers") else 1

    @property
    def capacity(self) -> int:
        """The places."""
        return int(self.values["capacity"])


def _exponential(mean: float) -> Distribution:
    from qsim import Exponential

    if mean <= 0:
        raise wrong_usage(f"a mean time must be positive, not {mean:g}")
    return Exponential(mean)


def _typed(option: str, value: Any) -> str:
    if isinstance(value, Law):
        return value.text
    if not isinstance(value, Quantity):
        return str(value) if isinstance(value, str) else f"{value:.12g}"
    unit = ("/s" if option.endswith("rate") else "s") if value.has_unit else ""
    return f"{value.value:.12g}{unit}"


@parsing.parser
def time_or_law(text: str) -> Quantity | Law:
    """``80us`` or ``lognormal:80us:scv=2``."""
    return law_of(text) if ":" in text else Quantity(parse_duration(text), text.strip()[-1:].isalpha())


@parsing.parser
def rate_or_law(text: str) -> Quantity | Law:
    """``20k/s`` or ``erlang:50us:k=2``."""
    return law_of(text) if ":" in text else Quantity(parse_rate(text), "/" in text or text.lower().endswith("iops"))


ArrivalRate: TypeAlias = Annotated[
    Any,
    shared(
        "RATE|LAW", rate_or_law, "Arrivals per time, as 16 or 20k/s; or the law of the gaps, as erlang:50us:k=2 (G/G)."
    ),
]
ServiceRate: TypeAlias = Annotated[
    Quantity | None, shared("RATE", parsing.rate, "What one busy server finishes per time, as 20 or 12k/s.")
]
Service: TypeAlias = Annotated[
    Any,
    shared(
        "TIME|LAW",
        time_or_law,
        "Mean service time, as 0.05 or 80us; or its law, as lognormal:80us:scv=2, histogram:FILE, fitted:FILE (G).",
    ),
]
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
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Also print the derivation, with the numbers put in.")
]


@dataclass(frozen=True)
class FollowedOptions(OptionGroup):
    """The options of a queue that is followed by hand: one line, first come first served."""

    arrival_rate: ArrivalRate = None
    service_rate: ServiceRate = None
    service: Service = None
    servers: Servers = None

    def of(self, model: str) -> QueueArguments:
        """The arguments of ``model``."""
        return QueueArguments(model, {name.replace("_", "-"): value for name, value in vars(self).items()})


@dataclass(frozen=True)
class QueueOptions(FollowedOptions):
    """Those of any queue."""

    capacity: Capacity = None
    population: Population = None
    think_time: ThinkTime = None
    queues: Queues = None
    discipline: Discipline = None


@dataclass(frozen=True)
class QueueModel:
    """A queue by its name on the command line: what it needs, what it may take, and how it is built.

    An entry of ``needs`` such as ``"service-rate|service"`` means exactly one of these.
    """

    name: str
    kendall: str
    what: str
    needs: tuple[str, ...]
    made_by: str
    """What makes it in qsim, and its arguments, names of QueueArguments."""
    may: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Every option it understands."""
        return (*(o for need in self.needs for o in need.split("|")), *self.may)

    @property
    def named(self) -> str:
        """Its name here and in Kendall's notation."""
        return f"{self.name} ({self.kendall})"

    def check(self, given: QueueArguments) -> None:
        """Raise CommandError (wrong usage) where something is missing, given twice, or means nothing here."""
        for option in given.values:
            if given.has(option) and option not in self.options:
                raise wrong_usage(f"--{option} means nothing for {self.named}; it takes {self.usage(given)}")
        for need in self.needs:
            alternatives = need.split("|")
            present = [o for o in alternatives if given.has(o)]
            if not present:
                raise wrong_usage(f"{self.named} needs {_or(alternatives)}; it takes {self.usage(given)}")
            if len(present) > 1:
                raise wrong_usage(f"{' and '.join(f'--{o}' for o in present)} say the same thing; give one of them")

    def make(self, given: QueueArguments) -> Network:
        """The model, with the order of service and the kind of queues where they were given."""
        import qsim

        if self.name == "mmcn":
            return _closed(given)
        maker, *arguments = self.made_by.split()
        network: Network = getattr(qsim, maker)(*(getattr(given, name) for name in arguments))
        changes: dict[str, Any] = {o: given.values[o] for o in ("discipline", "queues") if given.has(o)}
        stations = network.stations.items()
        return replace(network, stations={n: replace(s, **changes) for n, s in stations}) if changes else network

    def usage(self, given: QueueArguments) -> str:
        """The options in words, those that are optional only where the command has them."""
        optional = [f"[--{o}]" for o in self.may if o in given.values]
        return ", ".join([*(_or(need.split("|")) for need in self.needs), *optional])


def _or(options: Any) -> str:
    return " or ".join(f"--{o}" for o in options)


def _closed(given: QueueArguments) -> Network:
    from qsim import Closed, Delay, Exponential, Station

    queues: Any = given.values.get("queues") or "shared"
    if queues not in ("shared", "random"):
        raise wrong_usage(f"--queues {queues} is for customers from outside; mmcn takes shared or random")
    think = given.number("think-time") if given.has("think-time") else 0.0
    station = Station(Exponential(given.service_time), given.servers, queues=queues)
    return Closed(given.values["population"], (Delay(think), station))


_ONE = ("arrival-rate", "service-rate|service")
_SEVERAL = (*_ONE, "servers")
_ORDER, _MANY = ("discipline",), ("discipline", "queues")
_RATES, _CLOSED = "arrival_rate service_rate", "a fixed population that thinks and queues: fio at depth N"
_CIRCLE = ("think-time", "servers", "queues")

MODELS: Mapping[str, QueueModel] = {
    m.name: m
    for m in (
        QueueModel("mm1", "M/M/1", "one server", _ONE, f"MMc {_RATES} servers", _ORDER),
        QueueModel("mmc", "M/M/c", "several servers, one queue", _SEVERAL, f"MMc {_RATES} servers", _MANY),
        QueueModel("mm1k", "M/M/1/K", "one server, limited places", (*_ONE, "capacity"), f"MM1K {_RATES} capacity"),
        QueueModel(
            "mmck",
            "M/M/c/K",
            "several servers, limited places",
            (*_SEVERAL, "capacity"),
            f"MMcK {_RATES} servers capacity",
        ),
        QueueModel("mmcc", "M/M/c/c", "no place to wait: Erlang's loss", _SEVERAL, f"MMcc {_RATES} servers"),
        QueueModel("mminf", "M/M/∞", "a server for everyone", _ONE, f"MMInf {_RATES}"),
        QueueModel("mmcn", "M/M/c//N", _CLOSED, ("population", "service-rate|service"), "", _CIRCLE),
        QueueModel("md1", "M/D/1", "constant service times", _ONE, "MDc arrival_rate service_time servers", _ORDER),
        QueueModel(
            "mdc", "M/D/c", "the same, several servers", _SEVERAL, "MDc arrival_rate service_time servers", _MANY
        ),
        QueueModel("mg1", "M/G/1", "any service times", _ONE, "MGc arrival_rate service servers", _ORDER),
        QueueModel("mgc", "M/G/c", "the same, several servers", _SEVERAL, "MGc arrival_rate service servers", _MANY),
        QueueModel("gg1", "G/G/1", "any arrivals, any service times", _ONE, "GGc arrivals service servers", _ORDER),
        QueueModel("ggc", "G/G/c", "the same, several servers", _SEVERAL, "GGc arrivals service servers", _MANY),
    )
}


def queue_of(given: QueueArguments) -> Network:
    """The model that the options describe; CommandError or ValueError says what is wrong with them."""
    queue = MODELS[given.model]
    queue.check(given)
    return queue.make(given)


@contextmanager
def hinting_at_units(with_units: bool) -> Iterator[None]:
    """An overload of bare numbers may be a forgotten unit: the error says so."""
    from qsim import UnstableQueueError

    try:
        yield
    except UnstableQueueError as error:
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


MODELS_HELP = "\n".join(f"{m.name:<5} {m.kendall:<8} {m.what}" for m in MODELS.values())

ModelName: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", parser=model_name, help="mm1, mmc, mmcn...: see the list above.")
]
