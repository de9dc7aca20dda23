"""What systems have under different names, or not at all: locks, flags of ``open``, direct I/O, times of birth."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
import time
from functools import reduce
from importlib import import_module
from operator import or_

_RETRY_S = 0.05
F_NOCACHE = 48
"""Of fcntl on macOS: this file's data do not stay in the page cache."""


def flags(*names: str) -> int:
    """The flags of ``os.open`` by these names; one that this system does not have is 0. Files are always binary."""
    return reduce(or_, (getattr(os, name, 0) for name in (*names, "O_CLOEXEC", "O_BINARY")))


def uncached_by_call() -> bool:
    """Whether a call on an open file turns the page cache off (macOS), not a flag with which it is opened."""
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


def lock(file: int, *, wait: bool = False) -> None:
    """Hold an open file until it is closed, or until this process ends in whatever way.

    Raises BlockingIOError where another process holds it, unless ``wait``; OSError where the file cannot be locked.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        while not _locked_on_windows(file):
            if not wait:
                raise BlockingIOError(errno.EAGAIN, "another process holds it") from None
            time.sleep(_RETRY_S)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _locked_on_windows(file: int) -> bool:
    """Try to lock the first byte, which need not exist; False where another process has it."""
    msvcrt = import_module("msvcrt")
    os.lseek(file, 0, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


class _Statx(ctypes.Structure):
    """The beginning of the kernel's ``struct statx`` up to the time of birth, and room for the rest."""

    _fields_ = (
        ("before", ctypes.c_uint8 * 80),
        ("birth_s", ctypes.c_int64),
        ("birth_ns", ctypes.c_uint32),
        ("after", ctypes.c_uint8 * 164),
    )


_STATX_BTIME, _AT_EMPTY_PATH = 0x800, 0x1000


def birth_ns(file: int) -> int:
    """When an open file was created, in nanoseconds since 1970; 0 where the system or the filesystem does not say.

    Linux says it by statx(2), which Python does not offer before 3.15.
    """
    if sys.platform != "linux":
        return int(1e9 * getattr(os.fstat(file), "st_birthtime", 0.0))
    libc, found = ctypes.CDLL(None), _Statx()
    if not hasattr(libc, "statx") or libc.statx(file, b"", _AT_EMPTY_PATH, _STATX_BTIME, ctypes.byref(found)):
        return 0
    return int(found.birth_s * 10**9 + found.birth_ns)
