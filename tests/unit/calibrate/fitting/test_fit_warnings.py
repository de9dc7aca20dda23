"""What the data say against a fit: points that it misses, rates that were not served, and errors of the audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_up import points_at

from calibrate import fit
from calibrate.fitting.calibrating import doubts_about
from calibrate.fitting.fit_answer import method_text
from measure import Sweep
from measure.auditing.curve_shape import check_submission
from measure.errors import DataError
from measure.findings import Finding, unreadable
from measure.loads import InjectedDelay

CHECK = "misses-its-points"
DEPTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def sweep(noise: float, repeats: int = 5, **columns: Any) -> Sweep:
    """A knee at 8, each depth repeated with throughputs evenly spread by the standard deviation ``noise``."""
    factors = 1 + noise * np.linspace(-1, 1, repeats) / np.std(np.linspace(-1, 1, repeats), ddof=1)
    rate = np.outer(factors, 1e4 * np.minimum(DEPTHS, 8)).ravel()
    made = points_at(np.tile(DEPTHS, repeats), rate, series="reads", repeat=np.repeat(range(repeats), len(DEPTHS)))
    return Sweep(made.assign(**columns))


def test_a_model_that_cannot_look_like_the_device_is_told() -> None:
    quiet = sweep(0.002)
    (told,) = [
        f for f in doubts_about(fit(quiet, DEPTHS, model="Universal Scalability Law"), quiet) if f.check == CHECK
    ]
    assert "Universal Scalability Law misses the throughput" in told.message
    assert "qsim compare DATA" in told.remedy
    assert not [f for f in doubts_about(fit(quiet, DEPTHS), quiet) if f.check == CHECK]


def test_a_curve_is_not_said_to_go_through_points_that_it_misses() -> None:
    table = sweep(0.002, repeats=2).points
    slow = table.assign(throughput_per_s=table["throughput_per_s"] * np.where(table["load"] == 4, 0.4, 1.0))
    disturbed = fit(Sweep(slow.assign(latency_s=slow["load"] / slow["throughput_per_s"])))
    assert disturbed.is_far_off
    assert method_text(disturbed) == "a smooth curve from all 6 points"
    assert method_text(fit(Sweep(table))) == "a smooth curve through all 6 points"


def test_points_of_several_engines_are_one_point_each_and_the_audit_says_so() -> None:
    engines = ["io_uring", "psync"]
    table = points_at([32, 1], [8e4, 1e4], series=[f"reads {one}" for one in engines], engine=engines)
    both = Sweep(table.assign(block_bytes=4096.0, read_fraction=1.0))
    assert any("1 point (depth 1)" in note for note in fit(both, series="reads psync").notes)
    (found,) = check_submission(both)
    assert "in 2 ways" in found.message
    assert "measure all depths in one way: qsim measure fio" in found.remedy


def test_points_that_contradict_littles_law_are_told_with_the_fit() -> None:
    wrong = sweep(0.001, repeats=2)
    wrong = Sweep(points=wrong.points.assign(latency_s=1e3 * wrong.points["latency_s"]))
    told = doubts_about(fit(wrong, [1, 32]), wrong)
    assert [f.check for f in told] == ["littles-law"]
    assert told[0].severity == "error"


def test_a_sweep_that_ends_below_the_knee_is_told_with_the_fit() -> None:
    shallow = Sweep(points=sweep(0.001, repeats=2).points.query("load <= 8"))
    assert [f.check for f in doubts_about(fit(shallow, [1, 8]), shallow)] == ["no-saturated-point"]


def test_too_few_points_are_refused_with_the_command_that_gives_more() -> None:
    with pytest.raises(DataError, match=r"0 points .* needs 1; .* depths 1 and 32.*: qsim measure fio TARGET --depths"):
        fit(sweep(0.01), [])
    memory = Sweep(points_at([0, 100], 1e8, 1e-7), load_type=InjectedDelay(unit="ns"))
    with pytest.raises(DataError, match=r"needs 3; .* qsim measure memory --delays"):
        fit(memory)


def test_a_file_that_is_left_out_makes_nothing_of_the_others_doubtful() -> None:
    beside = replace(sweep(0.01), findings=(unreadable("a.json is cut off", "error"),))
    assert not fit(beside).contradicted
    wrong = replace(beside, findings=(Finding("labels", "error", "reads and writes are exchanged"),))
    assert fit(wrong).contradicted
