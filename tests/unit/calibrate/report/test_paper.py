"""The PDF of a report: short, ours alone is replaced, and a clear line where no browser is here or it fails."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from published_course import course_of

import calibrate.report.page as page_module
from calibrate.course import front_of
from calibrate.report.page import PICTURES, render, render_paper, write_paper, write_sections
from calibrate.report.view import FrontPage, KeyFigure
from measure.errors import MeasureError

FRONT = FrontPage("a drive", (KeyFigure("7.2", "4 to 11", "knee"),), ("All is <well>.",))


def test_every_section_is_folded_behind_the_front() -> None:
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    page = render(sections, title="t", front=front_of(sections))
    parts = page.split('class="front"', 1)[1].split("<script>\nconst darkColours")[0]
    assert parts.count('<details class="part">') == len(sections)
    assert "<nav>" not in parts
    assert '<details class="part">' not in render(sections, title="t")


def test_paper_has_a_few_plots_a_section_and_no_folds() -> None:
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    page = render_paper(sections, title="t", front=FRONT)
    body = page.split("<body>", 1)[1]
    assert "<details" not in body
    assert "All is &lt;well&gt;." in body
    assert 1 <= body.count('class="plot"') <= len(sections) + len(PICTURES)
    assert 'data-name="latency-by-direction-1"' in body
    assert len(re.findall(r'class="plot"[^>]*data-name="latency-reads-against-writes"', body)) == 1


def test_without_a_browser_it_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MeasureError, match=r"a PDF needs Chromium or Chrome; neither is on PATH \(Debian"):
        write_paper([], tmp_path / "report.pdf", title="t", front=FRONT)
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\nexit 7\n")
    browser.chmod(0o755)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(MeasureError, match=r"printed no PDF \(exit code 7\)"):
        write_paper([], out / "report.pdf", title="t", front=FRONT)
    assert list(out.iterdir()) == []


def test_a_pdf_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "report.pdf"
    mine.write_bytes(b"%PDF-1.4 /Title (my thesis)")
    with pytest.raises(MeasureError, match="is not a report of qsim"):
        write_paper([], mine, title="t", front=FRONT)
    assert mine.read_bytes() == b"%PDF-1.4 /Title (my thesis)"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")], ids=["pipe", "dangling link"])
def test_a_name_that_leads_to_no_file_is_refused_and_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    mine = tmp_path / "report.pdf"
    make(mine)
    with pytest.raises(MeasureError, match="is not a report of qsim"):
        write_paper([], mine, title="t", front=FRONT)
    with pytest.raises(MeasureError, match="is not a report of qsim"):
        write_sections([], mine, title="t")
    assert not mine.is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]


def test_a_pdf_that_came_while_it_was_printed_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "report.pdf"

    def printing(page: Path, path: Path) -> None:
        path.write_bytes(b"printed from " + page.read_bytes()[-8:])
        mine.write_bytes(b"my thesis")

    monkeypatch.setattr(page_module, "print_pdf", printing)
    with pytest.raises(MeasureError, match="is not a report of qsim"):
        write_paper([], mine, title="t", front=FRONT)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("report.pdf", b"my thesis")]


@pytest.mark.slow
def test_a_published_report_is_a_few_pages(tmp_path: Path, require_tool: object) -> None:
    require_tool("chromium")  # type: ignore[operator]
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    path = tmp_path / "report.pdf"
    for _ in range(2):  # our own is replaced
        assert write_paper(sections, path, title="As published", front=front_of(sections)) == path
    pages = len(re.findall(rb"/Type\s*/Page[^s]", path.read_bytes()))
    assert 2 <= pages <= 14
    assert [p.name for p in tmp_path.iterdir()] == ["report.pdf"]
