"""Tails of a device whose truth is known, with real fio: from depths 1 and 16 to the depths between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrate import compare
from calibrate.tails.percentiles import fitted_tails
from measure.known_device.server import truth_of
from measure.known_device.sweep import DeviceSweep
from qsim import LogNormal

pytestmark = pytest.mark.live


def test_compare_shows_the_tails_of_a_known_device(tmp_path: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    require_tool("nbdkit")
    qsim = str(Path(sys.executable).with_name("qsim"))

    def run(*args: str) -> str:
        done = subprocess.run([qsim, *args], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(
        "measure",
        "device",
        "--servers",
        "4",
        "--service",
        "lognormal:2ms:scv=2",
        "--depths",
        "1,4,8,16",
        "--runtime",
        "1s",
        "--out",
        "four",
    )
    document = json.loads(run("compare", "four", "--use", "1,16", "--report", "four.html", "--json"))
    tails = {entry["load"]: entry for entry in document["tails"]}
    assert [load for load, entry in tails.items() if entry["held_out"]] == [4, 8]
    assert abs(tails[16]["residual_pct"]["p99_s"]) < 10  # calibrated on
    assert abs(tails[8]["residual_pct"]["p50_s"]) < 60  # whatever else runs here
    assert tails[8]["low"]["p99_s"] < tails[8]["predicted"]["p99_s"] < tails[8]["high"]["p99_s"]
    assert document["tail_structures"][0]["servers"] in range(1, 13)
    assert "Tails against depth" in (tmp_path / "four.html").read_text()


def test_a_queue_each_is_told_from_one_queue(tmp_path: Path, fio_and_nbdkit: None) -> None:
    truth = truth_of(LogNormal(4e-3, 2.0), 4, "per-server")
    sweep = DeviceSweep(truth, (1, 16), runtime_s=2.0, ramp_s=0.1).run(tmp_path / "each")
    tails = fitted_tails(compare(sweep, [1, 16]).fit, sweep, sweep.series[0])
    assert tails is not None
    assert sum(weight for structure, weight in tails.structures if structure.queues == "random") > 0.5
