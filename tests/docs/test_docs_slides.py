"""The slides: a page is on them under its headings, with its formulas typeset, and nothing is fetched."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from building import built
from doctools.slides import TAUGHT, height, leads_in
from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for pattern in TAUGHT for page in (ROOT / "docs").glob(pattern))


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slides as ``make slides`` builds them."""
    return built(tmp_path_factory.mktemp("some slides"), "revealjs", "-t", "slides")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_on_its_slides_with_its_headings_code_and_formulas(page: Path, slides: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = (slides / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", "", made))
    for code in re.findall(r"^```(?:console|python|text)\n(.*?)^```", text, re.M | re.S):
        assert code.strip().splitlines()[0] in shown
    assert made.count("<math ") >= text.count("```math")
    assert made.count("data-picture") >= len(re.findall(r"^\[[^\]]+\]\(.*examples/gallery/\w+\.py\)$", text, re.M))
    assert made.count("<section") >= len(re.findall(r"^## ", text, re.M))
    for address in re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', made):
        assert "://" not in address
        assert (slides / page.relative_to(ROOT / "docs")).parent.joinpath(address.partition("?")[0]).exists(), address


def test_a_sentence_that_leads_to_a_block_stays_with_it_and_a_caption_with_its_picture() -> None:
    assert leads_in(nodes.paragraph("", "With the balance:"))
    assert not leads_in(nodes.paragraph("", "It holds."))
    assert leads_in(nodes.raw("", '<div data-picture="knee"></div>'))
    assert not leads_in(nodes.paragraph("", "", nodes.emphasis("", "The knee")))


def test_a_long_block_is_higher_than_a_short_one_and_a_script_has_no_height() -> None:
    assert height(nodes.literal_block("", "a\n" * 9)) > height(nodes.literal_block("", "a\n"))
    assert height(nodes.paragraph("", "word " * 100)) > height(nodes.paragraph("", "word"))
    assert height(nodes.raw("", "<script></script>")) == 0
