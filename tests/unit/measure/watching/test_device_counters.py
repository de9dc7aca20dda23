"""The block layer's counters beside a run: which looks are the run's, and which device is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.watching.counters import Counters
from measure.watching.device_counters import (
    COLUMNS,
    began,
    counted_device,
    counting,
    last_running,
    noted_device,
    rate_since,
)


def looks(idle: int, running: int, after: int, each_s: float = 0.02) -> list[tuple[float, Counters]]:
    """A ramp of slow reads, a run of 1000 a second at 4 ms, and what comes after it: a background read a look."""
    seen, reads = [], 0
    for i in range(idle + running + after):
        reads += 20 if idle <= i < idle + running else 1
        seen.append((i * each_s, Counters(reads, 8 * reads, 4 * reads, 7 * i, 56 * i, 70 * i, 4, 20 * i)))
    return seen


def test_the_window_is_the_end_of_the_run_and_not_what_comes_after_it() -> None:
    found = last_running("vda", looks(50, 50, 10), 0.9, reads=True, writes=False)
    assert found is not None
    assert 0.8 < found.seconds < 0.9
    assert found.throughput_per_s - found.writes / found.seconds == pytest.approx(1000)
    assert found.read_s / found.reads == pytest.approx(4e-3)
    assert found.in_flight == 4


@pytest.mark.parametrize(
    ("seen", "seconds"), [([], 1.0), (looks(0, 3, 0), 1.0), (looks(0, 50, 0), 0.01), ([*looks(0, 9, 0)[:1]] * 9, 1.0)]
)
def test_a_run_that_was_hardly_seen_tells_nothing(seen: list[tuple[float, Counters]], seconds: float) -> None:
    assert last_running("vda", seen, seconds, reads=True, writes=False) is None


def test_reads_alone_stand_beside_a_run_that_reads() -> None:
    found = last_running("vda", looks(0, 50, 0), 0.9, reads=True, writes=False)
    assert found is not None
    record = {"block_layer": found.to_dict()}
    reading, mixed, writing = (noted_device(record, share) for share in (1.0, 0.7, 0.0))
    assert reading == pytest.approx(dict(zip(COLUMNS, (1000, 4e-3, 4.0), strict=True)))
    assert mixed[COLUMNS[0]] == pytest.approx(1350)
    assert writing[COLUMNS[1]] == pytest.approx(10e-3)
    assert noted_device({}, 1.0) == {}


def test_no_device_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nbd" in counted_device(None)[1]
    name, why = counted_device(Path("/proc/self"))
    assert not name
    assert "no block device" in why
    monkeypatch.setattr("measure.watching.counters.DISKSTATS", tmp_path / "none")
    name, why = counted_device(tmp_path)
    assert not name
    assert why


def test_a_device_is_looked_at_again_and_again() -> None:
    seen = iter(looks(0, 10**4, 0))
    counted = 0

    def look() -> dict[str, Counters]:
        nonlocal counted
        counted += 1
        return {"vda": next(seen)[1]}

    with counting("vda", look) as noted:
        while counted < 9:
            pass
    found = last_running("vda", noted, 1e9, reads=True, writes=False)
    assert found is not None
    assert found.read_s / found.reads == pytest.approx(4e-3)


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
