"""``qsim lab``: the lab page, served on this machine until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from calibrate.cli import parsing
from calibrate.cli.console import remark, say, warn
from calibrate.cli.failures import CommandError
from calibrate.cli.interrupts import raise_if_interrupted
from calibrate.cli.options import flag, option
from qsim.installed import install_hint

PORT = 8050
PORTS = 2**16
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def lab(
    folder: Path = option(
        "DIR",
        parsing.path,
        "The lab's own folder: its runs, and in DIR/sweeps what you put there to be compared.",
        default=Path("qsim-lab"),
        shown="qsim-lab",
    ),
    host: str = option(
        "ADDRESS",
        None,
        "The address to listen on; 0.0.0.0: every one of this machine. Beyond 127.0.0.1 a token is needed.",
        default="127.0.0.1",
        shown=True,
    ),
    port: int = option("N", parsing.whole, "The port; 0 takes a free one.", default=PORT, shown=True),
    no_browser: bool = flag("--no-browser", "Do not open a browser."),
) -> None:
    """Open the lab page: explore queues, guess a knee before it is measured live, compare datasets.

    A local web page for a class. It stores everything in one folder, and nothing on the page can name another. It
    listens on this machine only; with --host, others can connect with the printed token.

    \b
    Examples:
    qsim lab
    qsim lab --folder class --no-browser --port 0
    qsim lab --host 0.0.0.0
    """
    if not 0 <= port < PORTS:
        raise ValueError(f"port is {port}; it must be from 0 to {PORTS - 1}")
    try:
        import segno  # noqa: F401  (drawn with the first page: missed here, before a class is invited)

        from calibrate.lab import compare_page
        from calibrate.lab.app import build
        from calibrate.lab.explore import explore_page
        from calibrate.lab.folder import opened
        from calibrate.lab.run.session import RunTable
        from calibrate.lab.serving import serving
    except ModuleNotFoundError as error:
        raise CommandError(f"the lab needs {error.name}, which is not installed: {install_hint('lab')}") from error
    with opened(folder) as kept, closing(RunTable(kept)) as table, serving(build(table), host, port) as address:
        if address.teacher != address.viewers:
            warn("everyone who has an address below and reaches this machine can open the lab; it is not encrypted")
            say(f"for the class: {address.viewers}")
        say(f"the lab: {address.teacher}")
        remark("Ctrl-C ends it")
        if not no_browser:
            _open(address.teacher)
        # In a thread: a Ctrl-C within an import would leave the lock of imports to nobody, and other threads need it.
        beside = ThreadPoolExecutor(1)
        warming = [beside.submit(explore_page.warm_up), beside.submit(compare_page.warm_up, kept)]
        while True:
            time.sleep(1.0)
            raise_if_interrupted()
            if address.ended.is_set():
                raise CommandError("the lab's server has ended by itself, so nobody is answered; start qsim lab again")
            for done in filter(Future.done, warming):
                done.result()  # raises its error, if any


def _open(address: str) -> None:
    """Open the page. Without a screen nothing is tried: a browser for the terminal would take the terminal."""
    import webbrowser

    has_screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in SCREENS)
    if not has_screen or not webbrowser.open(address):
        remark("no browser can be opened here; open the address yourself")
