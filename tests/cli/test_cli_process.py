"""``qsim`` as a program: clean streams, a reader that leaves, interruptions, a full disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from qsim_program import QSIM

LONG = ["simulate", "mm1", "--arrival-rate", "0.9", "--service-rate", "1"]
LONG += ["--customers", "1e9", "--engine", "reference"]


def test_stdout_is_one_json_document_and_stderr_has_the_rest(program):
    started = program(["fit", "--dataset", "003-ssd-read", "--json"])
    out, err = started.communicate(timeout=120)
    assert started.returncode == 0, err
    assert json.loads(out)["series"]
    assert "corrected" in err


def test_a_reader_that_leaves_is_no_error(program):
    started = program(["datasets", "--json"])
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    assert started.stderr.read() == ""
    assert started.wait(timeout=120) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_stdout_is_said():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*QSIM, "datasets"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: No space left on device"]


SIGNALLED_WHILE_LOADING = """
import os, sys
from calibrate.cli.entry import main

class Finder:  # the first look for the command line's own module
    def find_spec(self, name, path=None, target=None):
        if name == "calibrate.cli.app":
            os.kill(os.getpid(), int(sys.argv[1]))

sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_a_signal_before_the_command_line_is_loaded_ends_it_with_one_line(tmp_path, number):
    command = [sys.executable, "-c", SIGNALLED_WHILE_LOADING, str(number.value)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == {"error": {"message": "interrupted", "exit_code": 130}}


WITH_A_THREAD_AT_WORK = """
import atexit, sys, threading, time
from calibrate.cli.entry import main

def work():
    with held:
        time.sleep(60)

held = threading.Lock()
threading.Thread(target=work, daemon=True).start()
atexit.register(held.acquire)  # Python's own way out waits for what the thread holds
sys.argv[1:] = ["datasets", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(("args", "code"), [(["--json"], 0), (["--nonsense"], 2)], ids=["done", "refused"])
def test_a_thread_that_nobody_waits_for_does_not_hold_up_the_end(args, code):
    command = [sys.executable, "-c", WITH_A_THREAD_AT_WORK, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=40)
    assert done.returncode == code
    assert json.loads(done.stdout)["datasets"] if code == 0 else "--nonsense" in done.stderr


def test_the_installed_program_begins_there(repository):
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"qsim": "calibrate.cli.entry:main"}


SIGNALLED_IN_A_LIBRARY = """
import os, signal, sys, time
import measure.datasets
from calibrate.cli.entry import main

def names():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    except KeyboardInterrupt:
        raise ImportError("half of a library")

measure.datasets.dataset_names = names
sys.argv = ["qsim", "datasets"]
main()
"""


def test_a_signal_that_a_library_took_for_an_error_ends_with_130():
    done = subprocess.run([sys.executable, "-c", SIGNALLED_IN_A_LIBRARY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_an_interrupted_simulation_ends_with_130(program, number):
    started = program(LONG)
    time.sleep(2)  # into the run; a slow start only makes the interruption come earlier
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in err


def test_an_interrupted_comparison_ends_with_130_and_leaves_no_report(program, tmp_path):
    report = tmp_path / "report.html"
    for delay_s in (2, 1, 0.5, 0.2):  # into the fitting, which some machines have done by then
        started = program(["compare", "--dataset", "000-ssd", "--report", "report.html"])
        time.sleep(delay_s)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
        if not report.exists():
            break
        assert report.read_text("utf-8").rstrip().endswith("</html>")  # the work was done, and the page is whole
        report.unlink()
    assert started.returncode == 130, err
    assert (out, err.splitlines()[-1]) == ("", "error: interrupted")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a loaded memory takes two CPUs")
def test_an_interrupted_memory_sweep_keeps_its_points_and_says_so(program, tmp_path):
    args = ["measure", "memory", "--delays", "0,500,20000", "--repeats", "1", "--seconds", "30s", "--out", "memory"]
    started = program(args)
    assert "delays" in started.stderr.readline()  # the opening: the measurement begins
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert out == ""
    assert "interrupted; no point was finished yet; run the same command again to resume" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert [p.name for p in (tmp_path / "memory").glob("*/*")] == []


@pytest.mark.live
def test_an_interrupted_sweep_keeps_its_points_and_goes_on(program, require_tool, disk, tmp_path):
    require_tool("fio")
    args = ["measure", "fio", str(disk), "--depths", "1,2,4,8", "--runtime", "500ms", "--size", "16MiB"]
    args += ["--out", "sweep"]
    started = program(args)
    points = tmp_path / "sweep" / "points"
    deadline = time.monotonic() + 60
    while not (points.is_dir() and list(points.glob("*.json"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert "in sweep; run the same command again to resume" in err.splitlines()[-1]
    kept = {p.name: p.read_bytes() for p in points.glob("*.json")}
    assert 1 <= len(kept) < 4
    assert list(disk.iterdir()) == []  # the test file is gone

    again = program(args)
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert len(list(points.glob("*.json"))) == 4
    assert {name: (points / name).read_bytes() for name in kept} == kept


def test_ascii_terminals_get_question_marks_not_errors(tmp_path):
    env = {"PYTHONIOENCODING": "ascii", "PATH": "", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*QSIM, "solve", "--help"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Solve a queue" in done.stdout


def run_with_closed(stream: str, arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """``qsim`` with these arguments, the shell having closed a stream (``>&-`` or ``<&-``)."""
    command = ["sh", "-c", f'exec "$@" {stream}', "sh", *QSIM, *arguments.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="the shell closes the stream")
@pytest.mark.parametrize("arguments", ["datasets", "solve mm1 --arrival-rate 1 --service-rate 2", "--version"])
def test_a_closed_stdout_is_a_failure_with_one_line(arguments, tmp_path):
    done = run_with_closed(">&-", arguments, tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: stdout is closed, so that no result can be printed; send it to a file or a pipe\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of POSIX")
@pytest.mark.parametrize("arguments", ["--help", "fit --help", "--version", "datasets"])
def test_a_reader_that_has_gone_is_no_failure(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run([*QSIM, *arguments.split()], stdout=gone, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell closes the stream")
@pytest.mark.parametrize("arguments", ["fit-service -", "fit -", "show -"])
def test_a_closed_stdin_is_a_failure_with_one_line(arguments, tmp_path):
    done = run_with_closed("<&-", arguments, tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: the standard input is closed; give a file, or pipe the data in\n"
