"""Throughput over time: against a chain at every moment, and against the fluid for many small writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from qsim import Exponential, Network, Node, WriteCache, fluid_cache, simulate_throughput

POPULATION, THINK, CACHE, DISK, PLACES = 3, 1.0, 0.5, 2.0, 6


def moves(state: Any) -> Any:
    """Rates, next states (in the cache, held, waiting for the disk), and whether a write comes back to think."""
    inside, held, dirty = state
    if inside + held < POPULATION:
        yield (POPULATION - inside - held) / THINK, (inside + 1, held, dirty), 0
    if inside and not held:
        done = dirty < PLACES
        yield 1 / CACHE, (inside - 1, 0, dirty + 1) if done else (inside - 1, 1, dirty), int(done)
    if dirty:
        yield 1 / DISK, (inside, 0, dirty) if held else (inside, 0, dirty - 1), held


def test_it_follows_the_chain_of_the_cache_at_every_moment() -> None:
    states, todo, flows = {(0, 0, 0): 0}, [(0, 0, 0)], []
    while todo:
        state = todo.pop()
        for rate, other, back in moves(state):
            if other not in states:
                states[other] = len(states)
                todo.append(other)
            flows.append((states[state], states[other], rate, back))
    size = len(states)
    chain = np.zeros((size + 1, size + 1))  # the last row counts those who come back
    for i, j, rate, back in flows:
        chain[j, i] += rate
        chain[i, i] -= rate
        chain[size, i] += rate * back
    edges = np.array([0.0, 2.0, 5.0, 10.0, 30.0])
    start = np.eye(size + 1)[0]
    expected = np.diff([(expm(chain * t) @ start)[size] for t in edges]) / np.diff(edges)
    model = WriteCache(POPULATION, THINK, Exponential(CACHE), Exponential(DISK), PLACES)
    run = simulate_throughput(model, edges, replications=400, seed=4, confidence=0.999)
    assert ((run.low <= expected) & (expected <= run.high)).all(), (run.low, expected, run.high)


def test_many_small_writes_are_a_fluid() -> None:
    model = WriteCache(8, 0.0, cache=Exponential(0.02), disk=Exponential(0.1), places=4000)
    fluid, edges = fluid_cache(model), np.array([0.0, 50.0, 90.0, 150.0, 300.0])
    run = simulate_throughput(model, edges, seed=5)
    np.testing.assert_allclose(run.throughput, np.diff(fluid.completed(edges)) / np.diff(edges), rtol=0.04)


def test_times_that_cannot_be_are_refused() -> None:
    model = Network({"die": Node(Exponential(1.0))}, arrivals={"die": 0.5})
    for wrong in ([0.0], [], [3.0, 2.0], [-1.0, 2.0], [1e15]):
        with pytest.raises(ValueError, match="times"):
            simulate_throughput(model, wrong)
