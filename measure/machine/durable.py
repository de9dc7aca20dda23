"""Files that are whole or absent, whatever happens in between: a kill, a power cut, a full disk.

The content is on the disk (fsync) before the file has its name, the name arrives by rename, and the directory that
holds it is on the disk as well before a function returns."""

from __future__ import annotations

import errno
import glob
import os
import platform
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from measure.machine.system import flags, lock

_SUFFIX = ".tmp"


def write_durably(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write or replace ``path``. OSError where the disk does not take it; then nothing is left behind.

    ``mode`` is that of a new file, less the umask. What killed writers of the same file left half written is removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        temporary.unlink(missing_ok=True)  # a link is removed, what it names is not touched
        made = os.open(temporary, flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), mode)
        with os.fdopen(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    remove_leftovers(path.parent, path.name)
    sync_directory(path.parent)


def write_new(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file that does not exist yet, durably. FileExistsError where anything has its name, also a link."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    write_durably(path, content, mode)


@contextmanager
def appending(path: Path, head: bytes) -> Iterator[Callable[[bytes], None]]:
    """A new file that begins with ``head``, and a function that appends a line to it: whole, or (OSError) not at all.

    Lines reach the kernel one by one, so that a kill loses none, and the disk at the end.
    """
    write_new(path, head)
    file = os.open(path, flags("O_WRONLY", "O_APPEND", "O_NOFOLLOW"))

    def append(line: bytes) -> None:
        end = os.fstat(file).st_size
        try:
            while line:
                line = line[os.write(file, line) :]
        except BaseException:
            os.ftruncate(file, end)
            raise

    try:
        yield append
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def lock_file(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock file at ``path``, made where it is missing; it is never emptied, and a link is not followed.

    Raises BlockingIOError where another process holds it, unless ``wait``; OSError where it cannot be opened.
    """
    descriptor = os.open(path, flags("O_RDWR", "O_CREAT", "O_NOFOLLOW", "O_NONBLOCK"), 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        lock(descriptor, wait=wait)
        yield
    finally:
        os.close(descriptor)


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
        if re.fullmatch(r"[0-9]{1,9}", pid) and not psutil.pid_exists(int(pid)):
            path.unlink(missing_ok=True)
