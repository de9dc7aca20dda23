"""The file or device that a fio sweep may use: by our safety rules and by how fio reads names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from measure.errors import UnsafeTargetError
from measure.fio.workload import FioJob
from measure.machine.own_file import is_ours
from measure.machine.safety import TEST_FILE, check_target
from measure.machine.target import Target
from measure.units import format_bytes
from qsim.errors import InvalidParameterError

DEFAULT_FILE_BYTES = 2**30


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
