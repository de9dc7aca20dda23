"""Compare in a real browser: datasets and the teacher's own table, in two plots."""

from __future__ import annotations

import pytest
from driving import Page, until

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


def test_datasets_and_an_own_table_are_compared(with_own, open_page):
    page = open_page(with_own, "compare")
    until(lambda: len(plots(page)) == 2 and len(plots(page)[0]) >= 3, "curves of several datasets")
    page.wait_text("compare-shown", "page cache")
    page.choose("compare-sources", HOSTILE)
    until(lambda: any("&lt;img" in name for name in plots(page)[0]), "the own table among them")
    assert not page.all("#compare-shown img")
    assert page.text("compare-problem") == ""
