"""The pictures of System: the network with its bottleneck marked, and its curves with bands."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.lab.themes import Theme, line, marks

if TYPE_CHECKING:
    from calibrate.application.system import System

FULL = "full first"


def network_picture(users: float, busy: dict[str, float], bottleneck: str, theme: Theme) -> str:
    """Users, processors and drive in a circle as an SVG in a data address; the bottleneck is coloured and named."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 190" font-family="sans-serif" font-size="19" '
        f'text-anchor="middle" fill="{theme.text}" stroke-width="3">'
        f'<path d="M150 70H270M430 70H550M680 110V160H80V112" fill="none" stroke="{theme.line}"/>'
        f'<path d="M262 62L276 70L262 78zM542 62L556 70L542 78zM72 118L80 104L88 118z" fill="{theme.line}"/>'
    ]
    boxes = [(80, "users", f"{users:g} users", "think")]
    boxes += [(350 + 280 * i, name, name, f"{100 * share:.0f} % busy") for i, (name, share) in enumerate(busy.items())]
    for x, name, title, words in boxes:
        full = name == bottleneck
        colour, fill = (theme.red, f"{theme.red}33") if full else (theme.blue, "none")
        left = x - 80 if name != "users" else x - 70
        parts.append(
            f'<rect x="{left}" y="30" width="{150 if name == "users" else 160}" height="80" rx="10" '
            f'fill="{fill}" stroke="{colour}"/>'
        )
        parts.append(f'<text x="{x}" y="64" font-weight="bold">{title}</text><text x="{x}" y="92">{words}</text>')
        if full:
            parts.append(f'<text x="{x}" y="22" fill="{theme.red}" font-weight="bold">{FULL}</text>')
    return "data:image/svg+xml;base64," + b64encode(("".join(parts) + "</svg>").encode()).decode()


def curve_figure(
    result: System, quantity: str, users: float, theme: Theme, run: tuple[float, float, float] | None
) -> dict[str, Any]:
    """Throughput or response over users with its 90 % band, and a simulated run (value, low, high) at ``users``."""
    is_response = quantity == "response"
    values = (1e3 * result.response()) if is_response else result.throughput()
    middle, low, high = values
    x = result.clients.tolist()
    band = {"line": {"width": 0}, "fill": "toself", "fillcolor": f"{theme.blue}33", "hoverinfo": "skip"}
    traces = [
        line([*x, *x[::-1]], [*high, *low[::-1]], "90 % band", theme.blue, **band),
        line(x, middle, "predicted", theme.blue),
        line([users, users], [0, float(high.max())], f"{users:g} users", theme.red, line={"dash": "dot"}),
    ]
    if run is not None:
        value, least, most = (1e3 * v if is_response else v for v in run)
        error = {"type": "data", "symmetric": False, "array": [most - value], "arrayminus": [value - least]}
        looks = {"symbol": "circle-open", "line": {"width": 3}}
        traces.append(marks([users], [value], "simulated, 95 %", theme.green, error_y=error, marker=looks))
    if result.knee.estimate is not None and result.knee.estimate <= x[-1]:
        knee = result.knee.estimate
        height = [0, float(np.max(middle))]
        traces.append(line([knee, knee], height, f"knee: {knee:.3g} users", theme.orange, line={"dash": "dashdot"}))
    title = "response time (ms)" if is_response else "transactions a second"
    layout = theme.layout("users", title, xaxis={"fixedrange": True}, yaxis={"fixedrange": True})
    return {"data": traces, "layout": layout}
