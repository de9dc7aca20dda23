"""Small parts that the pages of the lab share, and the two looks of their plots."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.dependencies import DashDependency
from dash.development.base_component import Component

from calibrate.report.drawing import DARK, PALETTE, marker, solid

if TYPE_CHECKING:
    from jinja2 import Environment

FONT_SIZE, LARGE_FONT_SIZE = 16, 21


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("calibrate.lab", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def filled(template: str, **values: Any) -> str:
    """A template of this folder with its values."""
    return _templates().get_template(template).render(values)


def picture(template: str, **values: Any) -> str:
    """An SVG of a template as a data address."""
    return "data:image/svg+xml;base64," + b64encode(filled(template, **values).encode()).decode()


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
        self.blue, self.red, self.green, self.purple, self.orange, self.sky, *_ = self.palette

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
                "yref": "container",
                "y": 1,
                "yanchor": "top",
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
    """The theme that a page asks for in words ("dark", "light large", "light wide"); the light one for any others."""
    words = str(look).split()
    return Theme(dark="dark" in words, large=not {"large", "wide"}.isdisjoint(words))


def line(x: Iterable[float], y: Iterable[float], name: str, colour: str, **more: Any) -> dict[str, Any]:
    """A curve."""
    style = {**solid(colour), **more.pop("line", {})}
    return {"type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "name": name, "line": style, **more}


def marks(x: Iterable[float], y: Iterable[float], name: str, colour: str, **more: Any) -> dict[str, Any]:
    """A trace of points; ``marker`` has further properties of plotly's markers."""
    style = {**marker(colour, size=12), **more.pop("marker", {})}
    return {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "name": name, "marker": style, **more}


_EMPTY: Any = {
    "data": [],
    "layout": {
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    },
}
KEPT: Any = {"persistence": True, "persistence_type": "session"}
"""Properties that keep a control's value when the page is reloaded, while the browser is open."""
TYPING_S = 0.5  # A number counts when typing has paused for so long, or at once with Enter
SHOWN_AFTER_MS = 600  # what takes longer has a bar
_CONFIG: Any = {"displaylogo": False, "displayModeBar": False}


SMALLEST, LARGEST = 1e-12, 1e12  # what may be typed where a number is not whole


@dataclass(frozen=True)
class SliderNumber:
    """A number to set: its words, the range of its slider, and the largest that may be typed; a step of 1 is whole."""

    label: str
    low: float
    high: float
    step: float
    start: float
    most: float = LARGEST

    @property
    def least(self) -> float:
        """The smallest number that may be typed."""
        return self.low if self.step == 1 or self.low == 0 else SMALLEST

    def checked(self, value: object) -> float:
        """``value`` as a number that may be typed. ValueError naming the parameter."""
        limits = f"from {plain(self.least)} to {plain(self.most)}"
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{self.label}: give a number {limits}")
        if not self.least <= value <= self.most:
            raise ValueError(f"{self.label} is {value:g}; it must be {limits}")
        if self.step == 1 and value != int(value):
            raise ValueError(f"{self.label} is {plain(value)}; it must be a whole number")
        return float(value)


def plain(value: float) -> str:
    """A number as one types it, all its digits included.

    >>> plain(0.05), plain(16.0), plain(0.1234567891), plain(1e9)
    ('0.05', '16', '0.1234567891', '1e+09')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def graph(identity: str, what: str, *, tall: bool = False) -> Component:
    """An empty plot that a callback fills; screen readers say ``what`` it shows."""
    return _framed(dcc.Graph(id=identity, config=_CONFIG, figure=_EMPTY, responsive=True), what, tall=tall)


def plot_place(identity: str, what: str, *, tall: bool = False) -> Component:
    """A place for a plot that the page's own script draws (``lab.draw``)."""
    return _framed(html.Div(html.Div(), id=identity, className="plot"), what, tall=tall)


def drawn(figure: dict[str, Any], what: str, *, tall: bool = False, named: int = 0) -> Component:
    """A plot that is there already; it is taller by the legend of ``named`` curves."""
    return _framed(dcc.Graph(config=_CONFIG, figure=figure, responsive=True), what, tall=tall, named=named)


def waited_for(component: Component, outputs: Mapping[str, str] | None = None) -> Component:
    """``component``, covered by a bar while a callback that changes something in it takes longer than people wait.

    ``outputs`` names what is waited for, where not everything in it is: the property of each identity.
    """
    meant: Any = {"target_components": outputs} if outputs else {}
    bar = labelled(html.Progress(className="waiting"), "working")
    look = {"visibility": "visible", "opacity": 0.5}
    return dcc.Loading(component, delay_show=SHOWN_AFTER_MS, custom_spinner=bar, overlay_style=look, **meant)


def page(
    title: str, controls: Sequence[Component], results: Sequence[Component], *, more: Any = (), banner: Any = ()
) -> Component:
    """The frame of every page: settings on one side, results on the other; ``more`` below the settings.

    A banner stands above both, in the place of the title, which is then only heard.
    """
    parts = {
        "banner": banner,
        "controls": [html.H2(title, className="heard" if banner else ""), *controls],
        "more": more,
        "results": results,
    }
    sections = [html.Section(list(inside), className=name) for name, inside in parts.items() if inside]
    return html.Div(sections, className="page two")


def choice(identity: str, label: str, options: Any = (), value: Any = None, **more: Any) -> list[Component]:
    """A list to choose from under its label; ``options`` are words by value, or dicts of Dash."""
    shown = [{"value": v, "label": t} for v, t in options.items()] if isinstance(options, Mapping) else list(options)
    settings = {"clearable": False, **more}
    return [html.Label(label, htmlFor=identity), dcc.Dropdown(id=identity, options=shown, value=value, **settings)]


def moving(part: str, title: str, what: str, more: Mapping[str, str] | None = None) -> Component:
    """A canvas that a script of the page animates, with its buttons; screen readers say ``what`` moves.

    ``more`` are further buttons, their words by name.
    """
    named = {"play": "Pause", **(more or {})}
    buttons = [html.Button(text, id=f"{part}-{name}", n_clicks=0, className="small") for name, text in named.items()]
    return html.Div(
        [
            html.Div([html.H3(title), *buttons], className="heading"),
            labelled(html.Canvas(id=f"{part}-moving", role="img", className="moving"), what),
            dcc.Store(id=f"{part}-stretch"),
            dcc.Store(id=f"{part}-played"),
        ]
    )


def animate(app: Dash, part: str, function: str) -> None:
    """The callback of :func:`moving`: ``function`` of the scripts gets the stretch to be shown."""
    in_browser(
        app,
        function,
        Output(f"{part}-played", "data"),
        Output(f"{part}-play", "children"),
        Input(f"{part}-stretch", "data"),
        Input(f"{part}-play", "n_clicks"),
        State(f"{part}-moving", "id"),
    )


def slider(identity: str, number: SliderNumber, value: float | None = None) -> Component:
    """A box for the number, which is what counts, and a slider that moves it, under one label.

    A number out of the slider's range widens the slider. Without ``value`` what was set is kept while the browser is
    open. The ``-range`` is the slider's [lowest, highest, step]. Its callback is that of :func:`follow_sliders`.
    """
    start, ends = number.start if value is None else value, [number.low, number.high, number.step]
    box = dcc.Input(
        id=identity, type="number", value=start, step="any", debounce=TYPING_S, autoComplete="off", className="typed"
    )
    moved = dcc.Slider(
        id=f"{identity}-slider",
        min=number.low,
        max=number.high,
        step=number.step,
        value=start,
        marks=None,
        updatemode="drag",
        allow_direct_input=False,
    )
    stores = [dcc.Store(id=f"{identity}-range", data=ends), dcc.Store(id=f"{identity}-kept", data=value is None)]
    head = html.Div([html.Label(number.label, htmlFor=identity), box], className="heading")
    row = html.Div([head, moved, *stores], id=f"{identity}-row", className="control", role="group")
    return labelled(row, number.label)


def follow_sliders(app: Dash, identities: Iterable[str]) -> None:
    """Keep each box and its slider at one number, in the browser."""
    for identity in identities:
        in_browser(
            app,
            "follow",
            Output(identity, "value"),
            *(Output(f"{identity}-slider", name) for name in ("value", "min", "max", "step")),
            Input(identity, "value"),
            Input(f"{identity}-slider", "value"),
            Input(f"{identity}-range", "data"),
            State(f"{identity}-kept", "data"),
            State(identity, "id"),
        )


def labelled(component: Component, label: str) -> Component:
    """``component`` with a name that screen readers say."""
    setattr(component, "aria-label", label)
    return component


def in_browser(app: Dash, function: str, *dependencies: DashDependency) -> None:
    """A callback that the browser runs itself: ``function`` of the scripts in assets/."""
    app.clientside_callback(ClientsideFunction("lab", function), *dependencies)  # type: ignore[no-untyped-call]


def _framed(plot: Component, what: str, *, tall: bool, named: int = 0) -> Component:
    look: Any = {"className": "chart tall" if tall else "chart", "style": {"--legend": str(named)}}
    return labelled(html.Div(plot, role="img", **look), f"plot: {what}")
