"""The two looks of the page's plots, in the colours of the reports, and plots as plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calibrate.report.drawing import DARK, PALETTE, marker, solid

FONT_SIZE, LARGE_FONT_SIZE = 16, 21


class Theme:
    """The colours of one look, and the size of its type in pixels."""

    def __init__(self, *, dark: bool, large: bool = False) -> None:
        self.dark = dark
        self.font_size = LARGE_FONT_SIZE if large else FONT_SIZE
        self.text = "#e8edf2" if dark else "#1b2733"
        self.grid = "#33414f" if dark else "#dde4ea"
        self.line = "#8fa1b3" if dark else "#5a6b7b"
        self.ground = "#16202a" if dark else "#ffffff"
        self.palette = tuple(DARK.get(colour, colour) if dark else colour for colour in PALETTE)
        self.blue, self.red, self.green, self.purple, self.orange, *_ = self.palette

    def layout(self, x_title: str, y_title: str, **more: Any) -> dict[str, Any]:
        """A plot's layout: axes with titles from zero, the legend above."""
        axis = {
            "gridcolor": self.grid,
            "linecolor": self.line,
            "zerolinecolor": self.line,
            "showline": True,
            "ticks": "outside",
            "automargin": True,
            "rangemode": "tozero",
        }

        def title(text: str) -> dict[str, Any]:
            return {"text": text, "font": {"size": self.font_size}}

        layout = {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"size": self.font_size, "color": self.text},
            "margin": {"l": 60, "r": 12, "t": 36, "b": round(3.2 * self.font_size)},
            "xaxis": {**axis, "title": title(x_title)},
            "yaxis": {**axis, "title": title(y_title)},
            "legend": {
                "orientation": "h",
                "y": 1.02,
                "yanchor": "bottom",
                "x": 0,
                "font": {"size": self.font_size - 2},
            },
            "hovermode": "closest",
            "hoverlabel": {"bgcolor": self.ground, "font": {"color": self.text}},
        }
        for name, value in more.items():
            before = layout.get(name)
            layout[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, Mapping) else value
        return layout


def theme_of(look: object) -> Theme:
    """The theme that a page asks for in words ("dark", "light large"); the light one where it asks for none of ours."""
    words = str(look).split()
    return Theme(dark="dark" in words, large="large" in words)


def line(x: Iterable[float], y: Iterable[float], name: str, colour: str, **more: Any) -> dict[str, Any]:
    """A curve."""
    style = {**solid(colour), **more.pop("line", {})}
    return {"type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "name": name, "line": style, **more}


def marks(x: Iterable[float], y: Iterable[float], name: str, colour: str, **more: Any) -> dict[str, Any]:
    """Points; ``marker`` says more of their looks."""
    style = {**marker(colour, size=12), **more.pop("marker", {})}
    return {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "name": name, "marker": style, **more}
