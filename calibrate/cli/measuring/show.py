"""``qsim show``: measurements as tables and plots, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.cli.console import Result, labelled
from calibrate.cli.data import DataSource, audit_text, known_dataset, known_series
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import Columns, Data, Page, Series, flag, option
from calibrate.cli.progress import Bar, part_of
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.report.measured import MeasuredData
    from calibrate.report.view import Section, View
    from measure import Sweep

HELP = """Show what was measured as tables and plots, with its audit: no prediction.

What varies in the data decides what is drawn. Each sweep is a section.

\b
Examples:
qsim show course/ --report measured.html
qsim show --dataset 004-ssd-block-size --dataset 004-ssd-mix --json
qsim show memory/ sweep/ --report both.html
"""

MOST_ROWS = 12
"""The most rows of a table that are shown without ``--details``."""


def show(
    *,
    data: Data = None,
    dataset: list[str] | None = option("NAME", None, "A published table; repeatable."),
    columns: Columns = None,
    series: Series = None,
    page: Page,
    details: bool = flag("--details", "Also print every point and every finding."),
) -> Result:
    """Load every source, print its tables, write the page."""
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
        known_series(list(dict.fromkeys(name for _, one in found for name in one.series)), series)
        found = [(source, one.of(series)) for source, one in found if series in one.series]
    shown = [one for _, one in found]
    sections, fitted = drawn(shown, [""] * len(shown))
    title = sections[0].title if len(sections) == 1 else " ".join([*(data or ()), *(dataset or ())])
    return Result(
        lambda: _text(found, sections, fitted, details=details),
        lambda: {"sections": [s.to_dict() for s in sections]},
        page.write(lambda: sections, title),
    )


def drawn(shown: Sequence[MeasuredData], purposes: Sequence[str]) -> tuple[list[Section], list[Mapping[str, Fit]]]:
    """A section for each measurement, below its purpose, and the models of its knees."""
    from calibrate.report.measured import fits_of, section_of, views_of

    with Bar("drawing") as bar:
        fitted = [fits_of(one, part_of(bar, done, len(shown))) for done, one in enumerate(shown)]
    each = zip(shown, fitted, purposes, strict=True)
    return [section_of(one, views_of(one, fits), purpose) for one, fits, purpose in each], list(fitted)


def _text(
    found: Sequence[tuple[str, MeasuredData]],
    sections: Sequence[Section],
    fitted: Sequence[Mapping[str, Fit]],
    *,
    details: bool,
) -> str:
    texts = [
        section_text(section, fits, source, one.sweep, details=details)
        for section, fits, (source, one) in zip(sections, fitted, found, strict=True)
    ]
    more = labelled("MORE", "--details: every point and finding;   --report measured.html: plots")
    return "\n\n\n".join(texts) + ("" if details else f"\n\n{more}")


def section_text(
    section: Section, fits: Mapping[str, Fit], source: str, sweep: Sweep, *, details: bool, answered: bool = False
) -> str:
    """A section of ``sweep`` as text: the knees unless ``answered`` before, its tables, and the audit of ``source``."""
    from measure.auditing.all_checks import not_checked

    lines = [] if answered else _knee_lines(list(fits.values()))
    parts = ["\n".join([section.title, *lines, *(labelled("NOTE", n) for n in section.notes)])]
    for view in section.views:
        if view.name != "latency-bandwidth" or details or len(fits) > 1:
            parts.append(_view_text(view, None if details else MOST_ROWS))
    if section.findings and details:
        parts.append("\n".join(map(str, section.findings)))
    audit = audit_text(section.findings, not_checked(sweep), source)
    parts.append("\n".join([*_next_lines(fits), labelled("AUDIT", audit)]))
    return "\n\n".join(p for p in parts if p)


def _knee_lines(fits: Sequence[Fit]) -> list[str]:
    """The knee and the peak of one curve, or a line on the knees of several."""
    from calibrate.fitting.answer import fit_answer, knees_labelled

    if len(fits) < 2:
        return fit_answer(fits[0]) if fits else []
    return knees_labelled([(f.series, f) for f in fits])[:1]


def _next_lines(fits: Mapping[str, Fit]) -> list[str]:
    """What to measure next, where that narrows the answer."""
    from calibrate.next import advice
    from calibrate.prediction.answer import next_text

    wanted = next_text([(name, advice(f.points), f.knee) for name, f in fits.items() if f.points is not None])
    return [labelled("NEXT", wanted)] if wanted else []


def _view_text(view: View, most: int | None) -> str:
    if view.text is None:
        return ""
    left_out = 0 if most is None else max(len(view.text.rows) - most, 0)
    more = [f"... and {counted(left_out, 'row')} more"] if left_out else []
    return "\n".join([view.title, replace(view.text, foot=()).text(most), *more, *view.text.foot])


def _measured(data: Sequence[str], datasets: Sequence[str], columns: str | None) -> list[tuple[str, MeasuredData]]:
    """The files together as one, each sweep of a directory, each dataset, with its source as other commands take it.

    Of several kinds of load each is by itself.
    """
    from calibrate.report.measured import measured, published

    files = [name for name in data if not Path(name).is_dir()]
    folders = [str(p) for name in data if Path(name).is_dir() for p in _sweeps_in(Path(name))]
    sources = [DataSource(names, None, columns) for names in ([files] if files else []) + [[name] for name in folders]]
    found = []
    for source in sources:
        sweep = source.load()
        parts = (replace(sweep, also=()), *sweep.also) if sweep.also else (sweep,)
        found += [(source.arguments, measured(part, ", ".join(source.data))) for part in parts]
    return [*found, *((f"--dataset {name}", published(name)) for name in datasets)]


def _sweeps_in(directory: Path) -> list[Path]:
    """The sweep directories inside ``directory``; itself where it is one, or holds none."""
    from measure.store.directory import MANIFEST

    inside = sorted(p.parent for p in directory.glob(f"*/{MANIFEST}"))
    return [directory] if (directory / MANIFEST).is_file() or not inside else inside
