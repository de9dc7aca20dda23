"""What a device holds is known before anything is written to it: by libblkid's programs, and by what is read of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from device_labels import LABELS, MAKERS

from measure.errors import UnsafeTargetError
from measure.machine import contents
from measure.machine.contents import PARTS, PIECE_BYTES, Contents, contents_of, places, signature_of, signature_on

MIB = 2**20
SIZE = 512 * MIB


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def seen(path: Path) -> Contents:
    """What is seen of a block device of these contents."""
    with path.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            return os.pread(file.fileno(), length, offset)

        return contents_of(read, path.stat().st_size, signature_on(path), "image")


def may_be_overwritten(path: Path) -> bool:
    """As a block device of these contents would be judged."""
    found = seen(path)
    return found.signature is None and found.not_zero_at is None


def write(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def test_a_blank_device_may_be_overwritten(image: Path) -> None:
    assert may_be_overwritten(image)


@pytest.mark.parametrize("name", [name for name, command in MAKERS.items() if command[0].startswith("mk")])
def test_what_a_tool_made_is_known_by_its_name(image: Path, name: str, require_tool: Callable[..., str]) -> None:
    require_tool(MAKERS[name][0])
    subprocess.run([*MAKERS[name], str(image)], check=True, capture_output=True)
    assert signature_on(image) == name
    assert not may_be_overwritten(image)


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs"])
def test_a_file_system_whose_ends_were_zeroed_is_not_blank(
    image: Path, name: str, require_tool: Callable[..., str]
) -> None:
    require_tool(MAKERS[name][0])
    subprocess.run([*MAKERS[name], str(image)], check=True, capture_output=True)
    write(image, 0, bytes(MIB))
    write(image, SIZE - MIB, bytes(MIB))
    found = seen(image)
    assert found.signature is None
    assert found.not_zero_at is not None


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_never_overwritten(image: Path, name: str) -> None:
    LABELS[name](image)
    assert not may_be_overwritten(image)


DATA = {
    "2 MiB": (2 * MIB, 4096),
    "4 MiB": (4 * MIB, 4096),
    "63 sectors": (63 * 512, 1),
    "2048 sectors": (2048 * 512, 1),
    "2048 sectors of 4 KiB": (2048 * 4096, 1),
    "a third": (SIZE // 3, 4096),
    "two thirds": (2 * SIZE // 3, 4096),
    "the middle": (SIZE // 2, 4096),
    "a gap after the middle": (SIZE // 2 + MIB + PIECE_BYTES, 2 * SIZE // PARTS),
    "the last tenth": (SIZE * 95 // 100, 2 * SIZE // PARTS),
    "the last byte": (SIZE - 1, 1),
}


@pytest.mark.parametrize("name", DATA)
def test_data_inside_a_device_are_found(image: Path, name: str) -> None:
    offset, length = DATA[name]
    write(image, offset, b"\x01" * length)
    found = seen(image).not_zero_at
    assert found is not None
    assert offset <= found < offset + length


@pytest.mark.parametrize("size", [1, 4096, 2**25, 2**25 + 512, 2**26 - 512, 10**9, 960197124096, 2**44])
def test_what_is_read_lies_inside_the_device_and_in_each_part_of_it(size: int) -> None:
    read = places(size)
    assert all(0 <= offset < offset + length <= size for offset, length in read)
    assert {0, size} <= {read[0][0], sum(read[-1])}
    if size <= 2**25:
        assert sum(length for _, length in read) == size
    pieces = sorted((offset, offset + length) for offset, length in read)
    reached, unread = 0, 0
    for start, end in pieces:
        unread, reached = max(unread, start - reached), max(reached, end)
    assert unread < 2 * size / PARTS + 4096  # data without a gap that are longer are found for certain
    assert sum(length for _, length in read) <= 64 * MIB


def test_scattered_data_are_missed_as_seldom_as_is_promised() -> None:
    """One part in a hundred, in pieces of 64 KiB: found with a chance of at least 1 - 0.99 ** 512, 99.4 %."""
    size, found = 2**40, 0
    read = {offset // PIECE_BYTES for offset, length in places(size) if length == PIECE_BYTES}
    pieces = size // PIECE_BYTES
    for number in range(400):  # a hundredth of all pieces, at other places each time
        found += any((piece * 2654435761 + number * 40503) % pieces < pieces // 100 for piece in read)
    assert found >= 0.98 * 400


def test_a_change_since_an_earlier_look_is_said_in_words() -> None:
    before = Contents("8:0", SIZE, None, None, "1")
    assert before.change_since(before) == ""
    assert Contents("8:16", SIZE, None, None, "1").change_since(before) == "another device has taken its name"
    assert Contents("8:0", 2 * SIZE, None, None, "1").change_since(before) == "its size changed from 512 MiB to 1 GiB"
    assert Contents("8:0", SIZE, "xfs", 0, "2").change_since(before) == "xfs was written to it"
    assert Contents("8:0", SIZE, None, 4096, "2").change_since(before) == "its contents changed"


def test_an_export_is_judged_by_its_ends() -> None:
    content = bytearray(SIZE)
    assert signature_of(lambda offset, length: bytes(content[offset : offset + length]), SIZE) is None
    content[:8] = b"LUKS\xba\xbe\x00\x01"
    assert signature_of(lambda offset, length: bytes(content[offset : offset + length]), SIZE) == "crypto_LUKS"


def test_without_libblkids_programs_nothing_is_written(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents.shutil, "which", lambda _: None)
    with pytest.raises(UnsafeTargetError, match="neither blkid nor wipefs says what it holds; install util-linux"):
        signature_on(image)
