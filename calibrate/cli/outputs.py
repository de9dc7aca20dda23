"""What a command leaves beside stdout: the page, its plots as images, their data as CSV. Decided before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.console import say, warn
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import OptionGroup
from calibrate.cli.options import Report
from calibrate.cli.progress import Bar
from calibrate.cli.report_files import check_report_path

if TYPE_CHECKING:
    from calibrate.report.compared import Section
    from calibrate.report.front import FrontPage
    from calibrate.report.measured import MeasuredSection

IMAGES = ("svg", "png", "pdf")
REPORT = "report.html"

Plots: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plots", metavar="DIR", parser=parsing.path, show_default=False,
                 help="Also write every plot as an image (needs pip install 'qsim-queue\\[plots]' and Chromium)."),
]  # fmt: skip
Image: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", parser=parsing.choice(*IMAGES), show_default="svg",
                 help="With --plots: svg, png or pdf."),
]  # fmt: skip
Csv: TypeAlias = Annotated[
    Path | None,
    typer.Option("--csv", metavar="DIR", parser=parsing.path, show_default=False,
                 help="Also write the data of every plot there, as CSV in SI units."),
]  # fmt: skip


@dataclass(frozen=True)
class Written:
    """The names of what was written."""

    report: str | None = None
    pdf: str | None = None
    csv: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()
    outputs: Outputs | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"report": self.report, "pdf": self.pdf, "csv": list(self.csv), "plots": list(self.plots)}

    def tell(self) -> None:
        """A line for each kind."""
        if self.csv and self.outputs is not None:
            say(f"\n{len(self.csv)} CSV file{'s' if len(self.csv) > 1 else ''}: {self.outputs.csv}")
        if self.plots and self.outputs is not None:
            say(f"\n{len(self.plots)} plot{'s' if len(self.plots) > 1 else ''}: {self.outputs.plots}")
        if self.report is not None:
            say(f"\nreport: {self.report}")
        if self.pdf is not None:
            say(f"to print: {self.pdf}")


@dataclass(frozen=True)
class Outputs(OptionGroup):
    """Where to write the page, the data and the plots; None: nowhere. ``image`` is the format of the plots."""

    report: Report = None
    csv: Csv = None
    plots: Plots = None
    image: Image = None

    @property
    def wanted(self) -> bool:
        """Whether anything is to be drawn."""
        return any(place is not None for place in (self.report, self.csv, self.plots))

    def check(self) -> None:
        """CommandError or MeasureError where what was asked for cannot be written here; nothing is changed."""
        if self.image is not None and self.plots is None:
            raise wrong_usage("--format is about --plots DIR, where the images are written")
        if self.report is not None:
            check_report_path(self.report)
        for option, place in (("--csv", self.csv), ("--plots", self.plots)):
            if place is not None and place.exists() and not place.is_dir():
                raise wrong_usage(f"{option}: {place} is a file; name a directory")
        if self.plots is not None:
            from calibrate.report.images import check_images

            check_images()

    def write(
        self, sections: Sequence[Section | MeasuredSection], title: str, front: FrontPage | None = None
    ) -> Written:  # fmt: skip
        """Write what was asked for; a page with a ``front`` also as a PDF, where a browser is here.

        Raises MeasureError where a file is in the way, or cannot be written or drawn.
        """
        if not self.wanted:
            return Written(outputs=self)
        from calibrate.report.files import write_tables
        from calibrate.report.page import write_sections

        groups = [group for section in sections for group in section.groups]
        tables = [] if self.csv is None else write_tables(groups, self.csv)
        plots: list[Path] = []
        if self.plots is not None:
            from calibrate.report.images import image_format, write_images

            with Bar("drawing plots") as bar:
                plots = write_images(groups, self.plots, image_format(self.image or "svg"), progress=bar.share)
        page = None if self.report is None else str(write_sections(sections, self.report, title=title, front=front))
        pdf = None if self.report is None or front is None else _printed(sections, self.report, title, front)
        return Written(page, pdf, tuple(map(str, tables)), tuple(map(str, plots)), self)


def _printed(
    sections: Sequence[Section | MeasuredSection], page: Path, title: str, front: FrontPage
) -> str | None:  # fmt: skip
    """The PDF beside the page; None, with a warning, where it cannot be printed: the page says the same."""
    from calibrate.report.paper import write_paper
    from measure.errors import MeasureError

    try:
        with Bar("printing"):
            return str(write_paper(sections, page.with_suffix(".pdf"), title=title, front=front))
    except MeasureError as error:
        warn(f"no PDF: {error}")
        return None


@dataclass(frozen=True)
class PageInDirectory(Outputs):
    """The same, with a page in any case: in the directory of the points, where none is named."""

    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", parser=parsing.path, show_default="report.html in --out",
                     help="The page with all tables and plots."),
    ] = None  # fmt: skip

    def within(self, directory: Path | None) -> Outputs:
        """Where to write, checked before any work; CommandError as ``check``."""
        page = directory / REPORT if self.report is None and directory is not None else self.report
        outputs = Outputs(page, self.csv, self.plots, self.image)
        outputs.check()
        return outputs
