"""Run the blocks of a page, in order, in one folder and one Python namespace, and say what came out."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctools.blocks import Block, Command, commands_of

TIME_LIMIT_S = 600
REPOSITORY = Path(__file__).resolve().parents[2]
PROGRESS = re.compile(r"^[a-z][a-z ]*: (?:\d[^\n]* left)?\n", re.MULTILINE)
"""The lines about work of more than ten seconds, as it is on a busy machine alone: ``simulating tails: 8.0 s left``."""


class BlockFailedError(AssertionError):
    """A command or a statement of a block ended in another way than the page says."""


@dataclass
class Result:
    """What one command or statement gave: ``shown`` is the page's text for it, ``came`` the output now."""

    block: Block
    source: str
    shown: str
    came: str


def environment_of_commands() -> dict[str, str]:
    """The variables with which commands print the same on any machine, and in a terminal's order."""
    fixed = {
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "MAKEFLAGS": "",
        "PYTHONUNBUFFERED": "1",
    }
    coloured = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS")
    return {name: value for name, value in os.environ.items() if name not in coloured} | fixed


@dataclass
class PageRunner:
    """Runs blocks in ``folder``. ``find_tool`` is asked for each program that a block needs, and may skip or raise.

    ``as_shown`` runs the commands themselves where a note names shorter ones. ``programs`` are looked up first.
    """

    folder: Path
    find_tool: Callable[[str], object]
    as_shown: bool = False
    programs: str = field(default_factory=lambda: sysconfig.get_path("scripts"))
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def __post_init__(self) -> None:
        (self.folder / "docs").mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (self.folder / "docs" / "data").symlink_to(REPOSITORY / "docs" / "data")

    def run(self, block: Block) -> Iterator[Result]:
        """Run one block. BlockFailedError says which command ended in a way that the page does not show."""
        for name in block.needs:
            self.find_tool(name)
        if block.language == "console":
            yield from (self._command(block, command) for command in commands_of(block))
        elif block.language == "python":
            with contextlib.chdir(self.folder):
                yield from self._session(block) if ">>> " in block.text else self._script(block)

    def _command(self, block: Block, command: Command) -> Result:
        text, folder = command.text, self.folder
        if not self.as_shown:
            text = block.notes.get("instead", text)
        if text.startswith("make "):  # it would install, and run these tests again: let make say what it would do
            text, folder = f"{text} --dry-run", REPOSITORY
        environment = {**environment_of_commands(), "HOME": str(self.folder)}
        environment["PATH"] = f"{self.programs}:{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", text],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        if done.returncode != block.exit_status:
            raise BlockFailedError(
                f"line {block.line}: `{text}` ended with {done.returncode}, not {block.exit_status}:\n{done.stdout}"
            )
        came = (
            PROGRESS.sub("", done.stdout).replace(str(self.folder), "/home/you").replace(f"{REPOSITORY}/docs", "docs")
        )
        return Result(block, command.text, "" if folder == REPOSITORY else command.output, came)

    def _script(self, block: Block) -> Iterator[Result]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"block at line {block.line}", "exec"), self.namespace)  # noqa: S102
        yield Result(block, block.text, "", printed.getvalue())

    def _session(self, block: Block) -> Iterator[Result]:
        for example in doctest.DocTestParser().get_examples(block.text):
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(compile(example.source, f"block at line {block.line}", "single"), self.namespace)  # noqa: S102
            except Exception as error:  # a session may show one
                if "Traceback" not in example.want and example.want.strip() != "?":
                    raise BlockFailedError(f"line {block.line}: {example.source}{traceback.format_exc()}") from error
                last = "".join(traceback.format_exception_only(error))
                printed.write(f"Traceback (most recent call last):\n    ...\n{last}")
            came = re.sub(r"^[ \t]*$(?=\n)", "<BLANKLINE>", printed.getvalue(), flags=re.MULTILINE)
            yield Result(block, example.source, example.want, came)


def rewritten(block: Block, results: list[Result]) -> str:
    """The block's text with the outputs that came in place of those shown; commands that show none stay bare."""
    text = ""
    for result in results:
        if block.language == "python":
            first, *more = result.source.rstrip("\n").split("\n")
            text += "".join([f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in more)])
        else:
            text += "$ " + result.source.replace("\n", "\n> ") + "\n"
        if not result.shown.strip():
            text += result.shown
        else:
            text += re.sub(r"[ \t]+$", "", result.came, flags=re.MULTILINE)
    return text
