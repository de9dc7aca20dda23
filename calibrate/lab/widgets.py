"""Small parts that the lab's pages share."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, dcc, html
from dash.dependencies import DashDependency
from dash.development.base_component import Component

_CONFIG: Any = {"displaylogo": False, "displayModeBar": False}


def graph(identity: str, what: str, *, tall: bool = False) -> Component:
    """A plot that says to those who hear the page what it shows."""
    empty = {"data": [], "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False},
                                    "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}}  # fmt: skip
    drawn = dcc.Graph(id=identity, config=_CONFIG, figure=empty, responsive=True)
    return told(html.Div(drawn, role="img", className="chart tall" if tall else "chart"), f"plot: {what}")


def told(component: Component, label: str) -> Component:
    """``component`` with a name for those who hear the page."""
    setattr(component, "aria-label", label)
    return component


def in_browser(app: Dash, function: str, *dependencies: DashDependency) -> None:
    """A callback that the browser runs itself: ``function`` of the scripts in assets/."""
    app.clientside_callback(ClientsideFunction("lab", function), *dependencies)  # type: ignore[no-untyped-call]
