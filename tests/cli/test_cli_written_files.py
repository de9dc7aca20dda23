"""Files that a command would write: what is in the way, or not installed, is said before any work."""

from __future__ import annotations

import os
import sys

import pytest
from places import GOLDEN

JSON_PLUS = str(GOLDEN / "fio" / "json-plus.json")
SHEET = "predict --idle-latency 80us --peak-iops 600k --at 1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(
    "command",
    [
        f"{SHEET} --report pipe",
        f"{SHEET} --seal pipe",
        "compare --dataset 003-ssd-read --report pipe",
        "fit --dataset 003-ssd-read --out pipe",
        f"fit-service {JSON_PLUS} --out pipe",
        "fleet . --out pipe.csv",
        "fleet . --report pipe",
        "measure drive . --out pipe",
        "knee . --out pipe",
    ],
)
def test_a_named_pipe_is_refused_at_once_where_a_file_is_written(qsim, tmp_path, command):
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(tmp_path / name)
    run = qsim(command)  # a pipe that nobody reads or writes would block for ever
    assert run.code == 1
    assert "pipe" in run.error


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [("fleet nowhere --out fleet.parquet", "pyarrow", "fleet"), ("lab --no-browser --port 0", "segno", "lab")],
)
def test_a_part_that_is_not_installed_is_one_line_with_the_command_that_installs_it(
    qsim, monkeypatch, command, missing, extra
):
    monkeypatch.setitem(sys.modules, missing, None)
    run = qsim(command)
    assert run.code == 1
    assert f"needs {missing}, which is not installed: pip install 'qsim-queue[{extra}]'" in run.error
