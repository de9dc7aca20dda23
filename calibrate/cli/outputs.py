"""The files that a command writes, checked before any work: the page of a result, and new files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.console import Written, warn
from calibrate.cli.option_groups import OptionGroup, option
from measure.errors import MeasureError

if TYPE_CHECKING:
    from calibrate.report.view import FrontPage, Section


def check_new(path: Path, option: str = "--out") -> None:
    """MeasureError where ``path`` exists or its folder does not; nothing is changed."""
    if os.path.lexists(path):
        raise MeasureError(f"{path} exists and is not replaced; choose another name for {option}")
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")


@contextmanager
def new_record(path: Path, head: str, option: str) -> Iterator[Callable[[str], None]]:
    """A new file that begins with ``head``, and a function that appends a line to it. MeasureError where that fails."""
    from measure.machine import durable

    check_new(path, option)
    with ExitStack() as stack:
        with naming(path, option):
            append = stack.enter_context(durable.appending(path, head.encode()))

        def add(line: str) -> None:
            with naming(path, option):
                append(line.encode())

        yield add
        with naming(path, option):
            stack.close()


@contextmanager
def naming(path: Path, option: str = "--out") -> Iterator[None]:
    """A MeasureError that names the file in place of an OSError."""
    try:
        yield
    except FileExistsError as error:
        raise MeasureError(f"{path} exists and is not replaced; choose another name for {option}") from error
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error


@dataclass(frozen=True)
class Page(OptionGroup):
    """Where to write the page; None: nowhere."""

    report: Path | None = option("FILE", parsing.path, "Also write an HTML page that opens offline.")

    def check(self) -> None:
        """MeasureError where the page is a directory or a file that is no report of qsim; nothing is changed."""
        path = self.report
        if path is None:
            return
        from calibrate.report.page import is_report

        if path.is_dir():
            raise MeasureError(f"{path} is a directory; name a file for the report, such as {path / 'report.html'}")
        if path.exists() and not is_report(path):
            raise MeasureError(f"{path} exists and is not a report of qsim; choose another name for the report")
        if path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK):
            raise MeasureError(f"nothing can be written to {path.parent}; name another place for the report")

    def write(
        self, sections: Callable[[], Sequence[Section]], title: str = "", front: FrontPage | None = None
    ) -> Written:
        """Write the page; one with a ``front`` also as a PDF, where a browser is installed.

        Raises MeasureError where a file is in the way, or cannot be written or drawn.
        """
        if self.report is None:
            return Written()
        from calibrate.report.page import write_sections

        drawn = sections()
        title = title or drawn[0].title
        page = write_sections(drawn, self.report, title=title, front=front)
        return Written(str(page), None if front is None else _printed(drawn, self.report, title, front))


def _printed(sections: Sequence[Section], page: Path, title: str, front: FrontPage) -> str | None:
    """The PDF of the page; None, with a warning, where it cannot be printed: the page says the same."""
    from calibrate.cli.progress import Bar
    from calibrate.report.paper import write_paper
    from measure.errors import MeasureError

    try:
        with Bar("printing"):
            return str(write_paper(sections, page.with_suffix(".pdf"), title=title, front=front))
    except MeasureError as error:
        warn(f"no PDF: {error}")
        return None


def page_in(directory: Path | None) -> Page:
    """A page in the directory of the points, checked before any work; MeasureError as ``check``."""
    page = Page(None if directory is None else directory / "report.html")
    page.check()
    return page
