"""Signals that end a run (Ctrl-C, a closed terminal, a plain kill): each cleans up and is reported."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from calibrate.cli.failures import INTERRUPTED

CLEANING_S = 3.0

_signalled = threading.Event()
_DEFAULTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    **({signal.SIGHUP: signal.SIG_DFL} if hasattr(signal, "SIGHUP") else {}),  # not on Windows
}


def exit_on_early_signals() -> None:
    """Let a signal end the program at once until :func:`stopping_cleanly`: there is nothing to clean up yet."""
    for number, default in _DEFAULTS.items():
        if signal.getsignal(number) == default:
            signal.signal(number, _leave)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    # Bypasses Python's streams, which may be in use at this moment.
    with suppress(OSError):  # stderr may be closed
        os.write(2, b"error: interrupted\n")
        if "--json" in sys.argv:
            os.write(1, b'{"error": {"message": "interrupted", "exit_code": %d}}\n' % INTERRUPTED)
    os._exit(INTERRUPTED)


def exit_despite_threads(ended: SystemExit) -> NoReturn:
    """End the program with the code of ``ended``, also where a thread is still at work that nobody waits for.

    Python would stop such a thread wherever it is, within a library of C++ too, which aborts the whole program, or wait
    for ever for a lock that it holds.
    """
    if not any(thread.daemon for thread in threading.enumerate()):
        raise ended
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # gone, closed or none
            stream.flush()
    os._exit(ended.code if isinstance(ended.code, int) else bool(ended.code))


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Raise KeyboardInterrupt on every signal that ends a run: fio stops, and its test file is removed.

    For some seconds after the first signal others change nothing: Ctrl-C twice, or Ctrl-C and then a closed terminal,
    must not interrupt the cleaning up. What the parent process ignores (nohup, a background job) stays ignored. Only
    the main thread may set handlers.
    """
    heard_s = -CLEANING_S

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard_s
        now_s = time.monotonic()
        if now_s < heard_s + CLEANING_S:
            return
        heard_s = now_s
        _signalled.set()
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = {n: signal.getsignal(n) for n in _DEFAULTS}
    taken = {n: before[n] for n, default in _DEFAULTS.items() if main and before[n] in (default, _leave)}
    _signalled.clear()
    default_hook = sys.unraisablehook

    def unraisable(dropped: sys.UnraisableHookArgs) -> None:
        # The interruption is raised by raise_if_interrupted; this error is from finalizing an incomplete object.
        if not (_signalled.is_set() or isinstance(dropped.exc_value, KeyboardInterrupt)):
            default_hook(dropped)

    for number in taken:
        signal.signal(number, interrupt)
    if taken:
        sys.unraisablehook = unraisable
    try:
        yield
    finally:
        if sys.unraisablehook is unraisable and not _signalled.is_set():
            sys.unraisablehook = default_hook
        for number, handler in taken.items():
            signal.signal(number, handler)


def interrupted() -> bool:
    """Whether a signal ended the run, also where a library made another exception of it."""
    return _signalled.is_set()


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt where a signal came whose exception was lost.

    Python drops exceptions that are raised while it runs a finalizer or forks, and with them a Ctrl-C of that moment.
    """
    if interrupted():
        raise KeyboardInterrupt
