"""The slides of the pages: nothing that a page shows is lost, a slide is not overfull, and no address leads out."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctools import slides

PAGES = sorted(page for pattern in slides.TAUGHT for page in slides.DOCS.glob(pattern))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_and_table_of_a_page_is_on_a_slide_and_all_its_prose_in_the_notes(page: Path) -> None:
    text = slides._COMMENT.sub("", page.read_text(encoding="utf-8")).partition("\n## Sources")[0]
    made = slides.slides_of(page.read_text(encoding="utf-8"))
    shown = "\n".join(part for slide in made for part in slide.parts)
    notes = "\n".join(slide.notes for slide in made)
    headings = {slide.title.partition(" (")[0] for slide in made}
    headings |= {part[4:].partition(" (")[0] for slide in made for part in slide.parts if part.startswith("### ")}
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            assert line.lstrip("# ").partition(" (")[0] in headings
        elif line:
            assert line in shown or line in notes, line
    assert made[0].title == text.splitlines()[0].removeprefix("# ")
    for slide in made:
        assert len(slide.parts) == 1 or sum(map(slides._height, slide.parts)) <= slides.LINES


def test_a_page_of_slides_fetches_nothing_and_lets_no_tag_through() -> None:
    made = [slides.Slide("a < b", ("See [there](https://example.org/x) <script>alert(1)</script>.",), "Notes.")]
    page = slides.html_of("t", made, {})
    assert "a &lt; b" in page
    assert "<script>alert" not in page
    assert "example.org" not in page
    assert 'src="' not in page


@pytest.mark.slow
def test_slides_of_a_page_fit_when_printed(tmp_path: Path, require_tool: object) -> None:
    import re

    from calibrate.report.paper import print_pdf

    require_tool("chromium")  # type: ignore[operator]
    made = slides.slides_of((slides.DOCS / "theory" / "general-times.md").read_text(encoding="utf-8"))
    made = [slide for slide in made if not any(slides._PICTURE.match(part) for part in slide.parts)]
    page = tmp_path / "slides.html"
    page.write_text(slides.html_of("t", made, {}), encoding="utf-8")
    print_pdf(page, tmp_path / "slides.pdf")
    assert len(re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "slides.pdf").read_bytes())) == len(made)
