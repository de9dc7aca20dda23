"""``qsim measure suite`` and ``qsim show``: plans, tables, pages, files, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_up import points_at
from seen_pages import packed_views

from calibrate.cli.measuring.suite import _answer
from measure import Sweep
from measure.suites.runs import SuiteResults


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


def test_a_plan_tells_every_sweep_and_the_whole_and_writes_nothing(qsim, fio, disk):
    run = qsim("measure", "suite", "course", str(disk), "--plan", "--budget", "10min", "--out", "course")
    assert run.code == 0, run.err
    for name in ("baseline", "block-size", "mix", "depth", "tails", "rate-peak", "rate"):
        assert f"\n{name} " in run.out
    assert "about 10 min in all" in run.out
    document = qsim("measure", "suite", "course", str(disk), "--dry-run", "--json").json
    assert document["points"] == sum(s["points"] for s in document["sweeps"])
    assert document["seconds"] == pytest.approx(
        document["fill_seconds"] + sum(s["seconds"] for s in document["sweeps"])
    )
    assert not Path("course").exists()
    assert list(disk.iterdir()) == []


def test_a_target_that_is_not_ours_needs_consent_and_is_only_read(qsim, fio, disk):
    foreign = disk / "data"
    foreign.write_bytes(b"\1" * 2**26)
    refused = qsim("measure", "suite", "tails", str(foreign), "--plan")
    assert refused.code == 1
    assert "consent to its being read with --allow read" in refused.error
    run = qsim("measure", "suite", "tails", str(foreign), "--plan", "--allow", "read")
    assert run.code == 0, run.err
    assert "tails: the writes are left out" in run.out


def test_show_prints_the_tables_of_a_published_report(qsim):
    run = qsim("show --dataset 004-ssd-mix --dataset 004-ssd-block-size --report page.html --details")
    assert run.code == 0, run.err
    assert re.search(r"16 KiB 70/30 mix +1 † +40\.6 k/s", run.out)
    page = Path("page.html").read_text("utf-8")
    assert "Throughput against block size" in page
    assert "Latency against the share of reads" in page
    assert "reads (%)" in packed_views(page)


@pytest.mark.parametrize(("depths", "more"), [([4], []), ([1, 4], ["1"]), ([1, 4, 16], ["2"])])
def test_of_workloads_on_which_suites_disagree_one_is_told_and_the_others_are_counted(depths, more):
    fixed = {"block_bytes": 4096, "read_fraction": 1.0, "pattern": "random", "bandwidth_bytes_per_s": 1e6}
    sweeps = {name: Sweep(points_at(depths, rate, **fixed)) for name, rate in (("depth", 1e4), ("tails", 3e4))}
    (line,) = (line for line in _answer(SuiteResults(sweeps), []) if line.startswith("SUITES"))
    assert re.findall(r"\((\d) more like it\)", line) == more
