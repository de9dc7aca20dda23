"""Nothing that qsim did not create is written to; what it created it finds again, and removes."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from measure.errors import UnsafeTargetError
from measure.machine import own_file, safety
from measure.machine.device import device_in_use
from measure.machine.host import Storage
from measure.machine.own_file import held, is_own, mark_filled, measured_bytes, remove_own
from measure.machine.safety import TEST_FILE, check_target

MIB = 2**20


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The free bytes that the filesystem claims to have; tests change the one entry."""
    space = [2**40]

    def storage(path: Path) -> Storage:
        return Storage("ext4", "/dev/x", "", space[0])

    for module in (safety, own_file):
        monkeypatch.setattr(module, "storage_behind", storage)
    return space


def overwrite(path: Path, size: int) -> None:
    """Write what is measured of a file, as fio does."""
    with path.open("r+b") as file:
        file.write(b"x" * size)


def foreign(tmp_path: Path, content: bytes = b"precious" * 8192) -> Path:
    path = tmp_path / "data.db"
    path.write_bytes(content)
    return path


def test_a_path_that_does_not_exist_is_ours_to_create(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    assert (target.kind, target.exists, target.writable, target.filled) == ("own file", False, True, False)
    assert not list(tmp_path.iterdir())  # looking changes nothing


def test_a_directory_gets_a_file_of_our_own(tmp_path: Path, free: list[int]) -> None:
    assert check_target(tmp_path, MIB, writes=False).path == tmp_path / TEST_FILE


def test_our_file_is_created_marked_held_and_removed_whatever_happens(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    with contextlib.suppress(KeyboardInterrupt), held(target, keep=False) as file:
        assert is_own(file.path)
        assert measured_bytes(file.path) == MIB  # before fio sees it
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        with pytest.raises(UnsafeTargetError, match="another run is measuring"), held(file, keep=False):
            pass
        assert file.path.exists()  # the second run has not removed the first one's file
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_a_kept_file_is_ours_again_and_known_to_be_filled(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    with held(target, keep=True) as file:
        overwrite(file.path, MIB)
        mark_filled(file)
    again = check_target(tmp_path / "new", MIB, writes=True)
    assert (again.kind, again.exists, again.filled) == ("own file", True, True)
    assert not check_target(tmp_path / "new", 2 * MIB, writes=True).filled
    remove_own(again.path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("writes", [True, False])
def test_a_foreign_file_is_refused_and_stays_as_it_is(tmp_path: Path, free: list[int], writes: bool) -> None:
    path = foreign(tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(UnsafeTargetError, match=r"data\.db exists and was not created by qsim.*name a file that"):
        check_target(path, None, writes=writes)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_foreign_file_may_be_read_with_consent_but_never_written(tmp_path: Path, free: list[int]) -> None:
    path = foreign(tmp_path)
    target = check_target(path, None, writes=False, consent="read")
    assert (target.kind, target.writable, target.size_bytes) == ("foreign file", False, 65536)
    with held(target, keep=False):
        pass
    assert path.exists()
    with pytest.raises(UnsafeTargetError, match="not written to"):
        check_target(path, None, writes=True, consent="read", write_device=str(path))


def test_a_file_that_took_the_place_of_ours_is_foreign(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    with held(target, keep=True):
        pass
    other = tmp_path / "other"
    other.write_bytes(b"precious")
    other.rename(target.path)
    assert not is_own(target.path)
    with pytest.raises(UnsafeTargetError, match="not created by qsim"):
        check_target(target.path, MIB, writes=True)
    remove_own(target.path)
    assert target.path.read_bytes() == b"precious"


def test_a_file_exchanged_after_the_look_is_not_touched(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    target.path.write_bytes(b"precious")
    with pytest.raises(UnsafeTargetError, match=r"appeared since .* perhaps another qsim\)"), held(target, keep=False):
        pass
    assert target.path.read_bytes() == b"precious"


def test_a_hard_link_to_our_file_makes_it_foreign(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    with held(target, keep=True):
        pass
    os.link(target.path, tmp_path / "backup")
    assert not is_own(target.path)


def test_a_kill_between_mark_and_file_leaves_an_empty_file_that_is_ours(tmp_path: Path, free: list[int]) -> None:
    path = tmp_path / "new"
    own_file._create_mark(path)
    assert check_target(path, MIB, writes=True).exists is False
    path.touch()
    assert is_own(path)
    path.write_bytes(b"precious")
    assert not is_own(path)
    path.write_bytes(b"")
    with held(check_target(path, MIB, writes=True), keep=False) as file:
        assert is_own(file.path)


def test_a_users_file_that_got_the_inode_of_ours_is_foreign(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "vm.img", MIB, writes=True)
    with held(target, keep=True) as file:
        seal = file.path.read_bytes()[MIB:]
    target.path.write_bytes(b"precious" * 4 * MIB)  # the same inode, as a new file may get it
    assert not is_own(target.path)
    with pytest.raises(UnsafeTargetError, match="not created by qsim"):
        check_target(target.path, MIB, writes=False)
    target.path.unlink()
    target.path.write_bytes(b"precious" * (MIB // 8) + seal)  # a copy of ours, born later
    assert not is_own(target.path)
    remove_own(target.path)
    assert target.path.exists()


def test_a_damaged_mark_is_no_mark(tmp_path: Path, free: list[int]) -> None:
    path = foreign(tmp_path)
    for text in ("", "{", "[]", '{"schema": "other"}'):
        path.with_name("data.db.qsim-target").write_text(text)
        assert not is_own(path)


NOTES = {"notes": b"my notes", "nothing": b"", "JSON": b'{"nonce": "1"}', "a list": b"[]"}


@pytest.mark.parametrize("content", NOTES.values(), ids=NOTES)
def test_a_users_file_with_the_name_of_a_mark_is_named_and_stays(
    tmp_path: Path, free: list[int], content: bytes
) -> None:
    mine = tmp_path / "new.qsim-target"
    planned = check_target(tmp_path / "new", MIB, writes=True)
    mine.write_bytes(content)  # between plan and run
    with pytest.raises(UnsafeTargetError, match=r"new\.qsim-target exists and was not created by qsim, so new cannot"):
        check_target(tmp_path / "new", MIB, writes=True)
    with (
        pytest.raises(UnsafeTargetError, match=r"new\.qsim-target exists and was not created by qsim"),
        held(planned, keep=False),
    ):
        pass
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(mine.name, content)]


def test_a_link_a_folder_and_a_pipe_with_the_name_of_a_mark_stay(tmp_path: Path, free: list[int]) -> None:
    precious = foreign(tmp_path)
    makers = (lambda path: path.symlink_to(precious), lambda path: path.symlink_to("nowhere"), Path.mkdir, os.mkfifo)
    for number, make in enumerate(makers):
        mark = tmp_path / f"{number}.qsim-target"
        make(mark)
        with pytest.raises(UnsafeTargetError, match="was not created by qsim"):
            check_target(tmp_path / str(number), MIB, writes=True)
        assert os.path.lexists(mark)
    assert precious.read_bytes() == b"precious" * 8192


def test_a_file_that_takes_the_place_of_the_mark_during_a_run_is_not_written(tmp_path: Path, free: list[int]) -> None:
    target = check_target(tmp_path / "new", MIB, writes=True)
    mark = tmp_path / "new.qsim-target"
    with held(target, keep=False):
        known = mark.read_bytes()
        mark.unlink()
        mark.write_bytes(b"my notes")
        with pytest.raises(UnsafeTargetError, match="changed by somebody else"):
            mark_filled(target)
    assert mark.read_bytes() == b"my notes"
    other = known.replace(b'"nonce": "', b'"nonce": "0')  # the mark of another run
    mark.write_bytes(other)
    with pytest.raises(UnsafeTargetError, match="changed by somebody else"):
        mark_filled(target)
    assert mark.read_bytes() == other


def test_a_link_is_followed_before_it_is_judged(tmp_path: Path, free: list[int]) -> None:
    path = foreign(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(UnsafeTargetError, match=r"link \(which is .*data\.db\) exists and was not created"):
        check_target(link, None, writes=True)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    with pytest.raises(UnsafeTargetError, match=r"which is /dev/null\) is a character device"):
        check_target(null, MIB, writes=False)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("mine", ["../mine", "nowhere", TEST_FILE])
def test_a_link_in_the_place_of_our_file_is_not_followed_wherever_it_leads(
    mine: str, tmp_path: Path, free: list[int]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "mine").write_bytes(b"precious")
    (folder / TEST_FILE).symlink_to(mine)
    with pytest.raises(UnsafeTargetError, match=f"{TEST_FILE} is a link, which is not followed, not a drive"):
        check_target(folder, MIB, writes=True)
    assert (tmp_path / "mine").read_bytes() == b"precious"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_in_a_circle_are_refused(tmp_path: Path, free: list[int]) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(UnsafeTargetError, match="name a"):
        check_target(tmp_path / "one", MIB, writes=True)


def test_pipes_sockets_and_character_devices_are_refused(tmp_path: Path, free: list[int]) -> None:
    pipe, sock = tmp_path / "pipe", tmp_path / "s"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(sock))
        for path, what in ((pipe, "a pipe"), (sock, "a socket"), (Path("/dev/null"), "a character device")):
            with pytest.raises(UnsafeTargetError, match=f"is {what}, not a drive; name a file"):
                check_target(path, MIB, writes=True)


def test_a_missing_directory_and_one_without_permission_are_refused(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnsafeTargetError, match="there is no directory"):
        check_target(tmp_path / "no" / "new", MIB, writes=True)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere, so the answer is given here
    with pytest.raises(UnsafeTargetError, match="no permission to write in"):
        check_target(tmp_path / "new", MIB, writes=True)


def test_too_little_space_is_refused_with_both_numbers(tmp_path: Path, free: list[int]) -> None:
    free[0] = 100 * MIB
    with pytest.raises(UnsafeTargetError, match=r"has 100 MiB free, and the test file takes 1 GiB"):
        check_target(tmp_path / "new", 2**30, writes=True)
    check_target(tmp_path / "new", 32 * MIB, writes=True)


def test_a_larger_file_of_ours_is_cut_to_the_size_asked_for(tmp_path: Path, free: list[int]) -> None:
    with held(check_target(tmp_path / "new", 2 * MIB, writes=True), keep=True) as file:
        overwrite(file.path, 2 * MIB)
    with held(check_target(tmp_path / "new", MIB, writes=True), keep=True) as file:
        assert measured_bytes(file.path) == MIB
        assert is_own(file.path)


def test_a_foreign_file_with_holes_or_too_small_is_refused(tmp_path: Path, free: list[int]) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(64 * MIB)
    with pytest.raises(UnsafeTargetError, match="has holes: 64 MiB long"):
        check_target(sparse, None, writes=False, consent="read")
    with pytest.raises(UnsafeTargetError, match=r"has 64 KiB, too little to measure 1 MiB"):
        check_target(foreign(tmp_path), MIB, writes=False, consent="read")


IN_MEMORY = Path("/dev", "shm")


@pytest.mark.skipif(not IN_MEMORY.is_dir(), reason="needs Linux's folder in memory")
def test_a_filesystem_in_memory_is_refused_though_it_takes_direct_io() -> None:
    with pytest.raises(UnsafeTargetError, match=r"is on (dev)?tmpfs, which lives in memory"):
        check_target(IN_MEMORY / "qsim-never-created", MIB, writes=False)


def test_a_filesystem_without_direct_io_is_refused_and_left_clean(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "pwritev", refuse)
    target = check_target(tmp_path / "new", MIB, writes=True)
    with (
        pytest.raises(UnsafeTargetError, match="takes no direct I/O, so the page cache would be"),
        held(target, keep=True),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_the_size_must_be_given_and_sensible(tmp_path: Path, free: list[int]) -> None:
    with pytest.raises(UnsafeTargetError, match="its size is not given"):
        check_target(tmp_path / "new", None, writes=True)
    with pytest.raises(ValueError, match=r"size 100 of .* is below 4096"):
        check_target(tmp_path / "new", 100, writes=True)


@pytest.fixture
def root_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What looks like the block device of the root filesystem: a file of its name, taken for a block device."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    source = next(fields[fields.index("-") + 2] for fields in mounts if fields[4] == "/")
    device = tmp_path / Path(source).name
    device.write_bytes(b"")
    monkeypatch.setattr(stat, "S_ISREG", lambda _: False)
    monkeypatch.setattr(stat, "S_ISBLK", lambda _: True)
    return device


def test_a_block_device_needs_consent_even_to_be_read(root_device: Path) -> None:
    with pytest.raises(UnsafeTargetError, match="is a block device; consent to its being read"):
        check_target(root_device, None, writes=False)


def test_a_block_device_is_not_written_without_its_name_given_again(root_device: Path) -> None:
    for again in (None, "", "/dev/sdz", root_device.name):
        with pytest.raises(UnsafeTargetError, match="writing destroys what it holds"):
            check_target(root_device, None, writes=True, consent="read", write_device=again)


def test_a_mounted_block_device_is_never_written(root_device: Path) -> None:
    with pytest.raises(UnsafeTargetError, match="is not written to: it is mounted on /"):
        check_target(root_device, None, writes=True, consent="read", write_device=str(root_device))
    assert "is mounted on" in str(device_in_use(root_device))


def test_a_file_that_cannot_be_made_as_long_as_asked_is_said_and_removed(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _length: int) -> None:
        raise OSError(27, "File too large")

    target = check_target(tmp_path / "new", MIB, writes=True)
    monkeypatch.setattr(os, "ftruncate", refuse)
    said = pytest.raises(UnsafeTargetError, match=r"new cannot be made 1 MiB long: File too large; ask for a smaller")
    with said, held(target, keep=False):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "new"), OSError("Permission denied")])
def test_a_file_that_cannot_be_removed_is_named_with_the_reason_and_its_mark(
    error: OSError, tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(check_target(tmp_path / "new", MIB, writes=True), keep=True) as file:
        pass

    def refuse(_: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(
        UnsafeTargetError, match=r"new cannot be removed: Permission denied; remove it and new\.qsim-target$"
    ):
        remove_own(file.path)
