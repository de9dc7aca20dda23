"""The pages are few and short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import regenerate
from doctools.site import pages_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = pages_of(DOCS)
WRITTEN = [page for page in PAGES if page.name not in regenerate.PAGES]
MOST_PAGES, MOST_WORDS = 35, 45_000
MOST_WORDS_OF_PROSE = {"howto-read-other-tools": 900, "howto": 540, "tutorial": 900}
"""Of a page without its blocks and tables, by its name or the first word of it; of any other 1,000."""


def written(page: Path) -> str:
    """The text of a page without the regions that are generated."""
    return re.sub(r"<!-- begin: (.*?) -->.*?<!-- end: \1 -->", "", page.read_text(encoding="utf-8"), flags=re.S)


def prose(page: Path) -> str:
    """The text of a page without blocks, comments, tables and sources."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", written(page), flags=re.M | re.S)
    return re.sub(r"^\|.*$", "", text.partition("\n## Sources")[0], flags=re.M)


def test_there_are_few_pages() -> None:
    assert len(PAGES) <= MOST_PAGES


def test_all_pages_together_are_short() -> None:
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_a_page_is_short(page: Path) -> None:
    most = MOST_WORDS_OF_PROSE.get(page.stem) or MOST_WORDS_OF_PROSE.get(page.stem.partition("-")[0], 1000)
    assert len(prose(page).split()) <= most


def test_the_readme_is_a_hundred_and_twenty_lines() -> None:
    assert len((DOCS.parent / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
