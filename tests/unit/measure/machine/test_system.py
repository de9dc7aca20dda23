"""Locks, flags and numbers of processes, here and where a system has other names for them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from measure.machine import files


def test_who_waits_gets_the_lock_when_the_other_is_done(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as first, path.open("w") as second:
        files.lock(first.fileno())
        threading.Timer(0.1, first.close).start()
        files.lock(second.fileno(), wait=True)
        assert first.closed


def test_flags_that_a_system_lacks_are_left_out() -> None:
    assert files.flags("O_RDWR", "O_NO_SUCH_FLAG") == files.flags("O_RDWR")
    assert files.flags("O_RDWR") & os.O_RDWR
