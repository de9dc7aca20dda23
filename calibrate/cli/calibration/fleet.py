"""``qsim fleet``: thousands of drives in one table, and the odd ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.data import print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import check_new, naming
from calibrate.cli.options import Page, conflicts, option
from calibrate.cli.progress import Bar
from measure.machine.files import write_new

if TYPE_CHECKING:
    from calibrate.fleet.drives import Fleet
    from calibrate.report.view import Section
    from measure.findings import Finding


@conflicts("--scheduler", "--workers", because="the scheduler has workers of its own")
def fleet(
    *,
    folders: Annotated[list[str], typer.Argument(metavar="DIR...", help="Folders of measurements, one a drive.")],
    out: Path | None = option("FILE", parsing.path, "All drives as a new file: .csv or .parquet."),
    page: Page,
    workers: int = option("N", None, "Processes; -1: one a core.", default=1, shown=True),
    scheduler: str | None = option("ADDRESS", None, "Fit on Dask's workers, which see the same files: its scheduler."),
) -> CommandResult:
    """Fit thousands of drives: one table, and the odd ones.

    Each file, and each folder, in DIR is a measurement of one drive, of any kind that qsim reads. A drive is odd where
    its throughput at some load is further from that of its like (same curve, model, firmware) than chance allows.

    \b
    Examples:
    qsim fleet sweeps/
    qsim fleet rack1/ rack2/ --out fleet.csv --report fleet.html
    qsim fleet sweeps/ --workers -1 --out fleet.parquet
    qsim fleet /shared/sweeps/ --scheduler tcp://10.0.0.1:8786
    """
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise wrong_usage(f"--out {out}: name a file that ends in .csv or .parquet")
    if out is not None:
        check_new(out)
        if out.suffix == ".parquet":
            _check_pyarrow()

    from calibrate.fleet.drives import fit_fleet
    from calibrate.fleet.odd import FALSE_ALARMS
    from calibrate.fleet.workers import dask_workers, processes
    from measure.loading import files_left_out

    with dask_workers(scheduler) if scheduler else processes(workers) as executor, Bar("fitting") as bar:
        found = fit_fleet(folders, executor, progress=bar.share)
    print_findings([*files_left_out(found.left_out), *_redone(found.redone)])
    if out is not None:
        _write(found, out)
    more = f"{out}: every drive" if out is not None else "--out fleet.csv: every drive;   --report fleet.html: a page"
    return CommandResult(
        lambda: f"{found!r}\n\nMORE    {more}",
        lambda: {
            "drives": found.drives.to_dict("records"),
            "powers": [asdict(power) for power in found.powers],
            "broken": dict(found.broken),
            "left_out": list(found.left_out),
            "redone": list(found.redone),
            "false_alarms": FALSE_ALARMS,
        },
        page.write(lambda: _sections(found), "Fleet"),
    )


def _sections(found: Fleet) -> list[Section]:
    from calibrate.report.fleet_section import section_of

    return [section_of(found)]


def _redone(names: Sequence[str]) -> list[Finding]:
    """One finding where workers ended before their work was done; none otherwise."""
    from measure.findings import Finding
    from measure.units import counted

    if not names:
        return []
    message = f"{counted(len(names), 'measurement')} fitted again, the first {names[0]}: a worker ended meanwhile."
    return [Finding("worker-ended", "warning", message, "", "see whether its memory was enough; the table is whole.")]


def _check_pyarrow() -> None:
    """MissingExtraError, before any work, where pyarrow is not installed."""
    from qsim.errors import MissingExtraError
    from qsim.installed import install_hint

    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"a Parquet file needs pyarrow, which is not installed: {install_hint('fleet')}"
        ) from error


def _write(found: Fleet, path: Path) -> None:
    from measure.text_files import plain_cells

    drives, content = plain_cells(found.drives), BytesIO()
    write = drives.to_csv if path.suffix == ".csv" else drives.to_parquet
    write(content, index=False)
    with naming(path):
        write_new(path, content.getvalue())
