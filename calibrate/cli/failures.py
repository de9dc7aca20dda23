"""Turns exceptions into one line and an exit code; no other module does.

A command raises what the library raises.  ``failure_of`` decides which of the documented exit codes that is, and the
root group (:mod:`calibrate.cli.app`) prints the line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim.errors import InvalidParameterError

DONE = 0
FAILED = 1
WRONG_USAGE = 2
CHECK_FAILED = 3
UNDECIDED = 4
INTERRUPTED = 130

EXIT_CODES: Mapping[int, str] = {
    DONE: "done",
    FAILED: "failed: a file, a tool, a target or the data",
    WRONG_USAGE: "wrong usage: a value on the command line",
    CHECK_FAILED: "a check that was asked for failed (--fail-on)",
    UNDECIDED: "a check that was asked for cannot be decided with these data",
    INTERRUPTED: "interrupted",
}


class CommandError(Exception):
    """A failure with its message for the user."""

    def __init__(
        self,
        message: str,
        exit_code: int = FAILED,
        details: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        self.message = message
        self.exit_code = exit_code
        self.details, self.fields = dict(details or {}), dict(fields or {})
        super().__init__(message)


def wrong_usage(message: str) -> CommandError:
    """A failure for a value on the command line."""
    return CommandError(message, WRONG_USAGE)


def refused_parameter(error: InvalidParameterError, name: str) -> CommandError:
    """The failure for an invalid parameter, under the ``name`` that the user typed."""
    fields = {"parameter": name, "value": error.value, "remedy": error.remedy}
    return CommandError(error.sentence(name), WRONG_USAGE, fields=fields)


def failure_of(error: BaseException) -> CommandError:
    """The failure for an exception."""
    if isinstance(error, CommandError):
        return error
    if usage := _usage_of(error):
        return wrong_usage(usage)
    for kind, exit_code, wording in _known():
        if isinstance(error, kind):
            return CommandError(wording(error), exit_code)
    return CommandError(
        f"internal error, {type(error).__name__}: {error}; please report it with what QSIM_DEBUG=1 shows", FAILED
    )


def _known() -> Sequence[tuple[type[BaseException], int, Callable[[Any], str]]]:
    """Exception classes with exit codes and message functions, the most specific first."""
    from measure.errors import MeasureError, UnsafeTargetError
    from qsim.errors import MissingExtraError

    return (
        (KeyboardInterrupt, INTERRUPTED, lambda _: "interrupted"),
        (UnsafeTargetError, FAILED, _without_consent),
        (MeasureError, FAILED, str),
        (MissingExtraError, FAILED, str),
        (ValueError, WRONG_USAGE, str),  # invalid parameters, unstable queues included
        (MemoryError, FAILED, lambda _: "out of memory; ask for less (fewer customers, smaller buffers)"),
        (OSError, FAILED, _of_the_system),
    )


def _without_consent(error: Any) -> str:
    """The message for an unsafe target, with the options by which a user consents to it."""
    return str(
        error.sentence(
            "consent to its being read with --allow read",
            f"give its name again (--allow 'write={error.device}')",
            f"give its name once more (--allow 'write={error.device},erase={error.device}')",
        )
    )


def _of_the_system(error: BaseException) -> str:
    name, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
    return f"{name}: {reason or error}" if name else str(reason or error)


def _usage_of(error: BaseException) -> str:
    """The message of a parser error without its usage lines; "" for any other error.

    Typer brought its own copy of click's exceptions in later versions, so they are recognised by what they can do.
    """
    show = getattr(error, "format_message", None)
    if not callable(show) or getattr(error, "exit_code", None) != WRONG_USAGE:
        return ""
    param, message = getattr(error, "param", None), getattr(error, "message", "")
    text = f"{option_name(param)}: {message}" if param is not None and message else str(show())
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    sentence = text if text.endswith("...") else text.removesuffix(".")
    return f"{sentence} (see {context.command_path} --help)"


def option_name(param: Any) -> str:
    """A parameter as the user types it: ``--depths``, ``--at/--clients``, or an argument's name in capitals."""
    options = [o for o in getattr(param, "opts", ()) if o.startswith("--")]
    return "/".join(options) if options else str(getattr(param, "metavar", None) or param.name).upper()
