"""The drawing of a chain: arrows run from rim to rim, bend to their left, and all of it is inside the picture."""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from qsim.analytic.chains.picture import GAP, RADIUS, svg_of

SVG = "{http://www.w3.org/2000/svg}"
ROW = {("a", "b"): 2.0, ("b", "a"): 1.0, ("b", "c"): 0.0}
CIRCLE = {("a", "b"): 2.0, ("b", "c"): 1.5, ("c", "a"): 0.5, ("b", "a"): 3.0}


@pytest.mark.parametrize("rates", [ROW, CIRCLE])
def test_arrows_run_from_rim_to_rim_and_bend_to_their_left(rates: dict[tuple[str, str], float]) -> None:
    states = sorted({state for pair in rates for state in pair})
    root = ElementTree.fromstring(svg_of(states, rates))  # noqa: S314
    circles = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")]
    places = dict(zip(states, circles, strict=True))
    texts = [(float(t.attrib["x"]), float(t.attrib["y"]) - 5, t.text) for t in root.iter(f"{SVG}text")]
    paths = [p.attrib["d"] for p in root.iter(f"{SVG}path") if p.attrib["d"].endswith(tuple("0123456789"))]
    shown = {pair: rate for pair, rate in rates.items() if rate > 0}
    assert len(paths) == len(shown)
    for path, (i, j), (x, y, label) in zip(paths, shown, texts[: len(shown)], strict=True):
        begin, top, end = ((float(u), float(v)) for u, v in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path))
        assert float(label or "") == shown[i, j]
        assert math.dist(begin, places[i]) == pytest.approx(RADIUS + 1, abs=0.2)
        assert math.dist(end, places[j]) == pytest.approx(RADIUS + 3, abs=0.2)
        (ax, ay), (bx, by) = places[i], places[j]
        length = math.dist(places[i], places[j])
        left = ((by - ay) / length, (ax - bx) / length)  # y grows downwards
        middle = ((ax + bx) / 2, (ay + by) / 2)
        aside = [(px - middle[0]) * left[0] + (py - middle[1]) * left[1] for px, py in (top, (x, y))]
        assert aside[0] == pytest.approx(0.44 * length, abs=0.2)  # the control point: twice the bend
        assert RADIUS < aside[1] < aside[0]  # the label: outside the curve, which reaches half as far
        assert aside[1] > aside[0] / 2 + 8
    named = {text: (x, y) for x, y, text in texts[len(shown) :]}
    for state in states:
        assert named[state] == pytest.approx(places[state], abs=0.1)
    edge = RADIUS + 44
    assert min(x for x, _ in circles) >= edge - 0.1
    assert min(y for _, y in circles) >= edge - 0.1
    assert float(root.attrib["width"]) == pytest.approx(max(x for x, _ in circles) + edge, abs=0.6)
    assert float(root.attrib["height"]) == pytest.approx(max(y for _, y in circles) + edge, abs=0.6)


def test_neighbours_alone_stand_in_a_row_and_others_in_a_circle() -> None:
    def places(states: list[int], rates: dict[tuple[int, int], float]) -> list[tuple[float, float]]:
        found = ElementTree.fromstring(svg_of(states, rates)).iter(f"{SVG}circle")  # type: ignore[arg-type]  # noqa: S314
        return [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in found]

    row = places([0, 1, 2], {(0, 1): 1.0, (1, 2): 1.0})
    assert row == [(RADIUS + 44 + GAP * i, RADIUS + 44) for i in range(3)]
    circle = places(list(range(5)), {(0, 2): 1.0})
    assert [math.dist(a, b) for a, b in pairwise([*circle, circle[0]])] == pytest.approx([GAP] * 5, abs=0.2)
    assert circle[0][1] == min(y for _, y in circle)  # the first on top
    assert circle[1][0] > circle[0][0]  # clockwise
    assert all(math.dist(a, b) > GAP - 0.2 for a, b in combinations(circle, 2))
