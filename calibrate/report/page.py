"""One self-contained HTML page: verdict, figures, tables, provenance. It opens offline and on a phone.

Figures and tables are in the page compressed. A figure is drawn when it comes into view, in the colours of the screen
(light, dark) or of paper; buttons below it save its data and its image, and need nothing from outside either.

As a PDF it is printed by a Chromium or Chrome of this machine. Nothing is downloaded.
"""

from __future__ import annotations

import base64
import csv
import datetime as dt
import gzip
import io
import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from calibrate.prediction.comparison import Comparison
from calibrate.report.compared import compared_section, views_of
from calibrate.report.compared.curve_views import curve_output
from calibrate.report.drawing import DARK
from calibrate.report.view import FrontPage, Section, View
from measure.errors import MeasureError
from measure.machine.files import write_durably, write_new
from measure.origin import Provenance
from measure.text_files import plain_cell

if TYPE_CHECKING:
    from jinja2 import Environment

MARK = '<meta name="generator" content="qsim report">'  # the mark of a report of qsim: no other file is ever replaced
PLOTLY = "plotly-cartesian.min.js.gz"
"""plotly.js 4.1.1 (MIT) with lines, bars and heat maps alone, packed: 0.5 MB in a page where all of it is 4.8 MB."""


def write_report(
    comparisons: Sequence[Comparison], path: str | Path, *, title: str = "", refused: Mapping[str, str] | None = None
) -> Path:
    """Write the report of one sweep to ``path``; see ``write_sections``."""
    heading = title or (comparisons[0].points.source if comparisons else "")
    section = compared_section(heading, [views_of(c) for c in comparisons], refused)
    return write_sections([section], path, title=heading)


def write_sections(
    sections: Sequence[Section], path: str | Path, *, title: str, front: FrontPage | None = None
) -> Path:
    """Write one page for several sweeps, replacing an earlier report of qsim but no other file.

    With a ``front`` the page opens with it, and every section is folded.

    Raises MeasureError where ``path`` is a file that is no report of qsim, or cannot be written.
    """
    target = Path(path)
    try:
        _require_ours(target, is_report)
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(target, render(sections, title=title, front=front).encode(), is_report)
    except OSError as error:
        raise MeasureError(f"cannot write the report {target}: {error.strerror or error}") from error
    return target


def _require_ours(path: Path, ours: Callable[[Path], bool]) -> None:
    """MeasureError where the name is taken by what is not ``ours``, also a pipe or a link to nothing."""
    if os.path.lexists(path) and not ours(path):
        raise MeasureError(f"{path} exists and is not a report of qsim; choose another name for the report")


def _put(path: Path, content: bytes, ours: Callable[[Path], bool]) -> None:
    """Write a new file, or replace one of ``ours``; one that came while this was made stays."""
    _require_ours(path, ours)
    if os.path.lexists(path):
        write_durably(path, content)
    else:
        write_new(path, content)


def is_report(path: Path) -> bool:
    """Whether the file is a report that qsim wrote. A pipe or a device is none, and is not opened."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return MARK.encode() in file.read(4096)
    except OSError:
        return False


def render(sections: Sequence[Section], *, title: str, front: FrontPage | None = None) -> str:
    """The page as text. It names no address outside itself."""
    return _rendered("page.html.j2", [_section(s, i) for i, s in enumerate(sections)], title, front)


def render_paper(sections: Sequence[Section], *, title: str, front: FrontPage) -> str:
    """A short page for a printer: the front, and of each section its words and a few plots, or its first table."""
    left = set(PICTURES)
    return _rendered("paper.html.j2", [_shortened(_section(s, i), left) for i, s in enumerate(sections)], title, front)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("calibrate", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # these templates have no constants to fold
    )


def _rendered(template: str, sections: list[dict[str, Any]], title: str, front: FrontPage | None) -> str:
    shown = None if front is None else {**front.to_dict(), "view": front.view and _view(front.view, "front")}
    page = _templates().get_template(template)
    return page.render(
        title=title or "qsim report",
        mark=MARK,
        plotlyjs=base64.b64encode((files("calibrate.report") / PLOTLY).read_bytes()).decode(),
        packed=_packed(sections, shown),
        dark_colours={k.lower(): v for k, v in DARK.items()},
        written=dt.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        sections=sections,
        front=shown,
    )


PICTURES = (
    "iops-and-bandwidth-1",
    "latency-map-1",
    "latency-by-direction-1",
    "latency-reads-against-writes",
    "tails-1",
)
"""Views that a printed report has besides the first of each section: each once, where it comes first."""


def _shortened(shown: dict[str, Any], left: set[str]) -> dict[str, Any]:
    """The printed part of a section: its first plot and those ``left`` to print, or its table.

    What it prints is taken out of ``left``.
    """
    drawn = [view for view in shown["views"] if view["figure"]]
    views = (drawn[:1] + [view for view in drawn[1:] if view["name"] in left]) or shown["views"][:1]
    left.difference_update(view["name"] for view in views)
    curves = [{**one, "main": [] if views else one["main"][:1]} for one in shown["curves"]]
    return {**shown, "views": views, "curves": curves}


def _section(section: Section, number: int) -> dict[str, Any]:
    return {
        "title": section.title,
        "lead": section.lead,
        "notes": list(section.notes),
        "views": [_view(v, f"s{number}") for v in section.views],
        "compared": section.is_compared,
        "curves": [
            {
                **curve_output(curve.comparison),
                "anchor": f"s{number}-{i}",
                "main": [_view(v, f"s{number}-{i}") for v in curve.main],
                "checks": [_view(v, f"s{number}-{i}") for v in curve.checks],
                "left_out": curve.left_out,
            }
            for i, curve in enumerate(section.curves)
        ],
        "refused": dict(section.refused),
        "audit": section.findings,
        "provenance": _provenance(section.provenance),
        "commands": list(dict.fromkeys(section.provenance.commands)),
    }


def _view(view: View, anchor: str) -> dict[str, Any]:
    """A view for the template: its figure as JSON and its table as CSV go into the page packed."""
    return {
        "name": view.name,
        "anchor": f"{anchor}-{view.name}",
        "title": view.title,
        "caption": view.caption,
        "text": view.text,
        "figure": None if view.figure is None else view.figure.to_json(),
        "height": 0 if view.figure is None else view.figure.height,
        "csv": csv_text(view),
    }


def csv_text(view: View) -> str:
    """A view's data: a header, columns in SI units, a row each; floats to six digits."""
    written, table = io.StringIO(), view.table
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(plain_cell(str(name)) for name in table.columns)
    rows.writerows(zip(*([_cell(v) for v in table.iloc[:, i].tolist()] for i in range(table.shape[1])), strict=True))
    return written.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else plain_cell(value) if isinstance(value, str) else value


def _packed(sections: Sequence[Mapping[str, Any]], front: Mapping[str, Any] | None) -> str:
    """Every figure and table of the page by its anchor, compressed, as text that no script can end."""
    curves = [curve for section in sections for curve in section["curves"]]
    views = [v for s in sections for v in s["views"]] + [v for c in curves for v in (*c["main"], *c["checks"])]
    views += [front["view"]] if front and front["view"] else []
    held = {v["anchor"]: {"figure": v["figure"], "csv": v["csv"]} for v in views}
    return base64.b64encode(gzip.compress(json.dumps(held).encode(), mtime=0)).decode()


def _provenance(p: Provenance) -> list[tuple[str, str]]:
    tool = p.tool_version if p.tool_version.startswith(p.tool) else f"{p.tool} {p.tool_version}"
    known = [
        ("tool", tool.strip()),
        ("device", p.device),
        ("host", p.host),
        ("CPU", p.cpu),
        ("kernel", p.kernel),
        ("measured", p.started_at),
        ("source", p.source),
    ]
    details = [(str(k).replace("_", " "), _plain(v)) for k, v in p.details.items()]
    return [(k, v) for k, v in [*known, *details] if v]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {text}" for k, v in value.items() if (text := _plain(v)))
    if isinstance(value, (list, tuple)):
        return ("; " if any(isinstance(v, Mapping) for v in value) else ", ").join(_plain(v) for v in value)
    return "" if value is None else str(value)


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def _browser() -> str:
    """The path of a Chromium or Chrome. MeasureError where none is installed."""
    if (found := next(filter(None, map(shutil.which, _BROWSERS)), None)) is None:
        raise MeasureError(
            "a PDF needs Chromium or Chrome; neither is on PATH (Debian, Ubuntu: apt-get install chromium)"
        )
    return found


PATIENCE_S = 120
PDF_MARK = b"/Title (qsim: "  # the mark of a PDF of qsim: no other file is ever replaced


def write_paper(sections: Sequence[Section], path: Path, *, title: str, front: FrontPage) -> Path:
    """Print the first page and of each section its verdict and a few plots to ``path``.

    Raises MeasureError where no browser is on PATH, where it fails, and where ``path`` is a file that is not of qsim.
    """
    try:
        _require_ours(path, _is_paper)
        with TemporaryDirectory(dir=path.parent, prefix="qsim-print-") as folder:
            page, printed = Path(folder) / "paper.html", Path(folder) / "paper.pdf"
            page.write_text(render_paper(sections, title=title, front=front), encoding="utf-8")
            print_pdf(page, printed)
            _put(path, printed.read_bytes(), _is_paper)
    except OSError as error:
        raise MeasureError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _is_paper(path: Path) -> bool:
    """Whether the file is a PDF that qsim printed. A pipe or a device is none, and is not opened."""
    return path.is_file() and PDF_MARK in path.read_bytes()


def print_pdf(page: Path, path: Path) -> None:
    """Print a page of qsim to ``path``. MeasureError where no browser is here, or where it fails."""
    program = _browser()
    try:
        with TemporaryDirectory(dir=path.parent, prefix="qsim-print-") as folder:  # a browser in a box reads no /tmp
            place = Path(folder).resolve()
            as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
            command = [
                program,
                "--headless",
                *as_root,
                "--disable-gpu",
                "--no-pdf-header-footer",
                "--no-first-run",
                f"--user-data-dir={place / 'profile'}",
                "--virtual-time-budget=60000",
                f"--print-to-pdf={place / 'printed.pdf'}",
                page.resolve().as_uri(),
            ]
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
            if done.returncode or not (place / "printed.pdf").exists():
                raise MeasureError(f"{program} printed no PDF (exit code {done.returncode}); print the page from it")
            (place / "printed.pdf").replace(path)
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"{program} printed no PDF in {PATIENCE_S} s; print the page from it") from error
    except OSError as error:
        raise MeasureError(f"cannot write {path}: {error.strerror or error}") from error
