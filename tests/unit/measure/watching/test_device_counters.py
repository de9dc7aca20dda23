"""The block layer's counters beside a run: which looks are the run's, and which device is looked at."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from measure.watching import Counters, began, counted_device, counting, rate_since


def looks(idle: int, running: int, after: int, each_s: float = 0.02) -> list[tuple[float, Counters]]:
    """A ramp of slow reads, a run of 1000 a second at 4 ms, and what comes after it: a background read a look."""
    seen, reads = [], 0
    for i in range(idle + running + after):
        reads += 20 if idle <= i < idle + running else 1
        seen.append((i * each_s, Counters(reads, 8 * reads, 4 * reads, 7 * i, 56 * i, 70 * i, 4, 20 * i)))
    return seen


def test_where_no_device_is_behind_a_path_none_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted_device(None) == counted_device(Path("/proc/self")) == ""
    monkeypatch.setattr("measure.watching.DISKSTATS", tmp_path / "none")
    assert counted_device(tmp_path) == ""


def test_a_device_is_looked_at_again_and_again() -> None:
    seen = enumerate(looks(0, 10**4, 0))
    enough = Event()

    def look() -> dict[str, Counters]:
        looked, (_, counters) = next(seen)
        if looked >= 8:
            enough.set()
        return {"vda": counters}

    with counting("vda", look) as noted:
        assert enough.wait(20)
    assert len(noted) >= 8
    assert began(noted) is not None


def test_the_rate_of_a_point_that_runs_is_previewed_from_its_ramp_on() -> None:
    seen = [(0.1 * step, Counters(100 * step, 0, 0, 10 * step, 0, 0, 0, 0)) for step in range(11)]
    assert rate_since(seen, 0.5) == pytest.approx(1100)
    assert rate_since(seen, 0.85) is None
    assert rate_since([], 0.0) is None


def test_a_tool_has_begun_when_the_device_is_at_work() -> None:
    idle = [(0.1 * step, Counters(7 + step, 0, 0, 0, 0, 0, 0, 0)) for step in range(8)]
    assert began(idle) is None
    assert began([*idle, (0.8, Counters(90, 0, 0, 0, 0, 0, 0, 0)), (0.9, Counters(300, 0, 0, 0, 0, 0, 0, 0))]) == 0.8
    assert began([]) is None
