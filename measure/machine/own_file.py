"""The target of a measurement, and the test file that qsim creates: marked, locked while measured, removed.

The mark is a small file in the same folder, ``NAME.qsim-target``, with a random number (nonce) and the file's
creation time. The file holds the same number in a block after the measured bytes. A file that replaced it is foreign,
even with the same inode. A kill between the mark and the file leaves an empty file that is still qsim's.

A mark is created new and replaces nothing; it is changed in place, and only where it still holds the file's number.
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
from measure.machine.contents import Contents
from measure.machine.device import held_device
from measure.machine.files import write_new
from measure.machine.host import storage_behind
from measure.machine.process import by_handle
from measure.units import format_bytes

MARK_SUFFIX = ".qsim-target"
SCHEMA = "qsim-target/2"

Kind = Literal["own file", "foreign file", "block device"]
DIRECT_BYTES = 4096
SEAL_BYTES = 4096  # size of the block after the measured bytes that holds the nonce
MARK_BYTES = 4096  # size of a mark: a change is one write
_SEAL = b"qsim test file, may be deleted: "


@dataclass(frozen=True)
class Target:
    """A target that passed the safety rules. ``size_bytes``: bytes to be measured; ``exists``: whether it exists.

    ``filled``: qsim's own file was written once from end to end; ``scattered``: and then at random (see
    :mod:`measure.fio.plan`). ``writable`` is never true for a foreign file. ``seen`` is what was seen of a device.
    """

    path: Path
    kind: Kind
    size_bytes: int
    exists: bool
    writable: bool
    filled: bool = False
    scattered: bool = False
    seen: Contents | None = None


def is_own(path: Path) -> bool:
    """Whether qsim created the file now at ``path``."""
    mark = read_mark(path)
    if mark is None:
        return False
    try:
        with files.opened(path, "O_NOFOLLOW", "O_NONBLOCK") as file:
            return _is_marked(file, mark)
    except OSError:
        return False


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

    Foreign files and devices are yielded unchanged; a device is looked at again and held open meanwhile
    (:mod:`measure.machine.device`). Raises UnsafeTargetError where the file cannot be created, another run uses it, or
    its filesystem has no direct I/O (a file just created is removed), and where a device is in use or has changed.
    """
    if target.kind != "own file":
        unchanged = (
            held_device(target.path, target.seen, writes=target.writable) if target.seen else contextlib.nullcontext()
        )
        with unchanged:
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


def _resize(descriptor: int, target: Target) -> None:
    """Resize qsim's file; its seal is written before anything is cut off, so that it is always marked."""
    try:
        mark = _known_mark(target.path)
        os.pwrite(descriptor, _seal(str(mark["nonce"])), target.size_bytes)
        if mark.get("born_ns") is None:
            _change_mark(target.path, mark, born_ns=files.birth_ns(descriptor))
        os.ftruncate(descriptor, target.size_bytes + SEAL_BYTES)
    except OSError as error:
        raise UnsafeTargetError(
            f"{target.path} cannot be made {format_bytes(target.size_bytes)} long: {error.strerror or error}; ask for "
            "a smaller size or name another directory"
        ) from error


def mark_filled(target: Target, *, scattered: bool = False) -> None:
    """Record in the mark that qsim's file was written from end to end at its present size, and perhaps at random.

    Raises UnsafeTargetError where the file or its mark was changed by somebody else.
    """
    check_unchanged(target)
    _change_mark(target.path, _known_mark(target.path), filled_bytes=target.size_bytes, scattered=scattered)


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
            _create_mark(path)
        return os.open(path, files.flags("O_RDWR", "O_CREAT", "O_EXCL", "O_NOFOLLOW"), 0o600)
    except (FileExistsError, UnsafeTargetError):  # a foreign file, and perhaps a foreign mark
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


def check_mark(path: Path) -> None:
    """Raise UnsafeTargetError where something that is not a mark of qsim has the name of the mark of ``path``."""
    mark = _mark_of(path)
    if os.path.lexists(mark) and read_mark(path) is None:
        raise UnsafeTargetError(
            f"{mark} exists and was not created by qsim, so {path.name} cannot be marked as a test file; name another "
            "target, or move that file"
        )


def read_mark(path: Path) -> dict[str, Any] | None:
    """The content of a file's mark; None where there is none."""
    try:
        with files.opened(_mark_of(path), "O_NOFOLLOW", "O_NONBLOCK") as file:
            return _mark_in(file)
    except OSError:
        return None


def _mark_in(file: int) -> dict[str, Any] | None:
    """The mark that an open file holds; None where it holds none."""
    try:
        mark = json.loads(os.pread(file, MARK_BYTES, 0)) if stat.S_ISREG(os.fstat(file).st_mode) else None
    except (OSError, ValueError):
        return None
    known = isinstance(mark, dict) and mark.get("schema") == SCHEMA and isinstance(mark.get("nonce"), str)
    return mark if known else None


def _known_mark(path: Path) -> dict[str, Any]:
    if (mark := read_mark(path)) is None:
        raise UnsafeTargetError(f"{_mark_of(path)} was removed or changed by somebody else; start again")
    return mark


def _create_mark(path: Path) -> None:
    """Create the mark of a new file, or take a killed run's; UnsafeTargetError where another file has its name."""
    check_mark(path)
    if (mark := read_mark(path)) is not None:
        _change_mark(path, mark, born_ns=None)
        files.remove_leftovers(path.parent, _mark_of(path).name)  # of the run that was killed
        return
    try:
        write_new(_mark_of(path), _mark_text(path, {"nonce": secrets.token_hex(16), "born_ns": None}))
    except FileExistsError:
        check_mark(path)  # another run's mark may have appeared: the first to create the file has it


def _change_mark(path: Path, known: dict[str, Any], **changes: Any) -> None:
    """Change a mark in place; UnsafeTargetError where it is not the known one any more."""
    with files.opened(_mark_of(path), "O_RDWR", "O_NOFOLLOW", "O_NONBLOCK") as file:
        mark = _mark_in(file)
        if mark is None or mark["nonce"] != known["nonce"]:
            raise UnsafeTargetError(f"{_mark_of(path)} was changed by somebody else; start again")
        os.pwrite(file, _mark_text(path, {**mark, **changes}), 0)
        os.fsync(file)


def _mark_text(path: Path, mark: dict[str, Any]) -> bytes:
    says = f"{path.name} is a test file that qsim created; both may be deleted"
    return json.dumps({"schema": SCHEMA, **mark, "says": says}).encode().ljust(MARK_BYTES, b"\n")
