"""Exceptions that Python drops: that of a signal is kept and says nothing, others are told as ever."""

from __future__ import annotations

import signal
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


def test_what_an_interruption_left_half_built_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while kernels compile: objects of the compiler complain of themselves when they are freed, much later."""
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), stopping_cleanly():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    Finalized(AttributeError("half built"))
    assert dropped == []
    with stopping_cleanly():
        Finalized(ValueError("lost"))
    assert len(dropped) == 1
