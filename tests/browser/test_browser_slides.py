"""The slides in a browser: what is shown covers at least half of every slide, in letters that a class can read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doctools.slides import write_html
from driving import prepare
from selenium import webdriver

SLIDES = """return [...document.querySelectorAll('.slide')].map((slide) => {
    const whole = slide.getBoundingClientRect();
    const parts = [...slide.children].map((part) => part.getBoundingClientRect());
    const [top, bottom] = [Math.min(...parts.map((p) => p.top)), Math.max(...parts.map((p) => p.bottom))];
    return [slide.querySelector('h2').innerText, (bottom - top) / whole.height, Number(slide.style.zoom || 1),
        bottom <= whole.bottom + 1 && Math.max(...parts.map((p) => p.right)) <= whole.right + 1,
        !slide.querySelector('.figure') || slide.querySelector('.figure').previousElementSibling.matches('p, ul, pre')];
});"""
"""Of each slide the title, the share of its height from the title to the end of the last part, the size of its letters,
whether nothing is cut off, and whether a picture has its text above it."""

FONTS = {"own": "", "narrow": "letter-spacing: -.04em", "wide": "letter-spacing: .04em"}
"""How wide letters are on machines with other fonts."""


@pytest.mark.slow
@pytest.mark.parametrize("font", FONTS)
def test_every_slide_is_at_least_half_full_and_legible(
    font: str, tmp_path: Path, browsers: Callable[..., webdriver.Chrome], require_tool: Callable[..., str]
) -> None:
    browser = browsers(0, require_tool("chromium", "chromium-browser"), require_tool("chromedriver"))
    prepare(browser, 1300, dark=False)
    faults, count = [], 0
    for page in write_html(tmp_path):
        as_styled = page.read_text("utf-8").replace("</style>", f".slide {{ {FONTS[font]} }}</style>", 1)
        page.write_text(as_styled, "utf-8")
        browser.get(page.as_uri())
        for title, share, letters, *facts in browser.execute_script(SLIDES):
            count += 1
            if share < 0.5 or letters < 0.8 or not all(facts):
                faults.append(f"{page.stem}, {title}: {share:.2f} of the slide, letters {letters:g}, {facts}")
    browser.get("about:blank")
    assert count > 100
    assert not faults, "\n".join(faults)
