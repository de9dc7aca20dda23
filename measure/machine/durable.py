"""Files that are whole or absent, whatever happens in between: a kill, a power cut, a full disk.

The content is on the disk (fsync) before the file has its name, the name arrives by rename, and the directory that
holds it is on the disk as well before a function returns.
"""

from __future__ import annotations

import glob
import os
import platform
from pathlib import Path

from measure.machine.system import flags, is_alive

_SUFFIX = ".tmp"


def write_durably(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write or replace ``path``. OSError where the disk does not take it; then nothing is left behind.

    ``mode`` is that of a new file, less the umask. What killed writers of the same file left half written is removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        with os.fdopen(os.open(temporary, flags("O_WRONLY", "O_CREAT", "O_TRUNC"), mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    remove_leftovers(path.parent, path.name)
    sync_directory(path.parent)


def move_durably(source: Path, target: Path) -> None:
    """Give a file on the same file system another name, with all it holds on the disk; OSError where that fails."""
    with source.open("rb+") as file:  # Windows brings to the disk what was opened for writing only
        os.fsync(file.fileno())
    source.rename(target)
    sync_directory(target.parent)


def make_directory(path: Path) -> None:
    """Make ``path`` and what is missing above it; OSError where that cannot be."""
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Bring the names in a directory to the disk. Windows, where a directory cannot be opened, does so by itself."""
    if platform.system() == "Windows":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what killed writers of ``name`` (``*``: of any file) left half written; that of living ones stays."""
    for path in folder.glob(f".{name if name == '*' else glob.escape(name)}.*{_SUFFIX}"):
        pid = path.name.removesuffix(_SUFFIX).rpartition(".")[2]
        if pid.isdecimal() and not is_alive(int(pid)):
            path.unlink(missing_ok=True)
