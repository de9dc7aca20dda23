"""``qsim network``: several stations, from options or from a file, solved or simulated, and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.option_rules import conflicts, exclusive, requires
from calibrate.cli.options import AsJson
from calibrate.cli.outputs import Outputs, write_new
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory.metrics_text import metrics_document, metrics_text, say_solved
from calibrate.cli.theory.network_file import read_network
from calibrate.cli.theory.queue_models import Explain, Population, ThinkTime, hinting_at_units
from calibrate.cli.theory.solve import Customers, SimulationSeed, say_simulated, simulated
from measure.units import parse_count

if TYPE_CHECKING:
    from qsim import Network

HELP = """Solve or simulate a network of stations, described by a FILE or by options.

A FILE is TOML or JSON with tables stations.NAME (service=, or delay=; servers=, visits=, discipline=, queues=, speeds=,
priority=), with customers (16 that circulate, or "200/s" from outside) and, if visits do not say it, with routing.NAME:
probabilities of going on. Several classes: customers.CLASS, routing.CLASS.NAME.

A station may be a calibrated device: device="fit.json" (or what a tool wrote), or idle_latency= and peak= of a data
sheet, with visits=. --clients N tells what an application of such stations does, with 90 % bands.

Without a FILE a station is [NAME:]TIME[,visits=V][,servers=C], with exponential service, visited V times. With
--arrival-rate (Jackson) customers come from outside; with --population they circulate (mean value analysis).

\b
Examples:
qsim network app.toml --clients 1..500 --slo 300ms --report app.html
qsim network drive.toml
qsim network drive.toml --simulate --customers 1e6 --seed 1 --svg drive.svg
qsim network --station 2ms --station 1ms --arrival-rate 300/s --explain
qsim network --station cpu:40ms,visits=5 --station disk:30ms,visits=2.5 --arrival-rate 4/s
qsim network --station .605 --station 2.1 --station 1.35 --population 3 --think-time 15 --explain
"""


@dataclass(frozen=True)
class NamedStation:
    """A station as typed."""

    name: str
    time: Quantity
    visits: float = 1.0
    servers: int = 1


@parsing.parser
def station_of(text: str) -> NamedStation:
    """``cpu:40ms,visits=5,servers=2``."""
    head, *parts = (p.strip() for p in text.split(","))
    name, _, time = head.rpartition(":")
    given: dict[str, float] = {}
    for part in parts:
        key, equals, value = (p.strip() for p in part.partition("="))
        if key not in ("visits", "servers") or not equals or key in given:
            raise ValueError(f"{part!r} does not belong to a station; write it like cpu:40ms,visits=5,servers=2")
        given[key] = parse_count(value)
    servers = given.get("servers", 1.0)
    if servers != int(servers):
        raise ValueError(f"invalid number of servers {servers:g}: expected a whole number")
    return NamedStation(name, parsing.time(time), given.get("visits", 1.0), int(servers))


OF_A_FILE = "a FILE describes the whole network"


@conflicts("FILE", "--station", "--arrival-rate", "--population", because=OF_A_FILE)
@exclusive("--arrival-rate", "--population", because="customers come from outside, or circulate")
@requires("--think-time", "--population", because="customers from outside leave in the end")
@requires("--station", "--arrival-rate", "--population", because="the stations need customers")
@requires("--arrival-rate", "--station")
@requires("--population", "--station")
@requires("--explain", "--station")
@requires("--simulate", "FILE")
@requires("--svg", "FILE")
@requires("--details", "FILE")
@requires("--clients", "FILE")
@requires("--slo", "--clients")
@requires("--report", "--clients")
@exclusive("--clients", "--svg", because="a drawing shows no curve")
def network(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", show_default=False, help="A network in TOML or JSON.")
    ] = None,
    station: list[NamedStation] | None = option(
        "STATION", station_of, "[NAME:]TIME[,visits=V][,servers=C]; repeatable."
    ),
    arrival_rate: Quantity | None = option("RATE", parsing.rate, "Arrivals from outside, as 4/s."),
    population: Population = None,
    think_time: ThinkTime = None,
    explain: Explain = False,
    simulate: bool = flag("--simulate", "Simulate the FILE's network instead."),
    customers: Customers = 1e6,
    seed: SimulationSeed = None,
    clients: parsing.Numbers | None = option("N", parsing.loads, "Clients of the FILE's application, as 1..500."),
    slo: o.Objective = None,
    report: o.Report = None,
    svg: Path | None = option("FILE", parsing.path, "Write a drawing of the FILE's network."),
    details: bool = flag("--details", "Also print each class at each station of the FILE's network."),
    as_json: AsJson = False,
) -> None:
    """Build the network, solve or simulate it, print it as a whole and station by station."""
    if file is not None and clients is not None:
        _say_application(file, clients, slo, Outputs(report), simulate=simulate, seed=seed, as_json=as_json)
        return
    if file is not None:
        run = (customers, seed) if simulate else None
        _of_file(file, run, svg, details=details, as_json=as_json)
        return
    if not station:
        raise wrong_usage("--station is missing; give one for each, as --station cpu:40ms --station disk:30ms,visits=2")

    import qsim

    model = _typed(station, arrival_rate, population or 0, think_time)
    quantities = [*(s.time for s in station), arrival_rate, think_time]
    with_units = any(quantity is not None and quantity.has_unit for quantity in quantities)
    with hinting_at_units(with_units):
        metrics = qsim.solve(model)
    say_solved(model, metrics, with_units=with_units, explain=explain, as_json=as_json)


def _of_file(
    file: Path, run: tuple[float, int | None] | None, svg: Path | None, *, details: bool, as_json: bool
) -> None:
    """Solve the network of a file, or simulate it with ``run``: the customers and the seed."""
    import qsim

    written = read_network(file)
    model, with_units = written.network, written.has_units
    if model.customers is None:
        raise wrong_usage(f"{file} says nothing of customers; give --clients 1..500, or write customers in it")
    if svg is not None:
        write_new(svg, model.svg(), "--svg")
    if run is not None:
        metrics = simulated(model, *run, "compiled", with_units=with_units)
        say_simulated(metrics, with_units=with_units, as_json=as_json, details=details)
        return
    try:
        metrics = qsim.solve(model)
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; give --simulate") from error
    if as_json:
        print_json(metrics_document(metrics, with_units=with_units))
    else:
        say(metrics_text(metrics, with_units=with_units, details=details))


def _typed(
    stations: list[NamedStation], arrival_rate: Quantity | None, population: int, think_time: Quantity | None
) -> Network:
    from qsim import Arrivals, Delay, Exponential, Network, Station

    made = {
        s.name or f"station {i}": Station(Exponential(s.time.value), s.servers, s.visits)
        for i, s in enumerate(stations, 1)
    }
    if len(made) < len(stations):
        raise wrong_usage("two stations have one name; give each its own")
    if arrival_rate is not None:
        return Network(made, Arrivals(arrival_rate.value))
    thinking = {"thinking": Delay(think_time.value)} if think_time is not None else {}
    return Network({**thinking, **made}, population)


def _say_application(
    file: Path,
    clients: parsing.Numbers,
    slo: parsing.Objective | None,
    outputs: Outputs,
    *,
    simulate: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Print the bottleneck, the knee, what two of a station give, and the curve; write the report."""
    outputs.check()
    if slo is not None and slo.quantile is not None and not simulate:
        raise wrong_usage("--slo of a percentile needs --simulate: a formula gives the mean response time")

    from calibrate.application.answer import system_answer, system_table, within_text
    from calibrate.application.system import system
    from calibrate.report.application import system_section

    network = read_network(file).network
    whole = [n for n in clients if n != int(n) or n < 1]
    if whole:
        raise wrong_usage(f"invalid --clients {whole[0]:g}: expected whole numbers, 1 or more, as 1..500")
    share = None if slo is None or slo.quantile is None else float(slo.quantile[1:]) / 100
    found = system(network, [int(n) for n in clients], simulate=simulate, seed=seed or 0)
    written = outputs.write([system_section(found)] if outputs.wanted else [], f"Application: {file.stem}")
    if as_json:
        kept = {} if slo is None else {"objective": vars(found.within(slo.time_s, share))}
        print_json({**found.to_dict(), **kept, **written.to_dict()})
        return
    lines = [] if slo is None else [f"{'OBJECTIVE':<12}{within_text(found, slo.time_s, share)}"]
    say("\n".join([*lines, system_answer(found), "", system_table(found)]))
    written.say()
