"""A plan before it is measured: one table, printed as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from calibrate.cli.console import described_table, table
from measure.units import format_duration

Row: TypeAlias = Mapping[str, Any]
Column: TypeAlias = Callable[[Row], str]


@dataclass(frozen=True)
class PlanTable:
    """The points (or sweeps) of a plan with SI units, the ``columns`` that text shows of them, and what else is known.

    ``facts`` are further keys of the JSON document. Columns that hold one value only are left out of the text unless
    ``always`` names them; with ``described`` the last column is a description.
    """

    heading: str
    rows: Sequence[Row]
    columns: Mapping[str, Column]
    facts: Row = field(default_factory=dict)
    commands: Sequence[str] = ()
    last: str = ""
    key: str = "points"
    always: Sequence[str] = ()
    described: bool = False

    def text(self) -> str:
        """The heading, a line for each row, every command, and what comes last."""
        cells = {name: [show(row) for row in self.rows] for name, show in self.columns.items()}
        shown = {n: values for n, values in cells.items() if n in self.always or len(set(values)) > 1}
        lines = list(zip(*shown.values(), strict=True))
        drawn = described_table(list(shown)[:-1], lines) if self.described else table(list(shown), lines, left=0)
        return "\n\n".join(
            part for part in (self.heading, drawn if lines else "", *_block(self.commands), self.last) if part
        )

    def document(self) -> dict[str, Any]:
        """The rows, the commands and the facts."""
        commands = {"commands": list(self.commands)} if self.commands else {}
        return {self.key: [dict(row) for row in self.rows], **commands, **self.facts}


def _block(commands: Sequence[str]) -> list[str]:
    return ["\n".join(commands)] if commands else []


def minutes(seconds: float) -> str:
    """A time for people: "4.5 min", "38 s"."""
    return f"{seconds / 60:.2g} min" if seconds >= 90 else format_duration(seconds, 2)
