"""The slides of the pages: nothing that a page shows is lost, a slide is not overfull, and no address leads out."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctools import slides

PAGES = sorted(page for pattern in slides.TAUGHT for page in slides.DOCS.glob(pattern))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_of_a_page_is_on_its_slides_in_whole_sentences(page: Path) -> None:
    text = slides._COMMENT.sub("", page.read_text(encoding="utf-8")).partition("\n## Sources")[0]
    made = slides.slides_of(page.read_text(encoding="utf-8"))
    shown = " ".join(" ".join(part.split()) for slide in made for part in slide.parts)
    headings = {slide.title for slide in made} | {part.removeprefix("### ") for slide in made for part in slide.parts}
    for title, blocks in slides._sections(text):
        assert title in headings
        for line in (line for block in blocks for line in block.splitlines() if not line.startswith("```")):
            assert " ".join(line.split()) in shown
    assert made[0].title == text.splitlines()[0].removeprefix("# ")
    for slide in made:
        assert not slide.parts or not slides._leads_in(slide.parts[-1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_has_no_prompts_and_formulas_are_typeset(page: Path) -> None:
    made = slides.slides_of(page.read_text(encoding="utf-8"))
    written = slides.html_of("t", made, {})
    assert "&gt;&gt;&gt;" not in written
    assert "BLANKLINE" not in written
    formulas = sum(map(slides.is_formula_block, (part for slide in made for part in slide.parts)))
    assert written.count('class="math"') == formulas
    if page.parent.name == "theory":
        assert written.count("<math>") >= formulas


def test_a_page_of_slides_fetches_nothing_and_lets_no_tag_through() -> None:
    made = [slides.Slide("a < b", ["See [there](https://example.org/x) <script>alert(1)</script>."])]
    page = slides.html_of("t", made, {})
    assert "a &lt; b" in page
    assert "<script>alert" not in page
    assert "example.org" not in page
    assert 'src="' not in page
