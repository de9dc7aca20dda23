"""Whether a device changed: seldom a false alarm, few losses missed, and the power that is stated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from calibrate import change
from calibrate.changes.answer import load_table
from calibrate.changes.change import Change, NotMeasuredError, changed
from calibrate.points import LOCAL
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import ArrivalRate, Clients, Depth
from measure.sweep import Sweep

LOADS_OF_J1 = np.array([1.0, 4, 8, 16, 32, 64])
HEALTHY = np.array([100.0, 380, 600, 640, 560, 420])
LOST = np.array([100.0, 380, 450, 450, 560, 420])
DRAWS = 200


def drawn(rates: np.ndarray, noise: float, repeats: int, seed: int, rounds: float = 0.0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    away = noise * random.standard_normal((repeats, len(rates))) + rounds * random.standard_normal((repeats, 1))
    throughput = rates * np.exp(away)
    return {"throughput": throughput, "response time": LOADS_OF_J1 / throughput}


def compared(
    new: np.ndarray, noise: float, repeats: int, seed: int, *, margin: float = 0.05, rounds: float = 0.0
) -> Change:
    sweeps = (drawn(r, noise, repeats, 2 * seed + k, rounds) for k, r in enumerate((HEALTHY, new)))
    return changed("r", Depth(), LOADS_OF_J1, *sweeps, margin=margin)  # type: ignore[arg-type]


def sweep(rates: np.ndarray, noise: float = 0.01, repeats: int = 3, seed: int = 1, **more: object) -> Sweep:
    throughput = drawn(rates, noise, repeats, seed)["throughput"]
    tables = [points_at(LOADS_OF_J1, x, repeat=k, **more) for k, x in enumerate(throughput)]
    return Sweep(pd.concat(tables, ignore_index=True), load_type=Clients())


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_what_did_not_change_is_called_changed_at_most_one_time_in_twenty(noise, repeats):
    found = [compared(HEALTHY, noise, repeats, seed).verdict for seed in range(DRAWS)]
    alarms = sum(verdict in ("slower", "faster") for verdict in found)
    assert alarms <= 10 + 2.3 * np.sqrt(10)  # 5 % of 200 draws, at 99 %


def test_rounds_that_are_slow_as_a_whole_give_no_alarm():
    found = [compared(HEALTHY, 0.01, 3, seed, rounds=0.1).verdict for seed in range(DRAWS)]
    assert sum(verdict in ("slower", "faster") for verdict in found) <= 10 + 2.3 * np.sqrt(10)


def test_single_runs_that_differ_as_runs_of_one_drive_do_give_no_alarm():
    found = [compared(HEALTHY, 0.01, 1, seed, rounds=LOCAL).verdict for seed in range(DRAWS)]
    assert sum(verdict in ("slower", "faster") for verdict in found) <= 10 + 2.3 * np.sqrt(10)


def test_a_loss_at_two_of_six_loads_of_single_runs_is_found_where_the_rest_agrees():
    found = [compared(LOST, 0.01, 1, seed) for seed in range(DRAWS)]
    assert np.mean([c.verdict == "slower" for c in found]) > 0.95
    where = [{c.load for c in one.loads if c.speed < 0} for one in found]
    assert np.mean([16.0 in loads for loads in where]) > 0.9
    assert np.mean([loads <= {8.0, 16.0} for loads in where]) > 0.95


def test_a_peak_lost_by_thirty_per_cent_is_always_found():
    found = [compared(LOST, 0.01, 3, seed) for seed in range(DRAWS)]
    assert {c.verdict for c in found} == {"slower"}
    assert all({c.load for c in one.loads if c.speed < 0} >= {8.0, 16.0} for one in found)


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("where", [slice(3, 4), slice(None)])
def test_a_loss_hidden_by_noise_is_never_called_none(repeats, where):
    less = HEALTHY.copy()
    less[where] *= 0.7
    assert all(compared(less, 0.2, repeats, seed).verdict != "same" for seed in range(DRAWS))


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_the_loss_that_would_have_been_seen_is_seen(noise):
    """Its power is nine in ten at the load where it is hardest to see."""
    seen = float(np.median([compared(HEALTHY, noise, 3, seed).detectable_pct or 100.0 for seed in range(50)]))
    less = HEALTHY.copy()
    less[2] *= 1 - seen / 100
    found = [compared(less, noise, 3, seed).loads[2].speed < 0 for seed in range(DRAWS)]
    assert np.mean(found) > 0.8


@pytest.mark.parametrize(("noise", "repeats"), [(0.001, 3), (0.01, 5)])
def test_quiet_sweeps_of_one_device_are_the_same(noise, repeats):
    found = [compared(HEALTHY, noise, repeats, seed).verdict for seed in range(50)]
    assert found.count("same") > 40


@pytest.mark.parametrize(
    ("loss", "limit", "verdict"), [(0.2, 0.05, True), (0.0, 0.05, False), (0.05, 0.05, None), (0.2, 0.5, False)]
)
def test_a_check_fails_passes_or_cannot_be_decided(loss, limit, verdict):
    assert compared(HEALTHY * (1 - loss), 0.005, 3, 4).slower_by(limit) is verdict


def test_doubts_of_the_audit_widen_the_intervals():
    sweeps = [drawn(HEALTHY, 0.01, 3, seed) for seed in (1, 2)]
    doubt = Finding("unsteady", "warning", "runs were not steady")
    plain, doubted = (
        changed("r", Depth(), LOADS_OF_J1, *sweeps, findings)  # type: ignore[arg-type]
        for findings in ((), (doubt,))
    )
    assert doubted.findings == (doubt,)
    assert all(d.ratio.low_pct < p.ratio.low_pct for d, p in zip(doubted.loads, plain.loads, strict=True))


def test_idle_latency_and_the_greatest_throughput_are_compared():
    found = change(sweep(HEALTHY, 1e-4), sweep(LOST, 1e-4, seed=2))
    assert found.idle_latency.load == 1
    assert found.idle_latency.ratio.change_pct == pytest.approx(0, abs=0.1)
    assert (found.peak.old, found.peak.new) == pytest.approx((640, 560), rel=1e-3)
    assert found.to_frame()["load"].tolist() == LOADS_OF_J1.tolist()
    assert found.plot().data
    document = found.to_dict()
    assert document["verdict"] == "slower"
    assert "e+0" not in repr(change(sweep(HEALTHY), sweep(4 * HEALTHY)))  # faster by 300 %
    assert document["loads"][3]["change_pct"] == pytest.approx(-29.7, abs=0.5)


def test_an_open_sweep_is_judged_by_its_response_times_at_the_rates_asked_for():
    def arrivals(seed: int, slower: float) -> Sweep:
        random = np.random.default_rng(seed)
        rates = np.tile([1000.0, 2000, 4000, 8000], 3)
        reached = rates * np.exp(0.003 * random.standard_normal(12))
        times = slower * 1e-4 / (1 - rates / 1e4) * np.exp(0.01 * random.standard_normal(12))
        table = {"series": "r", "load": reached, "throughput_per_s": reached, "latency_s": times}
        return Sweep(pd.DataFrame(table).assign(asked_rate_per_s=rates), load_type=ArrivalRate())

    found = change(arrivals(1, 1.0), arrivals(2, 1.3))
    assert [c.load for c in found.loads] == [1000, 2000, 4000, 8000]
    assert {c.quantity for c in found.loads} == {"response time"}
    assert found.verdict == "slower"
    assert found.overall.change_pct == pytest.approx(-23, abs=1)


def test_one_run_at_two_loads_is_undecided_and_says_what_to_do():
    few = [Sweep(sweep(HEALTHY, repeats=1, seed=k).points.iloc[:2], load_type=Clients()) for k in (1, 2)]
    found = change(*few)
    assert found.verdict == "undecided"
    assert found.detectable_pct is None
    assert "--repeats 3" in repr(found)


def test_what_cannot_be_compared_is_refused_in_a_line():
    whole = sweep(HEALTHY)
    low, high = (Sweep(whole.points[at], load_type=Clients()) for at in (whole.points.load < 8, whole.points.load > 8))
    with pytest.raises(DataError, match="have no common load"):
        change(low, high)


def of_origin(rates: np.ndarray, **origins: list[str] | str) -> Sweep:
    """A run of these rates, whose figures have these origins."""
    points = points_at(LOADS_OF_J1, rates).assign(**origins)
    return Sweep(points, load_type=Clients())


def test_where_the_throughput_was_computed_response_times_alone_are_compared_and_said() -> None:
    by_law = {"throughput_origin": "computed: N / R"}
    found = change(of_origin(HEALTHY, **by_law), of_origin(LOST, **by_law))
    assert {c.quantity for c in found.loads} == {"response time"}
    assert found.verdict == change(of_origin(HEALTHY), of_origin(LOST)).verdict
    assert found.overall.change_pct == pytest.approx(change(of_origin(HEALTHY), of_origin(LOST)).overall.change_pct)
    assert found.basis == "response times alone are compared: the throughput was computed"
    assert found.computed == {"throughput": "N / R"}
    text = repr(found) + load_table(found)
    assert f"NOTE    {found.basis}" in text
    assert "640 /s =" in text
    assert text.splitlines()[-1] == "=  computed, not measured: throughput (N / R)"


def test_loads_that_were_not_measured_in_both_are_left_out_and_said() -> None:
    origins = ["computed: N / R", *["measured"] * 5]
    found = change(of_origin(HEALTHY, throughput_origin=origins), of_origin(HEALTHY, latency_origin="computed: N / X"))
    assert [c.load for c in found.loads] == LOADS_OF_J1[1:].tolist()
    assert found.basis == "1 client left out: not measured in both"
    assert "latency at 4 clients" in load_table(found)


def test_what_was_measured_as_usual_says_nothing_of_it() -> None:
    found = change(of_origin(HEALTHY), of_origin(HEALTHY))
    assert (found.basis, found.computed) == ("", {})


def test_of_a_rate_in_one_and_a_time_in_the_other_nothing_can_be_decided() -> None:
    with pytest.raises(NotMeasuredError, match="of one sweep the throughput was computed, of the other the response"):
        change(
            of_origin(HEALTHY, throughput_origin="computed: N / R"),
            of_origin(HEALTHY, latency_origin="computed: N / X"),
        )
