"""The queues that ``solve`` and ``simulate`` know by name, what each needs, and how the options become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.theory.queue_options import Given

if TYPE_CHECKING:
    from qsim import Distribution, Model


@dataclass(frozen=True)
class QueueModel:
    """A queue by its name on the command line: what it needs, what it may take, and how it is built.

    An entry of ``needs`` such as ``"service-rate|service-time"`` means exactly one of these.
    """

    name: str
    kendall: str
    what: str
    needs: tuple[str, ...]
    build: Callable[[Given], Model]
    may: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Every option it understands."""
        return (*(o for need in self.needs for o in need.split("|")), *self.may)

    @property
    def named(self) -> str:
        """Its name here and in Kendall's notation."""
        return f"{self.name} ({self.kendall})"

    def check(self, given: Given) -> None:
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
        for option, beside in (("scv", ("service-time", "service-rate")), ("arrival-scv", ("arrival-rate",))):
            if given.has(option) and not any(given.has(b) for b in beside):
                raise wrong_usage(
                    f"--{option} belongs beside {_or(beside)}; a distribution by name has an scv of its own"
                )

    def make(self, given: Given) -> Model:
        """The model, with the order of service and the kind of queues where they were given."""
        from qsim import Open

        model = self.build(given)
        changes = {o: given.values[o] for o in ("discipline", "queues") if given.has(o)}
        return replace(model, **changes) if changes and isinstance(model, Open) else model

    def usage(self, given: Given) -> str:
        """The options in words, those that are optional only where the command has them."""
        optional = [f"[--{o}]" for o in self.may if o in given.values]
        return ", ".join([*(_or(need.split("|")) for need in self.needs), *optional])


def _or(options: Any) -> str:
    return " or ".join(f"--{o}" for o in options)


def _service_time(given: Given) -> float:
    """The mean service time, from whichever way it was given."""
    if given.has("service-time"):
        return given.number("service-time")
    return 1 / _positive(given, "service-rate")


def _service_rate(given: Given) -> float:
    if given.has("service-rate"):
        return given.number("service-rate")
    return 1 / _positive(given, "service-time")


def _positive(given: Given, option: str) -> float:
    value = given.number(option)
    if value <= 0:
        raise wrong_usage(f"--{option} must be positive, not {value:g}")
    return value


def _service(given: Given) -> Distribution:
    if given.has("service"):
        return given.values["service"].distribution()  # type: ignore[no-any-return]
    return _with_moments(_service_time(given), given.number("scv") if given.has("scv") else 1.0)


def _arrivals(given: Given) -> Distribution:
    if given.has("arrivals"):
        return given.values["arrivals"].distribution()  # type: ignore[no-any-return]
    scv = given.number("arrival-scv") if given.has("arrival-scv") else 1.0
    return _with_moments(1 / _positive(given, "arrival-rate"), scv)


def _with_moments(mean: float, scv: float) -> Distribution:
    """The usual family for two moments: constant, gamma, exponential or hyperexponential."""
    from qsim import Deterministic, Exponential, Gamma, HyperExponential

    if mean <= 0:
        raise wrong_usage(f"a mean time must be positive, not {mean:g}")
    if scv < 0:
        raise wrong_usage(f"--scv must be zero or positive, not {scv:g}: 0 is a constant time, 1 an exponential one")
    if scv == 0:
        return Deterministic(mean)
    if scv == 1:
        return Exponential(mean)
    return Gamma(mean, scv) if scv < 1 else HyperExponential.from_moments(mean, scv)


def _open(servers: bool = False, capacity: bool = False) -> Callable[[Given], Model]:
    def build(given: Given) -> Model:
        from qsim import MMc, MMcK

        count = given.values["servers"] if servers else 1
        if capacity:
            return MMcK(given.number("arrival-rate"), _service_rate(given), count, given.values["capacity"])
        return MMc(given.number("arrival-rate"), _service_rate(given), count)

    return build


def _general(poisson: bool, servers: bool = False) -> Callable[[Given], Model]:
    def build(given: Given) -> Model:
        from qsim import MG1, GGc, Open

        count = given.values["servers"] if servers else 1
        if not poisson:
            return GGc(_arrivals(given), _service(given), count)
        one = MG1(given.number("arrival-rate"), _service(given))
        return one if count == 1 else Open(one.arrivals, one.service, count)

    return build


def _deterministic(servers: bool = False) -> Callable[[Given], Model]:
    def build(given: Given) -> Model:
        from qsim import MD1, Open

        one = MD1(given.number("arrival-rate"), _service_time(given))
        return Open(one.arrivals, one.service, given.values["servers"]) if servers else one

    return build


def _endless(given: Given) -> Model:
    from qsim import MMInf

    return MMInf(given.number("arrival-rate"), _service_rate(given))


def _loss(given: Given) -> Model:
    from qsim import MMcc

    return MMcc(given.number("arrival-rate"), _service_rate(given), given.values["servers"])


def _closed(given: Given) -> Model:
    from qsim import Closed, Delay, Exponential, MMcN, Station

    servers = given.values["servers"] if given.has("servers") else 1
    think = given.number("think-time") if given.has("think-time") else 0.0
    if given.values.get("queues") == "random":
        station = Station(Exponential(_service_time(given)), servers, queues="random")
        return Closed(given.values["population"], (Delay(think), station))
    return MMcN(given.values["population"], think, _service_time(given), servers)


_RATE = "arrival-rate"
_SERVICE = "service-rate|service-time"
_ANY_SERVICE = "service|service-time|service-rate"
_ANY_ARRIVALS = "arrivals|arrival-rate"
_ORDER = ("discipline",)
_MANY = ("discipline", "queues")

MODELS: Mapping[str, QueueModel] = {
    m.name: m
    for m in (
        QueueModel("mm1", "M/M/1", "one server", (_RATE, _SERVICE), _open(), _ORDER),
        QueueModel(
            "mmc", "M/M/c", "several servers, one queue", (_RATE, _SERVICE, "servers"), _open(servers=True), _MANY
        ),
        QueueModel(
            "mm1k", "M/M/1/K", "one server, limited places", (_RATE, _SERVICE, "capacity"), _open(capacity=True)
        ),
        QueueModel(
            "mmck",
            "M/M/c/K",
            "several servers, limited places",
            (_RATE, _SERVICE, "servers", "capacity"),
            _open(servers=True, capacity=True),
        ),
        QueueModel("mmcc", "M/M/c/c", "no place to wait: Erlang's loss", (_RATE, _SERVICE, "servers"), _loss),
        QueueModel("mminf", "M/M/∞", "a server for everyone", (_RATE, _SERVICE), _endless),
        QueueModel(
            "mmcn",
            "M/M/c//N",
            "a fixed population that thinks and queues: fio at depth N",
            ("population", _SERVICE),
            _closed,
            ("think-time", "servers", "queues"),
        ),
        QueueModel("md1", "M/D/1", "constant service times", (_RATE, _SERVICE), _deterministic(), _ORDER),
        QueueModel(
            "mdc", "M/D/c", "the same, several servers", (_RATE, _SERVICE, "servers"), _deterministic(True), _MANY
        ),
        QueueModel("mg1", "M/G/1", "any service times", (_RATE, _ANY_SERVICE), _general(True), ("scv", *_ORDER)),
        QueueModel(
            "mgc",
            "M/G/c",
            "the same, several servers",
            (_RATE, _ANY_SERVICE, "servers"),
            _general(True, True),
            ("scv", *_MANY),
        ),
        QueueModel(
            "gg1",
            "G/G/1",
            "any arrivals, any service times",
            (_ANY_ARRIVALS, _ANY_SERVICE),
            _general(False),
            ("scv", "arrival-scv", *_ORDER),
        ),
        QueueModel(
            "ggc",
            "G/G/c",
            "the same, several servers",
            (_ANY_ARRIVALS, _ANY_SERVICE, "servers"),
            _general(False, True),
            ("scv", "arrival-scv", *_MANY),
        ),
    )
}


def queue_of(given: Given) -> Model:
    """The model that the options describe; CommandError or ValueError says what is wrong with them."""
    queue = MODELS[given.model]
    queue.check(given)
    return queue.make(given)


@parsing.parser
def model_name(text: str) -> str:
    """``mm1``, also written ``M/M/1``."""
    name = text.strip().lower().replace("/", "").replace("^", "").replace("∞", "inf")
    if name not in MODELS:
        raise ValueError(f"model {parsing.not_one_of(text, tuple(MODELS))}")
    return name


MODELS_HELP = "\n".join(f"{m.name:<5} {m.kendall:<8} {m.what}" for m in MODELS.values())

ModelName: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", parser=model_name, help="mm1, mmc, mmcn...: see the list above.")
]
