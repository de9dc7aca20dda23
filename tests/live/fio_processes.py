"""Which fio processes live, for the tests that nothing is left behind."""

from __future__ import annotations

import os
import time
from pathlib import Path


def fio_on(disk: Path) -> list[int]:
    """The living fio processes that work in the folder."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(w.endswith(b"fio") for w in words[:2]) and any(bytes(disk) in _opened(w) for w in words):
            found.append(int(line.parent.name))
    return found


def _opened(word: bytes) -> bytes:
    """A word of a command, with the file where it is a handle of another process."""
    _, handle, number = word.partition(b"=/proc/")
    try:
        return os.readlink(b"/proc/" + number) if handle else word
    except OSError:  # its owner is gone
        return word


def no_fio_left(disk: Path) -> bool:
    """Whether they have all ended within some seconds."""
    for _ in range(250):
        if not fio_on(disk):
            return True
        time.sleep(0.02)
    return False
