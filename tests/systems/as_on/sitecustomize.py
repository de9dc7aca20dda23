"""Makes this Python lack what it lacks on another system; Python runs this file where its folder is on PYTHONPATH.

The environment variable ``AS_ON`` names the system: Windows or Darwin. Programs that are started inherit all of it.
Modules of the standard library and psutil are imported first: theirs are other implementations there.
"""

import asyncio  # noqa: F401
import ctypes
import errno
import fcntl
import getpass  # noqa: F401
import mmap
import multiprocessing.util  # noqa: F401
import os
import pathlib  # noqa: F401
import platform
import selectors  # noqa: F401
import shutil
import signal
import socket  # noqa: F401
import subprocess
import sys
import tempfile  # noqa: F401
import types

import psutil  # noqa: F401

SYSTEM = os.environ.get("AS_ON", "")

ONLY_LINUX = (
    "O_DIRECT",
    "sched_getaffinity",
    "sched_setaffinity",
    "waitid",
    "preadv",
    "pwritev",
    "P_PID",
    "posix_fadvise",
    "posix_fallocate",
)
NOT_ON_WINDOWS = (
    "O_CLOEXEC",
    "O_NONBLOCK",
    "O_NOFOLLOW",
    "O_SYNC",
    "getuid",
    "geteuid",
    "getgid",
    "getpgid",
    "fork",
    "forkpty",
    "killpg",
    "statvfs",
    "major",
    "minor",
    "pread",
    "pwrite",
    "setsid",
    "sysconf",
    "getloadavg",
    "mkfifo",
    "WNOHANG",
)
MODULES_NOT_ON_WINDOWS = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline")
SIGNALS_NOT_ON_WINDOWS = ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCHLD")


def _without(thing, *names):
    for name in names:
        if hasattr(thing, name):
            delattr(thing, name)


def _no_linux_folders(event, args):
    if event not in ("open", "os.listdir", "os.scandir") or not str(args[0]).startswith(("/proc/", "/sys/")):
        return
    if not sys._getframe(1).f_globals.get("__name__", "").startswith("psutil"):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(args[0]))


def _stat(real):
    def stat(path, *args, **kept):
        _no_linux_folders("open", (path,))
        return real(path, *args, **kept)

    return stat


def _disk_usage(statvfs):
    def disk_usage(path):
        space = statvfs(path)
        return types.SimpleNamespace(free=space.f_bavail * space.f_frsize)

    return disk_usage


def _windows_locks():
    """msvcrt as far as it is used: a lock of a byte that goes with the process, by that of this system."""
    module = types.ModuleType("msvcrt")
    module.LK_NBLCK, flock = 2, fcntl.flock

    def locking(file, mode, count):
        assert (mode, count) == (module.LK_NBLCK, 1)
        try:
            flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error

    module.locking = locking
    return module


def _popen(start):
    def popen(self, *args, preexec_fn=None, **kept):
        if preexec_fn is not None:
            raise ValueError("preexec_fn is not supported on Windows platforms")
        start(self, *args, **kept)

    return popen


def _cdll(load):
    class CDLL(load):
        def __init__(self, name, *args, **kept):
            if name is None:
                raise TypeError("argument of type 'NoneType' is not iterable")
            super().__init__(name, *args, **kept)

    return CDLL


if SYSTEM:
    sys.addaudithook(_no_linux_folders)
    os.stat = _stat(os.stat)
    _without(os, *ONLY_LINUX)
    _without(mmap, "MADV_HUGEPAGE")
    platform.processor()
    real = platform.uname()
    platform.uname = lambda: platform.uname_result(SYSTEM, real.node, "10", "10", real.machine)
    platform.system = lambda: SYSTEM
if SYSTEM == "Windows":
    shutil.disk_usage = _disk_usage(os.statvfs)
    sys.modules["msvcrt"] = _windows_locks()
    sys.modules.update(dict.fromkeys(MODULES_NOT_ON_WINDOWS))
    _without(os, *NOT_ON_WINDOWS)
    _without(mmap, "MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_SHARED")
    subprocess.Popen.kill = lambda self, number=signal.SIGKILL: self.send_signal(number)
    subprocess.Popen.__init__ = _popen(subprocess.Popen.__init__)
    ctypes.CDLL = _cdll(ctypes.CDLL)
    _without(signal, *SIGNALS_NOT_ON_WINDOWS)
