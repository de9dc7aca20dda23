"""What a block device holds, read before anything is written to it.

libblkid is asked by its programs, ``blkid -p`` and ``wipefs --no-act``: both know filesystems, RAID members, volume
managers, encryption and partition tables. What they do not know is not blank either: the first and the last MiB are
read.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from measure.errors import UnsafeTargetError
from measure.machine.process import run_tool

END_BYTES = 2**20
"""Bytes at each end that are zero in a blank device."""
TOOL_LIMIT_S = 30.0
NOTHING_FOUND, SEVERAL_FOUND = 2, 8
"""Exit codes of ``blkid -p``."""

Read: TypeAlias = Callable[[int, int], bytes]
"""``read(offset, length)``: bytes of a device."""


def signature_on(path: Path) -> str | None:
    """The name of what libblkid finds on a device; None where it finds nothing.

    Raises UnsafeTargetError where neither of its programs is installed, or neither gives an answer.
    """
    asked = [found for found in (_blkid(path), _wipefs(path)) if found is not None]
    if not asked:
        raise UnsafeTargetError(
            f"{path} is not written to: neither blkid nor wipefs says what it holds; install util-linux"
        )
    return next((found for found in asked if found), None)


def ends_are_zero(read: Read, size_bytes: int) -> bool:
    """Whether the first and the last MiB of a device are zero."""
    length = min(END_BYTES, size_bytes)
    return not any(read(0, length)) and not any(read(size_bytes - length, length))


def _blkid(path: Path) -> str | None:
    """The type that ``blkid -p`` finds, "" for nothing; None where it is missing or fails."""
    if shutil.which("blkid") is None:
        return None
    finished = run_tool(["blkid", "-p", "-o", "export", str(path)], TOOL_LIMIT_S)
    if finished.timed_out or finished.returncode not in (0, NOTHING_FOUND, SEVERAL_FOUND):
        return None
    if finished.returncode == SEVERAL_FOUND:
        return "several signatures at once"
    return _named(dict(re.findall(r"^(\w+)=(.*)$", finished.text, re.MULTILINE)))


def _named(values: dict[str, str]) -> str:
    if kind := values.get("TYPE"):
        return kind
    if table := values.get("PTTYPE"):
        return f"a partition table ({table})"
    return next((values[name] for name in ("USAGE", "LABEL", "UUID") if name in values), "")


def _wipefs(path: Path) -> str | None:
    """The type that ``wipefs --no-act`` finds, "" for nothing; None where it is missing or fails."""
    if shutil.which("wipefs") is None:
        return None
    finished = run_tool(["wipefs", "--no-act", "--noheadings", "--output", "TYPE", str(path)], TOOL_LIMIT_S)
    if finished.timed_out or finished.returncode != 0:
        return None
    return (finished.text.split() or [""])[0]
