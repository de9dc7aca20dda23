"""``qsim lab`` as a program: it says where it is, ends cleanly, and refuses in one line what it cannot do."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")


def address_of(started) -> str:
    found = re.search(r"the lab: (\S+)", started.stdout.readline())
    assert found, started.communicate()
    return found[1]


def get(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - the lab's own
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_lab_answers_until_it_is_interrupted(program, tmp_path):
    started = program(["lab", "--no-browser", "--port", "0"])
    address = address_of(started)
    assert address.startswith("http://127.0.0.1:")
    assert get(address) == 200
    assert sorted(p.name for p in (tmp_path / "qsim-lab").iterdir() if p.is_dir()) == ["disk", "runs", "sweeps"]
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in err


def test_beyond_this_machine_two_addresses_with_tokens_are_told(program):
    started = program(["lab", "--no-browser", "--port", "0", "--host", "0.0.0.0"])  # noqa: S104
    first, second = started.stdout.readline(), started.stdout.readline()
    viewers, teacher = (re.search(r"http://\S+:(\d+)/\?token=(\S+)", line) for line in (first, second))
    assert viewers
    assert teacher
    assert viewers[2] != teacher[2]
    assert get(f"http://127.0.0.1:{teacher[1]}/") == 403
    assert get(f"http://127.0.0.1:{teacher[1]}/?token={teacher[2][:-1]}") == 403
    started.send_signal(signal.SIGTERM)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "not encrypted" in err


def test_a_taken_port_is_said(qsim):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = qsim("lab", "--no-browser", "--port", str(taken.getsockname()[1]))
    assert run.code == 1
    assert "is taken" in run.error
    assert "--port 0" in run.error


def test_without_its_extra_the_lab_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['dash'] = None\n"
        "sys.argv = ['qsim', 'lab', '--no-browser', '--port', '0']\n"
        "from calibrate.cli.entry import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "error: the lab needs dash, which is not installed: pip install 'qsim-queue[lab]'"


def test_a_lab_that_answers_nobody_any_more_ends_and_says_so(qsim, monkeypatch):
    from waitress.server import TcpWSGIServer

    monkeypatch.setattr(TcpWSGIServer, "run", lambda _server: None)
    run = qsim("lab --no-browser --port 0")
    assert run.code == 1
    assert run.err.splitlines()[-1].startswith("error: the lab's server has ended by itself")
