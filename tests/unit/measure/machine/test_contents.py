"""What a device holds is known before anything is written to it: by libblkid's programs, and by what is read of it."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from device_labels import LABELS, MAKERS

from measure.errors import UnsafeTargetError
from measure.machine import contents
from measure.machine.contents import (
    PARTS,
    PIECE_BYTES,
    Contents,
    connected,
    contents_of,
    places,
    signature_of,
    signature_on,
)

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


def test_a_label_of_an_export_is_found_where_that_of_a_device_is(image: Path) -> None:
    with image.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            return os.pread(file.fileno(), length, offset)

        assert signature_of(read, SIZE) is None
        for name, write_label in LABELS.items():
            write_label(image)
            assert signature_of(read, SIZE) == signature_on(image), name
            os.truncate(image, 0)
            os.truncate(image, SIZE)


@pytest.mark.parametrize(
    "address",
    [
        *("nbds://host", "nbd:", "nbd://", "nbd://[::1", "nbd://host:x", "nbd://user@host", "nbd://host/x?socket=s"),
        *("nbd+unix:///", "nbd+unix:///?socket=", "nbd+unix:///?socket=a&socket=b", "nbd+unix:///?a=1&socket=b"),
        *("nbd+unix://host/?socket=s", "nbd+unix:///?socket=a;b", "nbd+unix:///?socket=a%00b", "nbd://host/a b"),
        *("nbd://host/%4", "nbd://host/x#y", "nbd://host/$ncpus", "nbd://host/\xe9", "nbd://host/x\n"),
    ],
)
def test_an_address_that_programs_could_read_differently_is_refused(address: str) -> None:
    with pytest.raises(UnsafeTargetError, match="write other characters as %20"), connected(address):
        pass


@pytest.mark.parametrize(("written", "named"), [("a+b", "a+b"), ("a%20b", "a b"), ("a%2Bb", "a+b"), ("%2520", "%20")])
def test_an_address_names_the_same_socket_here_as_in_fio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    monkeypatch.setattr(contents, "LIMIT_S", 0.01)
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(0.0)
        server.bind(named)
        server.listen()
        with pytest.raises(UnsafeTargetError, match="timed out"), connected(f"nbd+unix:///?socket={written}"):
            pass
        server.accept()[0].close()


@pytest.mark.parametrize("address", [f"nbd://{'a' * 70}/", "nbd://127.0.0.1:99999"])
def test_an_address_that_nothing_can_have_is_refused_in_one_sentence(address: str) -> None:
    with pytest.raises(UnsafeTargetError, match="it cannot be read first"), connected(address):
        pass


def test_without_libblkids_programs_nothing_is_written(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents.shutil, "which", lambda _: None)
    with pytest.raises(UnsafeTargetError, match="neither blkid nor wipefs says what it holds; install util-linux"):
        signature_on(image)
