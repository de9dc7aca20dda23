"""Temporary folders that outlive no process of ours: what a killed one left is removed by the next.

A folder's name tells who made it, ``NAME-NAMESPACE-PID-...``: the number of the process and, as containers that share
/tmp count from 1, that of its process namespace. Only folders of our user, of this namespace, and of a process
that is gone are removed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure.machine.system import is_alive, user_number


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """A temporary folder of this process, gone when the block is left; those that dead processes left go first."""
    remove_stale(name)
    with tempfile.TemporaryDirectory(prefix=f"{name}-{_namespace()}-{os.getpid()}-") as folder:
        yield Path(folder)


def remove_stale(name: str, parent: Path | None = None) -> list[Path]:
    """Remove folders called ``name`` of processes that are gone, in ``parent`` (the temporary folder)."""
    pattern = re.compile(rf"{re.escape(name)}-{_namespace()}-([0-9]+)-[^/]*")
    removed = []
    for path in Path(parent or tempfile.gettempdir()).iterdir():
        found = pattern.fullmatch(path.name)
        if found and _is_ours(path) and not is_alive(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)  # another process may be removing it as well
            removed.append(path)
    return removed


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # no Linux: there are no namespaces
        return 0


def _is_ours(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == user_number()
    except OSError:  # gone in the meantime
        return False
