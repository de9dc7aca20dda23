"""Files written atomically, locked, or opened for direct I/O, and their creation times, on every system.

After any interruption (a kill, a power cut, a full disk) a durable file is complete or absent. The content is on the
disk (fsync) before a rename gives the file its name, and the directory is on the disk as well before a function
returns.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import platform
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path

TEMPORARY = r"\.[0-9]{1,9}-[0-9a-f]{8}\.tmp"
"""The end of a temporary file's name, after that of its file: the writer's process, and a random number."""
WITHOUT_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
"""What a filesystem without hard links answers."""


def write_durably(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write or replace ``path``. OSError where the disk rejects it; then nothing is left behind.

    ``mode`` is that of a new file, less the umask. Temporary files of killed writers of this file are removed.
    """
    with _written(path, content, mode) as temporary:
        temporary.replace(path)


def write_new(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a new file durably. FileExistsError where anything has its name, also a link.

    The complete file gets its name by a hard link, which replaces nothing. Where there are no hard links, the name is
    taken by an empty file first.
    """
    with _written(path, content, mode) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        except OSError as error:
            if error.errno not in WITHOUT_LINKS:
                raise
            os.close(os.open(path, flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), mode))
            temporary.replace(path)
        else:
            temporary.unlink()


@contextmanager
def _written(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    """A new temporary file beside ``path`` with the content, on the disk; it is removed where it gets no name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    made = os.open(temporary, flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), mode)
    try:
        with os.fdopen(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    remove_leftovers(path.parent, path.name)
    sync_directory(path.parent)


@contextmanager
def opened(path: Path, *names: str) -> Iterator[int]:
    """The descriptor of a file that is open while the block runs, with the ``flags`` of these names."""
    descriptor = os.open(path, flags(*names), 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def appending(path: Path, head: bytes) -> Iterator[Callable[[bytes], None]]:
    """Create a file that begins with ``head``; gives a function that appends a complete line, or none (OSError).

    Lines reach the kernel one by one, so that a kill loses none, and the disk at the end.
    """
    write_new(path, head)
    with opened(path, "O_WRONLY", "O_APPEND", "O_NOFOLLOW") as file:

        def append(line: bytes) -> None:
            end = os.fstat(file).st_size
            try:
                while line:
                    line = line[os.write(file, line) :]
            except BaseException:
                os.ftruncate(file, end)
                raise

        yield append
        os.fsync(file)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock file at ``path``, created if missing; it is never emptied, and a link is not followed.

    Raises BlockingIOError where another process holds it; OSError where it cannot be opened.
    """
    with opened(path, "O_RDWR", "O_CREAT", "O_NOFOLLOW", "O_NONBLOCK") as file:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        lock(file)
        yield


def make_directory(path: Path) -> None:
    """Create ``path`` and its missing parents; OSError where that fails."""
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Write the names in a directory to the disk. Windows, where a directory cannot be opened, does so by itself."""
    if platform.system() != "Windows":
        with opened(path) as folder:
            os.fsync(folder)


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove temporary files of killed writers of ``name`` (``*``: of any file); those of running writers stay."""
    for path in folder.glob(f".{name if name == '*' else glob.escape(name)}.*.tmp"):
        import psutil  # seldom needed, and it takes a hundredth of a second

        ending = re.search(f"{TEMPORARY}$", path.name)
        if ending and not psutil.pid_exists(int(ending[0][1:].partition("-")[0])):
            path.unlink(missing_ok=True)


F_NOCACHE = 48  # fcntl command of macOS: do not keep this file's data in the page cache


def flags(*names: str) -> int:
    """The flags of ``os.open`` by these names; one that this system lacks is 0. Files are always binary."""
    return reduce(or_, (getattr(os, name, 0) for name in (*names, "O_CLOEXEC", "O_BINARY")))


def uncached_by_call() -> bool:
    """Whether a call on an open file, not a flag of ``open``, turns the page cache off (macOS)."""
    return platform.system() == "Darwin"


def opened_direct(path: str, *, writes: bool) -> int:
    """The file, opened for direct I/O: with O_DIRECT, or on macOS by F_NOCACHE. OSError where that is not possible."""
    file = os.open(path, flags("O_RDWR" if writes else "O_RDONLY", "O_DIRECT"))
    try:
        if uncached_by_call():
            import fcntl

            fcntl.fcntl(file, F_NOCACHE, 1)
    except OSError:
        os.close(file)
        raise
    return file


def lock(file: int) -> None:
    """Lock an open file until it is closed or this process ends.

    Raises BlockingIOError where another process holds it; OSError where the file cannot be locked.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows: the first byte is locked, which need not exist
        import msvcrt

        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except PermissionError as error:
            raise BlockingIOError(errno.EAGAIN, "another process holds it") from error
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _Statx(ctypes.Structure):
    """The beginning of the kernel's ``struct statx`` up to the creation time, and room for the rest."""

    _fields_ = (
        ("before", ctypes.c_uint8 * 80),
        ("birth_s", ctypes.c_int64),
        ("birth_ns", ctypes.c_uint32),
        ("after", ctypes.c_uint8 * 164),
    )


_STATX_BTIME, _AT_EMPTY_PATH = 0x800, 0x1000


def birth_ns(file: int) -> int:
    """Creation time of an open file, nanoseconds since 1970; 0 where the system or the filesystem has none.

    Linux gives it by statx(2), which Python lacks before 3.15.
    """
    if sys.platform != "linux":
        return int(1e9 * getattr(os.fstat(file), "st_birthtime", 0.0))
    libc, found = ctypes.CDLL(None), _Statx()
    if not hasattr(libc, "statx") or libc.statx(file, b"", _AT_EMPTY_PATH, _STATX_BTIME, ctypes.byref(found)):
        return 0
    return int(found.birth_s * 10**9 + found.birth_ns)
