"""Files that are whole or absent, and locks: no link is followed and nothing is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from measure.machine.files import lock_file, write_durably, write_new


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / f".fit.json.{os.getpid()}.tmp").symlink_to(precious)
    write_durably(tmp_path / "fit.json", b"new")
    assert precious.read_bytes() == b"precious"
    assert (tmp_path / "fit.json").read_bytes() == b"new"
    assert not (tmp_path / "fit.json").is_symlink()


def test_a_link_in_the_place_of_a_lock_is_refused_and_a_lock_is_never_emptied(tmp_path: Path) -> None:
    precious, lock = tmp_path / "precious", tmp_path / ".lock"
    precious.write_bytes(b"precious")
    lock.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), lock_file(lock):
        pass
    lock.unlink()
    lock.write_bytes(b"somebody's notes")
    with lock_file(lock), pytest.raises(BlockingIOError), lock_file(lock):
        pass
    assert (precious.read_bytes(), lock.read_bytes()) == (b"precious", b"somebody's notes")


def test_a_new_file_takes_the_place_of_nothing(tmp_path: Path) -> None:
    dangling = tmp_path / "fleet.csv"
    dangling.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        write_new(dangling, b"new")
    assert not (tmp_path / "elsewhere").exists()
    write_new(tmp_path / "other.csv", b"new")
    assert (tmp_path / "other.csv").read_bytes() == b"new"
