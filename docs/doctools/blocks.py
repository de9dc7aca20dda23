"""The fenced blocks of a Markdown page, and the notes that stand above them.

Five kinds of fence are allowed. ``console`` holds commands after ``$ `` (continued after ``> ``) with the output they
give, ``python`` a script or a ``>>>`` session; ``text``, ``math`` and ``{eval-rst}`` are not run.
A comment on the line above a fence tells the one who runs it more; its notes are separated by semicolons::

    <!-- needs: fio; varies -->        skip where fio is missing; the output shown is not compared
    <!-- exit: 2 -->                   the commands end with this status instead of 0
    <!-- within: 10 % -->              numbers may differ by this much instead of 2 %
    <!-- instead: qsim demo --quick --> what the tests run in place of the command shown
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LANGUAGES = ("console", "python", "text", "math", "{eval-rst}")
NOTES = ("needs", "varies", "exit", "within", "instead")

_FENCE = re.compile(r"^```(\S*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!--((?:(?!-->).)*)-->\n\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: ``text`` without the fences, which starts at character ``start`` and line ``line`` (from 1)."""

    language: str
    text: str
    start: int
    line: int
    notes: Mapping[str, str]

    @property
    def needs(self) -> tuple[str, ...]:
        """The programs without which this block cannot run."""
        return tuple(name.strip() for name in self.notes.get("needs", "").split(",") if name.strip())

    @property
    def exit_status(self) -> int:
        """The status that every command of the block ends with."""
        return int(self.notes.get("exit", "0"))

    @property
    def tolerance(self) -> float:
        """The relative difference allowed between a number shown and the number found."""
        return float(self.notes.get("within", "2").rstrip(" %")) / 100


@dataclass(frozen=True)
class Command:
    """A command of a console block and the output shown below it."""

    text: str
    output: str


def blocks_of(page: str) -> list[Block]:
    """All fenced blocks of a page. ValueError names the line of a fence of another kind, or of an unknown note."""
    return list(_blocks(page))


def _blocks(page: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(page):
        line = page.count("\n", 0, fence.start(2)) + 1
        language, text = fence.groups()
        if language not in LANGUAGES:
            raise ValueError(
                f"line {line - 1}: a fence is one of {', '.join(LANGUAGES)}, not {language or 'nothing'!r}"
            )
        if language == "text" and re.search(r"^(\$|>>>) ", text, re.MULTILINE):
            raise ValueError(f"line {line}: a text block is never run, so it may not look like a session")
        yield Block(language, text, fence.start(2), line, _notes(page[: fence.start()], line))


def _notes(before: str, line: int) -> dict[str, str]:
    comment = _NOTE.search(before)
    if not comment or comment[1].strip().startswith(("begin:", "end:")):
        return {}
    pairs = (note.partition(":") for note in comment[1].split(";"))
    notes = {name.strip(): value.strip() for name, _, value in pairs}
    unknown = notes.keys() - set(NOTES)
    if unknown:
        raise ValueError(f"line {line - 1}: unknown note: {', '.join(sorted(unknown))}; there are {', '.join(NOTES)}")
    return notes


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block. ValueError where the block does not begin with one."""
    commands: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ""))
        elif not commands:
            raise ValueError(f"line {block.line}: a console block begins with a command, as in: $ qsim --help")
        elif line.startswith("> ") and not commands[-1].output:
            commands[-1] = Command(f"{commands[-1].text}\n{line[2:]}", "")
        else:
            commands[-1] = Command(commands[-1].text, f"{commands[-1].output}{line}\n")
    return commands
