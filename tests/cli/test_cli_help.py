"""The help: complete, light, and true."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from calibrate.cli.app import app
from calibrate.cli.failures import EXIT_CODES
from calibrate.cli.help_text import folded

COMMANDS = ("demo", "doctor", "solve", "simulate", "measure", "audit", "fit", "predict", "compare", "datasets", "bench",
            "surface")  # fmt: skip
MEASURES = ("fio", "memory", "mlc")
SEALS = ("add", "show", "reveal")
GROUPS = ("measure", "seal")
LEAVES = [(c,) for c in COMMANDS if c != "measure"] + [("measure", m) for m in MEASURES] + [("seal", s) for s in SEALS]
HEAVY = ("numpy", "pandas", "scipy", "numba", "plotly", "simpy", "jinja2", "statsmodels")


def _command(path):
    command = get_command(app)
    for name in path:
        command = command.commands[name]
    return command


def test_help_names_every_command_and_every_exit_code(qsim):
    run = qsim("--help")
    assert run.code == 0
    for name in COMMANDS:
        assert name in run.out
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"{code}\s+{re.escape(meaning[:20])}", run.out)


def test_alone_qsim_shows_its_help(qsim):
    assert qsim().out == qsim("--help").out


def test_help_imports_nothing_heavy():
    check = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules]))\n"
        "sys.argv = ['qsim', '--help']\n"
        "from calibrate.cli.app import app\n"
        "app()"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert "Usage" in done.stdout
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_help_an_example_and_json(path):
    command = _command(path)
    options = {o for p in command.params for o in p.opts}
    assert "--json" in options
    assert command.help
    assert "qsim " in command.help
    assert all(getattr(p, "help", "") for p in command.params)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_the_examples_in_the_help_parse(path):
    """Each example names a command that there is, with options and values that it takes."""
    examples = [line for line in _command(path).help.splitlines() if line.startswith("qsim ")]
    for example in examples:
        words = shlex.split(example.split("   ")[0])[1:]
        names = words[:2] if words[0] in GROUPS else words[:1]
        command = _command(names)
        command.make_context("qsim", words[len(names) :])  # raises a usage error for an unknown option or a bad value


def test_version(qsim):
    assert re.fullmatch(r"qsim \d+\.\d+\.\d+\S*\n", qsim("--version").out)


def test_paragraphs_fold_and_lists_stay():
    assert folded("one\ntwo\n\n\b\na\nb") == "one two\n\n\b\na\nb"
