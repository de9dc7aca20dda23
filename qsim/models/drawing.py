"""A network as a picture: SVG that stands alone, in a page, a notebook or a file.

Stations stand in columns by how many steps they are from where customers come in.  A station is a line of places and a
circle of servers; a delay is a circle alone.  An arrow is a way, with its probability where there are several; ways
back run below.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

from qsim.models.network import Network
from qsim.models.routes import OUTSIDE
from qsim.models.station import Station

COLUMN, ROW, LEFT, TOP = 190, 130, 90, 100
WIDTH, HEIGHT, RADIUS = 50, 28, 17
"""Of the line of places and of the servers."""
INK = "#334155"


def drawing(network: Network) -> str:
    """The network as an SVG document."""
    at = _positions(network)
    columns, rows = (max(place[axis] for place in at.values()) + 1 for axis in (0, 1))
    width, height = 2 * LEFT + (columns - 1) * COLUMN + 60, 2 * TOP + (rows - 1) * ROW + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="none" stroke="{INK}">',
        f"<title>{html.escape(network.kendall)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{INK}" stroke="none"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white" stroke="none"/>',
        *_ways(network, at),
        *(part for name, node in network.stations.items() for part in _station(name, node, *_point(at[name]))),
        "</svg>",
    ]
    return "\n".join(parts)


def _positions(network: Network) -> dict[str, tuple[int, int]]:
    """Column and row of each station: a column behind all from which it is reached for the first time."""
    column: dict[str, int] = {}

    def place(station: str, at_least: int, before: tuple[str, ...]) -> None:
        if station not in before and column.get(station, -1) < at_least:
            column[station] = at_least
            for following in _following(network, station):
                place(following, at_least + 1, (*before, station))

    homes = [network.home_of(name) for name in network.closed_classes if network.home_of(name)]
    for start in [*homes, *(s for _, s in _entered(network) if s not in homes), *network.stations]:
        if start not in column:
            place(start, 0, ())
    used: dict[int, int] = {}
    at = {}
    for station in network.stations:
        x = column[station]
        at[station] = (x, used.get(x, 0))
        used[x] = used.get(x, 0) + 1
    return at


def _entered(network: Network) -> Iterator[tuple[str, str]]:
    """Every class with each station that it enters first."""
    for name, station in network.entries():
        if station:
            yield name, station
        else:
            yield from ((name, way.to) for way in network.ways(name)[OUTSIDE] if way.to)


def _following(network: Network, station: str) -> dict[str, list[float]]:
    """Where customers go from a station, with the probability in each class that does."""
    found: dict[str, list[float]] = {}
    for name in network.classes:
        ways = network.ways(name)
        for to, _, p in ways.get(station, []):
            if to:
                found.setdefault(to, []).append(p)
            elif name in network.closed_classes:  # a cycle without a Delay ends, and begins anew
                for first in ways[OUTSIDE]:
                    found.setdefault(first.to, []).append(p * first.p)
    return found


def _point(place: tuple[int, int]) -> tuple[float, float]:
    return LEFT + place[0] * COLUMN, TOP + place[1] * ROW


def _text(x: float, y: float, words: str, *, ink: str = INK, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{ink}" stroke="none">{html.escape(words)}</text>'


def _station(name: str, node: Station, x: float, y: float) -> Iterator[str]:
    if node.servers == math.inf:
        yield f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS + 3}" fill="#e2e8f0"/>'
        yield _text(x, y + 4, "∞")
    else:
        left = x - WIDTH + RADIUS
        for i in range(4):
            corner = f'x="{left + i * 12 - 16:g}" y="{y - HEIGHT / 2:g}"'
            yield f'<rect {corner} width="12" height="{HEIGHT}" fill="#f8fafc"/>'
        yield f'<circle cx="{x + RADIUS + 1:g}" cy="{y:g}" r="{RADIUS}" fill="#dbeafe"/>'
        yield _text(x + RADIUS + 1, y + 4, f"{node.servers:g}")
    yield _text(x, y - 26, name)
    if node.discipline != "FCFS":
        yield _text(x, y + 32, node.discipline, ink="#64748b")


def _ways(network: Network, at: dict[str, tuple[int, int]]) -> Iterator[str]:
    for here in network.stations:
        x, y = _point(at[here])
        leaves = any(_leaves(network, name, here) for name in network.classes)
        for to, shares in _following(network, here).items():
            label = "" if all(p == 1 for p in shares) else " / ".join(f"{p:.3g}" for p in shares)
            yield from _arrow(x, y, *_point(at[to]), label)
        if leaves:
            yield f'<path d="M{x + 38:g} {y - 6:g}l28 -22" marker-end="url(#tip)"/>' + _text(x + 68, y - 32, "out")
    for name, station in _entered(network):
        x, y = _point(at[station])
        if name in network.open_classes:
            yield f'<path d="M{x - 82:g} {y:g}h28" marker-end="url(#tip)"/>'
            yield _text(x - 84, y - 8, name if len(network.names) > 1 else "in", anchor="start")
        else:
            yield _text(x, y - 42, f"{network.closed_classes[name].number} {name}")


def _leaves(network: Network, name: str, station: str) -> bool:
    """Whether some of a class leave the network from a station."""
    if name in network.closed_classes:
        return False
    row = network.ways(name).get(station)
    if row is None:
        return len(network.classes) == 1
    return math.fsum(way.p for way in row if way.to) < 1 - 1e-9


def _arrow(x: float, y: float, to_x: float, to_y: float, label: str) -> Iterator[str]:
    if to_x - x > 1.5 * COLUMN:  # over those between
        high = min(y, to_y) - 52 - (to_x - x) / 12
        path = f"M{x + 24:g} {y - 18:g}C{x + 60:g} {high:g} {to_x - 70:g} {high:g} {to_x - 40:g} {to_y - 16:g}"
        where = ((x + to_x) / 2, (y + to_y) / 8 + 0.75 * high - 14)
    elif to_x > x:
        middle = (x + to_x) / 2
        path = f"M{x + 38:g} {y:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x - 52:g} {to_y:g}"
        where = (middle - 8, (y + to_y) / 2 - 6)
    else:
        low = max(y, to_y) + 58 + (x - to_x) / 12
        path = f"M{x + 30:g} {y + 14:g}C{x + 60:g} {low:g} {to_x - 70:g} {low:g} {to_x - 44:g} {to_y + 16:g}"
        where = ((x + to_x) / 2, (y + to_y) / 8 + 0.75 * low + 18)
    yield f'<path d="{path}" marker-end="url(#tip)"/>'
    if label:
        yield _text(*where, label, ink="#64748b")
