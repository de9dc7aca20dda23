"""The target of a measurement, and the test file that we create: marked as ours, held while it is measured, removed.

The mark is a small file beside it, ``NAME.qsim-target``, with the inode and device number of the file that we created;
a file that took its place is not ours. A kill between the mark and the file leaves an empty file, which is ours still.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from measure.errors import UnsafeTargetError
from measure.machine import system
from measure.machine.durable import write_durably
from measure.machine.host import storage_behind
from measure.units import format_bytes

MARK_SUFFIX = ".qsim-target"

Kind = Literal["own file", "foreign file", "block device"]
Precondition = Literal["auto", "none", "sequential", "random"]
FILE_STATES = ("", "none", "sequential", "random")
"""What a file of ours may have got, each with what stands before it (see :mod:`measure.fio.preconditioning`)."""
DIRECT_BYTES = 4096


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


def is_ours(path: Path) -> bool:
    """Whether qsim created the file that is at ``path`` now."""
    mark = read_mark(path)
    if mark is None:
        return False
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    if mark.get("inode") is None:  # killed between the mark and the file: ours as long as nothing is in it
        return status.st_size == 0
    return (mark.get("inode"), mark.get("device")) == (status.st_ino, status.st_dev)


@contextlib.contextmanager
def held(target: Target, *, keep: bool) -> Iterator[Target]:
    """Create our own file in its full size, keep other runs of ours off it, and remove it at the end.

    Foreign files and devices are yielded as they are and never touched. Raises UnsafeTargetError where the file
    cannot be created, another run uses it, or its filesystem takes no direct I/O (a file just created is removed).
    """
    if target.kind != "own file":
        yield target
        return
    descriptor = _open_own(target)
    try:
        try:
            system.lock(descriptor)
        except OSError as error:
            keep = True  # it is the other run's to remove
            raise UnsafeTargetError(
                f"another run is measuring on {target.path}; wait for it or name another target"
            ) from error
        if os.fstat(descriptor).st_size != target.size_bytes:
            # fio replaces a file that is shorter than its job by a new one, which would not be ours any more.
            _lengthen(descriptor, target)
        try:
            _try_direct_io(target)
        except UnsafeTargetError:
            keep = target.exists
            raise
        yield replace(target, exists=True)
    finally:
        os.close(descriptor)
        if not keep:
            _remove_though_interrupted(target.path)


def _lengthen(descriptor: int, target: Target) -> None:
    try:
        os.ftruncate(descriptor, target.size_bytes)
    except OSError as error:
        raise UnsafeTargetError(
            f"{target.path} cannot be made {format_bytes(target.size_bytes)} long: {error.strerror or error}; ask for "
            "a smaller size or name another directory"
        ) from error


def mark_filled(target: Target, preconditioned: str = "none") -> None:
    """Note in the mark that our file was written from end to end, at its present size, and what else it has got."""
    _write_mark(target.path, target.path.lstat(), target.size_bytes, preconditioned)


def remove_own(path: Path) -> None:
    """Remove the file at ``path`` and its mark if, and only if, it is ours; UnsafeTargetError where that cannot be."""
    try:
        if is_ours(path):
            path.unlink()
        if read_mark(path) is not None and not path.exists():
            _mark_of(path).unlink()
    except OSError as error:
        raise UnsafeTargetError(
            f"the test file {path} cannot be removed: {error.strerror or error}; remove it and {_mark_of(path).name}"
        ) from error


def remove_leftover(target: Target) -> None:
    """Remove our file, or its mark, where a run that was killed left it behind; not where another run uses it."""
    if target.kind != "own file":
        return
    try:
        descriptor = os.open(target.path, system.flags("O_NOFOLLOW"))
    except FileNotFoundError:
        remove_own(target.path)
        return
    except OSError as error:
        raise UnsafeTargetError(f"{target.path} cannot be removed: {error.strerror or error}") from error
    try:
        system.lock(descriptor)
        remove_own(target.path)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


def check_unchanged(target: Target) -> None:
    """UnsafeTargetError where our file is not what it was when the run began: removed, exchanged, cut."""
    if target.kind != "own file":
        return
    if not target.path.exists():
        raise UnsafeTargetError(f"the test file {target.path} has vanished while it was measured; start again")
    if not is_ours(target.path) or target.path.stat().st_size != target.size_bytes:
        raise UnsafeTargetError(
            f"the test file {target.path} was changed by somebody else while it was measured; start again"
        )


def _remove_though_interrupted(path: Path) -> None:
    """Remove our file also where Ctrl-C comes once more in the middle of it; the interruption goes on afterwards."""
    try:
        remove_own(path)
    except KeyboardInterrupt:
        remove_own(path)
        raise


def _open_own(target: Target) -> int:
    """Our file, opened; created with its mark where it is new. Where that fails or is interrupted nothing stays."""
    path = target.path
    try:
        if target.exists:
            if not is_ours(path):
                raise UnsafeTargetError(f"{path} has changed since it was looked at; start again")
            return os.open(path, system.flags("O_RDWR", "O_NOFOLLOW"))
        return _create_own(path)
    except FileExistsError as error:
        raise UnsafeTargetError(f"{path} has appeared since it was looked at, and is not ours; start again") from error
    except OSError as error:
        raise UnsafeTargetError(f"{path} cannot be created: {error.strerror or error}; name another target") from error


def _create_own(path: Path) -> int:
    try:
        if not path.exists():
            _write_mark(path, None)
        descriptor = os.open(path, system.flags("O_RDWR", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), 0o600)
        try:
            _write_mark(path, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
    except FileExistsError:  # somebody else's, and the mark may be theirs as well
        raise
    except BaseException:
        _remove_though_interrupted(path)
        raise


def _try_direct_io(target: Target) -> None:
    """Write and read one block with O_DIRECT; the file is to be filled anyway. Nothing is written to a filled one."""
    try:
        descriptor = os.open(target.path, system.flags("O_RDWR", "O_DIRECT"))
        try:
            with mmap.mmap(-1, DIRECT_BYTES) as block:  # anonymous memory is page-aligned, as O_DIRECT wants it
                if not target.filled:
                    os.pwritev(descriptor, [block], 0)
                os.preadv(descriptor, [block], 0)
        finally:
            os.close(descriptor)
    except OSError as error:
        storage = storage_behind(target.path)
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            raise UnsafeTargetError(
                f"{target.path} is on {storage.filesystem}, which takes no direct I/O, so the page cache would be "
                "measured; name a directory on another filesystem"
            ) from error
        raise UnsafeTargetError(f"{target.path} cannot be written: {error.strerror or error}") from error


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + MARK_SUFFIX)


def read_mark(path: Path) -> dict[str, Any] | None:
    """What the mark beside a file says; None where there is none of ours."""
    try:
        mark = json.loads(_mark_of(path).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) and mark.get("schema") == "qsim-target/1" else None


def _write_mark(
    path: Path, status: os.stat_result | None, filled_bytes: int | None = None, preconditioned: str = ""
) -> None:
    mark = {
        "schema": "qsim-target/1",
        "says": f"{path.name} is a test file that qsim created; both may be deleted",
        "inode": None if status is None else status.st_ino,
        "device": None if status is None else status.st_dev,
        "filled_bytes": filled_bytes,
        "preconditioned": preconditioned,
    }
    write_durably(_mark_of(path), json.dumps(mark).encode())
