"""A device whose truth is known: the class gets its hint, and the reveal draws the exact curve with the points."""

from __future__ import annotations

import pytest
from driving import until

PLOTTED = "document.querySelector('#run-{} .js-plotly-plot')?.data?.map((t) => t.name) || []"


@pytest.mark.slow
def test_the_exact_curve_is_drawn_with_the_points_after_the_reveal(served, open_page):
    assert served.press("open", "known") == ""
    page = open_page(served, "run", width=1300)
    page.wait_text("run-rule", "One hint, as the model gets: a request alone takes")
    served.guess("Ann", 6)
    assert served.press("start") == ""
    served.wait_for("measured")
    assert served.press("reveal") == ""
    page.wait_text("run-status", "Revealed")
    for name in ("throughput", "latency"):
        found = until(lambda n=name: "the truth, X = min(N, c) / S" in page.value(PLOTTED.format(n)), "the exact curve")
        assert found
