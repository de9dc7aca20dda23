"""What is measured: a file of our own, a file of somebody else's, or a block device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MARK_SUFFIX = ".qsim-target"

Kind = Literal["own file", "foreign file", "block device"]
Precondition = Literal["auto", "none", "sequential", "random"]
FILE_STATES = ("", "none", "sequential", "random")
"""What a file of ours may have got, each with what stands before it (see :mod:`measure.fio.preconditioning`)."""


@dataclass(frozen=True)
class Target:
    """A target that was found safe. ``size_bytes`` is what will be measured, ``exists`` whether it is there already.

    ``filled`` tells of our own file that it was written once from end to end, ``preconditioned`` what was written to it
    (see :mod:`measure.fio.preconditioning`). ``writable`` is never true for a foreign file.
    """

    path: Path
    kind: Kind
    size_bytes: int
    exists: bool
    writable: bool
    filled: bool = False
    preconditioned: str = ""

    @property
    def mark(self) -> Path:
        """The file that says that the target is ours."""
        return self.path.with_name(self.path.name + MARK_SUFFIX)
