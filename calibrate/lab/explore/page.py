"""The page Explore: sliders on one side, the curves, the formulas and the moving queue on the other."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from calibrate.lab.explore.curves import QUANTITIES, Curves, curves_of, with_simulation
from calibrate.lab.explore.figures import path_figure, quantity_figure
from calibrate.lab.explore.formulas import formulas_of, rendered
from calibrate.lab.explore.path import Path, path_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, Settings, settings_of
from calibrate.lab.themes import theme_of
from calibrate.lab.widgets import graph, in_browser, slider, told

MOST_SEEDS = 2**31
UNSTABLE = (
    "ρ = {rho:.3g} is 1 or more: more work comes than the servers can do, and the queue grows for ever. There is no L "
    "and no W; the path below shows how it runs away."
)


def layout() -> Component:
    """The page."""
    return html.Div(
        [
            html.Section(
                [
                    html.H2("Explore a queue"),
                    html.Fieldset(
                        [html.Legend("Model"),
                         dcc.RadioItems(id="explore-kind", options=[{"label": v, "value": k} for k, v in KINDS.items()],
                                        value="mm1", persistence=True, persistence_type="session",
                                        className="choices")],
                    ),
                    *(slider(f"explore-{name}", p.label, p.low, p.high, p.step, p.start)
                      for name, p in PARAMETERS.items()),
                    html.P(id="explore-problem", className="problem", role="alert"),
                    html.Div(id="explore-formulas", className="formulas"),
                ],
                className="controls",
            ),
            html.Section(
                [
                    html.Div([graph(f"explore-{name}", label) for name, label in QUANTITIES.items()],
                             className="grid"),
                    html.Div([html.H3("One stretch of its life"),
                              html.Button("Another run", id="explore-again", n_clicks=0, className="small")],
                             className="heading"),
                    html.Div(
                        [html.Button("Pause", id="explore-play", n_clicks=0, className="small"),
                         told(html.Canvas(id="explore-queue", role="img"),
                              "requests arrive from the left, wait, and are served")],
                        className="moving",
                    ),
                    graph("explore-path", "number present over time"),
                    dcc.Store(id="explore-followed"),
                    dcc.Store(id="explore-played"),
                ],
                className="results",
            ),
        ],
        className="page two",
    )  # fmt: skip


def register(app: Dash) -> None:
    """The page's callbacks."""
    app.callback(
        Output("explore-problem", "children"),
        Output("explore-formulas", "children"),
        Output("explore-followed", "data"),
        Output("explore-path", "figure"),
        *(Output(f"explore-{name}", "figure") for name in QUANTITIES),
        *(Output(f"explore-{name}-row", "hidden") for name in PARAMETERS),
        Output("explore-arrival_rate", "max"),
        Input("explore-kind", "value"),
        Input("theme", "data"),
        Input("explore-again", "n_clicks"),
        *(Input(f"explore-{name}", "value") for name in PARAMETERS),
    )(update)
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
        return (str(error), *([no_update] * (3 + len(QUANTITIES))), *hidden)
    curves, path = _worked_out(settings, clicks if isinstance(clicks, int) and 0 <= clicks < MOST_SEEDS else 0)
    metrics = curves.metrics
    problem = UNSTABLE.format(rho=settings.utilization) if metrics is None else ""
    formulas = [] if metrics is None else rendered(formulas_of(settings, metrics))
    return (
        problem, formulas, path.to_dict(), path_figure(path, None if metrics is None else metrics.L, theme),
        *(quantity_figure(curves, name, theme) for name in QUANTITIES), *hidden,
    )  # fmt: skip


def warm_up() -> None:
    """Load and compile what the first student would else wait for."""
    update("mm1", "light", 0, *(p.start for p in PARAMETERS.values()))


@lru_cache(maxsize=256)  # students like round numbers
def _worked_out(settings: Settings, seed: int) -> tuple[Curves, Path]:
    return with_simulation(settings, curves_of(settings), seed), path_of(settings, seed)
