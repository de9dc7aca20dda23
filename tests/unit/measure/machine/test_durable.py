"""Files that are whole or absent, and locks: no link is followed and nothing is replaced."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from measure.machine import files
from measure.machine.files import lock_file, write_durably, write_new


def test_a_users_file_with_the_name_of_a_temporary_one_is_neither_used_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "0123abcd")
    mine = tmp_path / f".fit.json.{os.getpid()}-0123abcd.tmp"
    mine.write_bytes(b"precious")
    for write in (write_durably, write_new):
        with pytest.raises(FileExistsError):
            write(tmp_path / "fit.json", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(mine.name, b"precious")]


def test_a_users_file_that_is_named_almost_as_a_temporary_one_stays(tmp_path: Path) -> None:
    mine = [tmp_path / name for name in (".fit.json.4194999.tmp", ".fit.json.backup.tmp", ".fit.json.4194999-1.tmp")]
    for path in mine:
        path.write_bytes(b"precious")
    write_durably(tmp_path / "fit.json", b"new")
    assert [path.read_bytes() for path in mine] == [b"precious"] * 3


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / "fit.json").symlink_to(precious)
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


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_appears_while_a_new_one_is_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    link = os.link

    def late(source: Path, path: Path) -> None:
        path.write_bytes(b"precious")
        if not has_links:
            raise OSError(errno.EPERM, "Operation not permitted")
        link(source, path)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "fit.json", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("fit.json", b"precious")]


def test_a_new_file_is_written_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_new(tmp_path / "fit.json", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("fit.json", b"new")]


def test_on_windows_the_first_byte_of_a_file_is_locked(tmp_path, monkeypatch):
    locked = []
    windows = SimpleNamespace(
        LK_NBLCK=2, locking=lambda file, mode, size: locked.append((os.lseek(file, 0, os.SEEK_CUR), mode, size))
    )
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    with (tmp_path / "lock").open("w+") as file:
        file.write("somewhere behind the first byte")
        file.flush()
        files.lock(file.fileno())
    assert locked == [(0, 2, 1)]
