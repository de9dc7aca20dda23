"""What works on which system, tried out on this one without the modules and functions that the others lack.

``as_on/sitecustomize.py`` takes them away. Each command of the documentation's table runs as a program of its own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from qsim_program import QSIM

HERE = Path(__file__).parent
TABLE = HERE.parent / "data" / "tables" / "pgbench.tsv"
OTHERS = ("Darwin", "Windows")
#: What works everywhere, and what is refused elsewhere than on Linux.
WORKS = (
    "qsim solve mm1 --arrival-rate 0.5 --service-rate 1",
    "qsim simulate mm1 --arrival-rate 0.5 --service-rate 1",
    "qsim show DATA",
    "qsim fit DATA",
    "qsim compare DATA --report report.html",
    "qsim doctor",
    "qsim measure memory --out DIR",
)
ON_LINUX = ("qsim measure device --out DIR", "qsim measure fio TARGET --out DIR", "qsim measure mlc --out DIR")
LIMIT_S = 600
#: What makes a command short.
QUICK = {
    "qsim measure memory": ["--delays", "0,500", "--seconds", "0.02", "--repeats", "1"],
    "qsim simulate": ["--customers", "10000"],
}

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(system: str, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(HERE / "as_on"), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "AS_ON": system, "PYTHONPATH": path, **more}


@pytest.fixture(params=OTHERS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(system: str, tmp_path: Path) -> Run:
    """``run(["solve", ...])`` runs qsim as on that system, in an empty directory."""

    def start(args: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*QSIM, *args],
            cwd=tmp_path,
            env=environment(system, **more),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    return start


def arguments(command: str, folder: Path) -> list[str]:
    """The command with files in the place of its capitals."""
    places = {"DATA": str(TABLE), "DIR": str(folder / "out"), "TARGET": str(folder)}
    quick = next((more for start, more in QUICK.items() if command.startswith(start)), [])
    return [*(places.get(word, word) for word in command.split()[1:]), *quick]


def test_the_systems_differ(system: str) -> None:
    lacking = "import os, platform; print(platform.system(), hasattr(os, 'O_DIRECT'), hasattr(os, 'getuid'))"
    found = subprocess.check_output([sys.executable, "-c", lacking], env=environment(system), text=True)
    assert found.split() == [system, "False", str(system != "Windows")]


@pytest.mark.parametrize("command", WORKS)
def test_it_works(run: Run, command: str, tmp_path: Path) -> None:
    if command.startswith("qsim measure memory") and (os.cpu_count() or 1) < 2:
        pytest.skip("a memory under load needs two processors")
    done = run(arguments(command, tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", ON_LINUX)
def test_it_is_refused_in_one_line(run: Run, command: str, tmp_path: Path) -> None:
    refused = run(arguments(command, tmp_path), PATH=str(tmp_path))
    assert refused.returncode == 1, refused.stderr
    assert refused.stdout == ""
    (line,) = refused.stderr.splitlines()
    assert line.startswith("error: ")
    assert "internal error" not in line


def test_a_drive_is_not_measured_through_the_page_cache(run: Run, tmp_path: Path) -> None:
    fio = tmp_path / "bin" / "fio"
    fio.parent.mkdir()
    fio.write_text("#!/bin/sh\necho fio-3.36\n", encoding="utf-8")
    fio.chmod(0o755)
    search = os.pathsep.join([str(fio.parent), os.environ["PATH"]])
    refused = run(["measure", "fio", str(tmp_path), "--out", "out"], PATH=search)
    assert refused.returncode == 1
    assert "has no direct I/O (O_DIRECT)" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_the_doctor_says_what_this_system_does_not_do(run: Run) -> None:
    parts = {p["name"]: p for p in json.loads(run(["doctor", "--json"]).stdout)["parts"]}
    assert not parts["Linux"]["present"]
    assert not {"io_uring", "huge pages"} & parts.keys()


def test_the_lab_answers(system: str, tmp_path: Path) -> None:
    lab = [*QSIM, "lab", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        lab, cwd=tmp_path, env=environment(system), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            found = re.search(r"http://\S+", started.stdout.readline())
            assert found, started.communicate()
            with urllib.request.urlopen(found[0], timeout=60) as answer:  # noqa: S310 - the lab's own
                assert answer.status == 200
            second = subprocess.run(
                lab, cwd=tmp_path, env=environment(system), capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
            assert second.returncode == 1
            assert "another lab uses" in second.stderr
        finally:
            started.send_signal(signal.SIGINT)
            started.communicate(timeout=LIMIT_S)
    assert started.returncode == 130
