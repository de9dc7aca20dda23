"""What other programs for queues have, beside qsim: each family solved and simulated by all that are installed.

    python peers.py                     5 rounds: a table in Markdown; some minutes
    python peers.py ROUNDS CUSTOMERS    quicker, with so many customers to a peer's run
    python peers.py --write             the 5 rounds, written to docs/theory/simulation.md

`pip install ciw line-solver queueing-tool` and Octave's package queueing are the peers, beside SimPy. All simulate the
same models in turns; speed is by processor time, the median of the rounds. A simulated value that is off by more than
10 %, and a solved one by more than 0.1 %, is shown with its error.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import resource
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

import numpy as np

from qsim import (
    MG1,
    MG1PS,
    MM1,
    MM1K,
    MX1,
    ClassStation,
    Closed,
    ClosedClasses,
    CustomerClass,
    Delay,
    Deterministic,
    Exponential,
    ForkJoin,
    Geometric,
    LogNormal,
    MG1Setup,
    MixedNetwork,
    MMc,
    Model,
    Network,
    Node,
    NoFormulaError,
    Open,
    OpenClasses,
    OpenNetwork,
    Region,
    Retrial,
    Station,
    rare_loss,
    simulate,
    simulate_over_time,
    solve,
    transient,
)
from qsim.engines.peers import peers_of
from qsim.models.as_network import as_network

PAGE = Path(__file__).resolve().parents[1] / "docs" / "theory" / "simulation.md"
ROUNDS, CUSTOMERS, OURS = 5, 20_000, 20
FAILURES = (RuntimeError, subprocess.CalledProcessError)
SOLVED_WITHIN, SIMULATED_WITHIN = 0.001, 0.1
AT, RUSH = 10.0, MappingProxyType({0.0: 0.5, 4.0: 1.5, 8.0: 0.5})
CAME = 9.0
"""Customers that come until then on average, of either queue that begins empty."""
ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)

Solve = Callable[[], float]
Run = Callable[[int, int], float]
"""Customers and seed to the simulated value."""


@dataclass(frozen=True)
class Family:
    """A model, the value held against others ("L" or "throughput"), and the services that a customer takes in it."""

    model: Model
    value: str = "L"
    services: float = 1.0

    def solve(self) -> float:
        """By formula."""
        return float(getattr(solve(self.model), self.value))

    def run(self, customers: int, seed: int) -> float:
        """By simulation."""
        return float(getattr(simulate(self.model, customers=customers, seed=seed, allow_short=True), self.value))


@dataclass(frozen=True)
class FromEmpty(Family):
    """The mean number present at time 10, of a queue that begins empty; ``rates`` from so many times on, or one."""

    rates: Mapping[float, float] | None = None

    def solve(self) -> float:
        return float(transient(self.model, [AT], arrival_rate=self.rates).L[-1])

    def run(self, customers: int, seed: int) -> float:
        replications = math.ceil(customers / CAME)
        over = simulate_over_time(self.model, [AT], arrival_rate=self.rates, replications=replications, seed=seed)
        return float(over.L[-1])


@dataclass(frozen=True)
class RareLoss(Family):
    """The share of customers that is turned away; a run is one of importance sampling's."""

    def solve(self) -> float:
        return float(solve(self.model).p_block)

    def run(self, customers: int, seed: int) -> float:
        return rare_loss(self.model, runs=customers, seed=seed).value


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "M/M/3": Family(MMc(1.8, 1.0, 3)),
        "general service": Family(MG1(0.6, SKEWED)),
        "limited places": Family(MM1K(1.0, 1.0, 5)),
        "impatience": Family(Open(Exponential(1 / 12), ONE, 10, patience=Exponential(2.0))),
        "batch arrivals": Family(MX1(0.2, Geometric(3.0), 1.0)),
        "processor sharing": Family(MG1PS(0.6, SKEWED)),
        "preemptive priorities": Family(
            OpenClasses(
                [CustomerClass(Exponential(2.0), Exponential(0.5)), CustomerClass(Exponential(2.0), ONE, 1)],
                priority="preemptive-resume",
            )
        ),
        "open network": Family(
            OpenNetwork(
                [1.0, 0.5], [Station(Exponential(0.4)), Station(Exponential(0.6), 2)], [[0.2, 0.5], [0.3, 0.0]]
            ),
            services=2.1,
        ),
        "closed network": Family(Closed(32, [Delay(10.0), Station(ONE, 4)]), "throughput", 2),
        "two closed classes": Family(
            ClosedClasses([4, 6], [ClassStation([ONE, Exponential(2.0)], discipline="PS")], [3.0, 9.0]), "throughput", 2
        ),
        "mixed network": Family(
            MixedNetwork([0.3], [4], [ClassStation([ONE] * 2, discipline="PS")], [3.0]), "throughput", 1.7
        ),
        "blocking": Family(
            Network(
                {"a": Node(ONE, capacity=4), "b": Node(ONE, capacity=2, when_full="after service")}, arrivals={"a": 0.9}
            ),
            services=2,
        ),
        "region": Family(
            Network(
                {"think": Delay(5.0), "a": Node(ONE, 2), "b": Node(ONE)},
                populations={"think": 12},
                regions=[Region(["a", "b"], 4)],
            ),
            "throughput",
            3,
        ),
        "fork-join": Family(ForkJoin(0.6, ONE, 2), services=2),
        "retrials": Family(Retrial(0.5, ONE, 1.0)),
        "server that sleeps": Family(MG1Setup(0.6, ONE, Exponential(2.0))),
        "vacations": Family(Network({"a": Node(ONE, vacation=Exponential(2.0))}, arrivals={"a": 0.5})),
        "breakdowns at work": Family(
            Network({"a": Node(ONE, uptime=Exponential(10.0), repair=Exponential(2.0))}, arrivals={"a": 0.5})
        ),
        "batch service": Family(Network({"a": Node(ONE, batch=4)}, arrivals={"a": 2.0})),
        "polling": Family(
            Network(
                {
                    "a": Node(
                        {"x": ONE, "y": Exponential(0.5)},
                        discipline="polling",
                        visits="exhaustive",
                        turnaround=Deterministic(0.2),
                    )
                },
                arrivals={"x": {"a": 0.3}, "y": {"a": 0.4}},
            )
        ),
        "from empty": FromEmpty(MM1(0.9, 1.0)),
        "rush": FromEmpty(MM1(0.9, 1.0), rates=RUSH),
        "rare losses": RareLoss(MM1K(0.5, 1.0, 29), "throughput"),
    }
)


@dataclass(frozen=True)
class Peer:
    """What one program can do, by family."""

    name: str
    solves: Mapping[str, Solve]
    runs: Mapping[str, Run]
    customers: int


# --- SimPy, in programs of our own; Ciw; queueing-tool ---


def simpy_peer(customers: int) -> Peer:
    """Bare programs, where qsim.engines.peers has one; they give waits, not the value, and tests hold these."""
    runs = {}
    for name, family in FAMILIES.items():
        if isinstance(family, FromEmpty | RareLoss):
            continue
        model = as_network(family.model) if isinstance(family.model, OpenNetwork) else family.model
        if program := peers_of(model).get("simpy"):
            runs[name] = partial(_unchecked, program, model)
    return Peer("SimPy", {}, runs, customers)


def _unchecked(program: Callable[[Model, int, int], object], model: Model, customers: int, seed: int) -> float:
    program(model, customers, seed)
    return math.nan


def ciw_peer(customers: int) -> Peer:
    """Its own means of each family; a closed network begins with its customers as a batch."""
    ciw: Any = import_module("ciw")
    laws = ciw.dists
    skewed = laws.Lognormal(-math.log(3) / 2, math.sqrt(math.log(3)))

    def after(mean: float) -> Any:
        return laws.Exponential(1 / mean)

    def mean_present(network: Any, node_class: Any, count: int, seed: int) -> float:
        ciw.seed(seed)
        run = ciw.Simulation(network, node_class=node_class)
        run.simulate_until_max_customers(count)
        stays = [r for r in run.get_all_records() if r.record_type in ("service", "renege")]
        return float(sum(r.exit_date - r.arrival_date for r in stays) / max(r.arrival_date for r in stays))

    def queue(gap: float, service: Any = None, servers: float = 1, node_class: Any = None, **more: Any) -> Run:
        network = ciw.create_network(
            arrival_distributions=[after(gap)],
            service_distributions=[service or after(1.0)],
            number_of_servers=[servers],
            **more,
        )
        return partial(mean_present, network, node_class)

    def closed(count: int, seed: int) -> float:
        network = ciw.create_network(
            arrival_distributions=[laws.Sequential([1e-9, math.inf]), None],
            batching_distributions=[laws.Deterministic(32), laws.Deterministic(1)],
            service_distributions=[after(10.0), after(1.0)],
            number_of_servers=[math.inf, 4],
            routing=[[0.0, 1.0], [1.0, 0.0]],
        )
        ciw.seed(seed)
        run, end = ciw.Simulation(network), count / 2.84
        run.simulate_until_max_time(end)
        return float(sum(r.node == 2 for r in run.get_all_records()) / end)

    def from_empty(arrivals: Callable[[], Any], count: int, seed: int) -> float:
        ciw.seed(seed)
        replications, present = math.ceil(count / CAME), 0
        for _ in range(replications):
            run = ciw.Simulation(
                ciw.create_network([arrivals()], service_distributions=[after(1.0)], number_of_servers=[1])
            )
            run.simulate_until_max_time(AT)
            present += len(run.transitive_nodes[0].all_individuals)
        return present / replications

    def rush() -> Any:
        """Its dates are drawn when it is made."""
        return laws.PoissonIntervals(list(RUSH.values()), [*list(RUSH)[1:], AT], AT)

    two = ciw.create_network(
        arrival_distributions=[after(1.0), after(2.0)],
        service_distributions=[after(0.4), after(0.6)],
        number_of_servers=[1, 2],
        routing=[[0.2, 0.5], [0.3, 0.0]],
    )
    full = ciw.create_network(
        arrival_distributions=[after(1 / 0.9), None],
        service_distributions=[after(1.0)] * 2,
        number_of_servers=[1, 1],
        queue_capacities=[3, 1],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    ranked = ciw.create_network(
        arrival_distributions={"a": [after(2.0)], "b": [after(2.0)]},
        number_of_servers=[1],
        service_distributions={"a": [after(0.5)], "b": [after(1.0)]},
        priority_classes=({"a": 0, "b": 1}, ["resume"]),
    )
    runs: dict[str, Run] = {
        "M/M/3": queue(1 / 1.8, servers=3),
        "general service": queue(1 / 0.6, skewed),
        "limited places": queue(1.0, queue_capacities=[4]),
        "impatience": queue(1 / 12, servers=10, reneging_time_distributions=[after(2.0)]),
        "batch arrivals": queue(5.0, batching_distributions=[laws.Geometric(1 / 3)]),
        "processor sharing": queue(1 / 0.6, skewed, math.inf, ciw.PSNode, ps_thresholds=[1]),
        "preemptive priorities": partial(mean_present, ranked, None),
        "open network": partial(mean_present, two, None),
        "closed network": closed,
        "blocking": partial(mean_present, full, None),
        "from empty": partial(from_empty, partial(after, 1 / 0.9)),
        "rush": partial(from_empty, rush),
    }
    return Peer("Ciw", {}, runs, customers)


def queueing_tool_peer(customers: int) -> Peer:
    """Single queues. Version 1.2.5 asks numpy for a name that numpy 2 no longer has."""
    setattr(np, "infty", math.inf)  # noqa: B010
    tool: Any = import_module("queueing_tool")

    def run(gap: float, servers: int, law: str, places: int | None, customers: int, seed: int) -> float:
        rng = np.random.default_rng(seed)
        draw = rng.exponential if law == "exponential" else partial(rng.lognormal, sigma=math.sqrt(math.log(3)))
        mean = 1.0 if law == "exponential" else -math.log(3) / 2
        times = {"arrival_f": lambda t: t + rng.exponential(gap), "service_f": lambda t: t + draw(mean)}
        more = {"num_servers": servers, "collect_data": True, **times}
        queue = tool.QueueServer(**more) if places is None else tool.LossQueue(qbuffer=places - servers, **more)
        queue.set_active()
        queue.simulate(n=2 * customers)  # an arrival and a departure each
        came, _, left = queue.fetch_data()[:, :3].T
        return float((left - came)[left > 0].sum() / left.max())

    def from_empty(rate: Callable[[float], float], most: float, customers: int, seed: int) -> float:
        rng = np.random.default_rng(seed)
        replications, present = math.ceil(customers / CAME), 0
        for _ in range(replications):
            queue = tool.QueueServer(
                num_servers=1,
                arrival_f=lambda t: tool.poisson_random_measure(t, rate, most),
                service_f=lambda t: t + rng.exponential(1.0),
                collect_data=True,
                seed=int(rng.integers(2**31)),
            )
            queue.set_active()
            queue.simulate(t=AT)
            came, _, left = queue.fetch_data()[:, :3].T
            present += int(((came <= AT) & ((left == 0) | (left > AT))).sum())
        return present / replications

    def rush(t: float) -> float:
        return next(rate for begins, rate in reversed(RUSH.items()) if t >= begins)

    queues = {
        "from empty": partial(from_empty, lambda t: 0.9, 0.9),
        "rush": partial(from_empty, rush, max(RUSH.values())),
        "M/M/3": partial(run, 1 / 1.8, 3, "exponential", None),
        "general service": partial(run, 1 / 0.6, 1, "lognormal", None),
        "limited places": partial(run, 1.0, 1, "exponential", 5),
    }
    return Peer("queueing-tool", {}, queues, customers)


# --- LINE: its own choice of solver, and its simulator ---

OUT = "out"
"""Where customers come from and go to: outside, or where a population thinks."""

ONE_QUEUE = ((OUT, "queue", 1.0), ("queue", OUT, 1.0))
Tweak = Callable[[Any, Mapping[str, Any], Sequence[Any]], object]


def line_model(
    line: Any,
    means: Mapping[str, Any],
    rates: Sequence[float] = (),
    populations: Mapping[int, float] = MappingProxyType({}),
    *,
    servers: Mapping[str, int] = MappingProxyType({}),
    discipline: str = "FCFS",
    ways: Sequence[tuple[str, str, float]] = ONE_QUEUE,
    then: Tweak = lambda model, nodes, classes: None,
) -> Any:
    """A model of LINE: stations by their mean times (or laws, or one for each class), open classes by their rates,
    closed ones by their number and think time, and ways for all of them; ``then`` adds what is special."""
    model = line.Network("model")
    nodes: dict[str, Any] = {}
    if rates:
        source, sink = line.Source(model, "source"), line.Sink(model, "sink")
    if populations:
        host = line.Delay(model, "host")
    opened = [line.OpenClass(model, f"open {rank}", rank) for rank in range(len(rates))]
    closed = [line.ClosedClass(model, f"closed {n}", n, host) for n in populations]
    for who, rate in zip(opened, rates, strict=True):
        source.set_arrival(who, line.Exp(rate))
    for who, think in zip(closed, populations.values(), strict=True):
        host.set_service(who, line.Exp(1 / think))
    for name, given in means.items():
        nodes[name] = line.Queue(model, name, getattr(line.SchedStrategy, discipline))
        nodes[name].set_number_of_servers(servers.get(name, 1))
        laws = given if isinstance(given, list) else [given] * len(opened + closed)
        for who, law in zip(opened + closed, laws, strict=True):
            nodes[name].set_service(who, line.Exp(1 / law) if isinstance(law, float) else law)
    if any("fork" in way for way in ways):
        nodes["fork"] = line.Fork(model, "fork")
        nodes["join"] = line.Join(model, "join", nodes["fork"])
    then(model, nodes, opened + closed)
    routing = model.init_routing_matrix()
    for who in opened + closed:
        ends = (source, sink) if who in opened else (host, host)
        for here, to, share in ways:
            routing.set(who, who, nodes.get(here, ends[0]), nodes.get(to, ends[1]), share)
    model.link(routing)
    return model


def line_models(line: Any) -> dict[str, Callable[[], Any]]:
    """A model of LINE for each family it has."""
    drop, bas, wait = line.DropStrategy.DROP, line.DropStrategy.BAS, line.DropStrategy.WAITQ
    skewed = line.Lognormal.fit_mean_and_scv(1.0, 2.0)
    one, two = {"queue": 1.0}, {"a": 1.0, "b": 1.0}

    def limited(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any], **most: Any) -> None:
        for name, (places, rule) in most.items():
            nodes[name].set_capacity(places)
            nodes[name].set_drop_rule(rule)

    def orbit(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        nodes["queue"].set_capacity(1)
        nodes["queue"].set_retrial(classes[0], line.Exp(1.0))

    def region(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        limit = model.add_region(nodes["a"], nodes["b"])
        limit.set_global_max_jobs(4)
        limit.set_drop_rule(classes[0], wait)

    def batches(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        model.get_node_by_name("source").set_arrival_batch(classes[0], line.Geometric(1 / 3))

    def patience(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        nodes["queue"].set_patience(classes[0], line.Exp(0.5))

    def polling(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        nodes["queue"].set_polling_type(line.PollingType.EXHAUSTIVE)
        for who in classes:
            nodes["queue"].set_switchover(who, line.Det(0.2))

    def sleep(model: Any, nodes: Mapping[str, Any], classes: Sequence[Any]) -> None:
        nodes["queue"].set_delay_off(classes[0], line.Exp(0.5), line.Exp(1e6))

    row = [(OUT, "a", 1.0), ("a", "b", 1.0), ("b", OUT, 1.0)]
    feedback = [
        (OUT, "a", 2 / 3),
        (OUT, "b", 1 / 3),
        ("a", "a", 0.2),
        ("a", "b", 0.5),
        ("a", OUT, 0.3),
        ("b", "a", 0.3),
        ("b", OUT, 0.7),
    ]
    forked = [
        (OUT, "fork", 1.0),
        *(("fork", n, 1.0) for n in "ab"),
        *((n, "join", 1.0) for n in "ab"),
        ("join", OUT, 1.0),
    ]
    made = partial(partial, line_model, line)
    return {
        "M/M/3": made(one, [1.8], servers={"queue": 3}),
        "general service": made({"queue": skewed}, [0.6]),
        "limited places": made(one, [1.0], then=partial(limited, queue=(5, drop))),
        "impatience": made(one, [12.0], servers={"queue": 10}, then=patience),
        "batch arrivals": made(one, [0.2], then=batches),
        "processor sharing": made({"queue": skewed}, [0.6], discipline="PS"),
        "preemptive priorities": made({"queue": [0.5, 1.0]}, [0.5, 0.5], discipline="FCFSPRPRIO"),
        "open network": made({"a": 0.4, "b": 0.6}, [1.5], servers={"b": 2}, ways=feedback),
        "closed network": made(one, populations={32: 10.0}, servers={"queue": 4}),
        "two closed classes": made({"queue": [1.0, 2.0]}, populations={4: 3.0, 6: 9.0}, discipline="PS"),
        "mixed network": made(one, [0.3], {4: 3.0}, discipline="PS"),
        "blocking": made(two, [0.9], ways=row, then=partial(limited, a=(4, drop), b=(2, bas))),
        "region": made(two, populations={12: 5.0}, servers={"a": 2}, ways=row, then=region),
        "fork-join": made(two, [0.6], ways=forked),
        "retrials": made(one, [0.5], then=orbit),
        "server that sleeps": made(one, [0.6], then=sleep),
        "rare losses": made(one, [0.5], then=partial(limited, queue=(29, drop))),
        "polling": made({"queue": [1.0, 0.5]}, [0.3, 0.4], discipline="POLLING", then=polling),
    }


def line_peer(customers: int) -> Peer:
    """LINE as it chooses its solver, and its simulator of discrete events."""
    with contextlib.redirect_stdout(io.StringIO()):
        line: Any = import_module("line_solver")
    models = line_models(line)

    def value(name: str, solver: Callable[[Any], Any]) -> float:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = solver(models[name]()).avg_table()
        at = table[~table["Station"].isin(["source", "host"])]
        if FAMILIES[name].value == "L":
            found = float(at["QLen"].sum() / (2 if name == "fork-join" else 1))
        else:
            found = float(at[at["Station"].isin(["queue", "b"])]["Tput"].sum())
        if "Selected solver 'LDES'" in said.getvalue() and abs(found / truth(name) - 1) > SOLVED_WITHIN:
            raise NoFormulaError("LINE", "it simulates where it has no formula")  # else it fell back on one
        return found

    def from_empty() -> float:
        """By its solver of chains, up to 40 present."""
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = line_model(line, {"queue": 1.0}, [0.9])
            return float(
                line.SolverCTMC(model, timespan=[0, 10], cutoff=40, verbose=False).tran_avg()[0][1][0].metric[-1]
            )

    def lost() -> float:
        return 1 - value("rare losses", partial(line.LINE, verbose=False)) / 0.5

    def simulator(name: str, count: int, seed: int) -> float:
        samples = int(count * FAMILIES[name].services)
        return value(name, lambda m: line.SolverLDES(m, samples=samples, seed=seed, verbose=False))

    return Peer(
        "LINE",
        {
            **{name: partial(value, name, partial(line.LINE, verbose=False)) for name in models},
            "from empty": from_empty,
            "rare losses": lost,
        },
        {name: partial(simulator, name) for name in models if not isinstance(FAMILIES[name], RareLoss)},
        OURS * customers,
    )


# --- Octave's package queueing ---

IN_OCTAVE = {
    "M/M/3": "[U R v] = qsmmm(1.8, 1, 3);",
    "general service": "[U R v] = qsmg1(0.6, 1, 3);",
    "limited places": "[U R v] = qsmmmk(1, 1, 1, 5);",
    "open network": "[U R Q] = qnos(1.5, [0.4 0.6], qnosvisits([0.2 0.5; 0.3 0], [1 0.5]), [1 2]); v = sum(Q);",
    "closed network": "[U R Q v] = qncsmva(32, 1, 1, 4, 10);",
    "two closed classes": "[U R Q X] = qncmmva([4 6], [1; 2], [1; 1], 1, [3 9]); v = sum(X(:, 1));",
    "mixed network": "[U R Q X] = qnmix([0.3 0], [0 4], [1 0; 1 3], [1 0; 1 1], [1 -1]); v = sum(X(:, 1));",
    "rare losses": "[U R Q X p0 v] = qsmm1k(0.5, 1, 29);",
    "from empty": "v = ctmc(ctmcbd(0.9*ones(1,200), ones(1,200)), 10, [1 zeros(1,200)]) * (0:200)';",
}


def octave_peer(_: int) -> Peer:
    """Formulas only; one session for each."""
    if not shutil.which("octave-cli"):
        raise ImportError("octave-cli is not installed")
    return Peer("Octave", {name: partial(_octave, lines) for name, lines in IN_OCTAVE.items()}, {}, 0)


def _octave(lines: str) -> float:
    program = f"try, {lines} printf('%.12g', v), catch e, fputs(stderr, e.message), exit(1), end"
    done = subprocess.run(
        ["octave-cli", "--norc", "--eval", f"pkg load queueing; {program}"], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


# --- the table ---


def peers(customers: int) -> list[Peer]:
    """qsim, and every peer that is installed; the missing ones are named on stderr."""
    ours = Peer(
        "qsim",
        {name: family.solve for name, family in FAMILIES.items()},
        {name: family.run for name, family in FAMILIES.items()},
        OURS * customers,
    )
    found = [ours]
    for make in (simpy_peer, ciw_peer, queueing_tool_peer, line_peer, octave_peer):
        try:
            found.append(make(customers))
        except ImportError as error:
            sys.stderr.write(f"{make.__name__.removesuffix('_peer')} is left out: {error}\n")
    return found


def seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in used)


@cache
def truth(name: str) -> float:
    """By formula, or by a long run."""
    try:
        return FAMILIES[name].solve()
    except NoFormulaError:
        return FAMILIES[name].run(4_000_000, 0)


def off(value: float, name: str, within: float) -> str:
    """How far a value is off, where that is too far; a value that is not a number was not looked at."""
    error = value / truth(name) - 1
    if not abs(error) > within:
        return ""
    return " (∞)" if error > 1e6 else f" ({float(f'{100 * error:.1g}'):+.3g} %)"


def solved(peer: Peer, name: str) -> str:
    """ "=" where the peer has a formula, with its error; nothing where it has none."""
    if name not in peer.solves:
        return ""
    try:
        return "=" + off(peer.solves[name](), name, SOLVED_WITHIN)
    except NoFormulaError:
        return ""
    except FAILURES as error:
        return failed(peer, name, error)


def failed(peer: Peer, name: str, error: Exception) -> str:
    """A cell, and a line on stderr."""
    said = getattr(error, "stderr", None) or str(error)
    sys.stderr.write(f"{peer.name} fails on {name}: {said.strip().splitlines()[-1]}\n")
    return "fails"


def simulated(name: str, turns: Sequence[Peer], rounds: int) -> dict[str, str]:
    """Thousands of customers per second by peer; the peers take turns."""
    rates: dict[str, list[float]] = {peer.name: [] for peer in turns}
    values: dict[str, list[float]] = {peer.name: [] for peer in turns}
    cells: dict[str, str] = {}
    for turn in range(rounds + 1):
        for peer in turns:
            if peer.name in cells:
                continue
            started = seconds()
            try:
                values[peer.name].append(peer.runs[name](peer.customers, turn + 1))
            except FAILURES as error:
                cells[peer.name] = "run " + failed(peer, name, error)
                continue
            if turn:  # the first compiles and fills caches
                rates[peer.name].append(peer.customers / (seconds() - started) / 1000)
    for peer, measured in rates.items():
        if measured:
            error = off(float(np.mean(values[peer])), name, SIMULATED_WITHIN)
            cells[peer] = f"{float(f'{median(measured):.2g}'):,.0f}{error}"
    return cells


def table(rounds: int = ROUNDS, customers: int = CUSTOMERS) -> str:
    """A row a family, a column a peer."""
    found = peers(customers)
    lines = [["", *(peer.name for peer in found)], ["---"] * (len(found) + 1)]
    for name in FAMILIES:
        speeds = simulated(name, [peer for peer in found if name in peer.runs], rounds)
        cells = (f"{solved(peer, name)} {speeds.get(peer.name, '')}".strip() for peer in found)
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


MARKED = re.compile(r"(<!-- peers -->\n)(.*?)(<!-- peers end -->)", re.DOTALL)


def main(arguments: list[str]) -> None:
    """Print the table, or write it."""
    if arguments == ["--write"]:
        made = table()
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(MARKED.sub(lambda m: f"{m[1]}\n{made}\n\n{m[3]}", page), encoding="utf-8")
    else:
        sys.stdout.write(table(*map(int, arguments)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
