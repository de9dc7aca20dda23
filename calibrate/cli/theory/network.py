"""``qsim network``: several stations, from options or from a file, solved or simulated.

The file is TOML or JSON, with the fields of :class:`qsim.Network` and units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calibrate
import measure
import qsim
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import read_fits
from calibrate.cli.options import Page, conflicts, flag, option, requires, shared
from calibrate.cli.theory.queue_models import Explain, law_of
from calibrate.cli.theory.solve import CUSTOMERS, CUSTOMERS_SIMULATED, SimulationSeed, simulated, solved
from measure import text_files
from measure.errors import DataError
from measure.text_files import json_of, read_head, toml_of
from measure.units import parse_duration, parse_rate

if TYPE_CHECKING:
    from calibrate.report.view import Section

FIELDS = {"stations", "customers", "arrivals", "routing"}
OF_STATION = {"service", "delay", "servers", "visits", "discipline", "queues", "speeds", "priority", "capacity"}
OF_DEVICE = {"device", "series", "idle_latency", "peak", "visits", "extrapolate"}


@dataclass(frozen=True)
class WrittenNetwork:
    """The network of a file, and whether its times have units, so that results are in seconds."""

    network: qsim.Network
    has_units: bool


def read_network(path: Path) -> WrittenNetwork:
    """The network of a file. Raises DataError naming the file, the field and the remedy."""
    with text_files.reading(str(path)):
        text = text_files.read_text(path)
        try:
            return _Reading(path.parent).network(text)
        except (DataError, ValueError) as error:
            raise DataError(f"{path}: {error}") from error


class _Reading:
    """Reads one file; devices are in its ``folder``. Every method raises ValueError or DataError without the name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.has_units = False

    def network(self, text: str) -> WrittenNetwork:
        """The network described by the text of the file."""
        try:
            made = json_of(text) if text.lstrip().startswith("{") else toml_of(text)
        except ValueError as error:
            raise ValueError(f"it is neither TOML nor JSON: {error}") from error
        document = self.table(made, "the file")
        self.only(document, FIELDS, "the file")
        stations = self.table(document.get("stations"), "stations")
        classes = document.get("customers")
        for name in (*stations, *(classes if isinstance(classes, Mapping) else ())):
            if set(name) & set(text_files.LINE_ENDS):
                raise ValueError(f"the name {name!r} must stand on one line")
        customers, routing = self.all_customers(document, stations), document.get("routing")
        if routing is None and isinstance(customers, qsim.Arrivals) and None not in customers.sources:
            routing = {name: {} for name in stations}  # they are served where they come, and leave
        made_of = {name: self.station(name, given) for name, given in stations.items()}
        return WrittenNetwork(qsim.Network(made_of, customers, routing), self.has_units)

    def table(self, given: object, what: str) -> Mapping[str, Any]:
        if not isinstance(given, Mapping):
            raise ValueError(f"{what} must be a table, not {given!r}; see qsim network --help")
        return given

    def only(self, given: Mapping[str, Any], known: set[str], what: str) -> None:
        for name in given:
            if name not in known:
                raise ValueError(f"{what} has no {name!r}; it may have {', '.join(sorted(known))}")

    def station(self, name: str, given: object) -> Any:
        table = dict(self.table(given, f"station {name}"))
        if {"device", "idle_latency", "peak"} & table.keys():
            self.only(table, OF_DEVICE, f"the calibrated station {name}")
            return self._device(name, table)
        self.only(table, OF_STATION, f"station {name}")
        if "delay" in table:
            if len(table) > 1:
                raise ValueError(f"station {name} is a delay, so nothing else belongs to it")
            return qsim.Delay(self._time(table["delay"], f"delay of {name}"))
        if "service" not in table:
            raise ValueError(f'station {name} needs a service, such as "80us", or a delay')
        law = table["service"]
        several = isinstance(law, Mapping)
        laws = {c: self._time(v, f"service of {c} at {name}") for c, v in law.items()} if several else {}
        table["service"] = laws if several else self._time(law, f"service of {name}")
        try:
            return qsim.Station(**table)
        except ValueError as error:
            raise ValueError(f"station {name}: {error}") from error

    def _device(self, name: str, table: Mapping[str, Any]) -> Any:
        """A calibrated station: from a fit, a tool's output, or a data sheet's two figures."""
        self.has_units = True
        if not isinstance(table.get("extrapolate", False), bool):
            raise ValueError(f"extrapolate of {name} must be true or false, not {table['extrapolate']!r}")
        visits = table.get("visits", 1.0)
        try:
            fit = self._sheet(name, table) if "device" not in table else self._fit(name, table)
            station = fit.station(visits, extrapolate=table.get("extrapolate", False))
        except (DataError, ValueError) as error:
            raise ValueError(f"station {name}: {error}") from error
        return replace(station, name=name)

    def _fit(self, name: str, table: Mapping[str, Any]) -> calibrate.Fit:
        device, series = table["device"], table.get("series")
        if not isinstance(device, str) or {"idle_latency", "peak"} & table.keys():
            raise DataError('device must name a fit or a sweep, as "fit.json"; a data sheet has idle_latency and peak')
        place = self._folder / device
        if not place.exists():
            raise DataError(f"{device} is missing; make it with: qsim fit DATA --out {device}")
        if place.is_file() and '"qsim-fit' in read_head(place):
            fits = {fit.series: fit for fit in read_fits(place)}
            found = fits.get(series) if series is not None else next(iter(fits.values())) if len(fits) == 1 else None
            if found is None:
                raise DataError(f"{device} holds the fits of {', '.join(fits)}; name one with series")
            return found
        return calibrate.fit(measure.load(place), series=series)

    def _sheet(self, name: str, table: Mapping[str, Any]) -> calibrate.Fit:
        if missing := [key for key in ("idle_latency", "peak") if key not in table]:
            raise DataError(f'a data sheet needs {missing[0]} too, as idle_latency = "80us", peak = "600k/s"')
        idle = self._number(table["idle_latency"], f"idle_latency of {name}", parse_duration)
        return calibrate.from_datasheet(idle, self._number(table["peak"], f"peak of {name}", parse_rate))

    def all_customers(self, document: Mapping[str, Any], stations: Mapping[str, Any]) -> Any:
        """What ``customers`` and ``arrivals`` say; the second are a class of their own beside the first."""
        classes = document.get("customers")
        for name, given in classes.items() if isinstance(classes, Mapping) else ():
            if name in stations:
                remedy = "a number of customers needs no station"
                if isinstance(given, str):
                    remedy = f'for arrivals at {name} write: arrivals = {{ {name} = "{given}" }}'
                raise ValueError(f"customers.{name} is a class of customers, and {name} is a station; {remedy}")
        customers = None if classes is None else self.customers(classes)
        if "arrivals" not in document:
            return customers
        given = document["arrivals"]
        if unknown := [at for at in given if at not in stations] if isinstance(given, Mapping) else []:
            raise ValueError(f"arrivals must name stations, not {unknown[0]!r}; there are {', '.join(stations)}")
        coming = self._class(given if isinstance(given, (str, Mapping)) else str(given), "arrivals")
        if customers is None:
            return coming
        by_class = customers if isinstance(customers, Mapping) else {"customers": customers}
        if "arrivals" in by_class:
            raise ValueError("arrivals stands twice, by itself and as a class of customers; name that class otherwise")
        return {**by_class, "arrivals": coming}

    def customers(self, given: object) -> Any:
        """The customers of one class, or of each class by its name."""
        if not isinstance(given, Mapping):
            return self._class(given, "customers")
        return {name: self._class(value, f"customers of {name}") for name, value in given.items()}

    def _class(self, given: object, what: str) -> Any:
        """``16`` that circulate; ``"200/s"`` or a law of the gaps, or one of these for each station they come to."""
        if isinstance(given, str):
            return qsim.Arrivals(self._source(given, what))
        if isinstance(given, Mapping):
            return qsim.Arrivals({at: self._source(v, f"{what} at {at}") for at, v in given.items()})
        return given

    def _time(self, given: object, what: str) -> Any:
        """A law as on the command line; a time is the mean of an exponential one."""
        if (law := self._law(given, what)) is not None:
            return law
        self.has_units |= str(given).strip()[-1:].isalpha()
        mean = self._number(given, what, parse_duration)
        if not 0 < mean < math.inf:
            raise ValueError(f"{what} must be positive and finite, not {given}")
        return qsim.Exponential(mean)

    def _source(self, given: object, what: str) -> Any:
        """The law of the gaps, or the rate of a Poisson process."""
        law = self._law(given, what)
        self.has_units |= law is None and "/" in str(given)
        return self._number(given, what, parse_rate) if law is None else law

    def _law(self, given: object, what: str) -> Any:
        """What is written with a colon; None for a number."""
        if not isinstance(given, str) or ":" not in given:
            return None
        try:
            law = law_of(given)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from error
        self.has_units |= law.has_unit
        return law.distribution

    def _number(self, given: object, what: str, parse: Any) -> float:
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise ValueError(f"{what} must be a time, a rate or a law, not {given!r}")
        try:
            return float(parse(given, what)) if isinstance(given, str) else float(given)
        except OverflowError as error:
            raise ValueError(f"{what} is too large") from error


@requires("--slo", "--clients")
@requires("--report", "--clients")
@conflicts("--clients", "--explain", because="they are about one number of customers")
@conflicts("--simulate", "--explain", because="a simulation has no derivation")
def network(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=parsing.path, help="A network in TOML or JSON.")],
    explain: Explain = False,
    simulate: bool = flag("--simulate", "Simulate it instead."),
    customers: Annotated[
        float | None, shared("N", parsing.number, CUSTOMERS, shown="1e6; 1e5 for each number of --clients")
    ] = None,
    seed: SimulationSeed = None,
    clients: parsing.Numbers | None = option("N", parsing.clients, "Clients of the application, as 1..500."),
    slo: o.Objective = None,
    page: Page,
    details: bool = flag("--details", "Also print each class at each station."),
) -> CommandResult:
    """Solve or simulate a network of stations that a FILE describes.

    A FILE is TOML or JSON with tables stations.NAME (service=, or delay=; servers=, visits=, discipline=, queues=,
    speeds=, priority=), with customers (16 that circulate, or "200/s" from outside) and, if visits do not say it, with
    routing.NAME: probabilities of going on. Where they enter: arrivals = { s1 = "4/s", s2 = "5/s" }; without routing
    they leave from there. Several classes: customers.CLASS, routing.CLASS.NAME. Visits are counts: 12 is twelve, 2.5
    two or three, 0.3 a chance; "geometric:12" any number of mean 12.

    A station may be a calibrated device: device="fit.json" (or what a tool wrote), or idle_latency= and peak= of a data
    sheet, with visits=. --clients N tells what an application of such stations does, with 90 % bands; with arrivals the
    bands are those at their rate.

    \b
    Examples:
    qsim network app.toml --clients 1..500 --slo 300ms --report app.html
    qsim network drive.toml --explain
    qsim network drive.toml --simulate --customers 1e6 --seed 1
    """
    written = read_network(file)
    model, with_units = written.network, written.has_units
    if clients is not None:
        return _application(file.stem, model, clients, slo, page, simulate=simulate, seed=seed, customers=customers)
    if model.customers is None:
        raise wrong_usage(f"{file} says nothing of customers; give --clients 1..500, or write customers in it")
    if simulate:
        number = CUSTOMERS_SIMULATED if customers is None else customers
        return simulated(model, number, seed, with_units=with_units, details=details)
    bands = _bands(model) if not explain else None
    try:
        found = solved(model, with_units=with_units, explain=explain, details=details)
        return found if bands is None else _with_bands(found, bands)
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; give --simulate") from error


def _bands(model: qsim.Network) -> calibrate.System | None:
    """The application under its arrivals with bands; None without a calibrated device, or with several classes."""
    from calibrate.fitting.device_station import DeviceStation

    calibrated = any(isinstance(s, DeviceStation) and s.fit is not None for s in model.stations.values())
    one = len(model.open_classes) == 1 and not model.closed_classes
    return calibrate.system(model) if calibrated and one else None


def _with_bands(found: CommandResult, bands: calibrate.System) -> CommandResult:
    from calibrate.application.system_answer import system_answer, system_table

    return CommandResult(
        lambda: "\n".join([system_answer(bands), "", system_table(bands), "", found.text()]),
        lambda: {**found.document(), "application": bands.to_dict()},
    )


def _application(
    name: str,
    model: qsim.Network,
    clients: parsing.Numbers,
    slo: parsing.Objective | None,
    page: Page,
    *,
    simulate: bool,
    seed: int | None,
    customers: float | None,
) -> CommandResult:
    """The bottleneck, the knee, what two of a station give, and the curve."""
    if slo is not None and slo.quantile is not None and not simulate:
        raise wrong_usage("--slo of a percentile needs --simulate: a formula gives the mean response time")

    from calibrate.application.system import SIMULATED
    from calibrate.application.system_answer import system_answer, system_table, within_text

    share = None if slo is None or slo.quantile is None else float(slo.quantile[1:]) / 100
    length = SIMULATED if customers is None else int(customers)
    numbers = [int(n) for n in clients]
    found = calibrate.system(model, numbers, simulate=simulate, seed=seed or 0, customers=length)

    def text() -> str:
        asked = [] if slo is None else [f"{'OBJECTIVE':<12}{within_text(found, slo.time_s, share)}"]
        return "\n".join([*asked, system_answer(found), "", system_table(found)])

    def document() -> dict[str, Any]:
        asked = {} if slo is None else {"objective": vars(found.within(slo.time_s, share))}
        return {**found.to_dict(), **asked}

    return CommandResult(text, document, page.write(lambda: _sections(found), f"Application: {name}"))


def _sections(found: calibrate.System) -> list[Section]:
    from calibrate.report.predicted import system_section

    return [system_section(found)]
