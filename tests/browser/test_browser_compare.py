"""Compare in a real browser: datasets and the teacher's own table, every view, and what if, by keyboard and slider."""

from __future__ import annotations

import pytest
from driving import Page, until
from selenium.webdriver.common.keys import Keys

HOSTILE = "<img src=x onerror=alert(1)>.csv"
THROUGHPUT = {n: ((n / 1e-4) ** -3 + 1e-15) ** (-1 / 3) for n in (1, 2, 4, 8, 16, 32, 64)}
TABLE = "queue_depth,iops,latency_us,block_size_KiB,read_pct\n" + "".join(
    f"{n},{x:.1f},{1e6 * n / x:.3f},4,100\n" for n, x in THROUGHPUT.items()
)


@pytest.fixture(scope="module")
def with_own(served):
    (served.folder / "sweeps" / HOSTILE).write_text(TABLE)
    return served


def plots(page: Page) -> list[list[str]]:
    """The names of the curves in each of the plots."""
    found: list[list[str]] = page.value(
        "[...document.querySelectorAll('#compare-shown .js-plotly-plot')].map("
        "(p) => (p.data || []).map((t) => t.name || t.type))"
    )
    return found


def view(page: Page, name: str) -> None:
    next(c for c in page.all("#compare-view label") if c.text == name).click()


def test_datasets_and_an_own_table_are_shown_in_every_view(with_own, open_page):
    page = open_page(with_own, "compare")
    until(lambda: len(plots(page)) == 2 and len(plots(page)[0]) >= 3, "curves of several datasets")
    page.choose("compare-sources", HOSTILE)
    until(lambda: any("&lt;img" in name for name in plots(page)[0]), "the own table among them")
    assert not page.all("#compare-shown img")

    view(page, "Heat maps")
    until(lambda: ["heatmap"] in plots(page), "a heat map")
    view(page, "Tails")
    until(lambda: any("p99.9" in names for names in plots(page)), "tails")
    view(page, "Little's law")
    page.wait_text("compare-shown", "page cache")
    view(page, "What if")
    first = page.wait_text("compare-knees", "→", 120.0)

    page.slider("compare-drives").send_keys(Keys.ARROW_RIGHT)  # from two drives to three
    until(lambda: page.text("compare-knees") not in ("", first), "another knee")
    now, then = (float(part) for part in page.text("compare-knees").split(" → "))
    assert then == pytest.approx(3 * now, rel=0.02)
    page.choose("compare-changed", HOSTILE)
    page.wait_text("compare-shown", HOSTILE)
    own = [float(part) for part in page.text("compare-knees").split(" → ")]
    assert own == pytest.approx([10, 30], rel=0.05)  # R1 = 100 us times Xmax = 100 k/s
    page.type_number("compare-service", "0.5")
    page.wait_text("compare-shown", "service times x 0.5")
    assert page.text("compare-problem") == ""
