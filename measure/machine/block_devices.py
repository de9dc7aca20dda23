"""Whether a block device is free to be written: not mounted, not in use, and without a filesystem or partitions."""

from __future__ import annotations

import os
from pathlib import Path

from measure.machine import system

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
        descriptor = os.open(device, system.flags("O_EXCL"))
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
