"""What the page Watch says and draws."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

import threading
from collections.abc import Iterator

from calibrate import from_datasheet
from calibrate.lab import watch_page
from calibrate.lab.watch_page import QUIET, LookedAt, WatchedDevices, figures, layout, sentence, shown
from calibrate.lab.widgets import theme_of
from measure.formats.block_device_counts import DeviceInterval
from measure.watching import Lost

BUSY = DeviceInterval("vda", "", 1.0, reads=1000, read_s=4.0, busy_s=0.9, in_flight=3.9)
IDLE = DeviceInterval("vda", "", 1.0)


def test_the_sentence_is_littles_law_in_numbers() -> None:
    known = from_datasheet(idle_latency=1e-3, peak_iops=4e3)
    assert sentence([IDLE] + [BUSY] * 10, known).startswith(
        "vda: 1.00 k/s × 4.00 ms = 4 outstanding by Little's law, and 3.9 were seen in the device, in the last 10 s "
        "(25 % of the peak"
    )
    assert sentence([BUSY] + [IDLE] * 10) == QUIET
    assert "not over yet" in sentence([])


def test_both_sides_are_drawn_over_the_seconds_ago() -> None:
    little, throughput, response = figures([IDLE, BUSY, BUSY], theme_of("dark"))
    assert [list(t["x"]) for t in little["data"]] == [[-2, -1, 0]] * 2
    assert list(little["data"][0]["y"]) == [0, 4, 4]
    assert list(throughput["data"][0]["y"]) == [0, 1, 1]
    assert math.isnan(response["data"][0]["y"][0])
    assert all(not figure["data"][0]["x"] for figure in figures([], theme_of("")))


def test_without_counters_a_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measure.watching.DISKSTATS", tmp_path / "none")
    page = str(layout(WatchedDevices()))
    assert "only Linux counts what its devices do" in page
    assert "watch-little" not in page


def test_a_device_that_there_is_not_is_not_watched() -> None:
    class Two(WatchedDevices):
        def names(self) -> list[str]:
            return ["vda"]

    assert shown(Two(), "../etc", theme_of(""))[0] == "Choose a device."


class Looking:
    """A watch whose seconds the test lets pass."""

    def __init__(self) -> None:
        self.begun, self.gone = 0, False
        self.steps, self.taken = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, devices: list[str]) -> Iterator[list[DeviceInterval | Lost]]:
        self.begun += 1
        while not self.gone:
            self.steps.acquire()
            yield [BUSY]
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
    assert list(first.seen) == [BUSY, BUSY]
    assert looking.begun == 1
    looking.gone = True
    looking.steps.release()


def test_a_watch_that_nobody_looks_at_ends_and_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_page, "FORGOTTEN_S", 0.0)
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
