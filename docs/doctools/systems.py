"""The table of what works on which system."""

from __future__ import annotations

from measure.machine.system import SYSTEMS, WORKS, named_system


def systems_table() -> str:
    """The table in Markdown."""
    head = ["what", "command", *map(named_system, SYSTEMS), ""]
    rows = [
        [work.what, f"`{work.command}`", *("yes" if work.on(system) else "no" for system in SYSTEMS), work.note]
        for work in WORKS
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
