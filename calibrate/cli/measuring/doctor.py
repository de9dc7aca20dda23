"""``qsim doctor``: what is here, what each missing part costs, and how to get it."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict

from calibrate.cli.console import print_json, say
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
    width = max(len(p.name) for p in parts)
    say(f"{facts.hostname or 'this machine'}: {facts.cpu_model}, {facts.kernel}{', virtual' if facts.virtual else ''}")
    for part in parts:
        say(f"  {'ok     ' if part.present else 'missing'}  {part.name:<{width}}  {part.detail}")
        if not part.present:
            say(_folded(f"without it: {part.costs}", " " * (width + 13)))
            say(_folded(f"to get it: {part.remedy}", " " * (width + 13)))
    missing = [p.name for p in parts if not p.present]
    say(f"missing: {', '.join(missing)}; the rest works without" if missing else "nothing is missing")


def _folded(text: str, indent: str) -> str:
    """The text in lines as wide as the terminal; commands in it may be cut at their spaces only."""
    width = max(len(indent) + 40, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
