"""A chain as a drawing: circles for states, arrows with their rates; in a row where it can be, else in a circle."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from itertools import pairwise

RADIUS, GAP = 26, 130
_BEND = 0.22
"""How far an arrow bends aside, as a share of its length, so that the one back has room."""


def svg_of(states: Sequence[Hashable], rates: Mapping[tuple[Hashable, Hashable], float]) -> str:
    """The drawing, in the colour of the text around it."""
    shown = {pair: rate for pair, rate in rates.items() if rate > 0}
    neighbours = {frozenset(pair) for pair in pairwise(states)}
    in_row = all(frozenset(pair) in neighbours for pair in shown)
    places = _row(len(states)) if in_row else _circle(len(states))
    at = dict(zip(states, places, strict=True))
    width, height = (max(place[k] for place in places) + RADIUS + 44 for k in (0, 1))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="14" text-anchor="middle" fill="none" '
        'stroke="currentColor" role="img">',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="currentColor" stroke="none"/></marker></defs>',
        *(_arrow(at[i], at[j], f"{rate:.4g}") for (i, j), rate in shown.items()),
    ]
    for state, (x, y) in at.items():
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>')
        parts.append(_text(x, y + 5, str(state)))
    return "\n".join([*parts, "</svg>"])


def _row(count: int) -> list[tuple[float, float]]:
    return [(RADIUS + 44.0 + GAP * i, RADIUS + 44.0) for i in range(count)]


def _circle(count: int) -> list[tuple[float, float]]:
    reach = max(GAP / 2 / math.sin(math.pi / count), GAP / 2)
    middle = reach + RADIUS + 44
    turns = [2 * math.pi * i / count - math.pi / 2 for i in range(count)]
    return [(middle + reach * math.cos(a), middle + reach * math.sin(a)) for a in turns]


def _arrow(start: tuple[float, float], end: tuple[float, float], label: str) -> str:
    """A bent arrow from rim to rim, its label outside the bend."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    aside = (dy / length, -dx / length)  # to the left of the way
    bend = _BEND * length
    top = ((start[0] + end[0]) / 2 + 2 * bend * aside[0], (start[1] + end[1]) / 2 + 2 * bend * aside[1])
    begin, finish = _towards(start, top, RADIUS + 1), _towards(end, top, RADIUS + 3)
    middle = [(begin[k] + 2 * top[k] + finish[k]) / 4 for k in (0, 1)]
    text = (middle[0] + 14 * aside[0], middle[1] + 14 * aside[1])
    curve = f"M{begin[0]:.1f} {begin[1]:.1f}Q{top[0]:.1f} {top[1]:.1f} {finish[0]:.1f} {finish[1]:.1f}"
    return f'<path d="{curve}" marker-end="url(#tip)"/>' + _text(text[0], text[1] + 5, label)


def _towards(place: tuple[float, float], other: tuple[float, float], distance: float) -> tuple[float, float]:
    dx, dy = other[0] - place[0], other[1] - place[1]
    share = distance / math.hypot(dx, dy)
    return place[0] + share * dx, place[1] + share * dy


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor" stroke="none">{escape(text)}</text>'
