"""A network written in a small file, TOML or JSON, with the fields of :class:`qsim.Network` and units."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import calibrate
import measure
import qsim
from calibrate.cli.files import read_fits
from calibrate.cli.theory.laws import law_of
from measure import text_files
from measure.errors import DataError
from measure.text_files import read_head
from measure.units import parse_duration, parse_rate

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
            made = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is neither TOML nor JSON: {error}") from error
        document = self.table(made, "the file")
        self.only(document, FIELDS, "the file")
        stations = self.table(document.get("stations"), "stations")
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
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from error
