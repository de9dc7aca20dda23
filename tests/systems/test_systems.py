"""What works on which system, tried out on this one without the modules and functions that the others lack.

``as_on/sitecustomize.py`` takes them away from a program, which runs the commands of the documentation's table in turn.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
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

#: Runs commands with a PATH each, and prints of each its exit code, both streams and what it raised.
IN_TURN = """
import json, os, sys
from typer.testing import CliRunner
from calibrate.cli.app import app

def run(words, path):
    os.environ["PATH"] = path
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.stdout, done.stderr, repr(done.exception)

print(json.dumps([run(*one) for one in json.loads(sys.argv[1])]))
"""

Runs = dict[str, tuple[int, str, str, str]]


def environment(system: str) -> dict[str, str]:
    path = os.pathsep.join([str(HERE / "as_on"), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "AS_ON": system, "PYTHONPATH": path}


def arguments(command: str, folder: Path) -> list[str]:
    """The command with files in the place of its capitals."""
    places = {"DATA": str(TABLE), "DIR": str(folder / "out"), "TARGET": str(folder)}
    quick = next((more for start, more in QUICK.items() if command.startswith(start)), [])
    return [*(places.get(word, word) for word in command.split()[1:]), *quick]


@pytest.fixture(scope="module", params=OTHERS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def with_fio(system: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program that is called fio."""
    folder = tmp_path_factory.mktemp(f"fio-{system}")
    (folder / "fio").write_text("#!/bin/sh\necho fio-3.36\n", encoding="utf-8")
    (folder / "fio").chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def runs(system: str, with_fio: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What each command does as on that system; one program runs them all.

    Those that work elsewhere find every program, those of Linux find none, and the last one finds a fio.
    """
    works, refused = (tmp_path_factory.mktemp(name) for name in ("works", "refused"))
    asked = [(command, command, works, os.environ["PATH"]) for command in (*WORKS, "qsim doctor --json")]
    asked += [(command, command, refused, str(refused)) for command in ON_LINUX]
    asked += [("with fio", ON_LINUX[1], with_fio, os.pathsep.join([str(with_fio), os.environ["PATH"]]))]
    words = json.dumps([(arguments(command, folder), path) for _, command, folder, path in asked])
    program = [sys.executable, "-c", IN_TURN, words]
    printed = subprocess.check_output(program, cwd=works, env=environment(system), text=True, timeout=LIMIT_S)
    return dict(zip((name for name, *_ in asked), json.loads(printed), strict=True))


def test_the_systems_differ(system: str) -> None:
    lacking = "import os, platform; print(platform.system(), hasattr(os, 'O_DIRECT'), hasattr(os, 'getuid'))"
    found = subprocess.check_output([sys.executable, "-c", lacking], env=environment(system), text=True)
    assert found.split() == [system, "False", str(system != "Windows")]


@pytest.mark.parametrize("command", WORKS)
def test_it_works(runs: Runs, command: str) -> None:
    if command.startswith("qsim measure memory") and (os.cpu_count() or 1) < 2:
        pytest.skip("a memory under load needs two processors")
    code, out, err, raised = runs[command]
    assert code == 0, (err, raised)
    assert out


@pytest.mark.parametrize("command", ON_LINUX)
def test_it_is_refused_in_one_line(runs: Runs, command: str) -> None:
    code, out, err, raised = runs[command]
    assert (code, out) == (1, ""), (err, raised)
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert "internal error" not in line


def test_a_drive_is_not_measured_through_the_page_cache(runs: Runs, with_fio: Path) -> None:
    code, _, err, _ = runs["with fio"]
    assert code == 1
    assert "has no direct I/O (O_DIRECT)" in err
    assert not (with_fio / "out").exists()


def test_the_doctor_says_what_this_system_does_not_do(runs: Runs) -> None:
    parts = {p["name"]: p for p in json.loads(runs["qsim doctor --json"][1])["parts"]}
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
