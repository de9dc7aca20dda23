"""Whether a device changed: seldom a false alarm, few losses missed, and the power that is stated."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import open_sweep, points_at
from places import TESTS

from calibrate import change
from calibrate.changes.change import Change, NotMeasuredError, Runs, changed
from calibrate.changes.change_answer import headline, load_table
from calibrate.changes.noise import percent_of
from measure import load
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import ArrivalRate, Clients, Depth, InjectedDelay
from measure.sweep import Sweep

LOADS_OF_J1 = np.array([1.0, 4, 8, 16, 32, 64])
HEALTHY = np.array([100.0, 380, 600, 640, 560, 420])
LOST = np.array([100.0, 380, 450, 450, 560, 420])
DRAWS = 120


def drawn(
    rates: np.ndarray, noise: float, repeats: int, seed: int, rounds: float = 0.0, whole: float = 0.0, each: float = 0.0
) -> Runs:
    """Runs of a sweep whose rounds vary as such, which is itself another as a ``whole``, and at ``each`` load."""
    random = np.random.default_rng(seed)
    away = noise * random.standard_normal((repeats, len(rates))) + rounds * random.standard_normal((repeats, 1))
    away = away + whole * random.standard_normal() + each * random.standard_normal(len(rates))
    throughput = rates * np.exp(away)
    return {"throughput": throughput, "response time": LOADS_OF_J1 / throughput}


def compared(
    new: np.ndarray, noise: float, repeats: int, seed: int, *, olds: int = 1, inject: bool = False, **moved: float
) -> Change:
    """The change to ``new`` from some sweeps of the healthy device."""
    old = [drawn(HEALTHY, noise, repeats, 1000 * k + seed, **moved) for k in range(olds)]
    return changed("r", Depth(), LOADS_OF_J1, old, drawn(new, noise, repeats, 999_000 + seed, **moved), inject=inject)


def alarms(noise: float, repeats: int, **more: Any) -> int:
    found = [compared(HEALTHY, noise, repeats, seed, **more).verdict for seed in range(DRAWS)]
    return sum(verdict in ("slower", "faster") for verdict in found)


FEW_ALARMS = 6 + 2.3 * np.sqrt(6)
"""5 % of the draws, at 99 %."""


def sweep(rates: np.ndarray, noise: float = 0.01, repeats: int = 3, seed: int = 1, **more: object) -> Sweep:
    throughput = drawn(rates, noise, repeats, seed)["throughput"]
    tables = [points_at(LOADS_OF_J1, x, repeat=k, **more) for k, x in enumerate(throughput)]
    return Sweep(pd.concat(tables, ignore_index=True), load_type=Clients())


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("noise", [0.01, 0.2])
@pytest.mark.parametrize("moved", [{"whole": 0.03}, {"each": 0.03}, {"whole": 0.02}])
def test_sweeps_of_one_device_are_called_changed_at_most_one_time_in_twenty(
    noise: float, repeats: int, moved: dict[str, float]
) -> None:
    assert alarms(noise, repeats, **moved) <= FEW_ALARMS


@pytest.mark.parametrize(("olds", "repeats"), [(2, 3), (3, 1), (5, 3)])
@pytest.mark.parametrize("moved", [{"whole": 0.03}, {"each": 0.03}])
def test_more_sweeps_of_the_old_state_give_no_more_alarms(olds: int, repeats: int, moved: dict[str, float]) -> None:
    assert alarms(0.02, repeats, olds=olds, **moved) <= FEW_ALARMS


def test_a_device_that_moves_more_than_assumed_is_known_by_its_old_sweeps() -> None:
    assert alarms(0.01, 3, whole=0.1) > DRAWS / 4
    assert alarms(0.01, 3, whole=0.1, olds=6) <= 2 * FEW_ALARMS


def test_rounds_that_are_slow_as_a_whole_give_no_alarm() -> None:
    assert alarms(0.01, 3, rounds=0.1) <= FEW_ALARMS


@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_a_quarter_lost_is_found_nine_times_in_ten_where_sweeps_vary_by_three_per_cent(repeats: int) -> None:
    less = HEALTHY * np.where(LOADS_OF_J1 == 16, 0.75, 1.0)
    found = [compared(less, 0.01, repeats, seed, whole=0.03).loads[3].speed < 0 for seed in range(DRAWS)]
    assert np.mean(found) > 0.9


def test_old_sweeps_that_agree_show_smaller_losses() -> None:
    found = [compared(HEALTHY, 0.003, 3, 1, olds=olds, inject=True, whole=0.003) for olds in (1, 2, 4, 8, 12)]
    seen = [one.detectable_pct or 100 for one in found]
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == pytest.approx(16, abs=1.5)
    assert seen[-1] < 5
    assert [one.next is None for one in found] == [False, False, False, True, True]
    assert found[0].between_pct == pytest.approx(3)
    assert found[-1].between_pct < 1.2


def test_what_to_measure_next_does_show_a_loss_of_five_per_cent() -> None:
    plan = compared(HEALTHY, 0.003, 3, 1, olds=3, inject=True, whole=0.003).next
    assert plan is not None
    assert (plan.shows_pct or 100) <= 5
    done = compared(HEALTHY, 0.003, plan.repeats, 1, olds=3 + plan.old_sweeps, inject=True, whole=0.003)
    assert done.detectable_pct is not None
    assert 3.5 < done.detectable_pct < 5


def test_a_jittery_load_blinds_no_other() -> None:
    quiet, jittery = (drawn(HEALTHY, 0.01, 3, seed) for seed in (1, 2))
    for runs in (quiet, jittery):
        runs["throughput"][:, 0] *= np.exp([0.5, -0.5, 0.1])
    plain = compared(HEALTHY, 0.01, 3, 1, inject=True).loads
    found = changed("r", Depth(), LOADS_OF_J1, [quiet], jittery).loads
    assert found[0].ratio.high_pct is None or found[0].ratio.high_pct > 50
    for here, there in zip(found[1:], plain[1:], strict=True):
        assert (here.detectable_pct or 100) < 1.25 * (there.detectable_pct or 100)


def test_a_loss_at_two_of_six_loads_of_single_runs_is_found_where_the_rest_agrees():
    found = [compared(LOST, 0.01, 1, seed) for seed in range(DRAWS)]
    assert np.mean([c.verdict == "slower" for c in found]) > 0.95
    where = [{c.load for c in one.loads if c.speed < 0} for one in found]
    assert np.mean([16.0 in loads for loads in where]) > 0.9
    assert np.mean([loads <= {8.0, 16.0} for loads in where]) > 0.95


def test_a_peak_lost_by_thirty_per_cent_is_always_found():
    found = [compared(LOST, 0.01, 3, seed) for seed in range(50)]
    assert {c.verdict for c in found} == {"slower"}
    assert all({c.load for c in one.loads if c.speed < 0} >= {8.0, 16.0} for one in found)


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("where", [slice(3, 4), slice(None)])
def test_a_loss_hidden_by_noise_is_never_called_none(repeats, where):
    less = HEALTHY.copy()
    less[where] *= 0.7
    assert all(compared(less, 0.2, repeats, seed).verdict != "same" for seed in range(50))


@pytest.mark.parametrize(("noise", "repeats"), [(0.01, 3), (0.1, 3), (0.01, 1), (0.05, 1)])
def test_the_loss_that_would_have_been_seen_is_seen_nine_times_in_ten(noise: float, repeats: int) -> None:
    """By what each pair says of itself, and another pair of the same devices with that loss."""
    found = []
    for seed in range(DRAWS):
        seen = compared(HEALTHY, noise, repeats, seed, inject=True, whole=0.03).loads[2].detectable_pct or 99.0
        less = HEALTHY * np.where(LOADS_OF_J1 == 8, 1 - seen / 100, 1.0)
        found.append(compared(less, noise, repeats, seed + DRAWS, whole=0.03).loads[2].speed < 0)
    assert 0.83 < np.mean(found) < 0.985


def test_quiet_sweeps_of_one_device_are_the_same_where_its_old_sweeps_agree() -> None:
    assert {compared(HEALTHY, 0.003, 3, seed).verdict for seed in range(20)} == {"undecided"}
    found = [compared(HEALTHY, 0.003, 3, seed, olds=10).verdict for seed in range(20)]
    assert found.count("same") >= 18


@pytest.mark.parametrize(
    ("loss", "limit", "verdict"), [(0.3, 0.05, True), (0.0, 0.2, False), (0.05, 0.05, None), (0.3, 0.6, False)]
)
def test_a_check_fails_passes_or_cannot_be_decided(loss, limit, verdict):
    assert compared(HEALTHY * (1 - loss), 0.005, 3, 4).slower_by(limit) is verdict


def test_doubts_of_the_audit_widen_the_intervals():
    sweeps = [drawn(HEALTHY, 0.01, 3, seed) for seed in (1, 2)]
    doubt = Finding("unsteady", "warning", "runs were not steady")
    plain, doubted = (
        changed("r", Depth(), LOADS_OF_J1, sweeps[:1], sweeps[1], findings) for findings in ((), (doubt,))
    )
    assert doubted.findings == (doubt,)
    assert all(d.ratio.low_pct < p.ratio.low_pct for d, p in zip(doubted.loads, plain.loads, strict=True))


def test_a_doubt_about_one_load_widens_no_other() -> None:
    sweeps = [drawn(HEALTHY, 0.05, 3, seed) for seed in (1, 2)]
    doubt = Finding("outlier", "warning", "a run lies apart", load=16.0)
    plain, doubted = (
        changed("r", Depth(), LOADS_OF_J1, sweeps[:1], sweeps[1], findings).loads for findings in ((), (doubt,))
    )
    assert [d.ratio.low_pct < p.ratio.low_pct for d, p in zip(doubted, plain, strict=True)] == [
        load == 16 for load in LOADS_OF_J1
    ]


def table(name: str) -> Sweep:
    return load(TESTS / "data" / "change" / f"{name}.csv")


def test_a_few_per_cent_between_two_sweeps_are_no_change_whatever_their_repeats_say() -> None:
    """Three steady repeats each of one device, 4 % apart as a whole."""
    found = change(table("sha2"), table("shb2"))
    assert found.verdict == "undecided"
    assert found.detectable_pct == pytest.approx(16, abs=2)
    assert found.next is not None


@pytest.mark.parametrize("names", [("dupA", "dupB"), ("dup3A", "dup3B")])
def test_copies_of_rows_are_one_run(names: tuple[str, str]) -> None:
    found = change(*map(table, names))
    assert found.verdict == "undecided"
    alone = change(table("dupA"), table("dupB"))
    assert [c.ratio for c in found.loads] == [c.ratio for c in alone.loads]
    assert found.detectable_pct == alone.detectable_pct


def test_copied_points_of_other_sources_are_one_run_too() -> None:
    points = points_at(LOADS_OF_J1, HEALTHY)
    copied = Sweep(pd.concat([points.assign(repeat=k) for k in range(3)], ignore_index=True), load_type=Depth())
    less = Sweep(points_at(LOADS_OF_J1, LOST), load_type=Depth())
    single = change(Sweep(points, load_type=Depth()), less)
    assert [c.ratio for c in change(copied, less).loads] == [c.ratio for c in single.loads]


def test_a_copy_of_an_old_sweep_says_nothing_of_the_variation() -> None:
    old, new = table("sha2"), table("shb2")
    found = change([old, old], new)
    alone = [c.ratio.low_pct for c in change(old, new).loads]
    assert [c.ratio.low_pct for c in found.loads] == pytest.approx(alone)
    assert found.basis == "1 old sweep left out as a copy of another"


def test_the_noise_of_shallow_depths_hides_no_loss_at_deep_ones() -> None:
    found = change(table("old"), table("new"))
    assert found.verdict == "slower"
    assert found.overall.change_pct == pytest.approx(-10, abs=0.5)
    deep = {c.load: c.detectable_pct or 100 for c in found.loads}
    assert deep[16] < 25
    assert deep[32] < 25
    assert found.loads[0].detectable_pct is None  # its repeats differ too much for any loss up to 99 %
    first, second, *_, last = repr(found).splitlines()
    assert last.endswith(" would show a loss of 5 % at a typical load")  # the noise of depth 1 needs far more
    assert "% (depth 32) to a factor of 23 (depth 1)" in first
    assert "at depths 16, 32 (up to 99 % or none elsewhere)" in second
    alone = change(table("old"), table("new"), at=[16, 32])
    assert alone.verdict == "slower"
    assert alone.basis.startswith("depths 1, 4 left out, as asked")
    shallow = replace(table("new"), points=table("new").points.query("load < 32"))
    assert change(table("old"), shallow).basis.startswith("depth 32 left out, as not in all sweeps")
    with pytest.raises(DataError, match="depth 5 was not measured in all sweeps"):
        change(table("old"), table("new"), at=[5])


def test_repeats_that_stand_together_count_as_one_run() -> None:
    rounds, together = sweep(HEALTHY, 0.05), sweep(LOST, 0.05, seed=2)
    sorted_rows = [Sweep(s.points.sort_values("load", kind="stable"), load_type=Clients()) for s in (rounds, together)]
    plain, adjacent = change(rounds, together), change(*sorted_rows)
    assert "count as one run" in adjacent.basis
    assert plain.basis == ""
    assert all(a.ratio.low_pct < p.ratio.low_pct for a, p in zip(adjacent.loads, plain.loads, strict=True))


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


def test_an_open_sweep_is_judged_by_the_speed_of_the_device_at_the_rates_asked_for():
    def arrivals(seed: int, slower: float) -> Sweep:
        random = np.random.default_rng(seed)
        rates = np.tile([1000.0, 2000, 4000, 8000], 3)
        reached = rates * np.exp(0.003 * random.standard_normal(12))
        times = slower * 1e-4 / (1 - slower * rates / 1e4) * np.exp(0.01 * random.standard_normal(12))
        table = {"series": "r", "load": reached, "throughput_per_s": reached, "latency_s": times}
        return Sweep(pd.DataFrame(table).assign(asked_rate_per_s=rates), load_type=ArrivalRate())

    found = change(arrivals(1, 1.0), arrivals(2, 1.15))
    assert [c.load for c in found.loads] == [1000, 2000, 4000, 8000]
    assert {c.quantity for c in found.loads} == {"speed"}
    assert found.verdict == "slower"
    assert found.overall.change_pct == pytest.approx(-13, abs=1)


def test_three_percent_near_the_peak_are_no_change_though_the_response_time_grows_by_half() -> None:
    def arrivals(service_s: float) -> Sweep:
        rates = np.array([10.0, 30, 50, 70, 80, 92])
        return open_sweep(rates, service_s / (1 - rates * service_s))

    found = change(arrivals(0.0100), arrivals(0.0103))
    last = found.loads[-1]
    assert last.new / last.old == pytest.approx(0.0103 / (1 - 92 * 0.0103) / (0.01 / 0.08))  # 1.57 times
    assert [c.ratio.change_pct for c in found.loads] == pytest.approx([-3] * 6, abs=1)
    assert found.verdict == "undecided"


def test_a_new_sweep_with_far_more_outstanding_than_the_old_one_ever_had_is_named() -> None:
    old = open_sweep([10, 50, 80], [0.0111, 0.02, 0.05])  # four outstanding at 80 a second
    said = "at 80.0 /s the new sweep has more than 2 times the old one's most outstanding"
    assert said in change(old, open_sweep([10, 50, 80], [0.0111, 0.0205, 0.14])).basis
    assert "outstanding, and may" not in change(old, open_sweep([10, 50, 80], [0.0111, 0.0205, 0.09])).basis


def test_a_fifth_of_the_speed_lost_shows_as_that_to_users_who_think_at_every_number() -> None:
    def users(rates: list[float], times_s: list[float]) -> Sweep:
        return Sweep(points_at([10, 50, 100, 200], rates, times_s), load_type=Clients(think=1.0))

    old = users([9.8, 48.9, 49.9, 50.0], [0.0203, 0.0231, 1.003, 3.0])  # one server of 20 ms, then of 25 ms
    found = change(old, users([9.75, 39.6, 40.0, 40.0], [0.0255, 0.262, 1.5, 4.0]))
    assert [c.ratio.change_pct for c in found.loads] == pytest.approx([-20] * 4, abs=1)
    assert found.idle_latency.ratio == found.loads[0].ratio
    assert found.detectable_pct is not None
    assert found.detectable_pct < 40  # by throughputs 93


def test_a_memory_over_delays_is_judged_by_both_and_its_mean_change_is_that_of_the_throughput():
    def memory(share: float) -> Sweep:
        delays, rates = np.array([0.0, 100, 300, 1000]), share * np.array([9e8, 6e8, 3e8, 1e8])
        tables = [points_at(delays, rates * (1 + 1e-4 * k), 1e-7 / share**2, repeat=k) for k in range(3)]
        return Sweep(pd.concat(tables, ignore_index=True), load_type=InjectedDelay())

    found = change(memory(1.0), memory(0.8))
    assert {c.quantity for c in found.loads} == {"throughput", "response time"}
    assert found.verdict == "slower"
    assert found.overall.change_pct == pytest.approx(-20, abs=0.1)


def test_one_run_at_two_loads_is_undecided_and_says_what_to_do():
    few = [Sweep(sweep(HEALTHY, repeats=1, seed=k).points.iloc[:2], load_type=Clients()) for k in (1, 2)]
    found = change(*few)
    assert found.verdict == "undecided"
    assert found.detectable_pct is None
    assert found.next is not None
    assert "--repeats 3" in repr(found)
    assert headline(found) == "UNDECIDED: no change seen, but one of any size may be hidden"


def test_a_device_a_thousand_times_slower_is_told_without_powers_of_ten():
    found = change(sweep(HEALTHY), sweep(HEALTHY / 1000))
    assert headline(found).startswith("SLOWER by up to 100 % (100 to 100) at every load")
    assert found.next is None  # every load has surely changed
    assert "-0.0 %" not in repr(change(sweep(HEALTHY), sweep(HEALTHY)))


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


def test_loads_that_were_not_measured_in_all_sweeps_are_left_out_and_said() -> None:
    origins = ["computed: N / R", *["measured"] * 5]
    found = change(of_origin(HEALTHY, throughput_origin=origins), of_origin(HEALTHY, latency_origin="computed: N / X"))
    assert [c.load for c in found.loads] == LOADS_OF_J1[1:].tolist()
    assert found.basis == "1 client left out: not measured in all sweeps"
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


def test_a_loss_in_percent_is_that_of_its_logarithm() -> None:
    assert percent_of(math.log(2)) == pytest.approx(50)
    assert percent_of(math.inf) is None


def test_users_who_think_are_not_compared_with_others() -> None:
    plain = Sweep(points_at([1, 2, 4], [100.0, 200.0, 400.0]), load_type=Clients())
    thinking = Sweep(points_at([1, 2, 4], [0.99, 1.98, 3.95], 0.01), load_type=Clients(think=1.0))
    with pytest.raises(DataError, match=r"think times of 0 ns and 1\.00 s are different loads"):
        change(plain, thinking)
    assert change(thinking, Sweep(thinking.points, load_type=Clients(think=0.95))).loads


def test_a_memory_is_compared_by_its_bandwidth() -> None:
    memory = Sweep(points_at([0, 100], [20e9 / 64, 10e9 / 64], [200e-9, 100e-9]), load_type=InjectedDelay())
    text = load_table(change(memory, memory))
    assert "20.0 GB/s" in text
    assert "M/s" not in text
