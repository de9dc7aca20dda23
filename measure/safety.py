"""What may be written to. A measurement destroys what its target holds, so a target must be ours or be given up.

The rules, in the order in which they are checked:

1. A path that does not exist: we create it, and mark it as ours. A directory: we create ``qsim-test-file`` in it.
2. A regular file that carries our mark: used again. The mark is a small file beside it, ``NAME.qsim-target``, with
   the inode and device number of the file that we created; a file that took its place is not ours.
3. Any other regular file, and any block device: refused, unless the user consents to its being read
   (``consent="read"``). It is then only read, and fio gets --readonly besides.
4. Writing to a block device: only where its name was typed a second time (``write_device``), and never while it is
   mounted, used as swap or by another device, held open exclusively, or while it holds a filesystem or partitions.
5. Everything else (character devices such as /dev/null, pipes, sockets): refused. Links are followed first.

A filesystem that lives in memory (tmpfs) or takes no direct I/O would be measured as the page cache: refused. Newer
kernels accept O_DIRECT on tmpfs, so both the type and an actual direct write are checked.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from measure.durable import write_durably
from measure.errors import UnsafeTargetError
from measure.host import storage_behind
from measure.units import format_bytes

TEST_FILE = "qsim-test-file"
MARK_SUFFIX = ".qsim-target"
MEMORY_FILESYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs", "proc", "sysfs"})
SPARE_BYTES = 64 * 2**20  # left free on the filesystem, whatever the test file takes
DIRECT_BYTES = 4096

Kind = Literal["own file", "foreign file", "block device"]
Precondition = Literal["auto", "none", "sequential", "random"]
FILE_STATES = ("", "none", "sequential", "random")
"""What a file of ours may have got, each with what stands before it (see :mod:`measure.preconditioning`)."""

# Where filesystems, volume managers and partition tables keep their signatures: (offset, magic, name).
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0x438, b"\x53\xef", "ext2/3/4"),
    (0, b"XFSB", "XFS"),
    (0x10040, b"_BHRfS_M", "Btrfs"),
    (1024, b"\x10\x20\xf5\xf2", "F2FS"),
    (3, b"NTFS    ", "NTFS"),
    (3, b"EXFAT   ", "exFAT"),
    (54, b"FAT", "FAT"),
    (82, b"FAT32", "FAT32"),
    (0x8001, b"CD001", "ISO 9660"),
    (0, b"hsqs", "SquashFS"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (512, b"LABELONE", "LVM"),
    (4096, b"\xfc\x4e\x2b\xa9", "Linux RAID"),
    (0, b"\xfc\x4e\x2b\xa9", "Linux RAID"),
    (4086, b"SWAPSPACE2", "swap"),
    (4086, b"SWAP-SPACE", "swap"),
    (512, b"EFI PART", "a partition table (GPT)"),
    (4096, b"EFI PART", "a partition table (GPT)"),
    (510, b"\x55\xaa", "a partition table (MBR)"),
    (0x20008, b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "ZFS"),
)
SIGNATURE_BYTES = 0x20000 + 4096


@dataclass(frozen=True)
class Target:
    """A target that was found safe. ``size_bytes`` is what will be measured, ``exists`` whether it is there already.

    ``filled`` tells of our own file that it was written once from end to end, ``preconditioned`` what was written to it
    (see :mod:`measure.preconditioning`). ``writable`` is never true for a foreign file.
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


def check_target(
    target: Path,
    size_bytes: int | None,
    *,
    writes: bool,
    consent: Literal["read"] | None = None,
    write_device: str | None = None,
) -> Target:
    """Look at ``target`` and say what it is and that it may be used; nothing is created or changed.

    ``size_bytes`` is the part to be measured (None: all of what exists; needed for a file of our own). ``writes`` is
    whether the workload writes. Raises UnsafeTargetError, in one sentence with the reason and the remedy.
    """
    if not str(target):
        raise UnsafeTargetError("the target is empty; name a file that does not exist yet, or a directory")
    path = _resolved(target)
    shown = str(target) if path == target else f"{target} (which is {path})"
    if path.is_dir():
        path /= TEST_FILE
        shown = str(path)
    try:
        status = path.lstat()
    except FileNotFoundError:
        return _new_file(path, size_bytes)
    except OSError as error:
        raise UnsafeTargetError(f"{shown} cannot be looked at: {error.strerror or error}") from error
    if stat.S_ISREG(status.st_mode):
        if is_ours(path):
            return _own_file(path, status, size_bytes)
        return _foreign_file(path, shown, status, size_bytes, writes=writes, consent=consent)
    if stat.S_ISBLK(status.st_mode):
        return _block_device(path, shown, size_bytes, writes=writes, consent=consent, write_device=write_device)
    what = next(
        name for test, name in (
            (stat.S_ISCHR, "a character device"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
            (stat.S_ISLNK, "a link that leads in a circle"), (lambda _: True, "no file"),
        ) if test(status.st_mode)
    )  # fmt: skip
    raise UnsafeTargetError(f"{shown} is {what}, not a drive; name a file that does not exist yet, or a directory")


def is_ours(path: Path) -> bool:
    """Whether qsim created the file that is at ``path`` now."""
    mark = _read_mark(path)
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
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        if _read_mark(path) is not None and not path.exists():
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
        descriptor = os.open(target.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        remove_own(target.path)
        return
    except OSError as error:
        raise UnsafeTargetError(f"{target.path} cannot be removed: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


# --- files ---------------------------------------------------------------------------------------------------------


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
    size = _needed(size_bytes, path)
    _refuse_memory(path)
    _check_space(path, size, already=0)
    return Target(path, "own file", size, exists=False, writable=True)


def _own_file(path: Path, status: os.stat_result, size_bytes: int | None) -> Target:
    size = _needed(size_bytes or status.st_size or None, path)
    _refuse_memory(path)
    _check_space(path, size, already=status.st_blocks * 512)
    mark = _read_mark(path) or {}
    filled = mark.get("filled_bytes") == size == status.st_size
    told = mark.get("preconditioned")
    state = "" if not filled else told if told in FILE_STATES[1:] else "none"
    return Target(path, "own file", size, exists=True, writable=True, filled=filled, preconditioned=state)


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
            f"{shown} exists and was not created by qsim; name a file that does not exist yet, or a directory, or "
            "consent to its being read"
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
        raise UnsafeTargetError(f"size {size_bytes} of {path} is below {DIRECT_BYTES} bytes; give a size such as 1GiB")
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


def _open_own(target: Target) -> int:
    """Our file, opened; created with its mark where it is new. Where that fails or is interrupted nothing stays."""
    path = target.path
    try:
        if target.exists:
            if not is_ours(path):
                raise UnsafeTargetError(f"{path} has changed since it was looked at; start again")
            return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        return _create_own(path)
    except FileExistsError as error:
        raise UnsafeTargetError(f"{path} has appeared since it was looked at, and is not ours; start again") from error
    except OSError as error:
        raise UnsafeTargetError(f"{path} cannot be created: {error.strerror or error}; name another target") from error


def _create_own(path: Path) -> int:
    try:
        if not path.exists():
            _write_mark(path, None)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
    if not hasattr(os, "O_DIRECT"):
        raise UnsafeTargetError("this system has no direct I/O (O_DIRECT), so a drive cannot be measured here")
    try:
        descriptor = os.open(target.path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
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


# --- the mark ------------------------------------------------------------------------------------------------------


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + MARK_SUFFIX)


def _read_mark(path: Path) -> dict[str, Any] | None:
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


# --- block devices -------------------------------------------------------------------------------------------------


def _block_device(
    path: Path, shown: str, size_bytes: int | None, *, writes: bool, consent: str | None, write_device: str | None
) -> Target:
    if writes:
        if write_device != str(path):
            raise UnsafeTargetError(
                f"{shown} is a block device, and writing destroys what it holds; to do so, give its name again as the "
                f"device to write ({path}), or measure reads, or name a file"
            )
        reason = device_in_use(path)
        if reason is not None:
            raise UnsafeTargetError(f"{shown} is not written to: it {reason}; name an empty drive or a file")
    elif consent != "read":
        raise UnsafeTargetError(
            f"{shown} is a block device; consent to its being read (nothing is written to it), or name a file that "
            "does not exist yet"
        )
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UnsafeTargetError(
            f"{shown} cannot be opened: {error.strerror or error}; run with the right to read it (group disk), or name "
            "a file"
        ) from error
    try:
        available = os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)
    size = size_bytes or available
    if not DIRECT_BYTES <= size <= available:
        raise UnsafeTargetError(
            f"{shown} has {format_bytes(available)}, and {format_bytes(size)} of it are asked for; ask for a smaller "
            "size"
        )
    return Target(path, "block device", size, exists=True, writable=writes, filled=not writes)


def device_in_use(device: Path) -> str | None:
    """What a block device is used for ("is mounted on /"), with its partitions; None where it is free and blank."""
    number = device.stat().st_rdev
    folder = Path("/sys/dev/block") / f"{os.major(number)}:{os.minor(number)}"
    members = [folder.resolve(), *(p.parent for p in folder.resolve().glob("*/partition"))] if folder.exists() else []
    names = {p.name for p in members} | {device.name}
    for line in _lines(Path("/proc/self/mountinfo")):
        fields = line.split()
        source = line.partition(" - ")[2].split()
        if fields[2] in {_number_of(p) for p in members} or (len(source) > 1 and Path(source[1]).name in names):
            return f"is mounted on {fields[4]}"
    for line in _lines(Path("/proc/swaps"))[1:]:
        if Path(line.split()[0]).name in names:
            return "is used as swap"
    for member in members:
        holders = [p.name for p in (member / "holders").glob("*")]
        if holders:
            return f"is part of {', '.join(holders)}"
    if len(members) > 1:
        return f"has partitions ({', '.join(sorted(p.name for p in members[1:]))})"
    return _held_or_not_blank(device)


def _held_or_not_blank(device: Path) -> str | None:
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        return f"cannot be had exclusively ({error.strerror or error})"
    try:
        head = os.pread(descriptor, SIGNATURE_BYTES, 0)
    finally:
        os.close(descriptor)
    found = signature(head)
    return f"holds {found}" if found else None


def signature(head: bytes) -> str | None:
    """The name of the filesystem or partition table whose signature is in a device's first bytes."""
    for offset, magic, name in SIGNATURES:
        if head[offset : offset + len(magic)] == magic:
            return name
    return None


def _number_of(folder: Path) -> str:
    return (folder / "dev").read_text().strip() if (folder / "dev").exists() else ""


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
