"""A cache that fills, as a fluid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qsim import Exponential, FluidCache, Network, Node, NoFormulaError, WriteCache, fluid_cache


def test_a_disk_that_keeps_up_never_lets_it_fill() -> None:
    cache = fluid_cache(WriteCache(1, 1.0, cache=Exponential(0.01), disk=Exponential(0.5), places=10))
    assert cache.full_at == math.inf
    assert cache.before == cache.after == pytest.approx(1 / 1.01)


def test_what_is_completed_bends_where_it_is_full() -> None:
    cache = FluidCache.of_rates(50.0, 10.0, 80.0)
    assert cache.full_at == 2.0
    np.testing.assert_allclose(cache.completed(np.array([1.0, 2.0, 4.0])), [50, 100, 120])


def test_a_network_without_a_cache_has_none() -> None:
    with pytest.raises(NoFormulaError, match="no single cache"):
        fluid_cache(Network({"die": Node(Exponential(1.0))}, arrivals={"die": 0.5}))
