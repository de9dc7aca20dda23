"""The help: complete, light, and true."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest
from places import GOLDEN
from typer.main import get_command

from calibrate.cli.app import app, folded
from calibrate.cli.failures import EXIT_CODES
from measure.formats.law_file import write_law
from qsim import Exponential

ROOT = get_command(app)
COMMANDS = tuple(ROOT.list_commands(None))
GROUPS = tuple(name for name in COMMANDS if hasattr(ROOT.get_command(None, name), "list_commands"))
LEAVES = [(n,) for n in COMMANDS if n not in GROUPS]
LEAVES += [(g, n) for g in GROUPS for n in ROOT.get_command(None, g).list_commands(None)]
HEAVY = ("numpy", "pandas", "scipy", "numba", "plotly", "simpy", "jinja2", "statsmodels", "distributed")


def _command(path):
    command = ROOT
    for name in path:
        command = command.get_command(None, name)
    return command


def test_the_table_of_commands_is_whole():
    assert {"demo", "solve", "fit", "compare", "lab"} <= set(COMMANDS)
    assert {("measure", "fio"), ("measure", "suite")} <= set(LEAVES)


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
    assert "--json" in options or path == ("lab",)  # a server, which prints no result
    assert command.help
    assert "qsim " in command.help
    assert all(getattr(p, "help", "") for p in command.params)


def test_defaults_are_shown_without_parentheses(qsim):
    for command, shown in (("watch", "1s"), ("course", "10min"), ("lab", "qsim-lab")):
        assert f"[default: {shown}]" in qsim(command, "--help").out


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_the_examples_in_the_help_parse(path, tmp_path, monkeypatch):
    """Each example names a command that there is, with options and values that it takes."""
    shutil.copy(GOLDEN / "fio" / "json-plus.json", tmp_path / "fio.json")
    write_law(Exponential(mean=2e-3), tmp_path / "law.json", {})
    monkeypatch.chdir(tmp_path)  # the files that examples read
    examples = [
        part.strip()
        for line in _command(path).help.splitlines()
        if line.startswith("qsim ")
        for part in line.split("&&")
    ]
    assert examples
    for example in examples:
        words = shlex.split(example.split("   ")[0])[1:]
        names = words[:2] if words[0] in GROUPS and not words[1].startswith("-") else words[:1]
        command = _command(names)
        command.make_context("qsim", words[len(names) :])  # raises a usage error for an unknown option or a bad value


def test_the_examples_that_need_no_data_run(qsim):
    """Those of formulas, of published tables and of data sheets."""
    runnable = re.compile(r"qsim ((?:solve|datasets|predict --idle-latency)\b.*)")
    lines = [line for path in LEAVES for line in _command(path).help.splitlines()]
    examples = [m[1].split("   ")[0] for m in map(runnable.fullmatch, lines) if m and not re.search("[|>&]", m[1])]
    assert len(examples) > 5
    for example in examples:
        assert qsim(*shlex.split(example)).code == 0, example


def test_version(qsim):
    assert re.fullmatch(r"qsim \d+\.\d+\.\d+\S*\n", qsim("--version").out)


def test_a_shell_completes_commands_and_options(program, monkeypatch):
    for words, wanted in (("qsim mea", "measure"), ("qsim measure fio --dep", "--depths")):
        monkeypatch.setenv("_QSIM_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        out, _ = program([]).communicate(timeout=60)
        assert out.split() == [wanted]


def test_no_command_has_more_than_14_options():
    for path in LEAVES:
        named = [p for p in _command(path).params if p.param_type_name == "option" and p.name != "help"]
        assert len(named) <= 14, path


def test_paragraphs_fold_and_lists_stay():
    assert folded("one\ntwo\n\n\b\na\nb") == "one two\n\n\b\na\nb"


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "--dataset", "003-ssd-read"),
        ("predict", "--dataset", "003-ssd-read"),
        ("compare", "--dataset", "003-ssd-read"),
        ("knee", "--run", """sh -c 'echo "{\\"iops\\": 100, \\"lat_ms\\": $(({N} * 10))}"'"""),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_fit_imports_nothing_that_it_does_not_need(arguments):
    heavy = ("scipy", "statsmodels", "numba", "plotly", "jinja2", "simpy", "distributed")
    check = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('HEAVY', [m for m in {heavy!r} if m in sys.modules]))\n"
        f"sys.argv = ['qsim', *{arguments!r}]\n"
        "from calibrate.cli.entry import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"
