"""How a fio sweep is measured, whatever its loads: how long, how often, in which order, on what, by which engine.

The engine is chosen by what this machine has; the target by our safety rules and by how fio reads names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from measure.errors import UnsafeTargetError
from measure.fio.settling import Settling
from measure.fio.workload import FioJob, Order, in_order
from measure.machine.host import io_uring_allowed
from measure.machine.own_file import Precondition, Target, is_ours
from measure.machine.process import run_tool
from measure.machine.safety import TEST_FILE, check_target
from measure.units import format_bytes
from qsim.errors import InvalidParameterError, must_be

USUAL = ("io_uring", "libaio", "posixaio", "psync")
DEFAULT_FILE_BYTES = 2**30


@dataclass(frozen=True)
class RunSettings:
    """What one machine and many hosts have in common. Raises ValueError naming the first that cannot be.

    ``runtime_s`` is how long each point runs after ``ramp_s`` that are not counted. ``size_bytes`` is how much of the
    target is used: by default 1 GiB for a file of our own, all of what exists otherwise, which is only read, and with
    ``consent="read"`` only. ``order`` is that of the loads of each curve in a round, or a random one of all workloads.
    """

    runtime_s: float = 5.0
    ramp_s: float = 1.0
    size_bytes: int | None = None
    repeats: int = 1
    engine: str = "auto"
    seed: int = 1
    order: Order = "ascending"
    consent: Literal["read"] | None = None

    def __post_init__(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("order", self.order in get_args(Order), "ascending, descending or random"),
            ("runtime_s", 0.1 <= self.runtime_s <= 86400, "from 0.1 s to a day"),
            ("ramp_s", 0 <= self.ramp_s <= 86400, "from 0 s to a day"),
            ("repeats", 1 <= self.repeats <= 1000, "from 1 to 1000"),
            ("seed", 0 <= self.seed < 2**32, "a whole number from 0 to 4294967295"),
            ("size_bytes", self.size_bytes is None or self.size_bytes > 0, "a size such as 1 GiB"),
        )
        for name, holds, wanted in rules:
            must_be(holds, name, getattr(self, name), wanted)

    def rounds(self, workloads: Sequence[FioJob]) -> Iterator[tuple[FioJob, int]]:
        """(workload, repeat) of each point. Repeats go round all workloads: drift shows as repeats that disagree."""
        for repeat in range(self.repeats):
            for job in in_order(workloads, self.order, self.seed + repeat):
                yield job, repeat


@dataclass(frozen=True)
class FioSettings(RunSettings):
    """The settings of a sweep on this machine.

    ``keep`` leaves the test file. ``write_device`` is the name of a block device that may be destroyed, see
    :mod:`measure.machine.safety`. ``label`` and ``details`` go into the provenance. With ``settling`` each point runs
    until it is steady before it is measured, with closed loads only. With ``log`` every request of every point is
    stored, for :func:`measure.samples`. ``precondition`` is what is written to the file before, see
    :mod:`measure.fio.preconditioning`.
    """

    keep: bool = False
    write_device: str | None = None
    label: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    settling: Settling | None = None
    log: bool = False
    precondition: Precondition = "auto"


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


def file_for(
    target: Path, size_bytes: int | None, *, writes: bool, consent: Literal["read"] | None, write_device: str | None
) -> Target:
    """The file or device that may be used; UnsafeTargetError where it may not."""
    _refuse_characters(str(target))
    size = size_bytes or _default_size(target)
    file = check_target(target, size, writes=writes, consent=consent, write_device=write_device)
    _refuse_characters(str(file.path))
    return replace(file, size_bytes=file.size_bytes // 4096 * 4096)


def check_room(size_bytes: int, workloads: Sequence[FioJob]) -> None:
    """ValueError where a file of ``size_bytes`` holds fewer blocks than some workload has outstanding."""
    for job in workloads:
        if size_bytes < job.block_bytes * job.depth:
            raise InvalidParameterError(
                "size_bytes",
                f"{format_bytes(size_bytes)} holds fewer than {job.depth} blocks of {format_bytes(job.block_bytes)}",
                "ask for a larger size or smaller depths",
                value=format_bytes(size_bytes),
            )


def _default_size(target: Path) -> int | None:
    """1 GiB for a file of our own that is to be created; what is there already is used whole."""
    path = target / TEST_FILE if os.path.isdir(target) else target
    if not os.path.exists(path) or (is_ours(path) and path.stat().st_size == 0):
        return DEFAULT_FILE_BYTES
    return None


def _refuse_characters(path: str) -> None:
    """fio takes a colon for the end of a file name and replaces $words, so such a name could mean another file."""
    for character in ":\\$\"'\n\r":
        if character in path:
            raise UnsafeTargetError(
                f"target {path!r} contains {character!r}, which fio reads as something else; name a path without it"
            )
    if path != path.strip():
        raise UnsafeTargetError(f"target {path!r} begins or ends with a space, which fio drops; name a path without it")
