"""``qsim datasets`` and ``qsim doctor``: the published tables, and this machine's tools for measuring."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import measure
from calibrate.cli.console import CommandResult
from calibrate.cli.data import audit_text, known_dataset
from measure.units import counted
from qsim.result import labelled, table

if TYPE_CHECKING:
    from measure.datasets import DatasetInfo


def datasets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", show_default=False, help="Describe this one.")] = None,
) -> CommandResult:
    """List the published tables that come with qsim, or describe one of them.

    Each can be compared, fitted and audited without hardware: qsim compare --dataset NAME.

    \b
    Examples:
    qsim datasets
    qsim datasets 003-ssd-read
    """
    from measure.datasets import about, dataset_names

    if name is None:
        infos = [about(n) for n in dataset_names()]
        rows = [(i.name, i.load_kind.replace("_", " ") if i.curve else "(no curve)", i.title) for i in infos]
        more = "Compare one with: qsim compare --dataset NAME        About one: qsim datasets NAME"
        return CommandResult(
            lambda: f"{table(('NAME', 'LOAD', ''), rows, left=3)}\n\n{more}",
            lambda: {"datasets": [_document(i) for i in infos]},
        )
    info = about(known_dataset(name, "NAME"))
    return CommandResult(lambda: _description(info), lambda: _document(info, in_full=True))


def _description(info: DatasetInfo) -> str:
    """What was measured, over what, how many points, by whom and with what, and what was wrong and corrected."""
    from measure.auditing.all_checks import not_checked

    curves, audit = f"none: {info.why_no_curve}", ""
    if info.curve:
        sweep = measure.load_dataset(info.name)
        curves = f"{counted(len(sweep), 'point')} of {counted(len(sweep.series), 'curve')}: {', '.join(sweep.series)}"
        audit = audit_text([*sweep.findings, *measure.audit(sweep)], not_checked(sweep), f"--dataset {info.name}")
    facts = {
        "DEVICE": ", ".join(filter(None, (info.device, info.host_cpu))),
        "VARIED": info.varied,
        "CURVES": curves,
        "SOURCE": f"{info.source}, measured with {info.tool}",
        "NOTE": info.anomaly,
        "AUDIT": audit,
        "MORE": info.instead or f"qsim compare --dataset {info.name}",
    }
    return "\n".join([f"{info.title} ({info.name})", *(labelled(name, text) for name, text in facts.items() if text)])


def _document(info: DatasetInfo, *, in_full: bool = False) -> dict[str, Any]:
    """What the catalogue holds; ``in_full`` the curves too, by the names that ``--series`` takes, and their points."""
    document = {k: v for k, v in asdict(info).items() if k not in ("columns", "units", "instead")}
    if in_full and info.curve:
        sweep = measure.load_dataset(info.name)
        document |= {"series": list(sweep.series), "points": len(sweep)}
    return document


def doctor() -> CommandResult:
    """Say what this machine has for measuring, what each missing part costs, and how to get it.

    Nothing here is needed to solve, simulate, or compare published tables.

    \b
    Examples:
    qsim doctor
    qsim doctor --json
    """
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
    return CommandResult(
        lambda: "\n".join(text), lambda: {"parts": [asdict(p) for p in parts], "host": facts.to_dict()}
    )


def _folded(text: str) -> str:
    """The text in lines as wide as the terminal; commands in it may be cut at their spaces only."""
    width = max(42, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
