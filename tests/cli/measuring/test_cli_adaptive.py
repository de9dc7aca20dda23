"""``qsim measure fio --depths auto``: the refusals, and a real search that goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--depths", "auto:2"), "auto:3 or more"),
        (("--depths", "auto:x"), "'x'"),
        (("--depths", "auto", "--read", "0,100"), "varies the depth alone"),
        (("--depths", "auto", "--repeats", "2"), "varies the depth alone"),
    ],
)
def test_what_cannot_be_searched_is_refused(qsim, disk, options, part):
    run = qsim("measure", "fio", str(disk), *options, "--out", "sweep")
    assert run.code == 2
    assert part in run.err
    assert not Path("sweep").exists()


@pytest.mark.live
def test_a_real_search_goes_on_where_it_was(qsim, require_tool, disk):
    require_tool("fio")
    args = ("measure", "fio", str(disk), "--runtime", "300ms", "--size", "16MiB", "--out", "sweep", "--json")
    run = qsim(*args, "--depths", "auto:3")
    assert run.code == 0, run.err
    first = [p["load"] for p in run.json["points"]]
    assert {1, 32} < set(first)
    assert len(first) == 3
    assert list(disk.iterdir()) == []  # the test file is gone
    kept = {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()}
    more = qsim(*args, "--depths", "auto:5")
    assert more.code == 0, more.err
    assert set(first) <= {p["load"] for p in more.json["points"]}
    assert len(more.json["points"]) in (4, 5)
    assert {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()}.items() >= kept.items()
