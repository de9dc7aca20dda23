"""``qsim measure fio`` over more than depths: its plan, and the table of what was measured."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from calibrate.cli.measuring.run import points_text
from measure import Sweep


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


def lines_of(text: str, first: str) -> list[list[str]]:
    """The words of each line of the table whose header begins with ``first``."""
    lines = [line.split() for line in text.splitlines()]
    start = next(i for i, words in enumerate(lines) if words[:1] == [first])
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return lines[start:end]


def test_the_plan_says_what_varies(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--depths", "1,8", "--block", "4KiB,64KiB", "--read", "100,50%", "--plan")
    run = qsim(*args)
    assert run.code == 0, run.err
    assert "8 points, 5.00 s each" in run.out
    commands = [line for line in run.out.splitlines() if line.startswith("fio ")]
    assert "--iodepth=8" in commands[-1]
    assert "--bs=65536" in commands[-1]
    document = qsim(*args, "--json").json
    assert document["seconds"] == pytest.approx(document["fill_seconds"] + 8 * 6.6)
    assert {(p["block_bytes"], p["read_percent"], p["load"]) for p in document["points"]} == {
        (b, r, n) for b in (4096, 65536) for r in (100, 50) for n in (1.0, 8.0)
    }
    assert list(disk.iterdir()) == []


def test_the_plan_of_an_open_sweep_names_rates(qsim, fio, disk):
    run = qsim("measure", "fio", str(disk), "--arrival-rates", "500,20k/s", "--plan")
    assert run.code == 0, run.err
    assert "2 points, 5.00 s each" in run.out
    assert "engine psync" in run.out
    assert run.out.count("--rate_process=poisson") == 2


@pytest.mark.live
def test_a_sweep_goes_on_and_states_what_is_left(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--size", "16MiB", "--out", "s")
    run = qsim(*args, "--depths", "1,2", "--runtime", "300ms", "--read", "100,50")
    assert run.code == 0, run.err
    header, *rows = lines_of(run.out, "workload")
    assert header == ["workload", "N", "throughput", "bandwidth", "mean", "latency"]
    assert len([row for row in rows if row[:2] == ["4", "KiB"]]) == 4  # below them, where a run was corrected, a remark
    plan = qsim(*args, "--depths", "1,2,4", "--runtime", "300ms", "--read", "100,50", "--plan")
    assert "2 points (4 of 6 are there already)" in plan.out
    both = qsim(*args, "--depths", "1,2,4", "--runtime", "300ms", "--read", "100,50", "--json")
    assert len(both.json["points"]) == 6
    nothing = qsim(*args, "--depths", "1,2,4", "--runtime", "300ms", "--read", "100,50", "--plan")
    assert "nothing is left to measure (6 of 6 are there already)" in nothing.out


@pytest.mark.parametrize(
    ("varied", "then"),
    [
        ({"series": "a", "load": [1, 2]}, "qsim compare out --report report.html"),
        ({"series": ["a", "b"], "load": 1, "block_bytes": [4096, 65536]}, "qsim surface out"),
        ({"series": ["a", "b"], "load": 1, "read_fraction": [0.0, 1.0]}, "qsim predict out --at 1..64"),
    ],
    ids=["depths", "sizes", "neither"],
)
def test_the_next_command_is_one_that_takes_such_points(varied, then):
    rows = {
        "throughput_per_s": 1000.0,
        "latency_s": 1e-3,
        "block_bytes": 4096,
        "read_fraction": 1.0,
        "pattern": "random",
        "depth": 1,
        "jobs": 1,
        "bandwidth_bytes_per_s": 4096e3,
        **varied,
    }
    text = points_text(Sweep(pd.DataFrame(rows)), Path("out"))
    assert text.endswith(f"saved in out; next: {then}")
