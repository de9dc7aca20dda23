"""``qsim datasets`` and ``qsim doctor``: the published tables, and this machine's tools for measuring."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import measure
from calibrate.cli.console import Result, table
from calibrate.cli.data import known_dataset

if TYPE_CHECKING:
    from measure.datasets import DatasetInfo


HELP_DATASETS = """List the published tables that come with qsim, or say what one of them is.

Each can be compared, fitted and audited without hardware: qsim compare --dataset NAME.

\b
Examples:
qsim datasets
qsim datasets 003-ssd-read
"""


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default=False, help="Say what this one is.")
    ] = None,
) -> Result:
    """List the catalogue or describe one dataset."""
    from measure.datasets import about, dataset_names

    if name is None:
        infos = [about(n) for n in dataset_names()]
        rows = [(i.name, _load(i), i.title) for i in infos]
        more = "Compare one with: qsim compare --dataset NAME        About one: qsim datasets NAME"
        return Result(
            lambda: f"{table(('NAME', 'LOAD', ''), rows, left=3)}\n\n{more}",
            lambda: {"datasets": [_document(i) for i in infos]},
        )
    info = about(known_dataset(name, "NAME"))
    document = _document(info)
    if info.curve:
        sweep = measure.load_dataset(info.name, as_published=True)
        document |= {"series": list(sweep.series), "points": len(sweep)}
    facts = [(key.replace("_", " "), _cell(value)) for key, value in document.items() if value]
    more = f"\n\nqsim compare --dataset {info.name} --report report.html" if info.curve else ""
    return Result(lambda: f"{table((), facts, left=2)}{more}", lambda: document)


def _cell(value: Any) -> str:
    return "; ".join(value) if isinstance(value, list) else str(value)


def _document(info: DatasetInfo) -> dict[str, Any]:
    return {k: v for k, v in asdict(info).items() if k not in ("columns", "units")}


def _load(info: DatasetInfo) -> str:
    return info.load_kind.replace("_", " ") if info.curve else "(no curve)"


HELP_DOCTOR = """Say what this machine has for measuring, what each missing part costs, and how to get it.

Nothing here is needed to solve, simulate, or compare published tables.

\b
Examples:
qsim doctor
qsim doctor --json
"""


def doctor() -> Result:
    """Look at the machine and print the parts."""
    from measure.machine.host import doctor as parts_of_machine
    from measure.machine.host import host_facts

    parts, facts = parts_of_machine(), host_facts()
    missing = [p for p in parts if not p.present]
    ready = f"{len(parts) - len(missing)} of {len(parts)} parts are ready"
    lack = f"; missing: {', '.join(p.name for p in missing)} (the rest works without)" if missing else ""
    text = [
        f"{facts.hostname or 'this machine'}: {ready}{lack}",
        f"{facts.cpu_model}, {facts.kernel}{', virtual' if facts.virtual else ''}\n",
        table((), [(p.name, "ok" if p.present else "MISSING", p.detail) for p in parts], left=3),
    ]
    for part in missing:
        text += [f"\n{part.name} is missing", _folded(f"without it: {part.costs}")]
        text += [_folded(f"to get it: {part.remedy}")]
    return Result(lambda: "\n".join(text), lambda: {"parts": [asdict(p) for p in parts], "host": facts.to_dict()})


def _folded(text: str) -> str:
    """The text in lines as wide as the terminal; commands in it may be cut at their spaces only."""
    width = max(42, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
