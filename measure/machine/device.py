"""A block device: which one it is, what uses it, what it holds; and held open while it is measured.

A plan records what was seen of a device. The run opens the device, exclusively where it is to be written, and then
looks again: a device that has changed since is not used. The tool opens what is held, not what now has its name.

While a device is held exclusively the kernel lets nothing mount it, make it swap, or add it to an array or a volume
group, and programs that ask for exclusive use (mkfs, wipefs, partitioning) end with an error. A program that opens the
device without asking, as dd does, can still write to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure.errors import UnsafeTargetError
from measure.machine import files
from measure.machine.contents import Contents, contents_of, signature_on
from measure.machine.host import block_folder, text_of
from measure.machine.process import by_handle

FACTS = (
    "diskseq",
    "wwid",
    "serial",
    "device/wwid",
    "device/serial",
    "loop/backing_file",
    "dm/uuid",
    "md/uuid",
    "start",
)
"""Files of a device in /sys that say which one it is. ``diskseq`` counts the devices that the kernel has seen."""


def look(path: Path, descriptor: int, *, writes: bool) -> Contents:
    """What is seen of an open device; of one that is only read, which one it is and its size.

    Raises UnsafeTargetError where neither blkid nor wipefs answers, OSError where the device cannot be read.
    """
    size_bytes = os.lseek(descriptor, 0, os.SEEK_END)
    device = _identity(os.fstat(descriptor))
    if not writes:
        return Contents(device, size_bytes)
    if hasattr(os, "posix_fadvise"):  # what another host or layer wrote stands on the device, not in this page cache
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return contents_of(lambda at, length: os.pread(descriptor, length, at), size_bytes, signature_on(path), device)


@contextmanager
def held_device(path: Path, seen: Contents, *, writes: bool) -> Iterator[None]:
    """Hold a device open, exclusively where it is written, once it is found as it was ``seen`` by the plan.

    Raises UnsafeTargetError where it cannot be opened, is in use, or has changed.
    """
    refused = f"{path} is not {'written to' if writes else 'measured'}: "
    try:
        descriptor = os.open(path, files.flags(*(["O_EXCL"] if writes else [])))
    except OSError as error:
        use = _known_use(path) if writes and path.exists() else None
        how = " exclusively" if writes else ""
        why = use or f"cannot be opened{how} ({error.strerror or error})"
        raise UnsafeTargetError(f"{refused}it {why}; see to that, and plan again") from error
    try:
        if writes and (use := _known_use(path)) is not None:
            raise UnsafeTargetError(f"{refused}it {use}; see to that, and plan again")
        try:
            now = look(path, descriptor, writes=writes)
        except OSError as error:
            raise UnsafeTargetError(f"{refused}it cannot be read ({error.strerror or error})") from error
        check_unchanged_since(seen, now, refused)
        with by_handle(path, descriptor):
            yield
    finally:
        os.close(descriptor)


def check_unchanged_since(plan: Contents, now: Contents, refused: str) -> None:
    """Raise UnsafeTargetError, beginning with ``refused``, where a device or export is not as the plan saw it."""
    if change := now.change_since(plan):
        raise UnsafeTargetError(f"{refused}{change} since the plan was made; look at it, and plan again")


def _identity(status: os.stat_result) -> str:
    """Which device this is: its number, and what the kernel says of it and, for a partition, of its disk."""
    folder = block_folder(status.st_rdev)
    facts = [part / name for part in ((folder, folder.parent) if folder else ()) for name in FACTS]
    known = ((path, " ".join(text_of(path).splitlines())) for path in facts if path.is_file())
    values = (f"{path.parent.name}/{path.name} {text}" for path, text in known)
    return "; ".join((f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}", *values))


def device_in_use(device: Path) -> str | None:
    """The use of a block device or its partitions ("is mounted on /"); None where it is unused."""
    if (use := _known_use(device)) is not None:
        return use
    try:
        os.close(os.open(device, files.flags("O_EXCL")))
    except OSError as error:
        return f"cannot be opened exclusively ({error.strerror or error})"
    return None


def _known_use(device: Path) -> str | None:
    """The use that the kernel lists: mounts, swap, holders (md, LVM, device mapper) and partitions; or read-only."""
    folder = block_folder(device.stat().st_rdev)
    if folder and text_of(folder / "ro").strip() == "1":
        return "is read-only"
    members = [folder, *(p.parent for p in folder.glob("*/partition"))] if folder else []
    names = {p.name for p in members} | {device.name}
    numbers = {(p / "dev").read_text().strip() for p in members if (p / "dev").exists()}
    for line in text_of(Path("/proc/self/mountinfo")).splitlines():
        fields = line.split()
        source = line.partition(" - ")[2].split()
        if fields[2] in numbers or (len(source) > 1 and Path(source[1]).name in names):
            return f"is mounted on {fields[4]}"
    for line in text_of(Path("/proc/swaps")).splitlines()[1:]:
        if Path(line.split()[0]).name in names:
            return "is used as swap"
    for member in members:
        holders = [p.name for p in (member / "holders").glob("*")]
        if holders:
            return f"is part of {', '.join(holders)}"
    if len(members) > 1:
        return f"has partitions ({', '.join(sorted(p.name for p in members[1:]))})"
    return None
