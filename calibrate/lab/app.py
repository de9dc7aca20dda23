"""The Dash application: one page with five parts, everything served from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from calibrate.lab import compare_page, system_page, watch_page
from calibrate.lab.explore import explore_page
from calibrate.lab.guard import ADDRESS, panel, teaches
from calibrate.lab.run import run_page
from calibrate.lab.run.session import RunTable
from calibrate.lab.watch_page import WatchedDevices
from calibrate.lab.widgets import in_browser, labelled, waited_for

TITLE = "qsim lab"
LOOKS = {"size": "Larger", "theme": "Dark"}
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title>{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


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
    folder, watched = table.folder, WatchedDevices()
    app.server.secret_key = folder.key()
    layouts: Mapping[str, Callable[[str], Component]] = {
        "Explore": explore_page.layout,
        "Run": lambda _: run_page.layout(table),
        "Compare": lambda _: compare_page.layout(folder),
        "System": lambda _: system_page.layout(folder),
        "Watch": lambda _: watch_page.layout(watched),
    }
    explore_page.register(app)
    run_page.register(app, table)
    compare_page.register(app, folder)
    system_page.register(app, folder)
    watch_page.register(app, watched)
    run_page.register_files(app.server, table)
    explore_page.register_export(app.server)
    app.layout = lambda: _frame(list(layouts), joining=[panel(app.server.config.get(ADDRESS))] if teaches() else [])

    def shown(path: object, query: object) -> tuple[Component, *tuple[str, ...]]:
        chosen = next((part for part in layouts if path == f"/{part.lower()}"), "Explore")
        return layouts[chosen](str(query or "")), *("page" if part == chosen else "false" for part in layouts)

    app.callback(
        Output("part", "children"),
        *(Output(f"menu-{part}", "aria-current") for part in layouts),
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


def _frame(parts: Sequence[str], joining: list[Component]) -> Component:
    """What every part stands in: the menu, how to join, and the choice of type and of light or dark."""
    menu = [html.Span(dcc.Link(part, href=f"/{part.lower()}"), id=f"menu-{part}", className="item") for part in parts]
    looks = [html.Button(words, id=f"{name}-toggle", n_clicks=0, className="small") for name, words in LOOKS.items()]
    header = [html.H1(TITLE), labelled(html.Nav(menu), "parts of the lab"), *joining, *looks]
    return html.Div(
        [
            dcc.Location(id="address"),
            dcc.Store(id="theme", storage_type="local"),
            html.Header(header),
            html.Main(waited_for(html.Div(id="part"), {"part": "children"})),
        ],
        className="lab",
    )
