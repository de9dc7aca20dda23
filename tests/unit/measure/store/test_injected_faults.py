"""A full, broken or read-only disk and a kill, at every single call: nothing is lost, doubled or left behind.

What is written: a sweep directory, fits, a law, a page, a fleet's table, and a watch's record line by line.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from fault_injection import failing, killed_at

from calibrate import from_datasheet
from calibrate.cli.calibration import fleet
from calibrate.cli.files import new_record, read_fits, write_fits
from calibrate.report.page import write_sections
from measure.errors import MeasureError
from measure.formats.law_file import read_law, write_law
from measure.store.directory import SweepStore
from qsim import Exponential

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="calls are looked up in /proc (Linux)")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
KEYS = ("a", "b")


def keep_points(folder: Path) -> None:
    """Begin a sweep, or go on with it: what is missing is added."""
    store = SweepStore.create(folder / "s", "fio", {"block": 4096}, {})
    with store.locked() as finished:
        for key in KEYS:
            if key not in finished:
                record = {"status": "ok", "command": "fio", "started_at": "2026-01-01T00:00:00+00:00", "request": {}}
                store.add(key, f"printed of {key}".encode(), record)
        store.write_table("series,load\n")


def points_are_whole(folder: Path) -> None:
    store = SweepStore.read(folder / "s")
    assert store.contents().damaged == []
    assert sorted(p.key for p in store.contents().points) == list(KEYS)
    assert [p.raw.read_bytes() for p in store.contents().points if p.raw] == [
        f"printed of {key}".encode() for key in KEYS
    ]
    assert (folder / "s" / "points.csv").read_text() == "series,load\n"


FIT = from_datasheet(idle_latency=80e-6, peak_iops=600e3)


class Drives:
    """The table of a fleet, as the command writes it."""

    drives = pd.DataFrame({"drive": ["a", "=b"], "peak": [1.0, 2.0]})


def fit_is_whole(folder: Path) -> None:
    assert len(read_fits(folder / "fit.json")) == 1


def law_is_whole(folder: Path) -> None:
    assert read_law(folder / "law.json").mean == pytest.approx(1e-3)


def page_is_whole(folder: Path) -> None:
    assert (folder / "report.html").read_text("utf-8").rstrip().endswith("</html>")


def fleet_is_whole(folder: Path) -> None:
    assert list(pd.read_csv(folder / "fleet.csv")["drive"]) == ["a", "'=b"]


LINES = ("time_s,reads_per_s\n", "1,100\n", "2,110\n", "3,90\n")


def keep_lines(folder: Path) -> None:
    """Append line by line; what was appended before a fault is in the file, and no part of another line."""
    kept = ""
    try:
        with new_record(folder / "record.csv", LINES[0], "--record") as add:
            kept = LINES[0]
            for line in LINES[1:]:
                add(line)
                kept += line
    except MeasureError:
        if kept:
            assert (folder / "record.csv").read_text() == kept
        raise


def record_is_whole(folder: Path) -> None:
    text = (folder / "record.csv").read_text()
    assert text.startswith(LINES[0])
    assert "".join(LINES).startswith(text)  # a kill may cut the last line, and the reader leaves that out


WORK: dict[str, tuple[Callable[[Path], object], Callable[[Path], None]]] = {
    "store": (keep_points, points_are_whole),
    "fit": (lambda folder: write_fits([FIT], folder / "fit.json"), fit_is_whole),
    "law": (lambda folder: write_law(Exponential(1e-3), folder / "law.json", {}), law_is_whole),
    "report": (lambda folder: write_sections([], folder / "report.html", title="x"), page_is_whole),
    "fleet": (lambda folder: fleet._write(Drives(), folder / "fleet.csv"), fleet_is_whole),  # type: ignore[arg-type]
    "watch": (keep_lines, record_is_whole),
}
NEW = ("fit", "law", "fleet", "watch")
"""Files that are never replaced: where the name was given before the fault, the work is done."""


@pytest.fixture(autouse=True)
def fsync_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here cuts the power."""
    monkeypatch.setattr("os.fsync", os.fstat)


def again(work: Callable[[Path], object], whole: Callable[[Path], None], folder: Path, name: str) -> None:
    """The same work succeeds after the fault, and nothing half written stays."""
    if name in NEW and any(not path.name.startswith(".") for path in folder.iterdir()):
        whole(folder)  # it was complete before
    else:
        work(folder)
    whole(folder)
    if name not in NEW:
        assert [path for path in folder.rglob("*") if path.suffix == ".tmp"] == []


@pytest.mark.parametrize("name", WORK)
def test_every_call_fails_once(name: str, tmp_path: Path) -> None:
    work, whole = WORK[name]
    tried = 0
    for error in ERRORS:
        for number in range(1, 200):
            folder = tmp_path / f"{error}-{number}"
            folder.mkdir()
            with failing(folder, number, error) as calls:
                try:
                    work(folder)
                    refused = ""
                except MeasureError as failure:
                    refused = str(failure)
            if len(calls) < number:
                assert refused == ""
                whole(folder)
                break
            tried += 1
            if calls[number - 1].startswith("unlink"):
                continue  # of what a dead process left: tried again later
            assert refused, f"{calls[number - 1]} failed and nothing was said"
            assert str(folder) in refused, refused
            assert [p for p in folder.rglob("*") if p.suffix == ".tmp"] == [], calls[number - 1]
            again(work, whole, folder, name)
        else:
            raise AssertionError("the work never ended")
    print(json.dumps({"faults": name, "tried": tried}))  # noqa: T201
    assert tried >= 3 * len(ERRORS)


@pytest.mark.parametrize("name", WORK)
def test_a_kill_before_every_call(name: str, tmp_path: Path) -> None:
    work, whole = WORK[name]
    number = 0
    while number < 200:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        if not killed_at(folder, number, lambda folder=folder: work(folder)):  # type: ignore[misc]
            break
        again(work, whole, folder, name)
    print(json.dumps({"kills": name, "tried": number - 1}))  # noqa: T201
    assert number > 3
    with suppress(MeasureError):  # also what was finished stays as it is
        work(folder)
    whole(folder)
