"""The target of a measurement, and the test file that qsim creates: marked, locked while measured, removed.

The mark is a small file in the same folder, ``NAME.qsim-target``, with a random number (nonce) and the file's
creation time. The file holds the same number in a block after the measured bytes. A file that replaced it is foreign,
even with the same inode. A kill between the mark and the file leaves an empty file that is still qsim's.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from measure.errors import UnsafeTargetError
from measure.machine import files
from measure.machine.files import write_durably
from measure.machine.host import storage_behind
from measure.machine.process import by_handle
from measure.units import format_bytes

MARK_SUFFIX = ".qsim-target"
SCHEMA = "qsim-target/2"

Kind = Literal["own file", "foreign file", "block device"]
DIRECT_BYTES = 4096
SEAL_BYTES = 4096
"""Size of the block after the measured bytes that holds the nonce."""
_SEAL = b"qsim test file, may be deleted: "


@dataclass(frozen=True)
class Target:
    """A target that passed the safety rules. ``size_bytes``: bytes to be measured; ``exists``: whether it exists.

    ``filled``: qsim's own file was written once from end to end; ``scattered``: and then at random (see
    :mod:`measure.fio.plan`). ``writable`` is never true for a foreign file.
    """

    path: Path
    kind: Kind
    size_bytes: int
    exists: bool
    writable: bool
    filled: bool = False
    scattered: bool = False


def is_own(path: Path) -> bool:
    """Whether qsim created the file now at ``path``."""
    mark = read_mark(path)
    if mark is None:
        return False
    try:
        file = os.open(path, files.flags("O_NOFOLLOW", "O_NONBLOCK"))
    except OSError:
        return False
    try:
        return _is_marked(file, mark)
    finally:
        os.close(file)


def _is_marked(file: int, mark: dict[str, Any]) -> bool:
    """Whether a mark belongs to the open file: both have the same nonce and creation time."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    sealed = os.pread(file, SEAL_BYTES, max(0, status.st_size - SEAL_BYTES)) == _seal(str(mark.get("nonce")))
    if mark.get("born_ns") is None:  # killed before the mark was complete: the file holds only the seal
        return sealed or status.st_size == 0
    return sealed and mark["born_ns"] == files.birth_ns(file)


def _seal(nonce: str) -> bytes:
    return (_SEAL + nonce.encode()).ljust(SEAL_BYTES, b"\n")


def measured_bytes(path: Path) -> int:
    """Bytes of qsim's file that are measured: all but its last block."""
    return max(0, path.lstat().st_size - SEAL_BYTES)


@contextlib.contextmanager
def held(target: Target, *, keep: bool) -> Iterator[Target]:
    """Create qsim's own file in its full size, lock it against other runs, and remove it at the end.

    Foreign files and devices are yielded unchanged; a device that is written to is open exclusively meanwhile.
    Raises UnsafeTargetError where the file cannot be created, another run uses it, or its filesystem has no direct
    I/O (a file just created is removed).
    """
    if target.kind != "own file":
        with _exclusively(target):
            yield target
        return
    descriptor = _open_own(target)
    try:
        try:
            files.lock(descriptor)
        except OSError as error:
            keep = True  # the other run removes it
            raise UnsafeTargetError(
                f"another run is measuring on {target.path}; wait for it or name another target"
            ) from error
        if os.fstat(descriptor).st_size != target.size_bytes + SEAL_BYTES:
            # fio replaces a file shorter than its job by a new one, which would lack the mark.
            _resize(descriptor, target)
        try:
            _try_direct_io(target)
        except UnsafeTargetError:
            keep = target.exists
            raise
        with by_handle(target.path, descriptor):
            yield replace(target, exists=True)
    finally:
        os.close(descriptor)
        if not keep:
            _remove_though_interrupted(target.path)


@contextlib.contextmanager
def _exclusively(target: Target) -> Iterator[None]:
    """Hold a device that is written to open exclusively: it cannot be mounted or added to an array meanwhile."""
    if target.kind != "block device" or not target.writable:
        yield
        return
    try:
        descriptor = os.open(target.path, files.flags("O_EXCL"))
    except OSError as error:
        raise UnsafeTargetError(
            f"{target.path} is not written to: it cannot be opened exclusively ({error.strerror or error})"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def _resize(descriptor: int, target: Target) -> None:
    """Resize qsim's file; its seal is written before anything is cut off, so that it is always marked."""
    mark = read_mark(target.path) or {}
    try:
        os.pwrite(descriptor, _seal(str(mark.get("nonce"))), target.size_bytes)
        if mark.get("born_ns") is None:
            _write_mark(target.path, {**mark, "born_ns": files.birth_ns(descriptor)})
        os.ftruncate(descriptor, target.size_bytes + SEAL_BYTES)
    except OSError as error:
        raise UnsafeTargetError(
            f"{target.path} cannot be made {format_bytes(target.size_bytes)} long: {error.strerror or error}; ask for "
            "a smaller size or name another directory"
        ) from error


def mark_filled(target: Target, *, scattered: bool = False) -> None:
    """Record in the mark that qsim's file was written from end to end at its present size, and perhaps at random."""
    mark = read_mark(target.path) or {}
    _write_mark(target.path, {**mark, "filled_bytes": target.size_bytes, "scattered": scattered})


def remove_own(path: Path) -> None:
    """Remove the file at ``path`` and its mark, only if qsim made it; UnsafeTargetError where that fails."""
    try:
        if is_own(path):
            path.unlink()
        if read_mark(path) is not None and not path.exists():
            _mark_of(path).unlink()
    except OSError as error:
        raise UnsafeTargetError(
            f"the test file {path} cannot be removed: {error.strerror or error}; remove it and {_mark_of(path).name}"
        ) from error


def remove_leftover(target: Target) -> None:
    """Remove qsim's file, or its mark, left by a killed run; not where another run uses it."""
    if target.kind != "own file":
        return
    try:
        descriptor = os.open(target.path, files.flags("O_NOFOLLOW"))
    except FileNotFoundError:
        remove_own(target.path)
        return
    except OSError as error:
        raise UnsafeTargetError(f"{target.path} cannot be removed: {error.strerror or error}") from error
    try:
        files.lock(descriptor)
        remove_own(target.path)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


def check_unchanged(target: Target) -> None:
    """Raise UnsafeTargetError where qsim's file was removed, replaced or truncated during the run."""
    if target.kind != "own file":
        return
    if not target.path.exists():
        raise UnsafeTargetError(f"the test file {target.path} has vanished while it was measured; start again")
    if not is_own(target.path) or measured_bytes(target.path) != target.size_bytes:
        raise UnsafeTargetError(
            f"the test file {target.path} was changed by somebody else while it was measured; start again"
        )


def _remove_though_interrupted(path: Path) -> None:
    """Remove qsim's file even if another Ctrl-C interrupts the removal; the interruption is raised afterwards."""
    try:
        remove_own(path)
    except KeyboardInterrupt:
        remove_own(path)
        raise


def _open_own(target: Target) -> int:
    """Open qsim's file, created with its mark if new. On failure or interruption nothing is left."""
    path = target.path
    try:
        if target.exists:
            file = os.open(path, files.flags("O_RDWR", "O_NOFOLLOW"))
            if not _is_marked(file, read_mark(path) or {"born_ns": -1}):
                os.close(file)
                raise UnsafeTargetError(f"{path} has changed since it was looked at; start again")
            return file
        return _create_own(path)
    except FileExistsError as error:
        raise UnsafeTargetError(
            f"{path} has appeared since it was looked at (another program made it, perhaps another qsim); start again"
        ) from error
    except OSError as error:
        raise UnsafeTargetError(f"{path} cannot be created: {error.strerror or error}; name another target") from error


def _create_own(path: Path) -> int:
    """Create an empty file with its mark; resizing adds the seal."""
    try:
        if not path.exists():
            _write_mark(path, {"nonce": secrets.token_hex(16), "born_ns": None})
        return os.open(path, files.flags("O_RDWR", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), 0o600)
    except FileExistsError:  # a foreign file, and perhaps a foreign mark
        raise
    except BaseException:
        _remove_though_interrupted(path)
        raise


def _try_direct_io(target: Target) -> None:
    """Test direct I/O: write and read one block of a file still to be filled; only read a filled one."""
    try:
        descriptor = files.opened_direct(str(target.path), writes=True)
        try:
            if files.uncached_by_call():  # opening has already set it, or failed
                return
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
    """The content of a file's mark; None where there is none."""
    try:
        mark = json.loads(_mark_of(path).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) and mark.get("schema") == SCHEMA else None


def _write_mark(path: Path, mark: dict[str, Any]) -> None:
    says = f"{path.name} is a test file that qsim created; both may be deleted"
    write_durably(_mark_of(path), json.dumps({"schema": SCHEMA, "says": says, **mark}).encode())
