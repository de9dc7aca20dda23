"""Which targets may be written to. Writes destroy data, so a target must be qsim's own or be given up by the user.

The rules, in the order in which they are checked:

1. A path that does not exist: it is created and marked as qsim's. A directory: ``qsim-test-file`` in it.
2. A regular file that carries our mark (:mod:`measure.machine.own_file`): used again.
3. Any other regular file, and any block device: refused, unless the user consents to its being read
   (``consent="read"``). It is then only read, and fio gets --readonly besides.
4. Writing to a block device or an NBD export: only where its name was typed a second time (``write_device``), and never
   while it is mounted, used as swap or by another device, held open exclusively, or while it holds anything that
   libblkid knows. Where any of the places that are read is not zero (:mod:`measure.machine.contents`), its name has to
   be typed a third time (``erase``). The run opens a device exclusively, looks at all of this again, and refuses a
   device that has changed since it was planned (:mod:`measure.machine.device`). It is held for the whole run.
5. Everything else (character devices such as /dev/null, pipes, sockets): refused. Links are followed first.

A filesystem in memory (tmpfs) or without direct I/O would be measured as the page cache: rejected. Newer kernels
accept O_DIRECT on tmpfs, so both the type and an actual direct write are checked.
"""

from __future__ import annotations

import os
import platform
import stat
from pathlib import Path
from typing import Literal

from measure.errors import UnsafeTargetError
from measure.machine import device, files
from measure.machine.contents import Contents, Export, connected, contents_of, signature_of
from measure.machine.host import storage_behind
from measure.machine.own_file import DIRECT_BYTES, Target, check_mark, is_own, measured_bytes, read_mark
from measure.units import format_bytes

TEST_FILE = "qsim-test-file"
MEMORY_FILESYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs", "proc", "sysfs"})
PROBE_ON_MACOS = "; on macOS qsim's own probe measures: qsim measure drive TARGET"
NO_DRIVES = {
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link, which is not followed",
}
SPARE_BYTES = 64 * 2**20  # must stay free on the filesystem


def test_file(target: Path) -> Path:
    """The file that is measured at ``target``, which may be a directory."""
    return target / TEST_FILE if target.is_dir() else target


def why_no_drive(*, by_probe: bool = True) -> str:
    """Why this system cannot measure a drive, by the probe or by fio; empty where it can."""
    if hasattr(os, "O_DIRECT") or (by_probe and files.uncached_by_call()):
        return ""
    name = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    by_itself = "" if by_probe else PROBE_ON_MACOS
    return (
        f"{name} has no direct I/O (O_DIRECT), so the page cache would be measured and not the drive; measure on Linux "
        f"and bring the directory here: qsim compare DIR{by_itself}"
    )


def check_target(
    target: Path,
    size_bytes: int | None,
    *,
    writes: bool,
    consent: Literal["read"] | None = None,
    write_device: str | None = None,
    erase: str | None = None,
) -> Target:
    """Check ``target`` against the rules and return it with its kind; nothing is created or changed.

    ``size_bytes`` is the part to be measured (None: all of an existing target; needed for a new file). ``writes``:
    whether the workload writes. Raises UnsafeTargetError, in one sentence with the reason and the remedy.
    """
    if reason := why_no_drive():
        raise UnsafeTargetError(reason)
    path = _resolved(target)
    shown = str(target) if path == target else f"{target} (which is {path})"
    if path.is_dir():
        path = test_file(path)
        shown = str(path)
    try:
        status = path.lstat()
    except FileNotFoundError:
        return _new_file(path, size_bytes)
    except OSError as error:
        raise UnsafeTargetError(f"{shown} cannot be looked at: {error.strerror or error}") from error
    if stat.S_ISREG(status.st_mode):
        if is_own(path):
            return _own_file(path, status, size_bytes)
        return _foreign_file(path, shown, status, size_bytes, writes=writes, consent=consent)
    if stat.S_ISBLK(status.st_mode):
        _check_consent(str(path), shown, writes=writes, consent=consent, write_device=write_device)
        return _block_device(path, shown, size_bytes, writes=writes, erase=erase)
    what = NO_DRIVES.get(stat.S_IFMT(status.st_mode), "no file")
    raise UnsafeTargetError(f"{shown} is {what}, not a drive; name a file that does not exist yet, or a directory")


def _resolved(target: Path) -> Path:
    try:
        return target.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise UnsafeTargetError(f"{target} cannot be resolved: {error}; name a plain path") from error


def _new_file(path: Path, size_bytes: int | None) -> Target:
    folder = path.parent
    if not folder.is_dir():
        raise UnsafeTargetError(f"{path} cannot be created: there is no directory {folder}; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnsafeTargetError(f"{path} cannot be created: no permission to write in {folder}; name another directory")
    check_mark(path)
    size = _needed(size_bytes, path)
    _refuse_memory(path)
    _check_space(path, size, already=0)
    return Target(path, "own file", size, exists=False, writable=True)


def _own_file(path: Path, status: os.stat_result, size_bytes: int | None) -> Target:
    there = measured_bytes(path)
    size = _needed(size_bytes or there or None, path)
    _refuse_memory(path)
    _check_space(path, size, already=status.st_blocks * 512)
    mark = read_mark(path) or {}
    filled = mark.get("filled_bytes") == size == there
    scattered = filled and mark.get("scattered") is True
    return Target(path, "own file", size, exists=True, writable=True, filled=filled, scattered=scattered)


def _foreign_file(
    path: Path, shown: str, status: os.stat_result, size_bytes: int | None, *, writes: bool, consent: str | None
) -> Target:
    if writes:
        raise UnsafeTargetError(
            f"{shown} exists and was not created by qsim, so it is not written to; name a file that does not exist "
            "yet, or a directory"
        )
    if consent != "read":
        raise UnsafeTargetError(
            f"{shown} exists and was not created by qsim",
            "name a file that does not exist yet, or a directory, or {read}",
        )
    if not os.access(path, os.R_OK):
        raise UnsafeTargetError(f"{shown} cannot be read: no permission; name a file that you may read")
    _refuse_memory(path)
    size = size_bytes or status.st_size
    if status.st_size < size or size < DIRECT_BYTES:
        wanted = format_bytes(max(size, DIRECT_BYTES))
        raise UnsafeTargetError(
            f"{shown} has {format_bytes(status.st_size)}, too little to measure {wanted} of it; ask for a smaller "
            "size or name a larger file"
        )
    if status.st_blocks * 512 < 0.95 * status.st_size:
        raise UnsafeTargetError(
            f"{shown} has holes: {format_bytes(status.st_size)} long, {format_bytes(status.st_blocks * 512)} on the "
            "device, and reading a hole measures no device; name a file that was written in full"
        )
    return Target(path, "foreign file", size, exists=True, writable=False, filled=True)


def _needed(size_bytes: int | None, path: Path) -> int:
    if size_bytes is None:
        raise UnsafeTargetError(f"{path} is to be created, but its size is not given; give a size such as 1GiB")
    if size_bytes < DIRECT_BYTES:
        raise ValueError(f"size {size_bytes} of {path} is below {DIRECT_BYTES} bytes; give a size such as 1GiB")
    return size_bytes


def _refuse_memory(path: Path) -> None:
    storage = storage_behind(path)
    if storage.filesystem in MEMORY_FILESYSTEMS:
        raise UnsafeTargetError(
            f"{path} is on {storage.filesystem}, which lives in memory: no direct I/O to a device is possible there; "
            "name a directory on a drive"
        )


def _check_space(path: Path, size: int, already: int) -> None:
    free = storage_behind(path).free_bytes
    if free < size - already + SPARE_BYTES:
        raise UnsafeTargetError(
            f"{path.parent} has {format_bytes(free)} free, and the test file takes {format_bytes(size)} (with "
            f"{format_bytes(SPARE_BYTES)} to spare); ask for a smaller size or name another directory"
        )


def check_export(
    uri: str, *, writes: bool, write_device: str | None = None, erase: str | None = None
) -> Contents | None:
    """What is seen of the NBD export at ``uri``, None for a workload that only reads.

    Raises UnsafeTargetError where a workload that ``writes`` may not use it.
    """
    if not writes:
        return None
    _check_consent(uri, uri, writes=True, consent=None, write_device=write_device)
    with connected(uri) as export:
        seen = _look(export)
    _check_contents(uri, uri, seen, erase)
    return seen


def check_export_again(seen: Contents | None) -> None:
    """Raise UnsafeTargetError where an export is not as :func:`check_export` saw it."""
    if seen is not None:
        with connected(seen.device) as export:
            device.check_unchanged_since(seen, _look(export), f"{seen.device} is not written to: ")


def _look(export: Export) -> Contents:
    signature = signature_of(export.read, export.size_bytes)
    return contents_of(export.read, export.size_bytes, signature, export.uri)


def _check_consent(name: str, shown: str, *, writes: bool, consent: str | None, write_device: str | None) -> None:
    """Raise UnsafeTargetError where the user did not consent to reading, or writing to, this device or export."""
    if writes and write_device != name:
        raise UnsafeTargetError(
            f"{shown} is {'an NBD export' if '://' in name else 'a block device'}, and writing destroys what it holds",
            "to do so, {write}, or measure reads, or name a file",
            name,
        )
    if not writes and consent != "read":
        raise UnsafeTargetError(
            f"{shown} is a block device", "{read} (nothing is written to it), or name a file that does not exist yet"
        )


def _check_contents(name: str, shown: str, seen: Contents, erase: str | None) -> None:
    """Raise UnsafeTargetError where a device or export holds a signature, or is not blank and may not be erased."""
    if seen.signature is not None:
        raise UnsafeTargetError(
            f"{shown} is not written to: it holds {seen.signature}; name an empty drive or a file, or remove it with "
            "wipefs"
        )
    if seen.not_zero_at is not None and erase != name:
        raise UnsafeTargetError(
            f"{shown} is not written to: its byte {seen.not_zero_at:,} is not zero, so it may hold something",
            "to destroy it, {erase}, or name an empty drive or a file",
            name,
        )


def _block_device(path: Path, shown: str, size_bytes: int | None, *, writes: bool, erase: str | None) -> Target:
    if writes and (reason := device.device_in_use(path)) is not None:
        raise UnsafeTargetError(f"{shown} is not written to: it {reason}; name an empty drive or a file")
    try:
        descriptor = os.open(path, files.flags())
    except OSError as error:
        raise UnsafeTargetError(
            f"{shown} cannot be opened: {error.strerror or error}; run with the right to read it (group disk), or name "
            "a file"
        ) from error
    try:
        seen = device.look(path, descriptor, writes=writes)
    except OSError as error:
        raise UnsafeTargetError(f"{shown} cannot be read: {error.strerror or error}; name another drive") from error
    finally:
        os.close(descriptor)
    if seen.size_bytes < DIRECT_BYTES:
        raise UnsafeTargetError(
            f"{shown} has {format_bytes(seen.size_bytes)}, no medium to measure; name another drive"
        )
    if writes:
        _check_contents(str(path), shown, seen, erase)
    size = size_bytes or seen.size_bytes
    if not DIRECT_BYTES <= size <= seen.size_bytes:
        raise UnsafeTargetError(
            f"{shown} has {format_bytes(seen.size_bytes)}, and {format_bytes(size)} of it are asked for; ask for a "
            "smaller size"
        )
    return Target(path, "block device", size, exists=True, writable=writes, filled=not writes, seen=seen)
