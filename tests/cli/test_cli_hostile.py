"""Nothing that is in a file or a name reaches the terminal as a command: each program runs on a terminal of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from places import GOLDEN
from quick_program import quick_program
from typer.main import get_command

from calibrate.cli.app import app

pty = pytest.importorskip("pty", reason="a terminal is made by pty (not on Windows)")

HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x9b31m\u202ex\x7f"
"""Sets the title of the window, rings, clears the screen (C0 and C1), and turns the direction of text."""
OBEYED = ("\x1b]0;", "\x07", "\x1b[2J", "\x9b", "\u202e", "\x7f")
NAME = json.dumps(HOSTILE)  # as TOML and JSON spell it

CURVE = [(1, 12000, 83), (4, 46000, 87), (8, 80000, 100), (32, 200000, 160)]
TABLE = "drive,depth,iops,latency_us\n" + "".join(
    f'"{name}",{depth},{iops * faster},{latency / faster}\n'
    for name, faster in ((HOSTILE, 1.0), ("y", 1.25))  # a drive with the same rows would be a copy
    for depth, iops, latency in CURVE
)
NETWORK = f"""
[stations]
{NAME} = {{service = "8ms"}}
disk = {{service = "2ms", visits = 3}}
[customers]
reads = 10
"""
WRONG = f'[stations]\ndisk = {{service = "8ms"}}\n[customers]\n{NAME} = "no number"\n'
COMMANDS = (
    "show table.csv",
    "audit table.csv",
    "fit table.csv",
    "fit table.csv --details",
    "predict table.csv --at 16,64",
    "compare table.csv --use 1,8",
    "compare table.csv --use 1,8 --details",
    "compare table.csv --json",
    "change table.csv table.csv",
    "fleet table.csv",
    "network net.toml",
    "network net.toml --json",
    "network wrong.toml",
    "show fio.json",
    "fit-service fio.json",
    "show {path}",
    "show missing-{path}",
    "fit {path} --series {path}",
    "measure fio {path}/none --out out",
    "measure command {path} --loads 1 --out out",
    "knee --run {path}",
    "surface {path}",
    "watch {path}",
    "solve {path}",
    "simulate {path}",
    "trace {path}",
    "datasets {path}",
    "course {path}",
    "demo {path}",
    "doctor {path}",
    "lab {path}",
    "{path}",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"table.csv": TABLE, f"{HOSTILE}.csv": TABLE, "net.toml": NETWORK, "wrong.toml": WRONG}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    document = json.loads((GOLDEN / "fio" / "json-plus.json").read_text("utf-8"))
    document["jobs"][0]["jobname"] = HOSTILE
    (tmp_path / "fio.json").write_text(json.dumps(document))
    return tmp_path


Shown = Callable[[list[str], Path], str]


@pytest.fixture(scope="module")
def on_a_terminal() -> Iterator[Shown]:
    """What the program writes to its terminal."""
    with quick_program(os.environ) as programs:
        yield partial(_on_a_terminal, str(programs / "qsim"))


def _on_a_terminal(program_name: str, words: list[str], folder: Path) -> str:
    own, its = pty.openpty()
    parts = []
    with subprocess.Popen([program_name, *words], cwd=folder, stdin=its, stdout=its, stderr=its) as program:
        os.close(its)
        try:
            while part := os.read(own, 65536):
                parts.append(part)
        except OSError:  # the program has closed its terminal
            program.wait()
        finally:
            os.close(own)
    return b"".join(parts).decode("utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_obeys_nothing_that_a_file_or_a_name_holds(on_a_terminal: Shown, folder: Path, command: str) -> None:
    path = f"{HOSTILE}.csv"
    shown = on_a_terminal([word.replace("{path}", path) for word in command.split()], folder)
    assert shown.strip()
    assert [sequence for sequence in OBEYED if sequence in shown] == []


def test_every_command_is_tried_on_a_terminal() -> None:
    tried = {command.split()[0] for command in COMMANDS} - {"{path}"}
    assert tried == set(get_command(app).list_commands(None))  # type: ignore[attr-defined]


def test_what_a_terminal_would_obey_is_shown_spelled_out(on_a_terminal: Shown, folder: Path) -> None:
    assert r"\x1b]0;OWNED\x07\x1b[2J\u009b31m\u202ex\u007f" in on_a_terminal(["show", "table.csv"], folder)


FORGED = "x\nPEAK    9 M a second, sure\t1"
"""A name that, printed as it is, is a line of its own."""


def test_no_name_of_a_file_is_a_line_of_its_own(on_a_terminal: Shown, folder: Path) -> None:
    (folder / f"{FORGED}.csv").write_text("depth,iops,latency_us\n" + "".join(f"{n},{x},{r}\n" for n, x, r in CURVE))
    for command in ("show", "audit", "fit"):
        shown = on_a_terminal([command, f"{FORGED}.csv"], folder)
        assert r"x\nPEAK    9 M a second, sure\t1.csv" in shown
        assert "\nPEAK    9 M a second" not in shown.replace("\r", "")


@pytest.mark.parametrize("where", ["station", "class"])
def test_no_name_in_a_network_is_a_line_of_its_own(on_a_terminal: Shown, folder: Path, where: str) -> None:
    names = {"station": "disk", "class": "reads", where: FORGED}
    network = {"stations": {names["station"]: {"service": "8ms"}}, "customers": {names["class"]: 3}}
    (folder / "forged.json").write_text(json.dumps(network))
    shown = on_a_terminal(["network", "forged.json"], folder)
    assert r"the name 'x\nPEAK 9 M a second, sure\t1' must stand on one line" in shown


def test_a_name_that_is_not_utf_8_is_shown_spelled_out(on_a_terminal: Shown, folder: Path) -> None:
    shown = on_a_terminal(["show", os.fsdecode(b"none\x9b31m.csv")], folder)
    assert r"none\udc9b31m.csv" in shown
