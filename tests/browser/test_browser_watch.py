"""Watch in a real browser: Little's law of a device at work, on three widths; and where nothing is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import until

from measure.errors import MeasureError
from measure.watching import counters_now


@pytest.fixture(scope="module")
def counted() -> None:
    try:
        counters_now()
    except MeasureError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_the_seconds_come_by_themselves(counted, served, open_page, tmp_path: Path, width: int) -> None:
    page = open_page(served, "watch", width=width)
    script = """(() => { const p = document.querySelector('#watch-little .js-plotly-plot');
        return p && p.data ? p.data.map((t) => t.x.length) : []; })()"""
    until(lambda: (n := page.value(script)) and len(n) == 2 and min(n) >= 2, "two seconds of both sides")
    assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wanted = ("by Little's law", "The device is idle")
    until(lambda: any(words in page.text("watch-shown") for words in wanted), "a sentence on the last second")
    assert page.text("watch-problem") == ""
