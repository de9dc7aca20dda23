"""What a device may hold: the tools that make it, and labels written by hand where none is here."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

MAKERS = {
    "ext2": ["mkfs.ext2", "-q", "-F"],
    "ext3": ["mkfs.ext3", "-q", "-F"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "minix": ["mkfs.minix"],
    "bfs": ["mkfs.bfs"],
    "swap": ["mkswap"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "vfat": ["mkfs.vfat"],
    "f2fs": ["mkfs.f2fs", "-q", "-f"],
    "ntfs": ["mkfs.ntfs", "-q", "-F", "-f"],
    "exfat": ["mkfs.exfat"],
    "LVM2_member": ["pvcreate", "-q", "-y"],
    "crypto_LUKS": ["cryptsetup", "luksFormat", "-q", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"],
}
"""Commands that make what libblkid calls by this name; the device comes last, a passphrase from stdin."""


def _at(offset: int, content: bytes) -> Callable[[Path], None]:
    """Writes ``content`` at an offset of an image, a negative one from its end."""

    def write(image: Path) -> None:
        with image.open("r+b") as file:
            file.seek(offset, 0 if offset >= 0 else 2)
            file.write(content)

    return write


def _md_090(image: Path) -> None:
    """A superblock of Linux RAID 0.90, in the last aligned 64 KiB but one."""
    _at((image.stat().st_size & ~0xFFFF) - 65536, struct.pack("<IIII", 0xA92B4EFC, 0, 90, 0))(image)


def _md_1(image: Path, sector: int) -> None:
    """A superblock of Linux RAID 1.x, which holds its own sector."""
    _at(sector * 512, struct.pack("<II", 0xA92B4EFC, 1) + bytes(136) + struct.pack("<Q", sector))(image)


LABELS: dict[str, Callable[[Path], None]] = {
    "Linux RAID 0.90": _md_090,
    "Linux RAID 1.0": lambda image: _md_1(image, image.stat().st_size // 512 - 16 & ~7),
    "Linux RAID 1.1": lambda image: _md_1(image, 0),
    "Linux RAID 1.2": lambda image: _md_1(image, 8),
    "Intel Matrix RAID": _at(-1024, b"Intel Raid ISM Cfg Sig. "),
    "LUKS": _at(0, b"LUKS\xba\xbe\x00\x01"),
    "LVM": _at(512, b"LABELONE" + bytes(16) + b"LVM2 001"),
    "Ceph BlueStore": _at(0, b"bluestore block device\n"),
    "Oracle ASM": _at(32, b"ORCLDISKDATA01"),
    "ocfs2": _at(8192, b"OCFSV2"),
    "erofs": _at(1024, b"\xe2\xe1\xf5\xe0"),
    "cramfs": _at(0, b"\x45\x3d\xcd\x28"),
    "bcache": _at(4096 + 24, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")),
    "ZFS": _at(0x20000, struct.pack("<Q", 0x00BAB10C) * 128),
    "ZFS at the end alone": _at(-0x20000, struct.pack("<Q", 0x00BAB10C) * 128),
    "VMFS": _at(0x200000, b"\x5e\xf1\xab\x2f"),
    "a volume of VMFS": _at(0x100000, b"\x0d\xd0\x01\xc0"),
    "MBR": _at(510, b"\x55\xaa"),
    "GPT": _at(512, b"EFI PART"),
    "a backup GPT": _at(-512, b"EFI PART"),
    "a user's bytes": _at(5000, b"precious"),
}
"""Labels written by hand, not all of them whole: what libblkid does not take for one still is not blank."""
