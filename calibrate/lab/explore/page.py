"""The page Explore: sliders on one side, the curves, the formulas and the moving queue on the other."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from dash import Dash, Input, Output, dcc, html, no_update
from dash.development.base_component import Component
from flask import Flask, Response, request

from calibrate.lab.explore.curves import QUANTITIES, Curves, curves_of, with_simulation
from calibrate.lab.explore.figures import path_figure, quantity_figure
from calibrate.lab.explore.formulas import formulas_of, rendered
from calibrate.lab.explore.path import SampleStretch, comparison, path_of, rival_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, Settings, link_to, linked, settings_of
from calibrate.lab.explore.states import bars_figure, described, diagram, probabilities
from calibrate.lab.widgets import (
    KEPT,
    Theme,
    animate,
    filled,
    graph,
    labelled,
    moving,
    page,
    slider,
    theme_of,
    waited_for,
)
from qsim import UnstableQueueError, solve

MOST_SEEDS = 2**31
EXPORT_AT = "/lab/explore.html"
WARMING_MS = 1500
"""Longer than an answer takes: a browser drops the answer to what it has asked again meanwhile."""
KEY = {
    "theory": "theory",
    "simulated": "simulated; 1 in 20 of the 95 % intervals misses the theory",
    "here": "where you are",
    "bounds": "limits that it cannot cross",
}
FIRST_PATH = 680
"""The seed of the first path: one whose average one sees to differ from the theory's mean, in every model."""
_warm = threading.Event()
"""Whether the engine is loaded; until then the page shows the theory, which needs none."""
UNSTABLE = (
    "ρ = {rho:.3g} is 1 or more: more work comes than the servers can do, and the queue grows for ever. There is no L "
    "and no W; the path below shows how it runs away."
)


def layout(query: str = "") -> Component:
    """The page, in the state that the query of a link asks for."""
    asked = dict(parse_qsl(query.removeprefix("?")))
    values = linked(asked)
    kept = {} if asked else KEPT
    models: Any = [{"label": v, "value": k} for k, v in KINDS.items()]
    kinds = dcc.RadioItems(id="explore-kind", options=models, value=values["model"], className="choices", **kept)
    controls = [
        html.Fieldset([html.Legend("Model"), kinds]),
        *(slider(f"explore-{n}", p, values[n] if asked else None) for n, p in PARAMETERS.items()),
        html.P(id="explore-problem", className="problem", role="alert"),
        html.Div(
            [
                html.A("Link to this state", id="explore-link", className="button plain"),
                html.A("Page without scripts", id="explore-export", className="button plain"),
            ],
            className="buttons",
        ),
    ]
    results = [
        waited_for(html.P(id="explore-key", className="key")),
        html.Div([graph(f"explore-{name}", label) for name, label in QUANTITIES.items()], className="grid"),
        moving("explore", "One short run", "requests arrive from the left, wait, and are served", "Another run"),
        html.Div(
            [graph("explore-path", "number present over time"), html.Div(id="explore-now", hidden=True)],
            className="followed",
        ),
        html.P(id="explore-rival"),
        html.H3("States"),
        html.Div(id="explore-states", className="states"),
        html.Div(graph("explore-bars", "probability of each number present"), className="followed"),
        dcc.Store(id="explore-ready", data=_warm.is_set()),
        dcc.Interval(id="explore-warming", interval=WARMING_MS, disabled=_warm.is_set()),
    ]
    formulas = labelled(html.Div(id="explore-formulas", role="group"), "the formulas with these numbers")
    return page("Explore a queue", controls, results, more=[formulas])


def register(app: Dash) -> None:
    """The page's callbacks."""
    app.callback(
        Output("explore-problem", "children"),
        Output("explore-formulas", "children"),
        Output("explore-key", "children"),
        Output("explore-stretch", "data"),
        Output("explore-path", "figure"),
        *(Output(f"explore-{name}", "figure") for name in QUANTITIES),
        Output("explore-states", "children"),
        Output("explore-bars", "figure"),
        Output("explore-rival", "children"),
        Output("explore-link", "href"),
        Output("explore-export", "href"),
        *(Output(f"explore-{name}-row", "hidden") for name in PARAMETERS),
        Output("explore-arrival_rate", "max"),
        Input("explore-kind", "value"),
        Input("theme", "data"),
        Input("explore-again", "n_clicks"),
        Input("explore-ready", "data"),
        *(Input(f"explore-{name}", "value") for name in PARAMETERS),
    )(lambda kind, look, clicks, _ready, *values: update(kind, look, clicks, *values))
    app.callback(
        Output("explore-ready", "data"),
        Output("explore-warming", "disabled"),
        Input("explore-warming", "n_intervals"),
        prevent_initial_call=True,
    )(lambda _ticks: (True, True) if _warm.is_set() else (no_update, no_update))
    animate(app, "explore", "animate")


def update(kind: object, theme_name: object, clicks: object, *values: object) -> tuple[Any, ...]:
    """Everything that the page shows for what is set; what makes no sense is said, and the plots stay as they are."""
    theme = theme_of(theme_name)
    hidden = (*(kind not in p.kinds for p in PARAMETERS.values()), PARAMETERS["arrival_rate"].end_for(kind))
    try:
        settings = settings_of(kind, dict(zip(PARAMETERS, values, strict=True)))
    except ValueError as error:
        return (str(error), *([no_update] * (9 + len(QUANTITIES))), *hidden)
    seed = clicks if isinstance(clicks, int) and 0 <= clicks < MOST_SEEDS else 0
    curves, path = _worked_out(settings, seed, simulated=_warm.is_set())
    metrics = curves.metrics
    problem = UNSTABLE.format(rho=settings.utilization) if metrics is None else ""
    formulas = [] if metrics is None else rendered(formulas_of(settings, metrics))
    rival, link = rival_of(settings, path), link_to(settings)
    drawn_path = path_figure(path, None if metrics is None else metrics.L, theme, rival)
    compared = "" if rival is None else comparison(settings, path, rival, None if metrics is None else metrics.W)
    return (
        problem,
        formulas,
        _key(curves),
        path.to_dict(),
        drawn_path,
        *(quantity_figure(curves, name, theme) for name in QUANTITIES),
        _states(settings, theme),
        bars_figure(settings, metrics, theme),
        compared,
        f"/explore?{link}",
        f"{EXPORT_AT}?{link}",
        *hidden,
    )


def _states(settings: Settings, theme: Theme) -> Component:
    """The diagram, or why there is none."""
    drawn, words = diagram(settings, theme), described(settings)
    return html.Img(src=drawn, alt=words) if drawn else html.P(words)


def register_export(server: Flask) -> None:
    """Add the address of the page without scripts."""

    def export() -> Response:
        values = linked(request.args)
        settings = settings_of(values.pop("model"), values)
        return Response(exported(settings, f"/explore?{link_to(settings)}"), mimetype="text/html")

    server.add_url_rule(EXPORT_AT, "lab-explore", export)


def _key(curves: Curves) -> list[Component]:
    """What the marks in the plots mean."""
    return [html.Span(KEY[name], className=f"key-{name}") for name in KEY if name != "bounds" or curves.bounds]


def warm_up() -> None:
    """Load and compile what the first student would else wait for; the simulation is shown from then on."""
    for kind in ("mm1", "closed"):
        settings = settings_of(kind, {p.name: p.start for p in PARAMETERS.values()})
        _worked_out(settings, 0, simulated=True)
    _warm.set()


@lru_cache(maxsize=256)  # students like round numbers
def _worked_out(settings: Settings, seed: int, *, simulated: bool) -> tuple[Curves, SampleStretch]:
    curves = curves_of(settings)
    return with_simulation(settings, curves, seed) if simulated else curves, path_of(settings, FIRST_PATH + seed)


def exported(settings: Settings, link: str) -> str:
    """The page: diagram, formulas with their numbers, results and p(n); ``link`` opens the same state in a lab."""
    values: dict[str, Any] = {"problem": "", "formulas": [], "values": [], "probabilities": []}
    try:
        metrics = solve(settings.model())
    except UnstableQueueError as error:
        values["problem"] = str(error)
    else:
        values["formulas"] = formulas_of(settings, metrics)
        values["values"] = [(label, f"{getattr(metrics, name):.4g}") for name, label in QUANTITIES.items()]
        values["probabilities"] = probabilities(settings, metrics)
    drawn = diagram(settings, Theme(dark=False))
    return filled(
        "explored.html.j2", title=KINDS[settings.kind], diagram=drawn, words=described(settings), link=link, **values
    )
