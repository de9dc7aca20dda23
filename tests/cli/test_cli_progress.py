"""What is said of a measurement that goes on, where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from numba.core import event

from calibrate.cli import progress
from calibrate.cli.progress import Bar, simulating


class Clock:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def measured(clock: Clock, seconds: int) -> None:
    """A measurement of ``seconds`` in ten points, told of each second."""
    with Bar("measuring", opening="10 points") as bar:
        for second in range(seconds + 1):
            clock.now = float(second)
            done = 10 * second // seconds
            bar.points(done, 10, float(seconds - second), f"depth {done}")


def test_a_line_tells_every_ten_seconds_what_is_done_and_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    measured(clock, 35)
    assert capsys.readouterr().err.splitlines() == [
        "10 points",
        "measuring: 2/10 points, depth 2, 25 s left",
        "measuring: 5/10 points, depth 5, 15 s left",
        "measuring: 8/10 points, depth 8, 5.0 s left",
    ]


def test_what_is_short_says_nothing_more(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    measured(clock, 9)
    assert capsys.readouterr().err == "10 points\n"


def test_hours_are_told_in_some_sixty_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    measured(clock, 4 * 3600)
    assert 30 <= len(capsys.readouterr().err.splitlines()) <= 70


def test_a_simulation_says_once_in_a_terminal_that_its_engine_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {}
    for terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda known=terminal: known)
        with simulating(), event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            pass
        said[terminal] = capsys.readouterr().err
    assert said == {True: "compiling the engine, which takes up to half a minute, once on this machine\n", False: ""}
