"""The Dash application: one page with five parts, everything served from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from calibrate.lab import compare, system, watch
from calibrate.lab.class_code import ADDRESS, panel
from calibrate.lab.explore import page as explore
from calibrate.lab.guard import teaches
from calibrate.lab.run import page as run
from calibrate.lab.run.session import RunTable
from calibrate.lab.shelf import Shelf
from calibrate.lab.watch import WatchedDevices
from calibrate.lab.widgets import in_browser, labelled, waited_for

TITLE = "qsim lab"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title>{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


class LabPart(NamedTuple):
    """A part of the lab: its words in the menu, and what it shows."""

    label: str
    layout: Callable[[str], Component]


def build(table: RunTable) -> Dash:
    """The application with all its callbacks, on the runs of ``table``."""
    app = Dash(
        __name__,
        title=TITLE,
        update_title="",
        assets_folder=str(Path(__file__).with_name("assets")),
        serve_locally=True,
        suppress_callback_exceptions=True,
        add_log_handler=False,
        pages_folder="",
        include_pages_meta=False,
        index_string=PAGE,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    shelf, watched = Shelf(table.folder), WatchedDevices()
    parts: Mapping[str, LabPart] = {
        "/explore": LabPart("Explore", explore.layout),
        "/run": LabPart("Run", lambda _: run.layout(table)),
        "/compare": LabPart("Compare", lambda _: compare.layout(shelf)),
        "/system": LabPart("System", lambda _: system.layout(shelf)),
        "/watch": LabPart("Watch", lambda _: watch.layout(watched)),
    }
    explore.register(app)
    run.register(app, table)
    compare.register(app, shelf)
    system.register(app, shelf)
    watch.register(app, watched)
    run.register_files(app.server, table)
    explore.register_export(app.server)
    app.layout = lambda: _frame(parts, joining=[panel(app.server.config.get(ADDRESS))] if teaches() else [])

    def shown(path: object, query: object) -> tuple[Component, *tuple[str, ...]]:
        chosen = path if path in parts else "/explore"
        marks = tuple("page" if address == chosen else "false" for address in parts)
        return parts[str(chosen)].layout(str(query or "")), *marks

    app.callback(
        Output("part", "children"),
        *(Output(f"menu{address}".replace("/", "-"), "aria-current") for address in parts),
        Input("address", "pathname"),
        State("address", "search"),
    )(shown)
    in_browser(
        app,
        "theme",
        Output("theme", "data"),
        Output("theme-toggle", "children"),
        Output("size-toggle", "children"),
        Input("theme-toggle", "n_clicks"),
        Input("size-toggle", "n_clicks"),
        State("theme", "data"),
    )
    return app


def _frame(parts: Mapping[str, LabPart], joining: list[Component]) -> Component:
    """What every part stands in: the menu, how to join, and the choice of type and of light or dark."""
    menu = [
        html.Span(dcc.Link(part.label, href=address), id=f"menu{address}".replace("/", "-"), className="item")
        for address, part in parts.items()
    ]
    return html.Div(
        [
            dcc.Location(id="address"),
            dcc.Store(id="theme", storage_type="local"),
            html.Header(
                [
                    html.H1(TITLE),
                    labelled(html.Nav(menu), "parts of the lab"),
                    *joining,
                    html.Button("Larger", id="size-toggle", n_clicks=0, className="small"),
                    html.Button("Dark", id="theme-toggle", n_clicks=0, className="small"),
                ]
            ),
            html.Main(waited_for(html.Div(id="part"), {"part": "children"})),
        ],
        className="lab",
    )
