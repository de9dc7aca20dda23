"""``qsim course``: the plan, and the page of somebody else."""

from __future__ import annotations

from pathlib import Path


def test_the_plan_says_how_long_it_takes_and_writes_nothing(qsim, disk, require_tool):
    require_tool("fio")
    run = qsim("course", "--disk", str(disk), "--plan", "--no-memory", "--out", "course", "--budget", "5min")
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1].startswith("about ")
    assert "depth" in run.out
    document = qsim("course", "--disk", str(disk), "--plan", "--json", "--no-memory", "--budget", "5min").json
    assert 200 < document["seconds"] <= 301
    assert [s["directory"] for s in document["sweeps"]][:2] == ["baseline", "block-size"]
    assert not Path("course").exists()
    assert list(disk.iterdir()) == []


def test_a_page_of_somebody_else_is_not_replaced(qsim, disk):
    page = Path("p/report.html")
    page.parent.mkdir()
    page.write_text("<p>mine")
    run = qsim("course", "--disk", str(disk), "--out", "p")
    assert run.code == 1
    assert run.error == "p/report.html exists and is not a report of qsim; choose another name for the report"
