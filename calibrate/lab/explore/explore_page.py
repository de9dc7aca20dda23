"""The page Explore: sliders on one side, the curves, the formulas and the moving queue on the other."""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from flask import Flask, Response, request

from calibrate.lab import widgets
from calibrate.lab.explore import figures, theory_curves
from calibrate.lab.explore.path import RUNS, SampleStretch, comparison, many_runs, path_of, rival_of
from calibrate.lab.explore.settings import (
    KINDS,
    PARAMETERS,
    Settings,
    link_to,
    linked,
    not_opened,
    range_of_rates,
    settings_of,
)
from calibrate.lab.explore.theory_curves import QUANTITIES
from calibrate.lab.widgets import Theme
from qsim import Metrics, UnstableQueueError, solve

_FRACTION = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class ShownFormula:
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


def formulas_of(settings: Settings, metrics: Metrics) -> list[ShownFormula]:
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
    typed = {"lam", "S", "scv", "Z"}
    words = {"c": str(c), "N": str(n)}
    words |= {name: widgets.plain(value) if name in typed else f"{value:.4g}" for name, value in numbers.items()}
    rows = [{key: text.format(**words) for key, text in row.items()} for row in _formulas()[settings.kind]]
    return [ShownFormula(f["name"], f"{f['symbols']} = {f['numbers']} = ", f["result"], f["source"]) for f in rows]


@cache
def _formulas() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads((files("calibrate.lab.explore") / "formulas.toml").read_text("utf-8"))


def rendered(formulas: list[ShownFormula]) -> list[Component]:
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
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
RUNNING = {"again": "Another run", "many": f"{RUNS} runs"}
EXPORT_AT = "/lab/explore.html"
WARMING_MS = 1500  # longer than an answer takes: a browser drops an answer when it has sent a newer request
KEY = {
    "theory": "theory",
    "simulated": "simulated; 1 in 20 of the 95 % intervals misses the theory",
    "here": "where you are",
    "bounds": "limits that it cannot cross",
}
FIRST_PATH = 680
"""The seed of the first path: one whose average one sees to differ from the theory's mean, in every model."""
_warm = threading.Event()  # whether the engine is loaded; until then the page shows only the theory
UNSTABLE = (
    "ρ = {rho:.3g} is 1 or more: more work comes than the servers can do, and the queue grows for ever. There is no L "
    "and no W; the path below shows how it runs away."
)


OVERLOADED = "Overloaded: ρ = {rho:.3g}. The queue grows for ever, and so does the response time."
NO_STATES = "There is no p(n): the queue is overloaded, and every number present is passed sooner or later."


def layout(query: str = "") -> Component:
    """The page, in the state that the query of a link asks for."""
    asked = dict(parse_qsl(query.removeprefix("?")))
    values, refused = linked(asked), not_opened(asked)
    kept = {} if asked else widgets.KEPT
    models: Any = [{"label": v, "value": k} for k, v in KINDS.items()]
    kinds = dcc.RadioItems(id="explore-kind", options=models, value=values["model"], className="choices", **kept)
    controls = [
        html.Fieldset([html.Legend("Model"), kinds]),
        *(widgets.slider(f"explore-{n}", p, values[n] if asked else None) for n, p in PARAMETERS.items()),
        html.P(id="explore-problem", className="problem", role="alert"),
        html.P(refused, id="explore-refused", className="problem", role="alert"),
        html.Div(
            [
                html.A("Link to this state", id="explore-link", className="button plain"),
                html.A("Page without scripts", id="explore-export", className="button plain"),
            ],
            className="buttons",
        ),
    ]
    results = [
        widgets.waited_for(html.P(id="explore-times", className="outcome")),
        widgets.waited_for(html.P(id="explore-key", className="key")),
        html.Div([widgets.graph(f"explore-{name}", label) for name, label in QUANTITIES.items()], className="grid"),
        widgets.moving("explore", "One short run", "requests arrive from the left, wait, and are served", RUNNING),
        html.Div(
            [widgets.graph("explore-path", "number present over time"), html.Div(id="explore-now", hidden=True)],
            className="followed",
        ),
        html.P(id="explore-rival"),
        html.H3("States"),
        html.Div(id="explore-states", className="states"),
        html.Div(
            widgets.graph("explore-bars", "probability of each number present"),
            id="explore-bars-place",
            className="followed",
        ),
        html.P(NO_STATES, id="explore-no-bars", hidden=True),
        html.H3("The same device under three loads"),
        html.Div(widgets.graph("explore-loads", "response time over throughput under three loads"), className="loads"),
        html.P(id="explore-compared"),
        dcc.Store(id="explore-ready", data=_warm.is_set()),
        dcc.Interval(id="explore-warming", interval=WARMING_MS, disabled=_warm.is_set()),
    ]
    formulas = widgets.labelled(html.Div(id="explore-formulas", role="group"), "the formulas with these numbers")
    return widgets.page("Explore a queue", controls, results, more=[formulas])


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
        Output("explore-bars-place", "hidden"),
        Output("explore-no-bars", "hidden"),
        Output("explore-rival", "children"),
        Output("explore-link", "href"),
        Output("explore-export", "href"),
        Output("explore-loads", "figure"),
        Output("explore-compared", "children"),
        Output("explore-many", "children"),
        *(Output(f"explore-{name}-row", "hidden") for name in PARAMETERS),
        Input("explore-kind", "value"),
        Input("theme", "data"),
        Input("explore-again", "n_clicks"),
        Input("explore-many", "n_clicks"),
        Input("explore-ready", "data"),
        *(Input(f"explore-{name}", "value") for name in PARAMETERS),
    )(lambda kind, look, clicks, many, _ready, *values: update(kind, look, clicks, *values, many=many))
    app.callback(  # not of the rate itself: callbacks that wait for each other are sometimes never run
        Output("explore-arrival_rate-range", "data"),
        Input("explore-kind", "value"),
        *(Input(f"explore-{name}", "value") for name in PARAMETERS if name != "arrival_rate"),
        State("explore-arrival_rate-range", "data"),
    )(range_of_slider)
    app.callback(
        Output("explore-times", "children"),
        Input("explore-kind", "value"),
        *(Input(f"explore-{name}", "value") for name in PARAMETERS),
    )(response_times)
    widgets.follow_sliders(app, (f"explore-{name}" for name in PARAMETERS))
    app.callback(
        Output("explore-ready", "data"),
        Output("explore-warming", "disabled"),
        Input("explore-warming", "n_intervals"),
        prevent_initial_call=True,
    )(lambda _ticks: (True, True) if _warm.is_set() else (no_update, no_update))
    widgets.animate(app, "explore", "animate")


def update(kind: object, theme_name: object, clicks: object, *values: object, many: object = 0) -> tuple[Any, ...]:
    """The page's content for the settings; for invalid ones a message, and the plots stay unchanged.

    ``many`` is how often the button for many runs was pressed.
    """
    theme = widgets.theme_of(theme_name)
    hidden = tuple(kind not in p.kinds for p in PARAMETERS.values())
    try:
        settings = settings_of(kind, dict(zip(PARAMETERS, values, strict=True)))
    except ValueError as error:
        return (str(error), *([no_update] * (14 + len(QUANTITIES))), *hidden)
    seed = clicks if isinstance(clicks, int) and 0 <= clicks < MOST_SEEDS else 0
    curves, path, loads = _worked_out(settings, seed, simulated=_warm.is_set())
    metrics = curves.metrics
    mean = None if metrics is None else metrics.L
    now = None if metrics is None else metrics.throughput
    problem = UNSTABLE.format(rho=settings.utilization) if metrics is None else ""
    formulas = [] if metrics is None else rendered(formulas_of(settings, metrics))
    link = link_to(settings)
    shows_many = isinstance(many, int) and many % 2 == 1
    if shows_many:
        runs = many_runs(settings, seed)
        drawn_path, said = figures.runs_figure(runs, mean, theme), runs.in_words(mean)
    else:
        drawn_path, said = _one_run(settings, path, metrics, theme)
    return (
        problem,
        formulas,
        [html.Span(KEY[name], className=f"key-{name}") for name in KEY if name != "bounds" or curves.bounds],
        path.to_dict(),
        drawn_path,
        *(figures.quantity_figure(curves, name, theme) for name in QUANTITIES),
        _states(settings, theme),
        no_update if metrics is None else figures.bars_figure(settings, metrics, theme),
        metrics is None,
        metrics is not None,
        said,
        f"/explore?{link}",
        f"{EXPORT_AT}?{link}",
        figures.loads_figure(settings, loads, now, theme),
        figures.loads_compared(settings, loads, now),
        "One run" if shows_many else RUNNING["many"],
        *hidden,
    )


def range_of_slider(kind: object, *others_and_now: object) -> Any:
    """The range of the arrival rate's slider by the other parameters; the last is the range it has."""
    *others, now = others_and_now
    rate = PARAMETERS["arrival_rate"].start
    names = [name for name in PARAMETERS if name != "arrival_rate"]
    try:
        ends = range_of_rates(settings_of(kind, {"arrival_rate": rate, **dict(zip(names, others, strict=True))}))
    except ValueError:
        return no_update
    return no_update if ends == now else ends


def response_times(kind: object, *values: object) -> str:
    """The mean response time and its percentiles in a line, or that there are none; empty for invalid settings."""
    try:
        settings = settings_of(kind, dict(zip(PARAMETERS, values, strict=True)))
        return " · ".join(f"{name} {text}" for name, text in _times(settings))
    except UnstableQueueError:
        return OVERLOADED.format(rho=settings.utilization)
    except ValueError:
        return ""


@lru_cache(maxsize=256)
def _times(settings: Settings) -> list[tuple[str, str]]:
    metrics = solve(settings.model())
    values = [metrics.W, *metrics.quantile(list(PERCENTILES.values()))]
    return [(name, f"{value:.4g}") for name, value in zip(("response time W: mean", *PERCENTILES), values, strict=True)]


def _one_run(
    settings: Settings, path: SampleStretch, metrics: Metrics | None, theme: Theme
) -> tuple[dict[str, Any], str]:
    """N(t) of a path and another system's, and both in words."""
    rival = rival_of(settings, path)
    figure = figures.path_figure(path, None if metrics is None else metrics.L, theme, rival)
    if rival is None:
        return figure, ""
    return figure, comparison(settings, path, rival, None if metrics is None else metrics.W)


def _states(settings: Settings, theme: Theme) -> Component:
    """The diagram, or the reason why there is none."""
    drawn, words = figures.diagram(settings, theme), figures.described(settings)
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
def _worked_out(
    settings: Settings, seed: int, *, simulated: bool
) -> tuple[theory_curves.TheoryCurves, SampleStretch, Mapping[str, theory_curves.LoadCurve]]:
    curves = theory_curves.curves_of(settings)
    loads = theory_curves.under_three_loads(settings, None if curves.metrics is None else curves.metrics.throughput)
    curves = theory_curves.with_simulation(settings, curves, seed) if simulated else curves
    return curves, path_of(settings, FIRST_PATH + seed), loads


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
        values["values"] += _times(settings)[1:]
        values["probabilities"] = figures.probabilities(settings, metrics)
    values |= {"diagram": figures.diagram(settings, Theme(dark=False)), "words": figures.described(settings)}
    return widgets.filled("explored.html.j2", title=KINDS[settings.kind], link=link, **values)
