"""How late a sleeping program wakes, beside a run: measured, kept with the point, told where it matters."""

from __future__ import annotations

import time

import pytest
from made_up import points_at

from measure import Sweep, audit
from measure.auditing.all_checks import check_wakeups
from measure.machine.scheduling_delay import NAP_S, NOTE, lateness_notes, noted_lateness, sampled_wakeups


def table(late_s: list[float]) -> Sweep:
    return Sweep(points_at([1, 4], [500, 1000], wakeup_late_s=late_s))


def test_it_naps_while_the_block_runs_and_no_longer() -> None:
    with sampled_wakeups() as late:
        give_up = time.monotonic() + 60
        while len(late) < 3 and time.monotonic() < give_up:
            time.sleep(NAP_S)
    naps = len(late)
    time.sleep(3 * NAP_S)
    assert len(late) == naps >= 3
    assert lateness_notes(late)[NOTE]["mean_s"] >= 0


def test_late_naps_are_held_against_the_earliest_and_a_record_gives_the_column_back() -> None:
    notes = lateness_notes([1e-5, 1e-5 + 3e-3])
    assert notes[NOTE]["mean_s"] == pytest.approx(1.5e-3)
    assert noted_lateness(notes) == {"wakeup_late_s": pytest.approx(1.5e-3)}
    assert lateness_notes([]) == noted_lateness({}) == {}
    with pytest.raises(KeyError):
        noted_lateness({NOTE: {"wakeups": 3}})


def test_a_busy_machine_is_a_finding() -> None:
    (found,) = check_wakeups(table([4e-4, 6e-4]))
    assert (found.check, found.severity, found.load) == ("busy-machine", "warning", 1.0)
    assert "at 2 of 2 runs" in found.message
    assert "400 µs (mean) against 2.00 ms" in found.message
    assert found in audit(table([4e-4, 6e-4]))
    assert not list(check_wakeups(table([2e-4, 4e-4])))
