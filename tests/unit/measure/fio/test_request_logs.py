"""Logs of every request: joined, kept beside their point, and read as samples."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from measure import samples
from measure.errors import DataError, StoreError
from measure.fio.request_logs import check_room, joined_log, log_bytes, log_folder
from measure.fio.workload import FioJob
from measure.store.directory import SweepStore
from measure.sweep import Sweep

OK = {"status": "ok", "command": "fio", "started_at": "2026-01-01T00:00:00+00:00", "request": {}}
PLAN = SimpleNamespace(log=True, runtime_s=10.0)


def test_the_files_of_the_jobs_become_one_in_their_order(tmp_path: Path) -> None:
    assert joined_log(tmp_path) is None
    for job, lines in ((10, "9, 3, 0, 4096, 0\n"), (2, "1, 2, 0, 4096, 0\n"), (1, "")):
        (tmp_path / f"k_lat.{job}.log").write_text(lines)
    (tmp_path / "other.txt").write_text("kept out")
    whole = joined_log(tmp_path)
    assert whole is not None
    assert whole.read_text() == "1, 2, 0, 4096, 0\n9, 3, 0, 4096, 0\n"
    assert not list(tmp_path.glob("k_lat*"))


def test_room_is_asked_for_by_what_may_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, arriving = FioJob(1, 1, 4096, 100, "random"), FioJob.open(1000)
    points = [SimpleNamespace(job=job) for job in (closed, arriving)]
    assert log_bytes(PLAN, points) == 30 * 10 * (200_000 + 1000)  # type: ignore[arg-type]
    assert log_bytes(SimpleNamespace(log=False), points) == 0  # type: ignore[arg-type]
    check_room(PLAN, points, tmp_path)  # type: ignore[arg-type]
    monkeypatch.setattr("measure.fio.request_logs.storage_behind", lambda _: SimpleNamespace(free_bytes=2**20))
    with pytest.raises(StoreError, match=r"1 MiB free, and the logs of 2 points may take 57.5"):
        check_room(PLAN, points, tmp_path)  # type: ignore[arg-type]
    check_room(SimpleNamespace(log=False), points, tmp_path)  # type: ignore[arg-type]


def test_a_folder_that_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".logs-old"
    left.mkdir()
    (left / "k_lat.1.log").write_text("")
    with log_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert not list(tmp_path.iterdir())


def kept(tmp_path: Path, log: str = "0, 100000, 0, 4096, 0\n1, 300000, 1, 4096, 0\n") -> SweepStore:
    store = SweepStore.create(tmp_path / "s", "fio", {}, {})
    (store.directory / "raw").mkdir()
    source = store.directory / "whole.log"
    source.write_text(log)
    store.add("a", b"{}", OK, attached={"_lat.log": source})
    assert not source.exists()
    return store


def test_attached_files_belong_to_their_point(tmp_path: Path) -> None:
    store = kept(tmp_path)
    (point,) = SweepStore.read(store.directory).points()
    assert [p.name for p in point.attached] == ["a_lat.log"]
    point.attached[0].write_text("0, 1")  # cut
    assert not store.points()
    (damaged,) = store.damaged()
    assert re.search(r"a_lat\.log has 4 bytes of 44", damaged.reason)
    with store.locked():
        assert sorted(p.name for p in (store.directory / "raw").iterdir()) == ["a.json.damaged", "a_lat.log.damaged"]


def test_a_lost_log_is_a_damaged_point(tmp_path: Path) -> None:
    store = kept(tmp_path)
    (store.directory / "raw" / "a_lat.log").unlink()
    assert "a_lat.log is missing" in store.damaged()[0].reason


@pytest.mark.parametrize("attached", ['{"../x": 1}', '["x"]', '{"a\\u0000": 1}'])
def test_a_record_that_names_files_elsewhere_is_damaged(tmp_path: Path, attached: str) -> None:
    store = kept(tmp_path)
    path = store.directory / "points" / "a.json"
    path.write_text(re.sub(r'"attached": \{[^}]*\}', lambda _: f'"attached": {attached}', path.read_text()))
    assert "names no raw file of this directory" in store.damaged()[0].reason


def test_samples_are_the_requests_of_the_points_that_were_logged(tmp_path: Path) -> None:
    store = kept(tmp_path)
    table = pd.DataFrame(
        {"series": "s", "load": [1.0, 2.0], "throughput_per_s": 1.0, "latency_s": 1.0, "source": ["a.json", "b.json"]}
    )
    sweep = Sweep(table, raw=(store.directory / "raw" / "a.json", store.directory / "raw" / "a_lat.log"))
    found = samples(sweep)
    assert list(found) == [("s", 1.0, 0)]
    assert list(found["s", 1.0, 0].latency_s) == [1e-4, 3e-4]
    assert list(found["s", 1.0, 0].direction) == [0, 1]
    assert ("s", 2.0, 0) not in found
    assert not samples(replace(sweep, raw=()))
    (store.directory / "raw" / "a_lat.log").write_text("no log\n")
    with pytest.raises(DataError, match=r"a_lat\.log is not a latency log"):
        found["s", 1.0, 0]
