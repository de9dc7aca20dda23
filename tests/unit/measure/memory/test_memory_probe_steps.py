"""Plateaus and steps, found in latencies that were made to have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.memory.probe import plateaus, steps
from measure.memory.steps import segments
from measure.sweep import Provenance, Sweep, recorded_caches

KiB, MiB = 2**10, 2**20
CACHES = {"level-1": 48 * KiB, "level-2": 2 * MiB, "level-3": 32 * MiB}


def latency_ns(size: int) -> float:
    """Three caches and memory; the sizes right behind a cache lie on the way up."""
    for upto, ns in ((48 * KiB, 1.3), (MiB, 4.5), (2 * MiB, 14.0), (16 * MiB, 30.0), (32 * MiB, 60.0)):
        if size <= upto:
            return ns
    return 110.0


def sweep(noise: float = 0.0, repeats: int = 3, caches: dict[str, int] = CACHES, upto: int = 512 * MiB) -> Sweep:
    rng = np.random.default_rng(1)
    size, rows = 16 * KiB, []
    while size <= upto:
        for repeat in range(repeats):
            latency = latency_ns(size) * 1e-9 * np.exp(noise * rng.standard_normal())
            for threads in (1, 2):
                rows.append(
                    {
                        "series": f"read, {threads} threads",
                        "load": size,
                        "repeat": repeat,
                        "latency_s": latency,
                        "throughput_per_s": threads * 1e9 / (1 + latency * 1e8),
                        "bandwidth_bytes_per_s": threads * 64e9 / (1 + latency * 1e8),
                    }
                )
        size *= 2
    return Sweep(pd.DataFrame(rows), "buffer_size", "B", Provenance(details={"caches": caches}), name="made")


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_plateaus_are_where_the_caches_are(noise: float) -> None:
    found = plateaus(sweep(noise))
    assert [(p.first_bytes, p.last_bytes, p.cache) for p in found] == [
        (16 * KiB, 32 * KiB, "level-1"),
        (64 * KiB, MiB, "level-2"),
        (4 * MiB, 16 * MiB, "level-3"),
        (64 * MiB, 512 * MiB, "memory"),
    ]
    assert [p.latency_s * 1e9 for p in found] == pytest.approx([1.3, 4.5, 30.0, 110.0], rel=0.03)
    assert found[0].bandwidths["read, 2 threads"] == pytest.approx(2 * found[0].bandwidths["read, 1 threads"])


def test_steps_name_the_caches_that_end_there() -> None:
    made = sweep()
    found = steps(plateaus(made), recorded_caches(made.provenance.details))
    assert [(s.after_bytes, s.upto_bytes, list(s.caches)) for s in found] == [
        (32 * KiB, 64 * KiB, ["level-1"]),
        (MiB, 4 * MiB, ["level-2"]),
        (16 * MiB, 64 * MiB, ["level-3"]),
    ]
    assert found[0].factor == pytest.approx(4.5 / 1.3)


def test_without_reported_caches_there_are_steps_without_names() -> None:
    found = plateaus(sweep(caches={}))
    assert len(found) == 4
    assert {p.cache for p in found} == {""}
    assert all(not s.caches for s in steps(found, {}))


def test_one_size_and_one_repeat_are_one_plateau() -> None:
    (only,) = plateaus(sweep(repeats=1, upto=16 * KiB))
    assert (only.first_bytes, only.last_bytes) == (16 * KiB, 16 * KiB)
    assert steps([only], {}) == ()


def test_other_sweeps_have_none() -> None:
    table = pd.DataFrame({"series": ["a"], "load": [1.0], "throughput_per_s": [1.0], "latency_s": [1.0]})
    with pytest.raises(ValueError, match="only buffer sizes have plateaus"):
        plateaus(Sweep(table, "injected_delay"))


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(0, 1))
def test_pieces_cover_every_value_once_and_lie_no_better_joined(values: list[float], noise: float) -> None:
    pieces = segments(np.array(values), noise)
    assert [p[0] for p in pieces] == [0, *[p[1] for p in pieces[:-1]]]
    assert pieces[-1][1] == len(values)


@given(st.integers(2, 30), st.floats(-30, 5))
def test_a_flat_line_is_one_piece(count: int, height: float) -> None:
    assert segments(np.full(count, height), 0.0) == [(0, count)]
