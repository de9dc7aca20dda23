"""Tables as people bring them (tests/data/tables): each loads, fits and compares, in the words of its own header."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure import audit, load

TABLES = Path(__file__).resolve().parents[2] / "data" / "tables"

#: The file, what it counts its load in, and its last row: load, requests a second, seconds.
READ = (
    ("hey.csv", "concurrent requests", (100, 653.1648, 0.1521)),
    ("k6.csv", "users", (200, 886.249, 0.22557)),
    ("locust.csv", "users", (80, 207.63, 0.379977)),
    ("memtier.csv", "clients", (200, 119492.99, 1.66588e-3)),
    ("no-unit.csv", "threads", (64, 30738, 2.065e-3)),
    ("pgbench.tsv", "clients", (64, 5327.005599, 11.824e-3)),
    ("spreadsheet.csv", "requests", (128, 400159.9, 315.95e-6)),
    ("vendor-sheet.csv", "requests", (256, 1066811, 238.3e-6)),
    ("workers.csv", "workers", (24, 934.42, 0.02551)),
    ("wrk.csv", "connections", (256, 11909.09, 21.43e-3)),
)
REFUSED = ("jmeter-averages.csv", "tokens.csv")


def test_every_table_is_either_read_or_refused_here() -> None:
    assert sorted(p.name for p in TABLES.iterdir()) == sorted([*(name for name, *_ in READ), *REFUSED])


@pytest.mark.parametrize(("name", "unit", "last"), READ)
def test_a_table_is_read_in_si_and_obeys_littles_law(name: str, unit: str, last: tuple[float, ...]) -> None:
    sweep = load(TABLES / name)
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("queue_depth", unit)
    row = sweep.points[["load", "throughput_per_s", "latency_s"]].iloc[-1]
    assert row.tolist() == pytest.approx(last)
    assert [f for f in audit(sweep) if f.severity == "error"] == []


@pytest.mark.usefixtures("compare_once")
@pytest.mark.parametrize(("name", "unit", "last"), READ)
def test_a_table_fits_and_compares_in_its_own_words(
    qsim: Callable[..., Any], name: str, unit: str, last: tuple[float, ...]
) -> None:
    told = [qsim(command, str(TABLES / name)) for command in ("fit", "compare")]
    assert [run.code for run in told] == [0, 0], told
    compared = qsim("compare", str(TABLES / name), "--json").json
    compared = compared[0] if isinstance(compared, list) else compared
    if unit == "requests":
        return
    for run in told:
        assert not re.search(r"\bdepths?\b(?!=)", run.out + run.err), run
    assert f"{unit} N" in str(compared)


def test_an_ambiguous_table_is_refused_with_a_line_that_can_be_pasted(qsim: Callable[..., Any]) -> None:
    path = str(TABLES / "jmeter-averages.csv")
    refused = qsim("fit", path)
    assert refused.code == 1
    assert refused.out == ""
    words = shlex.split(refused.error[refused.error.index("--columns ") :])
    asked = qsim("fit", path, *words[:2])  # the mean over a run that ramps up: its users' kind is unknown
    assert (asked.code, "X R / N is 0.31" in asked.error) == (1, True)
    assert qsim("fit", path, words[0], f"{words[1]},think=0").code == 0
