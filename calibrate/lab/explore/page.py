"""The page Explore: sliders on one side, the curves, the formulas and the moving queue on the other."""

from __future__ import annotations

import re
import threading
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from dash import Dash, Input, Output, dcc, html, no_update
from dash.development.base_component import Component
from flask import Flask, Response, request

from calibrate.lab.explore.curves import QUANTITIES, Curves, curves_of, with_simulation
from calibrate.lab.explore.figures import bars_figure, described, diagram, path_figure, probabilities, quantity_figure
from calibrate.lab.explore.path import SampleStretch, comparison, path_of, rival_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, Settings, link_to, linked, settings_of
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
from qsim import Metrics, UnstableQueueError, solve

_FRACTION = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class Formula:
    """A named law: ``sum`` is symbols = numbers, ``[top|bottom]`` a fraction, and ``source`` its author."""

    name: str
    sum: str
    result: str
    source: str

    @property
    def parts(self) -> list[str | tuple[str, str]]:
        """Symbols and numbers as texts and fractions (top, bottom)."""
        texts, tops, bottoms = (_FRACTION.split(self.sum)[first::3] for first in range(3))
        parts: list[str | tuple[str, str]] = [texts[0]]
        for top, bottom, text in zip(tops, bottoms, texts[1:], strict=True):
            parts += [(top, bottom), text]
        return parts


def formulas_of(settings: Settings, metrics: Metrics) -> list[Formula]:
    """The formulas of the model with its numbers."""
    c, s, z, n = settings.servers, settings.service_time, settings.think_time, settings.population
    numbers = {
        "rho": metrics.utilization,
        "offered": c * metrics.utilization,
        "lam": settings.arrival_rate,
        "S": s,
        "scv": settings.scv,
        "Z": z,
        "wait": metrics.p_wait if settings.kind == "mmc" else 0.0,
        "X": metrics.throughput,
        "W": metrics.W,
        "L": metrics.L,
        "Lq": metrics.Lq,
        "knee": (z + s) * c / s,
        "most": min(n / (z + s), c / s),
        "least": max(s, n * s / c - z),
        "all": metrics.throughput * (metrics.W + z),
    }
    words = {"c": str(c), "N": str(n), **{name: f"{value:.4g}" for name, value in numbers.items()}}
    filled = [{key: text.format(**words) for key, text in row.items()} for row in _formulas()[settings.kind]]
    return [Formula(f["name"], f"{f['symbols']} = {f['numbers']} = ", f["result"], f["source"]) for f in filled]


@cache
def _formulas() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads((files("calibrate.lab.explore") / "formulas.toml").read_text("utf-8"))


def rendered(formulas: list[Formula]) -> list[Component]:
    """A line for each law; the slash in a fraction is for screen readers."""
    return [
        html.Div(
            [
                html.Span(f.name, className="law"),
                html.Span([*map(_shown, f.parts), html.Strong(f.result)], className="sum"),
                html.Span(f.source, className="source"),
            ],
            className="formula",
        )
        for f in formulas
    ]


def _shown(part: str | tuple[str, str]) -> str | Component:
    if isinstance(part, str):
        return part
    slash = html.Span(" / ", className="heard")
    return html.Span(
        [html.Span(part[0], className="top"), slash, html.Span(part[1], className="bottom")], className="fraction"
    )


MOST_SEEDS = 2**31
EXPORT_AT = "/lab/explore.html"
WARMING_MS = 1500
"""Seconds, longer than an answer takes: a browser drops an answer when it has sent a newer request."""
KEY = {
    "theory": "theory",
    "simulated": "simulated; 1 in 20 of the 95 % intervals misses the theory",
    "here": "where you are",
    "bounds": "limits that it cannot cross",
}
FIRST_PATH = 680
"""The seed of the first path: one whose average one sees to differ from the theory's mean, in every model."""
_warm = threading.Event()
"""Whether the engine is loaded; until then the page shows only the theory."""
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
    """The page's content for the settings; for invalid ones a message, and the plots stay unchanged."""
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
        [html.Span(KEY[name], className=f"key-{name}") for name in KEY if name != "bounds" or curves.bounds],
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
    """The diagram, or the reason why there is none."""
    drawn, words = diagram(settings, theme), described(settings)
    return html.Img(src=drawn, alt=words) if drawn else html.P(words)


def register_export(server: Flask) -> None:
    """Add the address of the page without scripts."""

    def export() -> Response:
        values = linked(request.args)
        settings = settings_of(values.pop("model"), values)
        return Response(exported(settings, f"/explore?{link_to(settings)}"), mimetype="text/html")

    server.add_url_rule(EXPORT_AT, "lab-explore", export)


def warm_up() -> None:
    """Load and compile the engine before the first student needs it; the simulation is shown from then on."""
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
