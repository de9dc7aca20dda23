"""A reveal as a class sees it, on a projector of 1024 x 768 and on a phone: what looks different, what is said, and
what stays when the page is loaded again."""

from __future__ import annotations

import pytest
from driving import Page, until

PROJECTOR, PHONE = {"width": 1024, "height": 768}, {"width": 390, "height": 844}
MARKERS = """[...document.querySelectorAll('#' + arguments[0] + ' .js-plotly-plot')].flatMap((p) => (p.data || [])
    .filter((t) => t.mode === 'markers').map((t) => [t.name, t.marker.color, t.marker.symbol, t.x.length]))"""
BELOW = "arguments[0].map((i) => document.getElementById(i).getBoundingClientRect().bottom)"

COVERED = """(() => {
    const plot = document.querySelector('#run-throughput .js-plotly-plot');
    const boxes = (query) => [...plot.querySelectorAll(query)].map((e) => [e.textContent, e.getBoundingClientRect()]);
    return boxes('.annotation').map(([name, a]) => [name, boxes('.scatterlayer .point').filter(([_, p]) =>
        a.left < p.right && p.left < a.right && a.top < p.bottom && p.top < a.bottom).length]);
})()"""


def shown(page: Page) -> list[list[object]]:
    """The points of the plot of throughput: name, colour, symbol, how many."""
    found = until(lambda: page.value(MARKERS, "run-throughput"), "points")
    return [trace for trace in found if trace[0].startswith("measured")]


def test_calibrated_and_held_out_points_differ_in_colour_and_marker_and_a_legend_names_them(revealed, open_page):
    page = open_page(revealed, "run", **PROJECTOR)
    page.wait_text("run-outcome", "Closest of")
    (first, colour, symbol, count), (other, other_colour, other_symbol, other_count) = shown(page)
    assert (first, other) == ("measured, calibrated on", "measured, held out")
    assert (count, other_count) == (2, 3)
    assert colour != other_colour
    assert symbol != other_symbol
    legend = page.value("document.querySelector('#run-throughput .legend').textContent")
    assert all(name in legend for name in (first, other, "its 90 % band", "N90, the measured one"))


@pytest.mark.parametrize("size", [PROJECTOR, PHONE], ids=["projector", "phone"])
def test_the_names_of_guesses_cover_no_measured_point(revealed, open_page, size):
    page = open_page(revealed, "run", **size)
    page.wait_text("run-outcome", "Closest of")
    shown(page)
    names = dict(page.value(COVERED))
    assert len(names) == 5
    assert not any(names.values()), names


def test_a_projector_shows_who_came_closest_and_the_four_plots_without_scrolling(revealed, open_page):
    page = open_page(revealed, "run", **PROJECTOR)
    page.wait_text("run-outcome", "Closest")
    assert max(page.value(BELOW, ["run-status", "run-reveal", "run-outcome"])) <= PROJECTOR["height"]
    page.go("explore")
    assert max(page.value(BELOW, ["explore-L", "explore-throughput", "explore-play"])) <= PROJECTOR["height"]


def test_the_teachers_choices_stay_when_the_page_is_loaded_again(served, open_page):
    page = open_page(served, "run")
    page.choose("run-device", "003-ssd-read: ")
    for _ in range(2):
        page.go("run")
        page.wait_text("run-device", "003-ssd-read: ")
