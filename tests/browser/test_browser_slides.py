"""The slides in a browser: nothing is cut off, and pictures are drawn in white."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from building import built
from driving import prepare
from selenium import webdriver

SLIDES = """const faults = [];
for (const slide of document.querySelectorAll('.slides section:not(.stack)')) {
    if (slide.querySelector(':scope > section')) continue;
    Reveal.slide(...Object.values(Reveal.getIndices(slide)));
    const title = slide.querySelector('h1, h2, h3');
    const isLong = slide.scrollHeight > 1.25 * slide.clientHeight && !slide.querySelector('table');
    if (isLong || slide.scrollWidth > slide.clientWidth + 1)
        faults.push([title && title.innerText, slide.scrollWidth, slide.scrollHeight]);
    const picture = slide.querySelector('.figure');
    if (picture && !picture.querySelector('.main-svg')) faults.push([title.innerText, 'no picture']);
}
return [document.querySelectorAll('.slides section').length, faults];"""
"""How many slides there are, and which are too wide, need a long scroll (tables may), or lack their picture."""


@pytest.mark.slow
def test_slides_hold_their_text_and_their_pictures(
    tmp_path: Path, browsers: Callable[..., webdriver.Chrome], require_tool: Callable[..., str]
) -> None:
    browser = browsers(0, require_tool("chromium", "chromium-browser"), require_tool("chromedriver"))
    prepare(browser, 1300, dark=True)
    faults, count = [], 0
    made = built(tmp_path, "revealjs", "-t", "slides")
    pages = [page for page in sorted(made.rglob("*.html")) if "_static" not in page.parts]
    for page in pages:
        browser.get(page.as_uri())
        slides, wrong = browser.execute_script(SLIDES)
        count += slides
        faults += [f"{page.stem}: {fault}" for fault in wrong]
    browser.get("about:blank")
    assert len(pages) > 12
    assert count > 100
    assert not faults, "\n".join(faults)
