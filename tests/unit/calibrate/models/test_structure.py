"""Servers, service and delay from the points of a closed sweep: found where theory says they can be, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibrate.inference.parameters import Estimate
from calibrate.models.structure import servers_and_think, structure_posterior
from calibrate.points import ClosedFacts, LoneRequests, Points
from measure.loads import Depth
from qsim import Closed, Exponential, MMcN, Station, solve

S = 2e-3
DEPTHS = np.array([1.0, 2, 4, 8, 32])
EXPONENTIAL, CONSTANT = LoneRequests(1.0, 3e-5), LoneRequests(1e-4, 2e-3)


def seen(rates: np.ndarray, alone: LoneRequests | None, delay_s: float = 0.0, depths: np.ndarray = DEPTHS) -> Points:
    """Points without noise, of 4000 requests each."""
    unknown = np.full(len(depths), np.nan)
    if alone is not None:  # the scv and the shortest are those of the whole latency
        alone = LoneRequests(alone.scv / (1 + delay_s / S) ** 2, alone.shortest_s + delay_s)
    return Points(
        "made",
        Depth(),
        depths,
        rates,
        depths / rates,
        np.ones(len(depths)),
        unknown,
        unknown,
        requests=np.full(len(depths), 4000.0),
        facts=ClosedFacts(alone),
    )


def knowing(points: Points, **facts: object) -> Points:
    """The points with other facts."""
    return replace(points, facts=replace(points.closed, **facts))


def exponential(servers: int, delay_s: float = 0.0) -> Points:
    """One queue, exponential service."""
    rates = np.array([float(solve(MMcN(int(n), delay_s, S, servers)).throughput) for n in DEPTHS])
    return seen(rates, EXPONENTIAL, delay_s)


def constant(servers: int, delay_s: float = 0.0) -> Points:
    """One queue, constant times."""
    return seen(np.minimum(DEPTHS / (S + delay_s), servers / S), CONSTANT, delay_s)


@pytest.mark.parametrize("servers", [1, 2, 4, 7])
@pytest.mark.parametrize("delay_s", [0.0, 1.5e-4])
def test_servers_of_varying_service_are_told_exactly(servers: int, delay_s: float) -> None:
    found = servers_and_think(exponential(servers, delay_s), 0.95)
    c, s, z = (found[name] for name in "cSZ")
    assert (c.estimate, c.low, c.high, c.identified) == (servers, servers, servers, True)
    assert s.low is not None
    assert s.high is not None
    assert s.low < S < s.high < 1.1 * s.low
    assert z.low is not None
    assert z.high is not None
    assert z.low <= delay_s <= z.high < delay_s + 0.1 * S


def test_constant_times_hide_the_number_of_servers() -> None:
    found = servers_and_think(constant(4, 1e-4), 0.95)
    assert (found["c"].low, found["c"].high) == (1.0, 4.0)
    assert not any(found[name].identified or found[name].estimate is not None for name in "cSZ")
    assert "no depth would settle it: measure the response time under Poisson" in found["c"].note
    assert found["Z"].low is not None
    assert found["Z"].high is not None
    assert found["Z"].low <= 1e-4
    assert found["Z"].high > 1.4e-3  # one server of 0.5 ms behind 1.6 ms


def test_a_machine_that_woke_late_widens_what_is_told_and_keeps_the_truth_inside() -> None:
    """Every request at depth 2 and deeper waits 0.6 ms more for a processor than one alone, as on a busy machine."""
    waits = dict(zip(DEPTHS, (0.0, 6e-4, 6e-4, 6e-4, 6e-4), strict=True))
    rates = np.array([float(solve(MMcN(int(n), waits[n], S, 4)).throughput) for n in DEPTHS])
    disturbed = seen(rates, EXPONENTIAL)
    late = knowing(disturbed, woken_late_s=np.array([5e-5, 3e-4, 3e-4, 3e-4, 3e-4]))
    assert not inside(servers_and_think(disturbed, 0.95)["c"], 4)
    told = servers_and_think(late, 0.95)
    assert inside(told["c"], 4)
    assert inside(told["S"], S)
    quiet = knowing(exponential(4), woken_late_s=np.full(len(DEPTHS), 1e-6))
    assert servers_and_think(quiet, 0.95)["c"] == servers_and_think(exponential(4), 0.95)["c"]


def inside(found: Estimate, true: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= true <= found.high


def test_a_queue_each_is_told_from_one_queue() -> None:
    stations = [Station(Exponential(S), servers=4, queues="random")]
    rates = np.array([float(solve(Closed(int(n), stations)).throughput) for n in DEPTHS])
    each = structure_posterior(seen(rates, EXPONENTIAL), None)
    one = structure_posterior(exponential(4), None)
    assert each.share(each.own_queues > 0) > 0.99 * each.share(each.servers > 1)
    assert each.best_servers() == 4
    assert one.share(one.own_queues > 0) < 0.01 * one.share(one.servers > 1)


def test_an_unknown_law_leaves_fewer_servers_open_too() -> None:
    known = exponential(6, 1e-3)
    told = servers_and_think(known, 0.95)["c"]
    untold = servers_and_think(knowing(known, alone=None), 0.95)["c"]
    assert told.low is not None
    assert told.high is not None
    assert untold.low is not None
    assert untold.high is not None
    assert untold.low < told.low <= 6 <= untold.high <= told.high


def test_points_below_the_peak_say_that_it_may_lie_beyond() -> None:
    below = np.array([1.0, 2, 4])
    found = servers_and_think(seen(below / S, EXPONENTIAL, depths=below), 0.95)
    assert not found["c"].identified
    assert "may lie far beyond these points" in found["c"].note


def test_points_that_no_structure_explains_have_no_servers() -> None:
    rates = np.array([1.0, 0.5, 4.0, 2.0, 9.0]) / S
    found = servers_and_think(seen(rates, EXPONENTIAL), 0.95)
    assert found["c"].low is None
    assert "no number of servers explains these points" in found["c"].note


def disturbed(kind: str, servers: int, seed: int) -> Points:
    """Points of a busy machine, with what the audit saw: requests wait for a processor, or runs were not steady."""
    rng, count = np.random.default_rng(seed), len(DEPTHS)
    late = rng.uniform(0.02, 0.2, count) * S if kind == "late" else np.zeros(count)
    moved = np.where(rng.random(count) < 0.4, rng.uniform(0.1, 0.3, count), 0.0) if kind == "unsteady" else 0.0
    waits = late * rng.uniform(1, 3, count)
    rates = [float(solve(MMcN(int(n), wait, S, servers)).throughput) for n, wait in zip(DEPTHS, waits, strict=True)]
    rates = np.array(rates) * np.exp(rng.normal(0, 0.01, count)) * (1 + moved * rng.uniform(-0.6, 0.6, count))
    return knowing(seen(rates, EXPONENTIAL), **({"woken_late_s": late} if kind == "late" else {"unsteady": moved}))


@pytest.mark.parametrize("kind", ["late", "unsteady"])
@pytest.mark.parametrize("servers", [4, 8])
def test_a_busy_machine_gives_no_confident_wrong_number_of_servers(kind: str, servers: int) -> None:
    blind = []
    for seed in range(6):
        points = disturbed(kind, servers, seed)
        found = servers_and_think(points, 0.9)["c"]
        assert inside(found, servers), seed
        assert not found.identified or found.estimate == servers
        blind.append(servers_and_think(knowing(points, woken_late_s=None, unsteady=None), 0.9)["c"])
    if servers == 8:  # without what the audit saw it is wrong at times
        assert not all(inside(one, servers) for one in blind) or any(one.estimate not in (None, 8) for one in blind)


def test_what_is_known_of_a_service_is_as_uncertain_as_the_throughputs_of_repeats() -> None:
    points, spread = exponential(4), np.full(len(DEPTHS), 0.1)

    def service(**spreads: np.ndarray) -> Estimate:
        return servers_and_think(replace(points, **spreads), 0.9)["S"]

    assert service(response_spread=spread) == service()
    by_repeats = service(throughput_spread=spread)
    assert by_repeats.low is not None
    assert by_repeats.high is not None
    assert by_repeats.high / by_repeats.low > 1.1  # 0.1 at five depths
    assert by_repeats.low < S < by_repeats.high
