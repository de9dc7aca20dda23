"""``qsim show``: measurements as tables and plots, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import CommandResult
from calibrate.cli.data import NO_RATES, DataSource, audit_text, known_dataset, known_series
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import Columns, Data, Page, Series, flag, option
from calibrate.cli.parsing import parser, per_second, seconds
from calibrate.cli.progress import Bar, part_of
from measure.text_files import shown_name
from measure.units import counted
from qsim.result import labelled

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.report.measured import DataSheet, MeasuredData
    from calibrate.report.view import Section, View
    from measure import Sweep
    from measure.formats.tables.latencies import LatencyTable

MOST_ROWS = 12  # the most rows of a table that are shown without ``--details``


@parser
def datasheet(text: str) -> DataSheet:
    """``read=400k,write=118k,latency=80us``."""
    from calibrate.report.measured import DataSheet

    takes = {
        "read": ("read_per_s", per_second),
        "write": ("write_per_s", per_second),
        "latency": ("latency_s", seconds),
    }
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (p.strip() for p in part.partition("="))
        if name not in takes or not value or takes[name][0] in found:
            raise ValueError(f"invalid part {part.strip()!r}: give each once, as read=400k,write=118k,latency=80us")
        field, read = takes[name]
        found[field] = read(value)
    return DataSheet(**found)


def show(
    *,
    data: Data = None,
    dataset: list[str] | None = option("NAME", None, "A published table; repeatable."),
    columns: Columns = None,
    series: Series = None,
    sheet: Any = option(
        "SPEC", datasheet, "Draw a data sheet's figures: read=400k,write=118k,latency=80us.", "--datasheet"
    ),
    page: Page,
    details: bool = flag("--details", "Also print every point and every finding."),
) -> CommandResult:
    """Show what was measured as tables and plots, with its audit: no prediction.

    What varies in the data decides what is drawn: curves with their knee, heat maps over size and mix, IOPS and MB/s
    over the block size with their crossover, reads and writes apart, percentiles. Each sweep is a section. A table of
    latencies alone is shown too.

    \b
    Examples:
    qsim show course/ --report measured.html
    qsim show --dataset 004-ssd-block-size --dataset 004-ssd-mix --json
    qsim show --dataset 001-ssd --datasheet read=400k,write=118k --report sheet.html
    """
    if not data and not dataset:
        raise wrong_usage(
            "give DATA (a file or a directory), or a published table: --dataset 004-ssd-mix (see qsim datasets)"
        )
    if columns is not None and not data:
        raise wrong_usage("--columns is about CSV files: the columns of a dataset are known")
    for name in dataset or ():
        known_dataset(name)

    found = _measured(data or (), dataset or (), columns)
    if series is not None:
        known_series(list(dict.fromkeys(name for one in found for name in one.held.series)), series)
        found = [one.of(series) for one in found if series in one.held.series]
    with Bar("drawing") as bar:
        parts = [one.section(part_of(bar, done, len(found)), sheet) for done, one in enumerate(found)]
    sections = [section for section, _ in parts]
    title = sections[0].title if len(sections) == 1 else shown_name(" ".join([*(data or ()), *(dataset or ())]))
    return CommandResult(
        lambda: _text(found, parts, sheet, details=details),
        lambda: {"sections": [s.to_dict() for s in sections]},
        page.write(lambda: sections, title),
    )


@dataclass(frozen=True)
class _Shown:
    """A source of data as other commands take it, and what it holds: points of curves, or latencies alone."""

    source: str
    held: MeasuredData | LatencyTable
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def sweep(self) -> Sweep | None:
        from calibrate.report.measured import MeasuredData

        return self.held.sweep if isinstance(self.held, MeasuredData) else None

    def of(self, series: str) -> _Shown:
        """The same of one curve."""
        return replace(self, held=self.held.of(series))

    def section(self, progress: Callable[[float], None], sheet: DataSheet | None) -> tuple[Section, Mapping[str, Fit]]:
        """Its section, with the lines of a data sheet, and the models of its knees."""
        from calibrate.report.measured import MeasuredData, fits_of, latency_section, section_of, views_of, with_sheet

        if not isinstance(self.held, MeasuredData):
            return latency_section(self.held, self.title, self.notes), {}
        fits = fits_of(self.held, progress)
        views = views_of(self.held, fits)
        return section_of(self.held, views if sheet is None else with_sheet(self.held, views, sheet)), fits

    def sheet_lines(self, sheet: DataSheet | None) -> list[str]:
        """Each figure of the data sheet against the best measured."""
        from calibrate.report.measured import MeasuredData, sheet_lines

        return sheet_lines(self.held, sheet) if sheet is not None and isinstance(self.held, MeasuredData) else []


def drawn(shown: Sequence[MeasuredData], purposes: Sequence[str]) -> tuple[list[Section], list[Mapping[str, Fit]]]:
    """A section for each measurement, below its purpose, and the models of its knees."""
    with Bar("drawing") as bar:
        parts = [_Shown("", one).section(part_of(bar, done, len(shown)), None) for done, one in enumerate(shown)]
    sections = [replace(section, lead=purpose) for (section, _), purpose in zip(parts, purposes, strict=True)]
    return sections, [fits for _, fits in parts]


def _text(
    found: Sequence[_Shown],
    parts: Sequence[tuple[Section, Mapping[str, Fit]]],
    sheet: DataSheet | None,
    *,
    details: bool,
) -> str:
    texts = [
        section_text(section, fits, one.source, one.sweep, details=details, more=one.sheet_lines(sheet))
        for one, (section, fits) in zip(found, parts, strict=True)
    ]
    more = labelled("MORE", "--details: every point and finding;   --report measured.html: plots")
    return "\n\n\n".join(texts) + ("" if details else f"\n\n{more}")


def section_text(
    section: Section,
    fits: Mapping[str, Fit],
    source: str,
    sweep: Sweep | None,
    *,
    details: bool,
    answered: bool = False,
    more: Sequence[str] = (),
) -> str:
    """A section of ``sweep`` as text: the knees unless ``answered`` before, its tables, and the audit of ``source``."""
    from measure.auditing.all_checks import not_checked

    lines = [] if answered else _knee_lines(list(fits.values()))
    lines += [labelled("SHEET", line) for line in more]
    spoken = [view.caption.partition(". ")[0] for view in section.views if view.answers]
    lines += [labelled("SHOWS", sentence) for sentence in spoken]
    parts = ["\n".join([section.title, *lines, *(labelled("NOTE", n) for n in section.notes)])]
    for view in section.views:
        if view.name != "latency-bandwidth" or details or len(fits) > 1:
            parts.append(_view_text(view, None if details else MOST_ROWS))
    if section.findings and details:
        parts.append("\n".join(map(str, section.findings)))
    audit = audit_text(section.findings, [NO_RATES] if sweep is None else not_checked(sweep), source)
    parts.append("\n".join([*_next_lines(fits), labelled("AUDIT", audit)]))
    return "\n\n".join(p for p in parts if p)


def _knee_lines(fits: Sequence[Fit]) -> list[str]:
    """The knee and the peak of one curve, or a line on the knees of several."""
    from calibrate.fitting.fit_answer import fit_answer, knees_labelled

    if len(fits) < 2:
        return fit_answer(fits[0]) if fits else []
    return knees_labelled([(f.series, f) for f in fits])[:1]


def _next_lines(fits: Mapping[str, Fit]) -> list[str]:
    """What to measure next, where that narrows the answer."""
    from calibrate.next import advice
    from calibrate.prediction.comparison_answer import next_text

    wanted = next_text(
        [(name, advice(f.points, f.between_runs), f.knee) for name, f in fits.items() if f.points is not None]
    )
    return [labelled("NEXT", wanted)] if wanted else []


def _view_text(view: View, most: int | None) -> str:
    if view.text is None:
        return ""
    left_out = 0 if most is None else max(len(view.text.rows) - most, 0)
    more = [f"... and {counted(left_out, 'row')} more"] if left_out else []
    return "\n".join([view.title, replace(view.text, foot=()).text(most), *more, *view.text.foot])


def _measured(data: Sequence[str], datasets: Sequence[str], columns: str | None) -> list[_Shown]:
    """The files together as one, each sweep of a directory, each dataset, with its source as other commands take it."""
    files = [name for name in data if not (name and Path(name).is_dir())]  # an empty name would be this directory
    folders = [str(p) for name in data if name not in files for p in _sweeps_in(Path(name))]
    sources = [DataSource(names, None, columns) for names in ([files] if files else []) + [[name] for name in folders]]
    return [*(one for source in sources for one in _held(source)), *map(_published, datasets)]


def _held(source: DataSource) -> list[_Shown]:
    """What files hold: a sweep of each kind of load, or tables of latencies alone."""
    from calibrate.report.measured import measured

    held = source.read()
    if isinstance(held, list):
        return [_Shown(source.arguments, table) for table in held]
    parts = (replace(held, also=()), *held.also) if held.also else (held,)
    return [_Shown(source.arguments, measured(part, shown_name(", ".join(source.data)))) for part in parts]


def _published(name: str) -> _Shown:
    from calibrate.report.measured import published, published_latencies
    from measure.datasets import about

    if about(name).curve:
        return _Shown(f"--dataset {name}", published(name))
    return _Shown(f"--dataset {name}", *published_latencies(name))


def _sweeps_in(directory: Path) -> list[Path]:
    """The sweep directories inside ``directory``; itself where it is one, or holds none."""
    from measure.store.directory import MANIFEST

    inside = sorted(p.parent for p in directory.glob(f"*/{MANIFEST}"))
    return [directory] if (directory / MANIFEST).is_file() or not inside else inside
