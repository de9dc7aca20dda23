"""Retrials against the chain that they are, in a unit of time that is not the service; and which are refused."""

from __future__ import annotations

import pytest
from markov_chains import Moves, stationary

from qsim import Delay, Erlang, Exponential, Network, Node, NoFormulaError, Retrial, UnstableQueueError, solve
from qsim.analytic.impatient import retrials

MOST = 120


@pytest.mark.parametrize(
    ("rate", "mean", "again", "servers"), [(0.15, 2.5, 0.5, 1), (3.0, 0.4, 5.0, 2), (1.1, 2.0, 0.7, 4)]
)
def test_the_orbit_and_the_blocked_are_those_of_the_chain(rate: float, mean: float, again: float, servers: int) -> None:
    def moves(state: tuple[int, int]) -> Moves:
        waiting, busy = state
        if busy < servers:
            yield rate, (waiting, busy + 1)
            if waiting:
                yield waiting * again, (waiting - 1, busy + 1)
        elif waiting < MOST:
            yield rate, (waiting + 1, busy)
        if busy:
            yield busy / mean, (waiting, busy - 1)

    p = stationary((0, 0), moves)  # type: ignore[arg-type]
    waiting = sum(share * state[0] for state, share in p.items())  # type: ignore[index]
    taken = sum(share for state, share in p.items() if state[1] == servers)  # type: ignore[index]
    found = solve(Retrial(rate, Exponential(mean), again, servers))
    assert found.kind == "exact"
    assert (found.Lq, found.p_wait) == pytest.approx((waiting, taken), rel=1e-6)
    assert (found.L, found.utilization) == pytest.approx((waiting + rate * mean, rate * mean / servers), rel=1e-6)
    assert (found.W, found.Wq) == pytest.approx((waiting / rate + mean, waiting / rate), rel=1e-6)
    orbit, server = found["orbit"], found["server"]
    assert (orbit.L, orbit.throughput, orbit.p_block) == pytest.approx((waiting, again * waiting, 0.0), rel=1e-6)
    assert (server.Lq, server.throughput) == pytest.approx((0.0, rate), rel=1e-6)
    assert server.p_block == pytest.approx(again * waiting / (rate + again * waiting), rel=1e-6)


def test_which_have_a_formula() -> None:
    assert retrials.applies(Retrial(0.3, Erlang(2, 1.0), 1.0))
    assert retrials.applies(Retrial(0.3, Exponential(1.0), 1.0, servers=2))
    assert not retrials.applies(Retrial(0.3, Erlang(2, 1.0), 1.0, servers=2))

    def changed(again: object = Exponential(1.0), **more: object) -> Network:
        node = Node(Exponential(1.0), **{"capacity": 1, "overflow_to": "orbit", **more})  # type: ignore[arg-type]
        return Network(
            {"server": node, "orbit": Delay(again)},
            arrivals={"server": 0.3},  # type: ignore[arg-type]
            routing={"orbit": {"server": 1.0}},
        )

    assert retrials.applies(changed())
    for other in ({"capacity": 2}, {"again": Erlang(2, 1.0)}, {"discipline": "LCFS-PR"}, {"speeds": (1.0,)}):
        assert not retrials.applies(changed(**other)), other


@pytest.mark.parametrize("servers", [1, 2])
def test_an_orbit_that_grows_is_refused(servers: int) -> None:
    assert solve(Retrial(0.49 * servers, Exponential(2.0), 1.0, servers)).Lq > 1
    with pytest.raises(UnstableQueueError):
        solve(Retrial(0.5 * servers, Exponential(2.0), 1.0, servers))


def test_too_many_servers_are_refused() -> None:
    with pytest.raises(NoFormulaError, match="more than 200 servers with retrials"):
        solve(Retrial(100.0, Exponential(1.0), 1.0, servers=201))
