"""A network as a picture: SVG that stands alone, in a page, a notebook or a file.

Stations stand in columns by how many steps they are from where customers come in. A station is a line of places and a
circle of servers; a delay is a circle alone. An arrow is a way, with its probability where there are several; ways
back run below, and those past other columns above.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import TypeAlias

from qsim.models.network import Network
from qsim.models.routes import OUTSIDE
from qsim.models.station import Station

COLUMN, ROW, LEFT, TOP = 190, 130, 90, 100
INK, PALE = "#334155", "#64748b"
Point: TypeAlias = tuple[float, float]


def drawing(network: Network) -> str:
    """The network as an SVG document."""
    ways = {here: _following(network, here) for here in network.stations}
    at = _positions(network, ways)
    width = max(x for x, _ in at.values()) + LEFT + 60
    height = max(y for _, y in at.values()) + TOP + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" font-family="sans-serif" font-size="12" fill="none" stroke="{INK}">',
        f"<title>{html.escape(network.kendall)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{INK}" stroke="none"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="white" stroke="none"/>',
        *(part for here in ways for to, shares in ways[here].items() for part in _arrow(at[here], at[to], shares)),
        *(part for here in ways if _leaves(network, here) for part in _way_out(*at[here])),
        *(part for name, station in _entered(network) for part in _way_in(network, name, *at[station])),
        *(part for name, station in network.stations.items() for part in _station(name, station, *at[name])),
        "</svg>",
    ]
    return "\n".join(parts)


def _positions(network: Network, ways: dict[str, dict[str, list[float]]]) -> dict[str, Point]:
    """The place of each station: in a column behind all from which it is reached for the first time."""
    column: dict[str, int] = {}

    def place(station: str, at_least: int, before: tuple[str, ...]) -> None:
        if station not in before and column.get(station, -1) < at_least:
            column[station] = at_least
            for following in ways[station]:
                place(following, at_least + 1, (*before, station))

    homes = [home for name in network.closed_classes if (home := network.home_of(name))]
    for start in [*homes, *(station for _, station in _entered(network)), *network.stations]:
        if start not in column:
            place(start, 0, ())
    rows: dict[int, list[str]] = {}
    for station in network.stations:
        rows.setdefault(column[station], []).append(station)
    return {s: (LEFT + x * COLUMN, TOP + y * ROW) for x, listed in rows.items() for y, s in enumerate(listed)}


def _entered(network: Network) -> Iterator[tuple[str, str]]:
    """Every class with each station that it enters first."""
    for name, station in network.entries():
        yield from ((name, first) for first, _ in network.first_stations(name, station))


def _following(network: Network, station: str) -> dict[str, list[float]]:
    """Where customers go from a station, with the probability in each class that does."""
    found: dict[str, list[float]] = {}
    for name in network.classes:
        ways = network.ways(name)
        for to, p in ways.get(station, []):
            if to:
                found.setdefault(to, []).append(p)
            elif name in network.closed_classes:  # a cycle without a Delay ends, and begins anew
                for first in ways[OUTSIDE]:
                    found.setdefault(first.to, []).append(p * first.p)
    return found


def _leaves(network: Network, station: str) -> bool:
    """Whether some customers leave the network from a station."""
    open_ways = [network.ways(name) for name in network.classes if name not in network.closed_classes]
    rows = [ways[station] for ways in open_ways if station in ways]
    if not rows:
        return bool(open_ways) and len(network.classes) == 1
    return any(math.fsum(way.p for way in row if way.to) < 1 - 1e-9 for row in rows)


def _text(x: float, y: float, words: str, ink: str = INK, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{ink}" stroke="none">{html.escape(words)}</text>'


def _station(name: str, station: Station, x: float, y: float) -> Iterator[str]:
    if station.is_delay:
        yield f'<circle cx="{x:g}" cy="{y:g}" r="20" fill="#e2e8f0"/>'
        yield _text(x, y + 4, "∞")
    else:
        for i in range(4):
            yield f'<rect x="{x - 49 + i * 12:g}" y="{y - 14:g}" width="12" height="28" fill="#f8fafc"/>'
        yield f'<circle cx="{x + 18:g}" cy="{y:g}" r="17" fill="#dbeafe"/>'
        yield _text(x + 18, y + 4, f"{station.servers:g}")
    yield _text(x, y - 26, name)
    if station.discipline != "FCFS":
        yield _text(x, y + 32, station.discipline, PALE)


def _way_out(x: float, y: float) -> Iterator[str]:
    yield f'<path d="M{x + 38:g} {y - 6:g}l28 -22" marker-end="url(#tip)"/>' + _text(x + 68, y - 32, "out")


def _way_in(network: Network, name: str, x: float, y: float) -> Iterator[str]:
    if name in network.open_classes:
        yield f'<path d="M{x - 82:g} {y:g}h28" marker-end="url(#tip)"/>'
        yield _text(x - 84, y - 8, name if len(network.classes) > 1 else "in", anchor="start")
    else:
        yield _text(x, y - 42, f"{network.closed_classes[name].number} {name}")


def _arrow(start: Point, end: Point, shares: list[float]) -> Iterator[str]:
    (x, y), (to_x, to_y) = start, end
    if 0 < to_x - x <= 1.5 * COLUMN:
        middle = (x + to_x) / 2
        path = f"M{x + 38:g} {y:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x - 52:g} {to_y:g}"
        label = (middle - 8, (y + to_y) / 2 - 6)
    else:
        side = -1 if to_x > x else 1  # above or below
        far = (min(y, to_y) if side < 0 else max(y, to_y)) + side * (55 + abs(to_x - x) / 24)
        path = (
            f"M{x + 27:g} {y + side * 16:g}C{x + 60:g} {far:g} {to_x - 70:g} {far:g} {to_x - 16:g} {to_y + side * 20:g}"
        )
        label = ((x + to_x) / 2, (y + to_y) / 8 + 0.75 * far + 4 + side * 12)
    yield f'<path d="{path}" marker-end="url(#tip)"/>'
    if any(p != 1 for p in shares):
        yield _text(*label, " / ".join(f"{p:.3g}" for p in shares), PALE)
