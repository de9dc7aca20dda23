"""A report as a printed PDF, by a Chromium or Chrome of this machine. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from calibrate.report.page import render_paper
from calibrate.report.view import FrontPage, Section
from measure.errors import MeasureError

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser_here(given: str | None) -> str:
    """The path of a Chromium or Chrome. MeasureError where there is none."""
    for name in [given] if given else _BROWSERS:
        if path := shutil.which(name):
            return path
    raise MeasureError(
        f"a PDF needs Chromium or Chrome{f'; {given} is not one' if given else '; neither is on PATH'} "
        "(Debian, Ubuntu: apt-get install chromium)"
    )


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
