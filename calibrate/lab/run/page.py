"""The page Run: choose and start (the teacher), guess and seal (everybody), and the plots that fill as it measures."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component

from calibrate.lab.guard import teaches
from calibrate.lab.run.api import REPORT_AT
from calibrate.lab.run.orders import PACES, choices, series_of
from calibrate.lab.run.session import LONGEST_NAME, RefusedError
from calibrate.lab.run.table import Table
from calibrate.lab.widgets import graph, in_browser, told
from measure.errors import MeasureError

POLL_MS = 500
TEACHER_ONLY = "only the teacher can do that, who has the other address"
BUTTONS = ("open", "start", "stop", "reveal", "guess")


def layout(table: Table) -> Component:
    """The page, with the teacher's controls for who teaches."""
    return html.Div(
        [
            html.Section([*(_teacher(table) if teaches() else ()), *_viewer()], className="controls"),
            html.Section(
                [
                    told(html.P(id="run-status", className="status", role="status"), "what is going on"),
                    graph("run-throughput", "throughput against load", tall=True),
                    graph("run-latency", "response time against throughput"),
                    html.Div(id="run-results"),
                ],
                className="results",
            ),
            dcc.Interval(id="run-tick", interval=POLL_MS),
            dcc.Store(id="run-mine", storage_type="session"),
        ],
        className="page two",
    )  # fmt: skip


def _teacher(table: Table) -> list[Component]:
    found = choices(table.folder)
    options: Any = [
        {"label": f"{c.label} (missing: {c.missing})" if c.missing else c.label, "value": c.value,
         "disabled": bool(c.missing)} for c in found
    ]  # fmt: skip
    first = next((c.value for c in found if not c.missing), None)
    paces: Any = [{"label": label, "value": pace} for pace, label in PACES.items()]
    return [
        html.H2("Predict, run, reveal"),
        html.Fieldset(
            [
                html.Legend("Teacher"),
                html.Label("Device", htmlFor="run-device"),
                dcc.Dropdown(id="run-device", options=options, value=first, clearable=False),
                html.Div([html.Label("Curve", htmlFor="run-series"),
                          dcc.Dropdown(id="run-series", options=[], clearable=False)],
                         id="run-series-row", hidden=True),
                html.Label("Time", htmlFor="run-pace"),
                dcc.Dropdown(id="run-pace", options=paces, value=1.0, clearable=False, searchable=False),
                html.Div(
                    [html.Button("Open a new run", id="run-open", className="plain"),
                     html.Button("Start measuring", id="run-start"), html.Button("Stop", id="run-stop"),
                     html.Button("Reveal", id="run-reveal")],
                    className="buttons",
                ),
                html.P(id="run-told", className="problem", role="alert"),
            ]
        ),
    ]  # fmt: skip


def _viewer() -> list[Component]:
    return [
        html.Fieldset(
            [
                html.Legend("Your guess"),
                html.P("Where is the knee? Click into the plot or type it. Once sealed it cannot be changed.",
                       className="weak"),
                html.Label("Name", htmlFor="run-name"),
                dcc.Input(id="run-name", type="text", maxLength=LONGEST_NAME, autoComplete="off", persistence=True,
                          persistence_type="session"),
                html.Label("Knee", htmlFor="run-knee", id="run-knee-label"),
                dcc.Input(id="run-knee", type="number", min=0, step="any"),
                html.Div(html.Button("Seal my guess", id="run-guess"), className="buttons"),
                html.P(id="run-sealed", className="problem", role="alert"),
            ]
        ),
        html.Details([html.Summary("Sealed guesses", id="run-count"), html.Ul(id="run-guesses", className="guesses")],
                     open=True),
        html.Div(html.A("Download the report", href=REPORT_AT, id="run-report", className="button", hidden=True)),
    ]  # fmt: skip


def register(app: Dash, table: Table) -> None:
    """The page's callbacks."""
    app.callback(
        Output("run-told", "children"),
        Input("run-open", "n_clicks"), Input("run-start", "n_clicks"), Input("run-stop", "n_clicks"),
        Input("run-reveal", "n_clicks"),
        State("run-device", "value"), State("run-series", "value"), State("run-pace", "value"),
        prevent_initial_call=True,
    )(lambda *values: command(table, ctx.triggered_id, *values[4:]))  # fmt: skip
    app.callback(
        Output("run-sealed", "children"), Output("run-sealed", "className"), Output("run-mine", "data"),
        Input("run-guess", "n_clicks"), State("run-name", "value"), State("run-knee", "value"),
        prevent_initial_call=True,
    )(lambda _clicks, name, knee: seal(table, name, knee))  # fmt: skip
    app.callback(
        Output("run-series", "options"), Output("run-series", "value"), Output("run-series-row", "hidden"),
        Input("run-device", "value"),
    )(lambda device: _series(table, device))  # fmt: skip
    in_browser(
        app, "run",
        Output("run-throughput", "figure"), Output("run-latency", "figure"), Output("run-status", "children"),
        Output("run-results", "children"), Output("run-guesses", "children"), Output("run-count", "children"),
        Output("run-report", "hidden"), Output("run-guess", "disabled"), Output("run-knee-label", "children"),
        Input("run-tick", "n_intervals"), Input("theme", "data"), Input("run-knee", "value"),
        Input("run-mine", "data"),
    )  # fmt: skip


def command(table: Table, button: object, device: object, series: object, pace: object) -> str:
    """Do what a button of the teacher's says; what to tell the teacher, empty where all is well."""
    if not teaches():
        return TEACHER_ONLY
    try:
        if button == "run-open":
            table.open(device, series, pace)
        elif button == "run-start":
            table.running().start()
        elif button == "run-stop":
            table.running().stop()
        elif button == "run-reveal":
            table.running().reveal()
    except (RefusedError, MeasureError) as error:
        return str(error)
    return ""


def seal(table: Table, name: object, knee: object) -> tuple[Any, str, Any]:
    """Seal a viewer's guess: what to say, how it looks, and what the browser remembers."""
    try:
        run = table.running()
        event = run.guess(name, knee)
    except (RefusedError, MeasureError) as error:
        return str(error), "problem", no_update
    said = f"Sealed as {event['commitment'][:12]}…"
    return said, "good", {"run": run.name, "name": event["name"], "knee": knee}


def _series(table: Table, device: object) -> tuple[Any, Any, bool]:
    """The curves of what is to be replayed."""
    if not teaches():
        return [], None, True
    try:
        names = series_of(table.folder, device)
    except MeasureError:
        names = []  # opening it says why
    return [{"label": n, "value": n} for n in names], names[0] if names else None, not names
