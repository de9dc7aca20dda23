"""``qsim doctor``: what is here, what each missing part costs, and how to get it."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict

from calibrate.cli.console import print_json, say, table
from calibrate.cli.options import AsJson

HELP = """Say what this machine has for measuring, what each missing part costs, and how to get it.

Nothing here is needed to solve, simulate, or compare published tables.

\b
Examples:
qsim doctor
qsim doctor --json
"""


def doctor(as_json: AsJson = False) -> None:
    """Look at the machine and print the parts."""
    from measure.machine.doctor import doctor as parts_of_machine
    from measure.machine.host import host_facts

    parts, facts = parts_of_machine(), host_facts()
    if as_json:
        print_json({"parts": [asdict(p) for p in parts], "host": facts.to_dict()})
        return
    missing = [p for p in parts if not p.present]
    ready = f"{len(parts) - len(missing)} of {len(parts)} parts are ready"
    lack = f"; missing: {', '.join(p.name for p in missing)} (the rest works without)" if missing else ""
    say(f"{facts.hostname or 'this machine'}: {ready}{lack}")
    say(f"{facts.cpu_model}, {facts.kernel}{', virtual' if facts.virtual else ''}\n")
    say(table((), [(p.name, "ok" if p.present else "MISSING", p.detail) for p in parts], left=3))
    for part in missing:
        say(f"\n{part.name} is missing")
        say(_folded(f"without it: {part.costs}", "  "))
        say(_folded(f"to get it: {part.remedy}", "  "))


def _folded(text: str, indent: str) -> str:
    """The text in lines as wide as the terminal; commands in it may be cut at their spaces only."""
    width = max(len(indent) + 40, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
