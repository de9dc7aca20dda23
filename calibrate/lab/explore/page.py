"""The page Explore: sliders on one side, the curves, the formulas and the moving queue on the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import parse_qsl

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from flask import Flask, Response, request

from calibrate.lab.explore.curves import QUANTITIES, Curves, curves_of, said_of, with_simulation
from calibrate.lab.explore.figures import path_figure, quantity_figure
from calibrate.lab.explore.formulas import formulas_of, rendered
from calibrate.lab.explore.path import SampleStretch, comparison, path_of, rival_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, Settings, link_to, linked, settings_of
from calibrate.lab.explore.states import bars_figure, described, diagram, probabilities
from calibrate.lab.widgets import KEPT, Theme, graph, in_browser, labelled, slider, theme_of, waited_for
from qsim import UnstableQueueError, solve

MOST_SEEDS = 2**31
EXPORT_AT = "/lab/explore.html"
WARMING_MS = 1500
"""Longer than an answer takes: a browser drops the answer to what it has asked again meanwhile."""
KEY = {
    "theory": "theory",
    "simulated": "simulated, with its 95 % interval",
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
    return html.Div(
        [
            html.Section(
                [
                    html.H2("Explore a queue"),
                    html.Fieldset(
                        [
                            html.Legend("Model"),
                            dcc.RadioItems(
                                id="explore-kind",
                                options=[{"label": v, "value": k} for k, v in KINDS.items()],
                                value=values["model"],
                                className="choices",
                                **kept,
                            ),
                        ]
                    ),
                    *(slider(f"explore-{n}", p, values[n] if asked else None) for n, p in PARAMETERS.items()),
                    html.P(id="explore-problem", className="problem", role="alert"),
                    html.Div(
                        [
                            html.A("Link to this state", id="explore-link", className="button plain"),
                            html.A("Page without scripts", id="explore-export", className="button plain"),
                        ],
                        className="buttons",
                    ),
                ],
                className="controls",
            ),
            labelled(html.Section(id="explore-formulas", className="formulas more"), "the formulas with these numbers"),
            html.Section(
                [
                    waited_for(html.P(id="explore-key", className="key")),
                    html.Div([graph(f"explore-{name}", label) for name, label in QUANTITIES.items()], className="grid"),
                    html.Div(
                        [
                            html.H3("One short run"),
                            html.Button("Pause", id="explore-play", n_clicks=0, className="small"),
                            html.Button("Another run", id="explore-again", n_clicks=0, className="small"),
                        ],
                        className="heading",
                    ),
                    labelled(
                        html.Canvas(id="explore-queue", role="img", className="moving"),
                        "requests arrive from the left, wait, and are served",
                    ),
                    html.Div(
                        [graph("explore-path", "number present over time"), html.Div(id="explore-now", hidden=True)],
                        className="followed",
                    ),
                    html.P(id="explore-rival"),
                    html.H3("States"),
                    html.Div(id="explore-states", className="states"),
                    html.Div(graph("explore-bars", "probability of each number present"), className="followed"),
                    dcc.Store(id="explore-followed"),
                    dcc.Store(id="explore-played"),
                    dcc.Store(id="explore-ready", data=_warm.is_set()),
                    dcc.Interval(id="explore-warming", interval=WARMING_MS, disabled=_warm.is_set()),
                ],
                className="results",
            ),
        ],
        className="page two",
    )


def register(app: Dash) -> None:
    """The page's callbacks."""
    app.callback(
        Output("explore-problem", "children"),
        Output("explore-formulas", "children"),
        Output("explore-key", "children"),
        Output("explore-followed", "data"),
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
    in_browser(
        app,
        "animate",
        Output("explore-played", "data"),
        Output("explore-play", "children"),
        Input("explore-followed", "data"),
        Input("explore-play", "n_clicks"),
        State("explore-queue", "id"),
    )


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
    """What the marks in the plots mean, and whether the simulation agrees with the theory."""
    shown = [name for name in KEY if name != "bounds" or curves.bounds]
    said = html.Span(said_of(curves.simulated), id="explore-agrees")
    return [*(html.Span(KEY[name], className=f"key-{name}") for name in shown), said]


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


STYLE = """body{font:1.05rem/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b2733}
.formula{display:grid;border-top:1px solid #c3ced8;padding:.4rem 0}.law{font-weight:600}
.source{color:#4a5a69;font-size:.85rem}
.sum{font-family:Georgia,serif;font-size:1.1rem;overflow-x:auto}.fraction{display:inline-flex;flex-direction:column;
vertical-align:middle;text-align:center}.top{border-bottom:1.5px solid;padding:0 .25em}.bottom{padding:0 .25em}
.heard{position:absolute;clip-path:inset(50%)}img{max-width:100%}td,th{padding:.1rem .7rem .1rem 0;text-align:left}
.bar{display:inline-block;height:.8em;max-width:45vw;background:#0072B2}code{overflow-wrap:anywhere}"""


def exported(settings: Settings, link: str) -> str:
    """The page: diagram, formulas with their numbers, results and p(n); ``link`` opens the same state in a lab."""
    title = KINDS[settings.kind]
    drawn, words = diagram(settings, Theme(dark=False)), described(settings)
    parts = [f'<img src="{drawn}" alt="{escape(words)}">' if drawn else f"<p>{escape(words)}</p>"]
    try:
        metrics = solve(settings.model())
    except UnstableQueueError as error:
        parts.append(f"<p>{escape(str(error))}</p>")
    else:
        parts += [as_html(line) for line in rendered(formulas_of(settings, metrics))]
        values = [(label, f"{getattr(metrics, name):.4g}") for name, label in QUANTITIES.items()]
        parts.append(_table([f"<td>{escape(label)}</td><td>{value}</td>" for label, value in values]))
        shown = probabilities(settings, metrics)
        bar = '<span class="bar" style="width:{:.2f}em"></span>'
        widths = [bar.format(16 * p / max(shown)) for p in shown]
        cells = enumerate(zip(shown, widths, strict=True))
        parts.append(_table([f"<td>p({n})</td><td>{p:.3f}</td><td>{width}</td>" for n, (p, width) in cells]))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{''.join(parts)}<p>In the lab: <code>{escape(link)}</code></p></body></html>\n"
    )


def as_html(part: Component | str | Sequence[Component | str] | None) -> str:
    """A component of Dash as HTML text."""
    if part is None:
        return ""
    if isinstance(part, str):
        return escape(part)
    if isinstance(part, Component):
        tag, name = type(part).__name__.lower(), getattr(part, "className", "")
        kind = f' class="{escape(name)}"' if name else ""
        return f"<{tag}{kind}>{as_html(getattr(part, 'children', None))}</{tag}>"
    return "".join(as_html(child) for child in part)


def _table(rows: Sequence[str]) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
