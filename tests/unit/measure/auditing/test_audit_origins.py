"""A law never proves itself: checks rest on measured figures, and say what they could not check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from measure import Sweep, audit, load_dataset
from measure.auditing.all_checks import not_checked

LOAD = np.array([1.0, 2, 4, 8, 16])
RATE = np.array([1e4, 2e4, 4e4, 6e4, 4e4])


def swept(**columns: object) -> Sweep:
    """Five depths past a peak, which obey N = X R."""
    return Sweep(
        pd.DataFrame({"series": "a", "load": LOAD, "throughput_per_s": RATE, "latency_s": LOAD / RATE, **columns})
    )


def said(sweep: Sweep) -> dict[str, list[str]]:
    """The messages of the audit by check."""
    found: dict[str, list[str]] = {}
    for finding in audit(sweep):
        found.setdefault(finding.check, []).append(finding.message)
    return found


def test_the_law_holds_where_all_three_were_measured() -> None:
    assert "N = X R holds at 5 points of 1 curve" in said(swept())["littles-law"][0]


@pytest.mark.parametrize(
    ("origin", "says"),
    [
        ({"latency_origin": "computed: N / X"}, "the latency was computed (N / X)"),
        ({"throughput_origin": "computed: N / R"}, "the throughput was computed (N / R)"),
        ({"load_origin": "computed: X R"}, "the load was computed (X R)"),
        ({"load_origin": "assumed: one at a time"}, "the load was assumed (one at a time)"),
        ({"latency_origin": "corrected: a unit, by N = X R"}, "the latency was corrected (a unit, by N = X R)"),
    ],
)
def test_a_figure_of_the_law_does_not_show_that_it_holds(origin: dict[str, str], says: str) -> None:
    (message,) = said(swept(**origin))["littles-law"]
    assert says in message
    assert "cannot be checked at depths 1, 2, 4, 8, 16" in message
    assert f"Little's law ({says.split()[1]} {says.split()[3]} at 5 of 5 points)" in not_checked(swept(**origin))


def test_a_throughput_of_bandwidth_and_block_can_check_the_law() -> None:
    assert "holds at 5 points" in said(swept(throughput_origin="computed: bandwidth / block"))["littles-law"][0]


def test_only_the_points_that_were_computed_are_left_out() -> None:
    origin = np.where(LOAD > 2, "computed: N / X", "measured")
    holds, open_points = sorted(said(swept(latency_origin=origin))["littles-law"], key=len, reverse=True)
    assert "holds at 2 points" in holds
    assert "cannot be checked at depths 4, 8, 16" in open_points


@pytest.mark.parametrize(("origin", "seen"), [("measured", True), ("computed: N / R", False)])
def test_a_computed_throughput_has_no_course_and_no_outlier(origin: str, seen: bool) -> None:
    spike = np.array([10e3, 18e3, 30e3, 300e3, 40e3])
    for check, rates in (("past-the-peak", RATE), ("outlier", spike)):
        found = said(swept(throughput_origin=origin, throughput_per_s=rates, latency_s=LOAD / rates))
        assert (check in found) == seen
        assert any("the course of the throughput cannot be checked" in m for m in found["littles-law"]) != seen


def test_a_corrected_dataset_does_not_say_that_the_law_holds() -> None:
    """It was made to hold at 23 of 36 points; as published it is broken there, and the audit of that says so."""
    corrected, printed = (said(load_dataset("001-ssd", as_published=p)) for p in (False, True))
    assert not any("holds" in message for message in corrected["littles-law"])
    assert any("cannot be checked at depths 8, 64, 256" in message for message in corrected["littles-law"])
    assert any("0.334" in message for message in printed["littles-law"])


def test_a_run_that_was_copied_is_no_repeat() -> None:
    points = swept().points
    twice = Sweep(pd.concat([points.assign(repeat=0), points.assign(repeat=1)], ignore_index=True))
    (message,) = said(twice)["copies"]
    assert message == "every point is there 2 times, equal to the last digit."
    measured_again = points.assign(throughput_per_s=RATE * (1 + 1e-9), repeat=1)
    assert "copies" not in said(replace(twice, points=pd.concat([points, measured_again], ignore_index=True)))


def test_a_run_that_was_copied_under_another_name_is_found() -> None:
    points = swept().points
    other = Sweep(pd.concat([points, points.assign(series="b")], ignore_index=True))
    assert said(other)["copies"] == ["every point equals that of a, to the last digit."]


def test_the_outlier_is_the_point_without_which_the_curve_is_smooth() -> None:
    """Depth 16 is five times too fast (a cache): depth 8 is not too slow."""
    load = np.array([1.0, 2, 4, 8, 16, 32, 64])
    rate = np.array([10000, 19900, 39000, 66000, 390000, 80000, 80500])
    table = {"series": "a", "load": load, "throughput_per_s": rate, "latency_s": load / rate}
    curve = Sweep(pd.DataFrame(table))
    found = [f for f in audit(curve) if f.check == "outlier"]
    assert [f.load for f in found] == [16]
    assert {"drift", "latency-falls", "past-the-peak"}.isdisjoint(said(curve))


def test_a_latency_that_falls_with_the_load_is_remarked_on() -> None:
    latency = np.array([100e-6, 100e-6, 40e-6, 100e-6, 200e-6])
    (message,) = said(swept(latency_s=latency, throughput_per_s=LOAD / latency))["latency-falls"]
    assert message == "the latency falls from 100 µs at depth 2 to 40.0 µs at depth 4 (-60 %)."


def test_shallow_depths_that_a_cache_answered_are_remarked_on() -> None:
    latency = np.array([2e-6, 2e-6, 100e-6, 200e-6, 400e-6])
    (drift,) = (f for f in audit(swept(latency_s=latency, throughput_per_s=LOAD / latency)) if f.check == "drift")
    assert "falls from 1.00 M/s at depth 2 to 40.0 k/s at depth 4" in drift.message
    assert "a cache answered the shallower depths" in drift.hypothesis
