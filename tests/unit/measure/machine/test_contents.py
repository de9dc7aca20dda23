"""What a device holds is known before anything is written to it: by libblkid's programs, and by its blank ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from device_labels import LABELS, MAKERS

from measure.errors import UnsafeTargetError
from measure.machine import contents
from measure.machine.contents import END_BYTES, ends_are_zero, signature_of, signature_on

MIB = 2**20
SIZE = 512 * MIB


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


@pytest.mark.parametrize("name", [name for name, command in MAKERS.items() if command[0].startswith("mk")])
def test_what_a_tool_made_is_known_by_its_name(image: Path, name: str, require_tool: Callable[..., str]) -> None:
    require_tool(MAKERS[name][0])
    subprocess.run([*MAKERS[name], str(image)], check=True, capture_output=True)
    assert signature_on(image) == name
    assert not may_be_overwritten(image)


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_never_overwritten(image: Path, name: str) -> None:
    LABELS[name](image)
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
    content[:8] = b"LUKS\xba\xbe\x00\x01"
    assert signature_of(lambda offset, length: bytes(content[offset : offset + length]), SIZE) == "crypto_LUKS"


def test_without_libblkids_programs_nothing_is_written(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents.shutil, "which", lambda _: None)
    with pytest.raises(UnsafeTargetError, match="neither blkid nor wipefs says what it holds; install util-linux"):
        signature_on(image)
