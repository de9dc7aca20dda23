"""A sweep's directory: whole points or none, nothing overwritten, continued with the same settings only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from measure.errors import StoreError
from measure.store import MANIFEST, SweepStore

OK = {"status": "ok", "command": "fio ...", "started_at": "2026-01-01T00:00:00+00:00", "request": {"depth": 1}}
FAILED = {**OK, "status": "failed", "reason": "it hung"}


def create(directory: Path, **settings: Any) -> SweepStore:
    return SweepStore.create(directory, "fio", {"block_bytes": 4096, **settings}, {"host": "h"})


def test_a_point_keeps_the_raw_bytes_untouched(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    raw = b"\xff\x00 whatever the tool printed\r\n"
    store.add("depth-1.r0", raw, OK)
    (point,) = SweepStore.read(tmp_path / "s").points()
    assert point.ok
    assert point.raw is not None
    assert point.raw.read_bytes() == raw
    assert point.record["command"] == "fio ..."
    assert store.finished() == {"depth-1.r0"}


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
    assert len(store.points()) == 3
    assert store.finished() == {"a"}


def test_a_raw_file_without_its_record_is_kept_aside_and_the_point_measured_again(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    (tmp_path / "s/raw").mkdir()
    (tmp_path / "s/raw/a.json").write_bytes(b"killed before the record")
    assert store.finished() == set()
    store.add("a", b"again", OK)
    assert sorted(p.read_bytes() for p in (tmp_path / "s/raw").iterdir()) == [b"again", b"killed before the record"]


def test_the_same_settings_continue_and_others_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "s").add("a", b"x", OK)
    assert create(tmp_path / "s").finished() == {"a"}
    with pytest.raises(StoreError, match=r"other settings \(block_bytes: there 4096, now 8192\); choose another --out"):
        create(tmp_path / "s", block_bytes=8192)
    with pytest.raises(StoreError, match="holds a fio sweep, not mlc"):
        SweepStore.create(tmp_path / "s", "mlc", {}, {})


def test_a_directory_with_other_things_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="is not empty and holds no sweep of ours"):
        create(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="is a file, not a directory"):
        create(tmp_path / "thesis.tex")


def test_a_kill_before_the_manifest_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / f".{MANIFEST}.123.tmp").write_text("{")
    assert create(tmp_path / "s").finished() == set()


def test_a_kill_after_the_manifest_leaves_a_sweep_that_can_be_continued(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    manifest = {"schema": "qsim-sweep/1", "tool": "fio", "settings": {"block_bytes": 4096}, "provenance": {}}
    (tmp_path / "s" / MANIFEST).write_text(json.dumps(manifest))
    create(tmp_path / "s").add("a", b"x", OK)
    assert SweepStore.read(tmp_path / "s").finished() == {"a"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other/9"}', "\x00"])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(StoreError, match=r"sweep\.json"):
        SweepStore.read(tmp_path)


def test_a_damaged_record_is_named_with_its_remedy(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    store.add("a", b"x", OK)
    (tmp_path / "s/points/a.json").write_text("{")
    with pytest.raises(StoreError, match=r"a\.json cannot be read: .*; remove it to measure the point again"):
        store.points()


def test_two_runs_do_not_write_into_one_directory(tmp_path: Path) -> None:
    store = create(tmp_path / "s")
    with store.locked(), pytest.raises(StoreError, match="another run is measuring into"), store.locked():
        pass
    with store.locked():
        pass


def test_no_sweep_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no sweep of ours"):
        SweepStore.read(tmp_path)
