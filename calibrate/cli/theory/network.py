"""``qsim network``: several stations, from options or from a file, solved or simulated, and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import FAILED, CommandError, wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import AsJson
from calibrate.cli.outputs import write_new
from calibrate.cli.parsing import Quantity
from calibrate.cli.progress import simulating
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.metrics_text import metrics_document, metrics_text, say_solved
from measure.units import parse_count

if TYPE_CHECKING:
    from qsim import Closed, OpenNetwork

HELP = """Solve or simulate a network of stations, described by a FILE or by options.

A FILE is TOML or JSON with the tables stations.NAME (service=, or delay=; servers=, discipline=, queues=, speeds=,
priority=), arrivals or populations by station, and routing.NAME with probabilities. Classes have tables of their own:
arrivals.CLASS, populations.CLASS, routing.CLASS.NAME.

Without a FILE a station is [NAME:]TIME[,visits=V][,servers=C], with exponential service. With --arrival-rate (Jackson)
stations are visited in a row, visits= times, or by --routing; with --population customers circulate (mean value
analysis).

\b
Examples:
qsim network drive.toml
qsim network drive.toml --simulate --customers 1e6 --seed 1 --svg drive.svg
qsim network --station 2ms --station 1ms --arrival-rate 300/s --explain
qsim network --station cpu:40ms,visits=5 --station disk:30ms,visits=2.5 --arrival-rate 4/s
qsim network --station 1 --station 0.5,servers=2 --arrival-rate .3,.2 --routing "0,.5;.2,0" --explain
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
def place(text: str) -> NamedStation:
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


@dataclass(frozen=True)
class Rates:
    """Arrival rates as typed: one at the network, or one for each station."""

    each: tuple[Quantity, ...]


@parsing.parser
def rates(text: str) -> Rates:
    """``4/s`` or ``.3,.2,0``."""
    return Rates(tuple(parsing.rate(part) for part in text.split(",")))


@dataclass(frozen=True)
class Matrix:
    """Probabilities of going from a station, a row, to each other one."""

    rows: tuple[tuple[float, ...], ...]


@parsing.parser
def matrix(text: str) -> Matrix:
    """``0,.5;.2,0``: a row for each station."""
    return Matrix(tuple(tuple(parse_count(v) for v in row.split(",")) for row in text.strip(" ;").split(";")))


def network(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", show_default=False, help="A network in TOML or JSON.")
    ] = None,
    station: list[NamedStation] | None = option(
        "STATION", place, "[NAME:]TIME[,visits=V][,servers=C]; give one for each, in their order."
    ),
    arrival_rate: Rates | None = option(
        "RATE[,...]", rates, "Arrivals from outside; with --routing one for each station, in their order."
    ),
    routing: Matrix | None = option(
        "P,P;P,P", matrix, "Probabilities to go from each station (a row) to each other; the rest leaves."
    ),
    population: q.Population = None,
    think_time: q.ThinkTime = None,
    explain: q.Explain = False,
    simulate: bool = flag("--simulate", "Simulate the FILE's network instead."),
    customers: float = option("N", parsing.number, "Passages and cycles to simulate.", default=1e6, shown=True),
    seed: int | None = option("N", parsing.whole, "Seed.", shown="a fresh one"),
    engine: str = option(
        "ENGINE",
        parsing.choice("compiled", "reference"),
        "compiled (fast) or reference (SimPy).",
        default="compiled",
        shown=True,
    ),
    svg: Path | None = option("FILE", parsing.path, "Write a drawing of the FILE's network."),
    details: bool = flag("--details", "Also print each class at each station of the FILE's network."),
    as_json: AsJson = False,
) -> None:
    """Build the network, solve or simulate it, print it as a whole and station by station."""
    if file is not None:
        if station or arrival_rate or routing or population or think_time or explain:
            raise wrong_usage("a FILE describes the whole network: leave out --station and the options that go with it")
        _of_file(
            file,
            simulated=simulate,
            customers=customers,
            seed=seed,
            engine=engine,
            svg=svg,
            details=details,
            as_json=as_json,
        )
        return
    if simulate or details or svg is not None:
        raise wrong_usage(
            "--simulate, --svg and --details go with a FILE; see qsim network --help for how to write one"
        )
    if not station:
        raise wrong_usage("--station is missing; give one for each, as --station cpu:40ms --station disk:30ms,visits=2")
    if (arrival_rate is None) == (population is None):
        raise wrong_usage(
            "give either --arrival-rate, for a network fed from outside, or --population, for a closed one"
        )
    typed = (
        [s.time for s in station] + [t for t in (think_time,) if t] + list(arrival_rate.each if arrival_rate else ())
    )
    with_units = any(quantity.has_unit for quantity in typed)
    if arrival_rate is not None:
        if think_time is not None:
            raise wrong_usage("--think-time goes with --population: who comes from outside leaves in the end")
        model: Closed | OpenNetwork = _open(station, arrival_rate, routing)
    else:
        model = _closed(station, population or 0, think_time, routing)

    import qsim

    say_solved(model, qsim.solve(model), with_units=with_units, explain=explain, as_json=as_json)


def _of_file(
    file: Path,
    *,
    simulated: bool,
    customers: float,
    seed: int | None,
    engine: str,
    svg: Path | None,
    details: bool,
    as_json: bool,
) -> None:
    import qsim
    from calibrate.cli.theory.network_file import read_network

    written = read_network(file)
    model, with_units = written.network, written.has_units
    if svg is not None:
        write_new(svg, model.svg(), "--svg")
    if simulated:
        chosen: Literal["compiled", "reference"] = "reference" if engine == "reference" else "compiled"
        with simulating(f"simulating {model.kendall}") as bar:
            try:
                metrics = qsim.simulate(model, customers=customers, seed=seed, engine=chosen, progress=bar.share)
            except qsim.SteadyStateError as error:
                message = error.sentence("--customers", "--customers", "simulate() with allow_short=True")
                raise CommandError(message, FAILED) from error
    else:
        try:
            metrics = qsim.solve(model)
        except qsim.NoFormulaError as error:
            raise wrong_usage(f"{error.reason}; give --simulate") from error
    if as_json:
        print_json(metrics_document(metrics, with_units=with_units))
        return
    say(metrics_text(metrics, with_units=with_units, details=details))
    if simulated:
        say(f"{metrics.customers:,} customers, the first {metrics.warmup:,} left out, seed {metrics.seed}")


def _open(places: list[NamedStation], arrival_rate: Rates, routing: Matrix | None) -> OpenNetwork:
    from qsim import OpenNetwork

    values = [r.value for r in arrival_rate.each]
    if routing is None:
        if len(values) != 1:
            raise wrong_usage("--arrival-rate lists several rates, which go with --routing: who goes where from there?")
        return OpenNetwork(values[0], _made(places))
    if len(values) != len(places):
        raise wrong_usage(f"--arrival-rate must list a rate for each of the {len(places)} stations, not {len(values)}")
    return OpenNetwork(values, _made(places), routing.rows)


def _closed(places: list[NamedStation], population: int, think_time: Quantity | None, routing: Matrix | None) -> Closed:
    from qsim import Closed, Delay

    if routing is not None:
        raise wrong_usage(
            "--routing goes with --arrival-rate; where all circle, visits= says how often each is visited"
        )
    thinking = [Delay(think_time.value)] if think_time is not None else []
    return Closed(population, [*thinking, *_made(places)])


def _made(places: list[NamedStation]) -> list[Any]:
    from qsim import Exponential, Station

    return [Station(Exponential(p.time.value), p.servers, p.visits, name=p.name) for p in places]
