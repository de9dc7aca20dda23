"""Temporary folders of killed processes are removed by the next one, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from measure.machine.durable import lock_file, own_folder, remove_stale, write_durably, write_new

KEEPS_ONE = "import sys, time\nfrom measure.machine.durable import own_folder\n"
KEEPS_ONE += "with own_folder('left') as folder:\n    print(folder, flush=True)\n    time.sleep(60)\n"


def test_a_folder_goes_with_its_block() -> None:
    with own_folder("left") as folder:
        (folder / "socket").touch()
        assert str(os.getpid()) in folder.name
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", KEEPS_ONE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        (folder / "times").write_bytes(b"0")
        assert remove_stale("left", tmp_path) == []
        assert folder.exists()
        process.send_signal(signal.SIGKILL)
    assert folder.exists()
    assert remove_stale("left", tmp_path) == [folder]
    assert not folder.exists()


def test_folders_of_other_names_namespaces_and_links_stay(tmp_path: Path) -> None:
    space = os.stat("/proc/self/ns/pid").st_ino
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    kept = [
        f"other-{space}-{gone.pid}-x",
        f"left-{space + 1}-{gone.pid}-x",
        "left-abc",
        f"left-{space}-{os.getpid()}-x",
    ]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / f"left-{space}-{gone.pid}-link").symlink_to(tmp_path / kept[0])
    assert remove_stale("left", tmp_path) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*kept, f"left-{space}-{gone.pid}-link"])


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
