"""A folder to measure in: on a drive that takes direct I/O."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from measure.errors import UnsafeTargetError
from measure.machine.own_file import held
from measure.machine.safety import check_target


@contextmanager
def folder_on_a_drive(wanted: Path) -> Iterator[Path]:
    """``wanted``, made, or where it is in memory a folder in /var/tmp; skips where neither takes direct I/O."""
    other = Path(f"/var/tmp/qsim-test-{os.getpid()}")  # noqa: S108
    reasons = []
    try:
        for folder in (wanted, other):
            folder.mkdir()
            if not (reason := _why_not(folder)):
                yield folder
                return
            reasons.append(reason)
        pytest.skip("; ".join(reasons))
    finally:
        shutil.rmtree(other, ignore_errors=True)


def _why_not(folder: Path) -> str:
    try:
        with held(check_target(folder, 2**24, writes=True), keep=False):
            return ""
    except UnsafeTargetError as error:
        return str(error)
