"""Where the program ``qsim`` begins: ready to be interrupted before the command line is loaded."""

from __future__ import annotations

import gc
import os

from calibrate.cli.interrupts import leave_when_told


def main() -> None:
    """Run the command line; a signal that comes before it is loaded ends the program as one that comes later does."""
    leave_when_told()
    gc.set_threshold(50_000)  # what a command loads stays until it ends: looking for what does not costs time
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small: threads cost more than they save
    from calibrate.cli.app import app

    app()
