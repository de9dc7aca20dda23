"""Memory curves at mixes that were not measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.surface.memory import MixCurve, MixFamily, compare_mixes, mix_family
from measure import load_dataset
from measure.errors import DataError
from measure.sweep import Sweep

SHARES = np.linspace(0.02, 0.99, 30)


def peak(mix: float) -> float:
    return 1 / (mix / 100e9 + (1 - mix) / 60e9)


def memory(mixes: tuple[float, ...] = (0.5, 0.6, 0.75, 0.9, 1.0)) -> Sweep:
    """A memory whose writes take longer, and queue more."""
    rows = [
        {
            "series": f"{m}",
            "load": x * peak(m),
            "throughput_per_s": x * peak(m) / 64,
            "read_fraction": m,
            "latency_s": 90e-9 + (10e-9 + 15e-9 * (1 - m)) * x / (1.02 - x),
        }
        for m in mixes
        for x in SHARES
    ]
    return Sweep(pd.DataFrame(rows), "bandwidth", "B/s")


def unseen(family: MixFamily) -> list[tuple[np.ndarray, MixCurve]]:
    """Each inner mix: the latencies measured, and what all other mixes predict there."""
    inner = range(1, len(family.read_fraction) - 1)
    without = {i: family.only([j for j in range(len(family.read_fraction)) if j != i]) for i in inner}
    return [
        (family.latency_s[i], without[i].predict(family.read_fraction[i], family.bandwidth_bytes_per_s[i]))
        for i in inner
    ]


def test_an_unseen_mix_is_predicted_from_its_neighbours() -> None:
    family = mix_family(memory())
    errors = np.concatenate([np.abs(100 * (curve.latency_s / measured - 1)) for measured, curve in unseen(family)])
    assert len(errors) == 3 * len(SHARES)
    assert np.median(errors) < 1
    assert family.only([0, 1, 3, 4]).peak(0.75) == pytest.approx(peak(0.75), rel=0.01)


def ragged(mixes: tuple[float, ...], noise: float, seed: int) -> Sweep:
    """The memory with ``noise`` in every latency."""
    rng = np.random.default_rng(seed)
    exact = memory(mixes)
    scatter = np.exp(noise * rng.standard_normal(len(exact.points)))
    return Sweep(exact.points.assign(latency_s=exact.points["latency_s"] * scatter), "bandwidth", "B/s")


def test_the_bands_hold_about_as_many_points_as_they_say() -> None:
    mixes, inside = tuple(np.linspace(0.4, 1.0, 9)), []
    for seed in range(3):
        for measured, curve in unseen(mix_family(ragged(mixes, 0.03, seed))):
            inside += ((curve.latency_low_s <= measured) & (measured <= curve.latency_high_s)).tolist()
    assert 0.86 < np.mean(inside) < 0.97


def test_idle_latencies_that_differ_between_mixes_are_noise() -> None:
    assert mix_family(memory()).idle_spread < 0.01
    published = load_dataset("001-memory")
    points = published.points
    idle = points[(points["load"] == points["load"].max()) & (points["read_fraction"] > 0)]
    latencies = idle["latency_s"][idle["series"].str.contains("64 B")]
    assert mix_family(published, "64 B").idle_spread == pytest.approx(np.std(np.log(latencies), ddof=1))


def test_non_temporal_stores_are_left_out_where_there_are_others() -> None:
    family = mix_family(load_dataset("001-memory"), "64 B")
    assert family.left_out == ("64 B write non-temporal",)
    assert len(family.read_fraction) == 4
    alone = memory().points.assign(series=lambda t: "non-temporal " + t["series"])
    assert len(mix_family(Sweep(alone, "bandwidth", "B/s")).read_fraction) == 5


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(DataError, match="30 % reads lie outside the measured mixes, 50 to 100 %"):
        mix_family(memory()).predict(0.3, np.array([1e9]))
    with pytest.raises(DataError, match="not a memory measured at two or more mixes"):
        mix_family(memory((1.0,)))
    with pytest.raises(DataError, match="several curves of one mix"):
        mix_family(load_dataset("001-memory"))
    with pytest.raises(DataError, match="no curve with '128 B' in its name"):
        mix_family(load_dataset("001-memory"), "128 B")
    with pytest.raises(DataError, match="needs two of them at least; name two"):
        compare_mixes(mix_family(memory()), [0.5])
    with pytest.raises(DataError, match="no mix of 55 % reads was measured; there are 50, 60, 75, 90, 100"):
        compare_mixes(mix_family(memory()), [0.5, 0.55])


def test_two_ends_predict_the_mixes_between_and_more_are_taken_from_the_widest_gaps() -> None:
    family = mix_family(memory())
    ends, more = compare_mixes(family), compare_mixes(family, ask=1)
    assert ends.summary().held_out_points == 3 * len(SHARES)
    assert ends.summary().held_out_mdape_response_pct < 2  # type: ignore[operator]
    assert ends.summary().inside_band_pct > 85  # type: ignore[operator]
    assert more.asked == (0.75,)
    assert [row["use"] for row in more.rows()].count("asked for") == len(SHARES)
    assert repr(ends).splitlines()[0] == "The memory: 2 of 5 mixes used (50, 100 % reads), 90 points held out"
    assert ends.next() == pytest.approx(0.675)
    assert set(ends.to_dict()) >= {"points", "summary", "next", "left_out", "notes"}


@pytest.mark.parametrize(("stride", "median", "inside"), [("64 B", 9, 95), ("256 B", 6.5, 85)])
def test_a_published_memory_is_predicted_from_its_two_ends(stride: str, median: float, inside: float) -> None:
    summary = compare_mixes(mix_family(load_dataset("001-memory"), stride)).summary()
    assert summary.held_out_points == 2 * 19
    assert summary.held_out_mdape_response_pct < median  # type: ignore[operator]
    assert inside < summary.inside_band_pct <= 100  # type: ignore[operator]
