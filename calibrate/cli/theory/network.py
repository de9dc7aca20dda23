"""``qsim network``: several stations, from options or from a file, solved or simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calibrate
import qsim
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import Page, conflicts, flag, option, requires, shared
from calibrate.cli.theory.network_file import read_network
from calibrate.cli.theory.queue_models import Explain
from calibrate.cli.theory.solve import CUSTOMERS, CUSTOMERS_SIMULATED, SimulationSeed, simulated, solved

if TYPE_CHECKING:
    from calibrate.report.view import Section

HELP = """Solve or simulate a network of stations that a FILE describes.

A FILE is TOML or JSON with tables stations.NAME (service=, or delay=; servers=, visits=, discipline=, queues=, speeds=,
priority=), with customers (16 that circulate, or "200/s" from outside) and, if visits do not say it, with routing.NAME:
probabilities of going on. Where they enter: arrivals = { s1 = "4/s", s2 = "5/s" }; without routing they leave from
there. Several classes: customers.CLASS, routing.CLASS.NAME. Visits are counts: 12 is twelve, 2.5 two or three, 0.3 a
chance; "geometric:12" any number of mean 12.

A station may be a calibrated device: device="fit.json" (or what a tool wrote), or idle_latency= and peak= of a data
sheet, with visits=. --clients N tells what an application of such stations does, with 90 % bands; with arrivals the
bands are those at their rate.

\b
Examples:
qsim network app.toml --clients 1..500 --slo 300ms --report app.html
qsim network drive.toml --explain
qsim network drive.toml --simulate --customers 1e6 --seed 1
"""


@requires("--slo", "--clients")
@requires("--report", "--clients")
@conflicts("--clients", "--explain", because="they are about one number of customers")
@conflicts("--simulate", "--explain", because="a simulation has no derivation")
def network(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A network in TOML or JSON.")],
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
    """Read the network, solve or simulate it, as a whole and station by station, or over the clients."""
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
    from calibrate.report.application_section import system_section

    return [system_section(found)]
