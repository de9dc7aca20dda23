"""Chooses fio's I/O engine by what this machine has, and says why."""

from __future__ import annotations

from measure.machine.host import io_uring_allowed
from measure.machine.process import run_tool
from qsim.errors import InvalidParameterError

USUAL = ("io_uring", "libaio", "posixaio", "psync")


def choose_engine(asked: str = "auto") -> tuple[str, str]:
    """The I/O engine and the reason: what was asked for, else io_uring, libaio, posixaio, psync, by what works here.

    io_uring costs the least CPU per request and submits without blocking; it is taken where this fio has it and the
    kernel lets this process set up a ring (containers often do not). Raises ValueError for an engine that this fio
    has not.
    """
    listing = run_tool(["fio", "--enghelp"], timeout_s=10).text
    engines = {line.strip() for line in listing.splitlines()[1:]}
    if asked != "auto":
        if asked not in engines:
            here = ", ".join(e for e in USUAL if e in engines)
            raise InvalidParameterError(
                "engine", f"{asked!r} is unknown to the fio of this machine", f"it has {here}", value=asked
            )
        return asked, "it was asked for"
    granted, why = io_uring_allowed()
    if "io_uring" in engines and granted:
        return "io_uring", "this fio has it and the kernel grants it"
    reasons = ["this fio lacks io_uring" if "io_uring" not in engines else f"no io_uring: {why}"]
    for engine in USUAL[1:]:
        if engine in engines:
            return engine, ", ".join(reasons)
        reasons.append(f"this fio lacks {engine}")
    raise InvalidParameterError(
        "engine", f": the fio of this machine has none of {', '.join(USUAL)}", "install a complete fio"
    )


def choose_submitting_engine(asked: str = "auto") -> tuple[str, str]:
    """The engine of an open sweep: psync, unless another was asked for; ValueError where this fio has it not."""
    if asked == "auto":
        return choose_engine("psync")[0], "each job submits one request at a time, at its own moments"
    return choose_engine(asked)
