"""What a device holds is known before anything is written to it: by libblkid's programs, and by its blank ends."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from measure.errors import UnsafeTargetError
from measure.machine import contents
from measure.machine.contents import END_BYTES, ends_are_zero, signature_of, signature_on

MIB = 2**20
SIZE = 512 * MIB

MAKERS = {
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
}


def md_090(image: bytearray) -> None:
    """A superblock of Linux RAID 0.90, 64 KiB before the end."""
    at = (len(image) & ~(65536 - 1)) - 65536
    struct.pack_into("<IIII", image, at, 0xA92B4EFC, 0, 90, 0)


def md_10(image: bytearray) -> None:
    """A superblock of Linux RAID 1.0, 8 KiB before the end."""
    at = (len(image) // 512 - 16 & ~7) * 512
    struct.pack_into("<II", image, at, 0xA92B4EFC, 1)
    struct.pack_into("<Q", image, at + 144, at // 512)


def imsm(image: bytearray) -> None:
    """Intel's fake RAID, in the sector before the last."""
    image[-1024:-1000] = b"Intel Raid ISM Cfg Sig. "


def at_offset(offset: int, magic: bytes) -> Callable[[bytearray], None]:
    def write(image: bytearray) -> None:
        image[offset : offset + len(magic)] = magic

    return write


LABELS: dict[str, Callable[[bytearray], None]] = {
    "Linux RAID 0.90": md_090,
    "Linux RAID 1.0": md_10,
    "Intel Matrix RAID": imsm,
    "LUKS": at_offset(0, b"LUKS\xba\xbe\x00\x01"),
    "LVM": at_offset(512, b"LABELONE" + bytes(16) + b"LVM2 001"),
    "Ceph BlueStore": at_offset(0, b"bluestore block device\n"),
    "Oracle ASM": at_offset(32, b"ORCLDISKDATA01"),
    "ocfs2": at_offset(8192, b"OCFSV2"),
    "erofs": at_offset(1024, b"\xe2\xe1\xf5\xe0"),
    "cramfs": at_offset(0, b"\x45\x3d\xcd\x28"),
    "bcache": at_offset(4096 + 24, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")),
    "ZFS": at_offset(0x20000, struct.pack("<Q", 0x00BAB10C) * 128),
    "MBR": at_offset(510, b"\x55\xaa"),
    "GPT": at_offset(512, b"EFI PART"),
    "a file of the user": at_offset(5000, b"precious"),
}
"""Labels written by hand, not all of them whole: what libblkid does not take for one still is not blank."""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def may_be_overwritten(path: Path) -> bool:
    """As a block device of these contents would be judged."""
    with path.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        return signature_on(path) is None and ends_are_zero(read, path.stat().st_size)


def test_a_blank_device_may_be_overwritten(image: Path) -> None:
    assert may_be_overwritten(image)


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_tool_made_is_known_by_its_name(image: Path, name: str, require_tool: Callable[..., str]) -> None:
    require_tool(MAKERS[name][0])
    subprocess.run([*MAKERS[name], str(image)], check=True, capture_output=True)
    assert signature_on(image) == name
    assert not may_be_overwritten(image)


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_never_overwritten(image: Path, name: str) -> None:
    content = bytearray(SIZE)
    LABELS[name](content)
    image.write_bytes(content)
    assert not may_be_overwritten(image)


def test_ends_are_looked_at_and_the_middle_is_not() -> None:
    content = bytearray(4 * MIB)

    def read(offset: int, length: int) -> bytes:
        return bytes(content[offset : offset + length])

    for at, blank in ((0, False), (END_BYTES - 1, False), (END_BYTES, True), (3 * MIB - 1, True), (3 * MIB, False)):
        content[at] = 1
        assert ends_are_zero(read, len(content)) is blank
        content[at] = 0
    assert ends_are_zero(read, len(content))


def test_an_export_is_judged_by_its_ends() -> None:
    content = bytearray(SIZE)
    assert signature_of(lambda offset, length: bytes(content[offset : offset + length]), SIZE) is None
    LABELS["LUKS"](content)
    assert signature_of(lambda offset, length: bytes(content[offset : offset + length]), SIZE) == "crypto_LUKS"


def test_without_libblkids_programs_nothing_is_written(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents.shutil, "which", lambda _: None)
    with pytest.raises(UnsafeTargetError, match="neither blkid nor wipefs says what it holds; install util-linux"):
        signature_on(image)
