"""``qsim datasets``: the published tables that come with the package."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli.console import print_json, say, table
from calibrate.cli.options import AsJson

if TYPE_CHECKING:
    from measure.datasets import DatasetInfo

HELP = """List the published tables that come with qsim, or say what one of them is.

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
    as_json: AsJson = False,
) -> None:
    """List the catalogue or describe one dataset."""
    from calibrate.cli.data import known_dataset
    from measure.datasets import about, dataset_names

    if name is None:
        infos = [about(n) for n in dataset_names()]
        if as_json:
            print_json({"datasets": [_document(i) for i in infos]})
        else:
            say(table(("NAME", "LOAD", ""), [(i.name, _load(i), i.title) for i in infos], left=3))
            say("\nCompare one with: qsim compare --dataset NAME        About one: qsim datasets NAME")
        return
    info = about(known_dataset(name, "NAME"))
    document = _document(info)
    if info.curve:
        from measure.datasets import load_dataset

        sweep = load_dataset(info.name)
        document |= {"series": list(sweep.series), "points": len(sweep)}
    if as_json:
        print_json(document)
        return
    lines = {
        "title": info.title, "source": info.source, "device": info.device, "host": info.host_cpu, "tool": info.tool,
        "varied": info.varied, "anomaly": info.anomaly or "none known",
        "no curve": f"{info.why_no_curve}, so it cannot be compared; qsim audit reads it" if not info.curve else "",
        "series": "; ".join(document.get("series", ())), "points": str(document.get("points", "")),
    }  # fmt: skip
    say(info.name)
    say(table((), [(f"  {key}", value) for key, value in lines.items() if value], left=2))
    if info.curve:
        say(f"\nqsim compare --dataset {info.name} --report report.html")


def _document(info: DatasetInfo) -> dict[str, Any]:
    return {k: v for k, v in asdict(info).items() if k not in ("columns", "units")}


def _load(info: DatasetInfo) -> str:
    return info.load_kind.replace("_", " ") if info.curve else "(no curve)"
