"""The root of the command line: runs a command, and turns whatever is raised into one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from calibrate.cli.command_table import LazyGroup
from calibrate.cli.console import complain, print_json
from calibrate.cli.failures import DONE, FAILED, INTERRUPTED, CommandError, failure_of
from calibrate.cli.interrupts import stopping_cleanly


class Root(LazyGroup):
    """The group ``qsim`` itself."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **extra: Any) -> Any:
        """Run the command line and exit with its code: 0, 1, 2, 3 or 130."""
        given = list(sys.argv[1:] if args is None else args)
        extra.pop("standalone_mode", None)
        _never_fail_to_encode()
        try:
            with stopping_cleanly():
                code = super().main(args=given, prog_name=prog_name or "qsim", standalone_mode=False, **extra)
            if code == INTERRUPTED:  # before the command began, where the parser makes it a code without a word
                raise KeyboardInterrupt
            _flush()
        except BrokenPipeError:
            code = _reader_gone()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the one place that answers for every command)
            code = _report(error, as_json="--json" in given)
            _drop_what_cannot_be_written()
        sys.exit(code if isinstance(code, int) else DONE)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named; an interruption gets its line like every other failure."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise failure_of(error) from error


def _report(error: BaseException, *, as_json: bool) -> int:
    """Say it: one line on stderr, and with --json an error document on stdout."""
    failure: CommandError = failure_of(error)
    if os.environ.get("QSIM_DEBUG"):
        traceback.print_exception(error)
    complain(f"error: {failure.message}")
    if as_json:
        document = {
            "error": {"message": failure.message, "exit_code": failure.exit_code, **failure.fields},
            **failure.details,
        }
        try:
            print_json(document)
            _flush()
        except OSError:
            return _reader_gone()
    return failure.exit_code


def _flush() -> None:
    """Bring what was written to its reader now, where a failure can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_what_cannot_be_written() -> None:
    """Output that a full disk did not take was reported already; Python must not stumble over it when it ends."""
    try:
        _flush()
    except OSError:
        _reader_gone()


def _reader_gone() -> int:
    """The reader of our output has left (``qsim ... | head``): stop without a word, also when Python shuts down."""
    silent = os.open(os.devnull, os.O_WRONLY)
    if sys.__stdout__ is not None:
        os.dup2(silent, sys.__stdout__.fileno())
    return FAILED


def _never_fail_to_encode() -> None:
    """A terminal without Unicode gets question marks, not an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
