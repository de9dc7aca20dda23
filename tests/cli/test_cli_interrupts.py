"""Exceptions that Python drops: that of a signal is kept and says nothing, others are told as ever."""

from __future__ import annotations

import sys

import pytest

from calibrate.cli.interrupts import stopping_cleanly


class Finalized:
    """Raises when it is collected, where Python drops exceptions."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


@pytest.mark.parametrize(("error", "told"), [(KeyboardInterrupt(), 0), (ValueError("lost"), 1)])
def test_only_a_dropped_interruption_is_not_told(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, told: int
) -> None:
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    before = sys.unraisablehook
    with stopping_cleanly():
        Finalized(error)
    assert len(dropped) == told
    assert sys.unraisablehook == before
