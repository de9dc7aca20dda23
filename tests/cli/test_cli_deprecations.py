"""The main commands call nothing that the packages they stand on are about to remove or change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ANNOUNCED = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
#: ``{data}`` is docs/data, ``{drives}`` ten drives; files that a command writes are read by later ones.
COMMANDS = (
    "qsim --help",
    "qsim doctor",
    "qsim datasets",
    "qsim solve mmc --arrival-rate 30 --service-rate 20 --servers 2",
    "qsim simulate mm1 --arrival-rate 16 --service-rate 20 --customers 20000",
    "qsim simulate mm1 --arrival-rate 16 --service-rate 20 --customers 20000 --engine reference",
    "qsim trace mm1 --arrival-rate 16 --service-rate 20 --customers 5",
    "qsim audit {data}/quick",
    "qsim show {data}/quick --report show.html",
    "qsim fit {data}/quick --out fit.json",
    "qsim predict fit.json --at 1..64 --report predict.html",
    "qsim compare {data}/quick --use 1,32 --report compare.html",
    "qsim change {data}/quick {data}/quick",
    "qsim surface {data}/blocks/tuned-nvme --pattern random --report surface.html",
    "qsim fleet {drives} --out fleet.parquet --report fleet.html",
    "qsim fit-service --percentiles p50=100us,p90=150us,p99=400us --requests 10k --out law.json",
    "qsim network {data}/app.toml --clients 1..600 --slo 25ms",
)
IN_TURN = """
import json, sys
from typer.testing import CliRunner
from calibrate.cli.app import app

def run(words):
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.stderr, repr(done.exception)

print(json.dumps([run(words) for words in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def runs(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Exit code, stderr and what was raised of each command; one program runs them all, from its first import on."""
    places = {"data": repository / "docs" / "data", "drives": repository / "tests" / "data" / "fleet10"}
    words = [[word.format(**places) for word in command.split()[1:]] for command in COMMANDS]
    strict = [word for kind in ANNOUNCED for word in ("-W", f"error::{kind}")]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
    done = subprocess.run(
        [sys.executable, *strict, "-c", IN_TURN, json.dumps(words)],
        cwd=tmp_path_factory.mktemp("strict"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(COMMANDS, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_where_every_announced_change_is_an_error(
    runs: dict[str, tuple[int, str, str]], command: str
) -> None:
    code, err, raised = runs[command]
    assert code == 0, (err, raised)
