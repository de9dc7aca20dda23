"""Being told to stop: Ctrl-C, a closed terminal, a plain kill. All are an interruption that cleans up and says so."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CLEANING_S = 3.0

_told = threading.Event()


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Let every signal to stop raise KeyboardInterrupt, so that fio is stopped and the test file removed.

    For some seconds after the first signal others change nothing: Ctrl-C twice, or Ctrl-C and then a closed terminal,
    must not interrupt the cleaning up. What the parent told us to ignore (nohup, a background job) stays ignored. Only
    the main thread may set handlers.
    """
    heard_s = -CLEANING_S

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard_s
        now_s = time.monotonic()
        if now_s < heard_s + CLEANING_S:
            return
        heard_s = now_s
        _told.set()
        raise KeyboardInterrupt

    defaults = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    main = threading.current_thread() is threading.main_thread()
    taken = {n: default for n, default in defaults.items() if main and signal.getsignal(n) == default}
    _told.clear()
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, default in taken.items():
            signal.signal(number, default)


def stop_if_told() -> None:
    """Raise KeyboardInterrupt where a signal came whose exception was lost.

    Python drops exceptions that are raised while it runs a finalizer or forks, and with them a Ctrl-C of that moment.
    """
    if _told.is_set():
        raise KeyboardInterrupt
