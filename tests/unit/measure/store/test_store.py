"""A sweep's directory: whole points or none, nothing overwritten, continued with the same settings only."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure.errors import StoreError
from measure.store.directory import MANIFEST, SweepStore

OK = {"status": "ok", "command": "fio ...", "started_at": "2026-01-01T00:00:00+00:00", "request": {"depth": 1}}
FAILED = {**OK, "status": "failed", "reason": "it hung"}


@pytest.fixture
def unprivileged(repository: Path, without_root_rights: Callable[[], object]) -> Callable[[str], str]:
    """What a Python program prints for which file permissions count, also where root runs the tests."""

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            preexec_fn=without_root_rights,
            cwd=repository,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def create(directory: Path, **settings: Any) -> SweepStore:
    return SweepStore.create(directory, "fio", {"block_bytes": 4096, **settings}, {"host": "h"})


def test_a_point_keeps_the_raw_bytes_untouched(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    raw = b"\xff\x00 whatever the tool printed\r\n"
    store.add("depth-1.r0", raw, OK)
    (point,) = SweepStore.read(tmp_path / "s").contents().points
    assert point.ok
    assert point.raw is not None
    assert point.raw.read_bytes() == raw
    assert point.record["command"] == "fio ..."
    assert store.contents().finished == {"depth-1.r0"}


def test_a_finished_point_is_written_once(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    store.add("a", b"first", OK)
    with pytest.raises(StoreError, match="exists already and is not overwritten"):
        store.add("a", b"second", OK)
    assert (tmp_path / "s/points/a.json").exists()
    assert any(p.read_bytes() == b"first" for p in (tmp_path / "s/raw").iterdir())


def test_failures_pile_up_beside_each_other_and_do_not_count_as_finished(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    store.add("a", None, FAILED)
    store.add("a", b"half a JSON", FAILED)
    store.add("a", b"whole", OK)
    assert len(store.contents().points) == 3
    assert store.contents().finished == {"a"}


def test_a_raw_file_without_its_record_is_kept_aside_and_the_point_measured_again(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    (tmp_path / "s/raw").mkdir()
    (tmp_path / "s/raw/a.json").write_bytes(b"killed before the record")
    assert store.contents().finished == set()
    store.add("a", b"again", OK)
    assert sorted(p.read_bytes() for p in (tmp_path / "s/raw").iterdir()) == [b"again", b"killed before the record"]


def test_the_same_settings_continue_and_others_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "s").add("a", b"x", OK)
    assert create(tmp_path / "s").contents().finished == {"a"}
    with pytest.raises(StoreError, match=r"other settings \(block_bytes: there 4096, now 8192\); choose another --out"):
        create(tmp_path / "s", block_bytes=8192)
    with pytest.raises(StoreError, match="holds a fio sweep, not mlc"):
        SweepStore.create(tmp_path / "s", "mlc", {}, {})


def test_a_directory_with_other_things_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="is not empty and holds no qsim sweep"):
        create(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="is a file, not a directory"):
        create(tmp_path / "thesis.tex")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other/9"}', "\x00"])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(StoreError, match=r"sweep\.json"):
        SweepStore.read(tmp_path)


def damage_record(store: SweepStore, content: bytes) -> None:
    (store.directory / "points/a.json").write_bytes(content)


def damage_raw(store: SweepStore, content: bytes | None) -> None:
    raw = store.directory / "raw/a.json"
    raw.unlink() if content is None else raw.write_bytes(content)


POWER_CUTS: dict[str, tuple[Callable[[SweepStore], None], str]] = {
    "record of no length": (lambda s: damage_record(s, b""), r"a\.json cannot be read \(it is empty\)"),
    "record of zeros": (lambda s: damage_record(s, bytes(4096)), r"a\.json cannot be read \(it is empty\)"),
    "record cut": (lambda s: damage_record(s, b'{"status": "ok", "comm'), r"a\.json cannot be read \("),
    "record of another kind": (lambda s: damage_record(s, b"[1, 2]"), "it holds no JSON object"),
    "record nested": (lambda s: damage_record(s, b"[" * 100_000), "nested too deeply"),
    "record without a status": (lambda s: damage_record(s, b"{}"), "it holds no record of a point"),
    "record of a file elsewhere": (
        lambda s: damage_record(s, json.dumps({**OK, "sequence": 0, "raw": "../../secret"}).encode()),
        "no raw file of this directory",
    ),
    "raw file missing": (lambda s: damage_raw(s, None), r"raw/a\.json is missing"),
    "raw file of no length": (lambda s: damage_raw(s, b""), r"has 0 bytes of 5"),
    "raw file cut": (lambda s: damage_raw(s, b"fir"), r"has 3 bytes of 5"),
    "raw file of zeros": (lambda s: damage_raw(s, bytes(5)), r"is not what the tool printed"),
}


@pytest.mark.parametrize(("cut", "reason"), POWER_CUTS.values(), ids=POWER_CUTS)
def test_a_point_that_a_power_cut_damaged_is_said_set_aside_and_measured_again(
    tmp_path: Path, cut: Callable[[SweepStore], None], reason: str
) -> None:
    store = create(tmp_path / "s")
    store.add("a", b"first", OK)
    store.add("b", b"other", OK)
    cut(store)
    assert store.contents().finished == {"b"}
    (damage,) = store.contents().damaged
    assert damage.key == "a"
    assert re.search(reason, damage.reason)
    (finding,) = store.findings()
    assert (finding.check, finding.severity) == ("damaged-point", "warning")
    assert damage.reason in finding.message
    left = sorted(p.read_bytes() for p in damage.files if p.exists())

    with store.locked():
        assert store.contents().damaged == []
        store.add("a", b"again", OK)
    assert store.contents().finished == {"a", "b"}
    (finding,) = store.findings()
    assert (finding.severity, "set aside" in finding.message) == ("info", True)
    aside = [p for folder in ("points", "raw") for p in (tmp_path / "s" / folder).glob("*.damaged")]
    assert set(left) <= {p.read_bytes() for p in aside}
    assert [p.key for p in store.contents().points] == ["b", "a"]
    with store.locked():  # a second time there is nothing to do
        assert {p.name for p in aside} == {p.name for f in ("points", "raw") for p in (tmp_path / "s" / f).glob("*.d*")}


def test_half_written_files_of_killed_writers_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    store.add("a", b"x", OK)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [
        tmp_path / "s" / f"{name}.{dead.pid}-0123abcd.tmp"
        for name in ("raw/.b.json", "points/.b.json", ".points.csv", ".sweep.json")
    ]
    living = tmp_path / "s" / "points" / f".b.json.{os.getpid()}-0123abcd.tmp"
    foreign = tmp_path / "s" / f".diary.{dead.pid}-0123abcd.tmp"
    similar = tmp_path / "s" / f".points.csv.{dead.pid}.tmp"
    for path in (*left, living, foreign, similar):
        path.write_bytes(b"half")
    with store.locked():
        store.write_table("x")
        assert not any(p.exists() for p in left)
        assert living.exists()
        assert foreign.exists()
        assert similar.exists()
    assert store.contents().finished == {"a"}


def test_the_order_of_points_does_not_depend_on_the_time_of_day(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    for key, year in (("c", 2026), ("a", 1970), ("b", 2038)):
        store.add(key, b"x", {**OK, "started_at": f"{year}-01-01T00:00:00+00:00"})
        store.add(key + "2", b"x", {**FAILED, "started_at": f"{year}-01-01T00:00:00+00:00"})
    assert [p.key for p in SweepStore.read(tmp_path / "s").contents().points] == [
        "c",
        "c2.failed",
        "a",
        "a2.failed",
        "b",
        "b2.failed",
    ]


def test_what_the_system_does_not_permit_is_said(tmp_path: Path, unprivileged: Callable[[str], str]) -> None:
    store = create(tmp_path / "s")
    store.add("a", b"x", OK)
    code = (
        "from pathlib import Path\nfrom measure.errors import StoreError\n"
        "from measure.store.directory import SweepStore\n"
        "def attempt(what):\n"
        "    try:\n        what()\n    except StoreError as error:\n        print(error)\n"
        f"s = Path({str(tmp_path)!r}) / 's'\nstore = SweepStore.read(s)\n"
        "s.chmod(0o500)\n"
        "attempt(lambda: store.locked().__enter__())\n"
        "attempt(lambda: store.write_table('x'))\n"
        "attempt(lambda: SweepStore.create(s / 'below', 'fio', {}, {}))\n"
        "(s / 'points' / 'a.json').chmod(0)\nattempt(store.contents)\n"
        "(s / 'points').chmod(0)\nattempt(store.contents)\n"
        "(s / 'sweep.json').chmod(0)\nattempt(lambda: SweepStore.read(s))\n"
        "s.chmod(0)\nattempt(lambda: SweepStore.create(s, 'fio', {}, {}))\n"
        "s.chmod(0o700)\n(s / 'points').chmod(0o700)\n"
    )
    said = unprivileged(code).splitlines()
    assert [line.replace(str(tmp_path), "") for line in said] == [
        "cannot write into /s: Permission denied",
        "cannot write /s/points.csv: Permission denied",
        "cannot create a sweep in /s/below: Permission denied",
        "/s/points/a.json cannot be read: Permission denied; check its permissions",
        "/s/points cannot be read: Permission denied; check its permissions",
        "/s/sweep.json cannot be read: Permission denied; check its permissions",
        "cannot create a sweep in /s: Permission denied",
    ]


def test_two_runs_do_not_write_into_one_directory(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    with store.locked(), pytest.raises(StoreError, match="another run is measuring into"), store.locked():
        pass
    with store.locked():
        pass


def test_no_sweep_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no qsim sweep"):
        SweepStore.read(tmp_path)
