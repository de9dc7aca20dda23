"""What a Chromium or Chrome of this machine draws: plots as SVG by kaleido, and a report as a printed PDF.

Both are extras: ``pip install 'qsim-queue[plots]'`` brings kaleido; the browser must be there.
Nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from calibrate.report.files import check_free, write_files
from calibrate.report.page import render_paper
from calibrate.report.view import FrontPage, Group, Section, View
from measure.errors import MeasureError
from qsim.installed import install_hint

T = TypeVar("T")
WIDTH = 1000
"""Pixels. A figure that says its width and height keeps them."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_LETTERS, _TITLE = 16, 50
_WAIT_S = 60
"""How long a browser may take for one plot."""


def check_images(browser: str | None = None) -> None:
    """MeasureError where plots cannot be drawn here, saying what is missing and how to get it.

    ``browser`` is the path of a Chromium or Chrome; None looks on PATH.
    """
    if find_spec("kaleido") is None:
        raise MeasureError(f"plots as files need kaleido, which is not installed: {install_hint('plots')}")
    browser_here(browser)


def write_images(
    groups: Sequence[Group],
    directory: Path,
    *,
    browser: str | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Path]:
    """Draw every view that has a figure to an SVG file of its own.

    Calls ``progress`` with the share done. Raises MeasureError where kaleido or a browser is missing or fails, and
    where a file is there already or cannot be written; nothing is replaced.
    """
    check_images(browser)
    drawn = [Group(g.name, [v for v in g.views if v.figure is not None]) for g in groups]
    drawn = [g for g in drawn if g.views]
    check_free(drawn, directory, "svg", "--plots")
    views = [view for group in drawn for view in group.views]
    found = iter(_run(_draw(views, browser_here(browser), progress)))
    return write_files(drawn, directory, "svg", "--plots", lambda _: next(found))


async def _draw(views: Sequence[View], browser: str, progress: Callable[[float], None]) -> list[bytes]:
    """The image of each of ``views``, in their order, all drawn by one browser."""
    from choreographer.protocol import DevtoolsProtocolError
    from kaleido import Kaleido

    found: list[bytes] = []
    try:
        async with Kaleido(n=1, timeout=_WAIT_S, mathjax=False, path=browser) as kaleido:
            for view in views:
                figure = _figure(view)
                layout = figure["layout"]
                options = {"format": "svg", "width": layout.get("width", WIDTH), "height": layout["height"]}
                found.append(bytes(await kaleido.calc_fig(figure, opts=options)))
                progress(len(found) / len(views))
    except (OSError, RuntimeError, ValueError, TimeoutError, DevtoolsProtocolError) as error:
        raise MeasureError(f"the plots could not be drawn by {browser}: {_first_line(error)}") from error
    return found


def _figure(view: View) -> dict[str, Any]:
    """A view's figure with its title above it, since a file stands alone; one that says its width keeps its size."""
    if view.figure is None:
        raise ValueError(f"{view.name} has no figure")
    figure = view.figure.to_dict()
    layout = figure["layout"]
    return {
        "data": figure["data"],
        "layout": {
            **layout,
            "title": {"text": escape(view.title), "font": {"size": 20}},
            "height": layout["height"] + (0 if "width" in layout else _TITLE + _legend_height(figure["data"])),
            "margin": {**layout["margin"], "t": layout["margin"]["t"] + _TITLE},
        },
    }


def _legend_height(traces: Sequence[Mapping[str, Any]]) -> int:
    """Pixels that a legend of more than two lines needs: its entries stand in columns as wide as the longest."""
    names = [len(t["name"]) for t in traces if t.get("showlegend") is not False and t.get("name")]
    columns = max(1, int((WIDTH - 90) / (45 + 0.55 * _LETTERS * max(names, default=1))))
    return max(0, -(-len(names) // columns) - 2) * round(1.45 * _LETTERS)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end; in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def browser_here(given: str | None) -> str:
    """The path of a Chromium or Chrome. MeasureError where there is none."""
    for name in [given] if given else _BROWSERS:
        if path := shutil.which(name):
            return path
    raise MeasureError(
        f"plots and PDFs need Chromium or Chrome{f'; {given} is not one' if given else '; neither is on PATH'} "
        "(Debian, Ubuntu: apt-get install chromium)"
    )


def _first_line(error: Exception) -> str:
    text = str(error.args[0]).strip() if error.args else ""
    return text.splitlines()[0] if text else type(error).__name__


PATIENCE_S = 120
PDF_MARK = b"/Title (qsim: "
"""The mark of a PDF of qsim: no other file is ever replaced."""


def write_paper(
    sections: Sequence[Section], path: Path, *, title: str, front: FrontPage, browser: str | None = None
) -> Path:
    """Print the first page and of each section its verdict and one plot to ``path``.

    ``browser`` is the path of a Chromium or Chrome; None looks on PATH. Raises MeasureError where there is none, where
    it fails, and where ``path`` is a file that is not of qsim.
    """
    try:
        if path.exists() and PDF_MARK not in path.read_bytes():
            raise MeasureError(f"{path} exists and is not a report of qsim; it is not replaced")
        with TemporaryDirectory(dir=path.parent, prefix="qsim-print-") as folder:
            page = Path(folder) / "paper.html"
            page.write_text(render_paper(sections, title=title, front=front), encoding="utf-8")
            print_pdf(page, path, browser)
    except OSError as error:
        raise MeasureError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def print_pdf(page: Path, path: Path, browser: str | None = None) -> None:
    """Print a page of qsim to ``path``. MeasureError where no browser is here, or where it fails."""
    program = browser_here(browser)
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
