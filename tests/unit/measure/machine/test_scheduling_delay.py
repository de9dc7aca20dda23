"""How late a sleeping program wakes, beside a run: measured, kept with the point, told where it matters."""

from __future__ import annotations

import time

import pandas as pd
import pytest

from measure import Sweep, audit
from measure.auditing.runs import check_wakeups
from measure.machine.scheduling_delay import NAP_S, NOTE, Lateness, Wakeups, noted_lateness


def table(late_s: list[float]) -> Sweep:
    rows = {
        "series": "d",
        "load": [1.0, 4.0],
        "throughput_per_s": [500.0, 1000.0],
        "latency_s": [2e-3, 4e-3],
        "wakeup_late_s": late_s,
    }
    return Sweep(pd.DataFrame(rows))


def test_it_sleeps_while_the_block_runs_and_no_longer() -> None:
    with Wakeups() as woken:
        give_up = time.monotonic() + 60
        while len(woken._late) < 3 and time.monotonic() < give_up:
            time.sleep(NAP_S)
    found = woken.lateness()
    assert found is not None
    assert found.wakeups >= 3
    assert 0 <= found.mean_s <= found.p99_s * found.wakeups
    assert not woken._thread.is_alive()


def test_a_late_waking_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, NAP_S + 1e-5, 1.0, 1.0 + NAP_S + 1e-5 + 3e-3])
    woken = Wakeups()
    monkeypatch.setattr("measure.machine.scheduling_delay.time.sleep", lambda _: None)
    monkeypatch.setattr("measure.machine.scheduling_delay.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr(woken, "_over", type("Twice", (), {"is_set": lambda _: len(woken._late) == 2})())
    woken._sleep()
    found = woken.lateness()
    assert found is not None
    assert found.mean_s == pytest.approx(1.5e-3)
    assert Wakeups().lateness() is None


def test_a_record_gives_the_column_back() -> None:
    late = Lateness(400, 2e-4, 3e-3)
    assert noted_lateness({NOTE: late.to_dict()}) == {"wakeup_late_s": 2e-4}
    assert noted_lateness({}) == {}
    with pytest.raises(KeyError):
        noted_lateness({NOTE: {"wakeups": 3}})


def test_a_busy_machine_is_a_finding() -> None:
    (found,) = check_wakeups(table([3e-4, 3e-4]))
    assert (found.check, found.severity, found.load) == ("busy-machine", "warning", 1.0)
    assert "at 1 of 2 runs" in found.message
    assert "300 µs (mean) against 2.00 ms" in found.message
    assert found in audit(table([3e-4, 3e-4]))
    assert not list(check_wakeups(table([1e-4, 3e-4])))
