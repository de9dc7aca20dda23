"""A device is watched by one thread while somebody looks; the page says its law, or why there is nothing to see."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrate.lab.watch import watched_devices
from calibrate.lab.watch.watched_devices import LookedAt, WatchedDevices
from measure.errors import MeasureError
from measure.formats.watched.interval import DeviceInterval
from measure.watching.watch import Lost

SECOND = DeviceInterval("vda", "", 1.0, reads=1000, read_s=4.0, busy_s=0.9, in_flight=3.9)


class Looking:
    """A watch whose seconds the test lets pass."""

    def __init__(self) -> None:
        self.begun, self.gone = 0, False
        self.steps, self.taken = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, devices: list[str]) -> Iterator[list[DeviceInterval | Lost]]:
        self.begun += 1
        while not self.gone:
            self.steps.acquire()
            yield [SECOND]
            self.taken.release()

    def step(self) -> None:
        self.steps.release()
        assert self.taken.acquire(timeout=60)


def ended(found: LookedAt) -> bool:
    waiting = threading.Event()
    return any(found.ended or waiting.wait(0.01) for _ in range(6000))


def test_many_who_look_share_one_watch() -> None:
    looking = Looking()
    watched = WatchedDevices(looking)
    first = watched.of("vda")
    looking.step()
    looking.step()
    assert watched.of("vda") is first
    assert list(first.seen) == [SECOND, SECOND]
    assert looking.begun == 1
    looking.gone = True
    looking.steps.release()


def test_a_watch_that_nobody_looks_at_ends_and_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_devices, "FORGOTTEN_S", 0.0)
    looking = Looking()
    watched = WatchedDevices(looking)
    first = watched.of("vda")
    looking.steps.release()
    assert ended(first)
    second = watched.of("vda")
    assert second is not first
    looking.steps.release()
    assert ended(second)
    assert looking.begun == 2


def test_a_system_that_counts_nothing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measure.watching.counters.DISKSTATS", tmp_path / "none")
    with pytest.raises(MeasureError, match="only Linux counts"):
        WatchedDevices().names()
