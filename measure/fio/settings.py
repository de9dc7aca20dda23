"""How a fio sweep is measured, whatever its loads: how long, how often, in which order, on what, by which engine.

The engine is chosen by what this machine has; the target by our safety rules and by how fio reads names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from measure.errors import UnsafeTargetError
from measure.fio.command import PROBE
from measure.fio.workload import FioJob
from measure.formats.fio.record import SYNC_ENGINES
from measure.machine.host import io_uring_allowed
from measure.machine.own_file import Target, is_own, measured_bytes
from measure.machine.process import run_tool
from measure.machine.safety import TEST_FILE, check_target
from measure.units import format_bytes
from qsim.errors import InvalidParameterError, must_be

USUAL = ("io_uring", "libaio", "posixaio", "psync")
DEFAULT_FILE_BYTES = 2**30


@dataclass(frozen=True)
class FioSettings:
    """The settings of a sweep. Raises ValueError naming the first that cannot be.

    ``runtime_s`` is how long each point runs after ``ramp_s`` that are not counted. ``size_bytes`` is how much of the
    target is used: by default 1 GiB for a file of our own, all of what exists otherwise, which is only read, and with
    ``consent="read"`` only.

    ``keep`` leaves the test file. ``write_device`` is the name of a block device or an NBD export that may be written
    to, ``erase`` that of one that may hold something, see :mod:`measure.machine.safety`. ``label`` and ``details`` go
    into the provenance.
    """

    runtime_s: float = 5.0
    ramp_s: float = 1.0
    size_bytes: int | None = None
    repeats: int = 1
    engine: Literal["auto", "probe"] = "auto"
    seed: int = 1
    consent: Literal["read"] | None = None
    keep: bool = False
    write_device: str | None = None
    erase: str | None = None
    label: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("runtime_s", 0.1 <= self.runtime_s <= 86400, "from 0.1 s to a day"),
            ("ramp_s", 0 <= self.ramp_s <= 86400, "from 0 s to a day"),
            ("repeats", 1 <= self.repeats <= 1000, "from 1 to 1000"),
            ("seed", 0 <= self.seed < 2**32, "a whole number from 0 to 4294967295"),
            ("size_bytes", self.size_bytes is None or self.size_bytes > 0, "a size such as 1 GiB"),
        )
        for name, holds, wanted in rules:
            must_be(holds, name, getattr(self, name), wanted)


def choose_engine(asked: Literal["auto", "probe"], workloads: Sequence[FioJob]) -> tuple[str, str]:
    """The I/O engine and the reason: the probe where asked, else io_uring, libaio, posixaio, psync, by what works here.

    io_uring costs the least CPU per request and submits without blocking; it is taken where this fio has it and the
    kernel lets this process set up a ring (containers often do not). An open loop takes psync.
    """
    if asked == PROBE:
        return asked, "threads of this program, one request each"
    if workloads[0].is_open:
        return "psync", "each job submits one request at a time, at its own moments"
    listing = run_tool(["fio", "--enghelp"], timeout_s=10).text
    here = [e for e in USUAL if e in {line.strip() for line in listing.splitlines()[1:]}]
    granted, why = io_uring_allowed()
    if "io_uring" in here and granted:
        return "io_uring", "this fio has it and the kernel grants it"
    others = [engine for engine in here if engine != "io_uring"]
    if not others:
        problem = f": the fio of this machine has none of {', '.join(USUAL)}"
        raise InvalidParameterError("engine", problem, "install a complete fio")
    engine, reason = others[0], f"no io_uring: {why}" if "io_uring" in here else "this fio lacks io_uring"
    if engine in SYNC_ENGINES and any(w.depth > 1 for w in workloads):
        reason += "; it is synchronous, so a depth of N is N jobs with one request each"
    return engine, reason


def file_for(target: Path, settings: FioSettings, workloads: Sequence[FioJob]) -> Target:
    """The file or device that may be used for ``workloads``; UnsafeTargetError where it may not.

    Raises ValueError where it holds fewer blocks than some workload has outstanding.
    """
    _refuse_characters(str(target))
    file = check_target(
        target,
        settings.size_bytes or _default_size(target),
        writes=any(w.read_percent < 100 for w in workloads),
        consent=settings.consent,
        write_device=settings.write_device,
        erase=settings.erase,
    )
    _refuse_characters(str(file.path))
    size = file.size_bytes // 4096 * 4096
    for job in workloads:
        if size < job.block_bytes * job.depth:
            raise InvalidParameterError(
                "size_bytes",
                f"{format_bytes(size)} holds fewer than {job.depth} blocks of {format_bytes(job.block_bytes)}",
                "ask for a larger size or smaller depths",
                value=format_bytes(size),
            )
    return replace(file, size_bytes=size)


def _default_size(target: Path) -> int | None:
    """1 GiB for a file of our own that is to be created; what is there already is used whole."""
    path = target / TEST_FILE if os.path.isdir(target) else target
    if not os.path.exists(path) or (is_own(path) and not measured_bytes(path)):
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
