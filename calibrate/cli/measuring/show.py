"""``qsim show``: what was measured, as tables and plots, without a model of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import measure
from calibrate.cli import parsing
from calibrate.cli.console import Result, labelled, table
from calibrate.cli.data import DataSource, known_dataset, known_series
from calibrate.cli.failures import wrong_usage
from calibrate.cli.knee_tables import asked_lines, knees_of
from calibrate.cli.measuring.audit import audit_text
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import Columns, Data, Objective, Series
from calibrate.cli.outputs import Outputs
from calibrate.cli.progress import Bar, part_of
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Fit, NamedKnee
    from calibrate.report.measured import MeasuredData, Section, View

HELP = """Show what was measured as tables and plots, with its audit: no prediction.

What varies in the data decides what is drawn. Each sweep is a section; a memory and a drive are also drawn together.

\b
Examples:
qsim show course/ --report measured.html
qsim show --dataset 004-ssd-block-size --dataset 004-ssd-mix --csv tables
qsim show memory/ sweep/ --datasheet-iops 600k --report both.html
"""

MOST_ROWS = 12
"""The most rows of a table that are shown without ``--details``."""

_WITH_EVERY_POINT = ("baseline", "tails")


def show(
    *,
    data: Data = None,
    dataset: list[str] | None = option("NAME", None, "A published table; repeatable."),
    columns: Columns = None,
    series: Series = None,
    outputs: Outputs,
    datasheet_iops: float | None = option("RATE", parsing.per_second, "What the drive's data sheet promises, as 600k."),
    slo: Objective = None,
    details: bool = flag("--details", "Also print every point and every finding."),
) -> Result:
    """Load every source, print its tables, write the page and the CSV files."""
    if not data and not dataset:
        raise wrong_usage(
            "give DATA (a file or a directory), or a published table: --dataset 004-ssd-mix (see qsim datasets)"
        )
    if columns is not None and not data:
        raise wrong_usage("--columns is about CSV files: the columns of a dataset are known")
    for name in dataset or ():
        known_dataset(name)

    from calibrate.report.measured import section_of, together, views_of

    shown = _measured(data or (), dataset or (), columns)
    if series is not None:
        known_series(list(dict.fromkeys(name for one in shown for name in one.series)), series)
        shown = [one.of(series) for one in shown if series in one.series]
    sections, fitted = [], []
    with Bar("drawing") as bar:
        for done, one in enumerate(shown):
            progress, knees = part_of(bar, done, len(shown)), Knees(slo)
            views = views_of(one, datasheet_iops=datasheet_iops, progress=progress, answers=knees)
            sections.append(section_of(one, views))
            fitted.append(knees)
    sections += together(shown)
    fitted += [Knees()] * (len(sections) - len(fitted))
    title = sections[0].title if len(sections) == 1 else " ".join([*(data or ()), *(dataset or ())])
    return Result(
        lambda: _text(sections, fitted, details=details),
        lambda: {"sections": [s.to_dict() for s in sections]},
        outputs.write(lambda: sections, title),
    )


def _text(sections: Sequence[Section], fitted: Sequence[Knees], *, details: bool) -> str:
    texts = [
        section_text(section, knees, details=details)
        for section, knees in zip(sections, fitted, strict=True)
        if any(v.text for v in section.views)
    ]
    more = labelled("MORE", "--details: every point and finding;   --report measured.html: plots")
    return "\n\n\n".join(texts) + ("" if details else f"\n\n{more}")


@dataclass
class Knees:
    """The fits of a page and the answers to --slo, collected while its views are drawn."""

    objective: parsing.Objective | None = None
    fits: list[Fit] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __call__(self, fit: Fit, sweep: measure.Sweep) -> Sequence[NamedKnee]:
        """The operating point that --slo asks for, on this fit."""
        named = () if self.objective is None else knees_of(fit, self.objective, sweep)
        found = tuple(one for one in named if one.asked)
        self.fits.append(fit)
        self.asked += asked_lines(found, fit)
        return found

    def lines(self) -> list[str]:
        """The answers, then the knee and the peak of one curve, or a line on the knees of several."""
        from calibrate.fitting.answer import fit_answer, knees_labelled

        if not self.fits:
            return self.asked
        if len(self.fits) == 1:
            return [*self.asked, *fit_answer(self.fits[0])]
        return [*self.asked, knees_labelled([(f.series, f) for f in self.fits])]

    def last_lines(self) -> list[str]:
        """What to measure next, where that narrows the answer."""
        from calibrate.next.load import advice
        from calibrate.prediction.answer import next_text

        wanted = next_text([(f.series, advice(f.points, f), f.knee) for f in self.fits if f.points is not None])
        return [labelled("NEXT", wanted)] if wanted else []


def section_text(section: Section, knees: Knees, *, details: bool, answered: bool = False) -> str:
    """A section as text: the knees unless ``answered`` before, the tables of its views, and what the audit found."""
    from calibrate.fitting.answer import fits_table

    complete = {len(v.text.rows) for v in section.views if v.text is not None and v.kind in _WITH_EVERY_POINT}
    tables = [v for v in section.views if v.text is not None and not (v.kind == "points" and len(v.table) in complete)]
    lines = [] if answered else knees.lines()
    parts = ["\n".join([section.title, *lines, *(labelled("NOTE", n) for n in section.notes)])]
    for view in tables:
        if view.kind != "latency-bandwidth" or details or not knees.fits:
            parts.append(_view_text(view, None if details else MOST_ROWS))
        if view.kind == "latency-bandwidth" and len(knees.fits) > 1:
            parts.append(fits_table(knees.fits))
    if section.findings and details:
        parts.append("\n".join(map(str, section.findings)))
    parts.append("\n".join([*knees.last_lines(), labelled("AUDIT", audit_text(section.findings))]))
    return "\n\n".join(p for p in parts if p)


def _view_text(view: View, most: int | None) -> str:
    if view.text is None:
        return ""
    rows = view.text.rows
    left_out = 0 if most is None else max(len(rows) - most, 0)
    text = table(view.text.header, rows[: len(rows) - left_out])
    return f"{view.title}\n{text}" + (f"\n... and {counted(left_out, 'row')} more" if left_out else "")


def _measured(data: Sequence[str], datasets: Sequence[str], columns: str | None) -> list[MeasuredData]:
    """Each sweep of a directory, the files together as one, each dataset."""
    from calibrate.report.measured import measured, published

    found: list[MeasuredData] = []
    files = [name for name in data if not Path(name).is_dir()]
    for name in (name for name in data if Path(name).is_dir()):
        found += [measured(DataSource([str(p)], None, columns).load(), str(p)) for p in _sweeps_in(Path(name))]
    if files:
        found.insert(0, measured(DataSource(files, None, columns).load(), ", ".join(files)))
    return [*found, *(published(name) for name in datasets)]


def _sweeps_in(directory: Path) -> list[Path]:
    """The sweep directories inside ``directory``; itself where it is one, or holds none."""
    from measure.store.directory import MANIFEST

    inside = sorted(p.parent for p in directory.glob(f"*/{MANIFEST}"))
    return [directory] if (directory / MANIFEST).is_file() or not inside else inside
