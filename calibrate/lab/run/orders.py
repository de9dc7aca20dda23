"""The order of a run: the devices to choose from, and the settings for the measuring process."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from calibrate.lab.folder import LabFolder, LabSource
from calibrate.points import points_of
from measure.errors import DataError, MeasureError, StoreError, ToolMissingError
from measure.loads import ArrivalRate, ClosedLoad, Depth, InjectedDelay, Load, load_from_dict
from measure.loads.memory_loads import DEFAULT_DELAYS
from measure.machine.files import write_durably
from measure.origin import judged
from measure.sweep import Sweep

Device = Literal["known", "mm1", "mmc", "disk", "memory", "replay"]
DEPTHS = (1, 2, 4, 8, 16, 32, 64)  # those of ``qsim knee``; the model takes 1 and 32
KNOWN_DEPTHS = (1, 2, 4, 8, 16, 32)
FEWEST = 3
RANKED = f"a curve over {FEWEST} depths or delays, measured, that a model fits"
DISK_BYTES = 256 * 2**20
QUEUES: Mapping[Device, tuple[int, float]] = {"mm1": (1, 2e-3), "mmc": (4, 4e-3)}
"""Servers and mean service of the queues that get Poisson arrivals."""
SHARES = (0.2, 0.4, 0.6, 0.7, 0.8, 0.85)  # arrival rates as shares of what the servers can do
KNOWN_SERVERS, KNOWN_SERVICE_S = (3, 12), (2e-3, 3e-3, 4e-3)


@dataclass(frozen=True)
class Order:
    """``loads`` are all that will be measured, in SI units or counts; ``label`` is what the class sees.

    ``servers``, ``service_s`` and ``seed`` are the known device's truth; ``dataset`` or ``path``, and ``series``, are
    what is replayed.
    """

    device: Device
    label: str
    load_type: Load
    loads: tuple[float, ...]
    servers: int = 1
    service_s: float = 0.0
    seed: int = 1
    dataset: str = ""
    path: str = ""
    series: str = ""

    @property
    def load_name(self) -> str:
        """What the load is, in words."""
        return self.load_type.name

    @property
    def is_queue(self) -> bool:
        """Whether the device is a queue under Poisson arrivals whose curve is known."""
        return self.device in QUEUES

    @property
    def quantity(self) -> str:
        """What is guessed, by its symbol."""
        if self.is_queue:
            return "The rate"
        if self.device == "known":
            return "N*"
        return "N90" if isinstance(self.load_type, ClosedLoad) else "The 90 % delay"

    @property
    def question(self) -> str:
        """The question for the class and the model."""
        if self.is_queue:
            return "At how many arrivals a second does a request take twice its service time, R = 2 S?"
        if self.device == "known":
            return "Where does queueing start? Guess N* = R(1) · Xmax."
        if isinstance(self.load_type, ClosedLoad):
            return f"Guess N90: the first {self.load_type.singular} with 90 % of the highest throughput."
        return "Guess the longest delay that still has 90 % of the highest bandwidth."

    @property
    def rule(self) -> str:
        """How guesses are ranked, in a sentence."""
        if self.is_queue:
            return (
                "You and the model are ranked against the formula. The model sees three depths of a closed test and no "
                "arrivals; the curve of theory is drawn when the measurement begins."
            )
        if self.device == "known":
            deepest = int(max(self.loads))
            rate = min(deepest, self.servers) / self.service_s
            return (
                "You and the model are ranked against the truth, drawn by lot. One hint, as the model gets: a "
                f"request alone takes {1e3 * self.service_s:g} ms, and at depth {deepest} the device serves "
                f"{rate:,.0f} a second."
            )
        return (
            "The model seals its answer after its own points, before the others are measured; it and you are ranked by "
            "what all points show."
        )

    def source(self) -> LabSource:
        """What is replayed."""
        return LabSource("", self.label, self.dataset, Path(self.path) if self.path else None)

    def write(self, path: Path) -> None:
        """Keep it. StoreError where that cannot be."""
        values = {**vars(self), **self.load_type.to_dict()}
        del values["load_type"]
        try:
            write_durably(path, json.dumps(values, indent=1).encode())
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error

    @classmethod
    def read(cls, path: Path) -> Order:
        """The order that ``write`` stored. StoreError where it cannot be read."""
        try:
            values: dict[str, Any] = json.loads(path.read_text("utf-8"))
            known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
            return cls(**{**known, "load_type": load_from_dict(values), "loads": tuple(values["loads"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error


def choices(folder: LabFolder) -> list[dict[str, Any]]:
    """The devices of this machine, then everything that can be replayed, as the options of a list."""
    live = [_option(name, device.offer, device.why_not()) for name, device in _LIVE.items()]
    return [*live, *(_option(s.identity, f"replay of {s.label}", _lacks(s)) for s in folder.sources().values())]


@cache
def _lacks(source: LabSource) -> str:
    """What a published dataset lacks for a duel; a sweep of the teacher's is read when it is chosen."""
    return "" if source.path is not None or _to_rank(source.load()) else RANKED


def _option(value: str, label: str, missing: str = "") -> dict[str, Any]:
    return {"value": value, "label": f"{label} (missing: {missing})" if missing else label, "disabled": bool(missing)}


def order_for(folder: LabFolder, value: object) -> Order:
    """The order for the choices on the page. MeasureError (in the teacher's words) where it is not possible."""
    name = next((name for name in _LIVE if name == value), None)
    if name is None:
        return _replay(folder, value)
    device = _LIVE[name]
    if missing := device.why_not():
        raise ToolMissingError(missing)
    order = Order(name, device.label, device.load_type, tuple(map(float, device.loads)))
    draw = secrets.SystemRandom()
    if name in QUEUES:
        servers, service_s = QUEUES[name]
        return replace(order, servers=servers, service_s=service_s, seed=draw.randint(1, 10**6))
    if name != "known":
        return order
    servers, service_s = draw.randint(*KNOWN_SERVERS), draw.choice(KNOWN_SERVICE_S)
    return replace(order, servers=servers, service_s=service_s, seed=draw.randint(1, 10**6))


def _replay(folder: LabFolder, value: object) -> Order:
    """The first curve of an earlier sweep that can rank somebody."""
    source = folder.source(value)
    sweep = source.load()
    chosen = _to_rank(sweep)
    if not chosen:
        raise DataError(f"{source.label} cannot be replayed: a duel needs {RANKED}; choose another one")
    one = sweep.select(chosen)
    loads = tuple(sorted({float(n) for n in one.points["load"]}))
    path = "" if source.path is None else str(source.path)
    return Order(
        "replay",
        f"replay of {source.label}: {chosen}",
        one.load_type,
        loads,
        dataset=source.dataset,
        path=path,
        series=chosen,
    )


def _to_rank(sweep: Sweep) -> str:
    """The first curve with enough measured points that a model fits; empty where there is none."""
    if not isinstance(sweep.load_type, ClosedLoad | InjectedDelay):
        return ""
    for series, points in sweep.points.groupby("series", sort=False):
        if judged(points, ["load", "throughput_per_s"])["load"].nunique() < FEWEST:
            continue
        with suppress(DataError):  # no model fits, as the memory's buffer fits a cache
            points_of(sweep, str(series))
            return str(series)
    return ""


def has_fio() -> bool:
    """Whether fio can measure the disk of this machine; otherwise qsim's own probe does."""
    from measure.machine.safety import why_no_drive

    return shutil.which("fio") is not None and not why_no_drive(by_probe=False)


def _why_no_disk() -> str:
    from measure.machine.safety import why_no_drive

    return "" if has_fio() else why_no_drive()


def _why_no_memory() -> str:
    from measure.memory.probe import plan_memory

    try:
        plan_memory((0,), repeats=1)
    except (ValueError, MeasureError) as error:
        return str(error)
    return ""


def _why_no_queue() -> str:
    missing = [tool for tool in ("fio", "nbdkit") if shutil.which(tool) is None]
    return "" if not missing else f"{' and '.join(missing)}; apt-get install fio nbdkit nbdkit-plugin-python"


def _queue(name: Device) -> _LiveDevice:
    servers, service_s = QUEUES[name]
    rates = tuple(round(share * servers / service_s, 6) for share in SHARES)
    what = "1 server" if servers == 1 else f"{servers} servers"
    label = f"M/M/{servers} live: {what} of {1e3 * service_s:g} ms (exponential) under Poisson arrivals"
    return _LiveDevice(label, label, ArrivalRate(), rates, _why_no_queue)


class _LiveDevice(NamedTuple):
    """A device of this machine: its name, its description, its kind of load, and why it cannot be measured."""

    label: str
    offer: str
    load_type: Load
    loads: tuple[float, ...]
    why_not: Callable[[], str]


_KNOWN, _DISK, _MEMORY = "a device whose truth is known", "the disk of this machine", "the memory of this machine"
_LIVE: Mapping[Device, _LiveDevice] = {
    "known": _LiveDevice(_KNOWN, f"{_KNOWN}, shown at the reveal", Depth(), KNOWN_DEPTHS, lambda: ""),
    "mm1": _queue("mm1"),
    "mmc": _queue("mmc"),
    "disk": _LiveDevice(_DISK, f"{_DISK}: a file of the lab", Depth(), DEPTHS, _why_no_disk),
    "memory": _LiveDevice(_MEMORY, _MEMORY, InjectedDelay(), DEFAULT_DELAYS, _why_no_memory),
}
