"""The entry point of ``qsim``: handles interruptions before the command line is loaded."""

from __future__ import annotations

import gc
import os

from calibrate.cli.interrupts import exit_despite_threads, exit_on_early_signals


def main() -> None:
    """Run the command line; a signal before it is loaded ends the program as a later one does."""
    exit_on_early_signals()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small: threads cost more than they save
    gc.set_threshold(1_000_000)  # garbage collection during imports takes a tenth of a short command
    from calibrate.cli.app import app

    try:
        app()
    except SystemExit as ended:
        gc.freeze()  # the last collection takes a tenth of a short command too
        exit_despite_threads(ended)
