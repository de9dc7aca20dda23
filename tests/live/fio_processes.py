"""Which fio processes live, for the tests that nothing is left behind."""

from __future__ import annotations

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
        if any(w.endswith(b"fio") for w in words[:2]) and any(bytes(disk) in w for w in words):
            found.append(int(line.parent.name))
    return found


def no_fio_left(disk: Path) -> bool:
    """Whether they have all ended within some seconds."""
    for _ in range(250):
        if not fio_on(disk):
            return True
        time.sleep(0.02)
    return False
