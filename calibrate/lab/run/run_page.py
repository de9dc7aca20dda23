"""The page Run: choose and start (the teacher), guess and seal (everybody), and the plots that fill as it measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component
from flask import Flask, Response, jsonify, request, send_file

from calibrate.lab.guard import browser_session, teaches
from calibrate.lab.run.duel import HIGHEST, LONGEST_NAME, LOWEST
from calibrate.lab.run.orders import choices
from calibrate.lab.run.session import RefusedError, RunTable
from calibrate.lab.widgets import KEPT, choice, in_browser, labelled, page, plot_place, waited_for
from measure.errors import MeasureError
from measure.text_files import plain_cells

EVENTS_AT, GUESSES_AT, REPORT_AT = "/lab/events", "/lab/guesses.csv", "/lab/report"
LONGEST = 10
COLUMNS = ["rank", "name", "load", "error", "nonce"]


def guesses_csv(leaderboard: Sequence[Mapping[str, Any]]) -> str:
    """The leaderboard as a CSV table; a name that a spreadsheet would work out is quoted for it."""
    return plain_cells(pd.DataFrame(leaderboard, columns=COLUMNS)).to_csv(index=False)


def register_files(server: Flask, table: RunTable) -> None:
    """Add the addresses."""

    def events() -> Response:
        first = request.args.get("first", "0")
        number = int(first) if first.isdecimal() and len(first) < LONGEST else 0
        answer = jsonify(table.news(request.args.get("run", ""), number))
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def guesses() -> Response:
        run = table.current
        if run is None or run.revealed is None:
            return Response("guesses are sealed until the reveal\n", 404, mimetype="text/plain")
        answer = Response(guesses_csv(run.revealed["leaderboard"]), mimetype="text/csv")
        answer.headers["Content-Disposition"] = f"attachment; filename=qsim-run-{run.name}-guesses.csv"
        return answer

    def report() -> Response:
        run = table.current
        if run is None or run.report is None:
            return Response("there is no report yet: it comes with the reveal\n", 404, mimetype="text/plain")
        # An attachment: a page of measured names must not run in the lab's own origin.
        return send_file(run.report, "text/html", as_attachment=True, download_name=f"qsim-run-{run.name}.html")

    server.add_url_rule(EVENTS_AT, "lab-events", events)
    server.add_url_rule(GUESSES_AT, "lab-guesses", guesses)
    server.add_url_rule(REPORT_AT, "lab-report", report)


POLL_MS = 500
TEACHER_ONLY = "only the teacher can do that, who has the other address"
STEPS = {"open": "Open a new run", "start": "Start measuring", "stop": "Stop", "reveal": "Reveal"}
BUTTONS = (*STEPS, "remove", "remove-between")
HOW = "Click in the plot, or type a number from 1 to 1,000. One guess for each browser."
SEALED = "Each name with the start of a hash; the guess stays hidden until the reveal."


def layout(table: RunTable) -> Component:
    """The page, with controls for the teacher."""
    banner = [
        labelled(html.Div(id="run-status", className="status", role="status"), "what is going on"),
        labelled(html.Progress(id="run-progress", value="0", max="1"), "points measured"),
    ]
    first = plot_place("run-throughput", "throughput against load", tall=True)
    second = plot_place("run-latency", "response time against throughput")
    results = [
        html.P(id="run-rule", className="weak"),
        html.Div(id="run-results"),
        html.Div(first, id="run-first", hidden=True),
        html.Div(second, id="run-second", hidden=True),
        html.Div(id="run-verdict"),
        dcc.Interval(id="run-tick", interval=POLL_MS),
        dcc.Store(id="run-news"),
        dcc.Store(id="run-mine", storage_type="session"),
    ]
    controls = [*(_teacher(table) if teaches() else ()), *_viewer()]
    return page("Predict, run, reveal", controls, results, banner=banner, more=_taken_along())


def _teacher(table: RunTable) -> list[Component]:
    devices = choices(table.folder)
    first = next((d["value"] for d in devices if not d["disabled"]), None)
    steps = [
        html.Button(text, id=f"run-{step}", className="step", disabled=step != "open") for step, text in STEPS.items()
    ]
    taking_back = [
        html.Summary("Take back guesses"),
        dcc.Dropdown(id="run-culprit", options=[], placeholder="whose, in the order in which they came", multi=True),
        html.Div(
            [
                html.Button("Take these back", id="run-remove", className="small"),
                html.Button("And all between them", id="run-remove-between", className="small"),
            ],
            className="buttons",
        ),
    ]
    return [
        html.Fieldset(
            [
                html.Legend("Teacher"),
                *choice("run-device", "Device", devices, first, **KEPT),
                html.Div(steps, className="buttons"),
                html.Details(taking_back, id="run-removing", hidden=True),
                waited_for(html.P(id="run-refusal", className="problem", role="alert")),
            ]
        )
    ]


def _viewer() -> list[Component]:
    form = [
        html.Legend("Your guess"),
        html.P(id="run-question"),
        html.P(HOW, className="weak"),
        html.Label("Name", htmlFor="run-name"),
        dcc.Input(id="run-name", type="text", maxLength=LONGEST_NAME, autoComplete="off", **KEPT),
        html.Label("Guess", htmlFor="run-knee", id="run-knee-label"),
        dcc.Input(id="run-knee", type="number", min=LOWEST, max=HIGHEST, step="any"),
        html.Div(html.Button("Seal my guess", id="run-guess"), className="buttons"),
    ]
    return [
        html.Fieldset(form, id="run-form", hidden=True),
        waited_for(html.P(id="run-sealed", className="problem", role="alert")),
        html.Button("Take my guess back", id="run-undo", className="small", hidden=True),
    ]


def _taken_along() -> list[Component]:
    sealed = [
        html.Summary("Sealed guesses", id="run-count"),
        html.P(SEALED, className="weak"),
        html.Ul(id="run-guesses", className="guesses"),
    ]
    downloads = [
        html.A("Download the report", href=REPORT_AT, className="button"),
        html.A("The guesses as CSV", href=GUESSES_AT, className="button plain"),
    ]
    return [html.Details(sealed, open=True), html.Div(downloads, id="run-downloads", className="buttons", hidden=True)]


def register(app: Dash, table: RunTable) -> None:
    """The page's callbacks."""
    app.callback(
        Output("run-refusal", "children"),
        *(Input(f"run-{button}", "n_clicks") for button in BUTTONS),
        *(State(f"run-{field}", "value") for field in ("device", "culprit")),
        prevent_initial_call=True,
    )(lambda *values: command(table, ctx.triggered_id, *values[len(BUTTONS) :]))
    app.callback(
        Output("run-sealed", "children"),
        Output("run-sealed", "className"),
        Output("run-mine", "data"),
        Input("run-guess", "n_clicks"),
        Input("run-undo", "n_clicks"),
        State("run-name", "value"),
        State("run-knee", "value"),
        prevent_initial_call=True,
    )(lambda _guess, _undo, name, knee: take_back(table) if ctx.triggered_id == "run-undo" else seal(table, name, knee))
    in_browser(app, "ask", Input("run-tick", "n_intervals"))
    drawn = {
        "hidden": ("first", "second", "downloads", "form", "undo"),
        "children": ("status", "results", "verdict", "guesses", "count", "knee-label", "question", "rule"),
        "value": ("progress",),
    }
    in_browser(
        app,
        "run",
        *(Output(f"run-{name}", key) for key, names in drawn.items() for name in names),
        Input("run-news", "data"),
        Input("theme", "data"),
        Input("run-knee", "value"),
        Input("run-mine", "data"),
    )


def command(table: RunTable, button: object, device: object, culprit: object) -> str:
    """Run the action of a teacher's button; returns a message, empty on success."""
    if not teaches():
        return TEACHER_ONLY
    try:
        if button == "run-open":
            table.open(device)
        elif button in ("run-remove", "run-remove-between"):
            table.running().remove(culprit, between=button == "run-remove-between")
        elif button in ("run-start", "run-stop", "run-reveal"):
            getattr(table.running(), str(button).removeprefix("run-"))()
    except (RefusedError, MeasureError) as error:
        return str(error)
    return ""


def seal(table: RunTable, name: object, knee: object) -> tuple[Any, str, Any]:
    """Seal a viewer's guess; returns the message, its style, and the browser's memory of the guess."""
    try:
        run = table.running()
        event = run.guess(name, knee, browser_session())
    except (RefusedError, MeasureError) as error:
        return str(error), "problem", no_update
    said = f"You sealed {knee:g} as {event['name']}: {event['commitment'][:12]}…"
    return said, "good", {"run": run.name, "name": event["name"], "knee": knee}


def take_back(table: RunTable) -> tuple[Any, str, Any]:
    """Take back the guess of this browser: what to say, how it looks, and what the browser remembers then."""
    try:
        table.running().take_back(browser_session())
    except (RefusedError, MeasureError) as error:
        return str(error), "problem", no_update
    return "Taken back. Guess again.", "good", None
