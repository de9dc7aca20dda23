"""The page Compare: what to look at, how, and the device changed by sliders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from calibrate.lab.compare.shelf import Shelf, ShelfCurve
from calibrate.lab.widgets import KEPT, SliderNumber, Theme, drawn, slider, theme_of, waited_for
from measure.errors import MeasureError

FIRST = ("dataset-003-ssd-read", "dataset-001-ssd", "dataset-000-ssd", "dataset-002-ssd-tails")
MOST_SOURCES, MOST_CURVES, MOST_FIGURES = 6, 16, 12
DRIVES = SliderNumber("number of drives (measured: 1)", 1, 8, 1, 2)
SERVICE = SliderNumber("service time, multiplied by", 0.1, 2.0, 0.05, 1.0)
_Options = list[dict[str, str]]


def layout(shelf: Shelf) -> Component:
    """The page."""
    sources = shelf.sources()
    options: Any = [{"label": s.label, "value": s.identity} for s in sources.values()]
    shown: Any = [{"label": name, "value": name} for name in VIEWS]
    return html.Div(
        [
            html.Section(
                [
                    html.H2("Compare"),
                    html.Label("Measurements", htmlFor="compare-sources"),
                    dcc.Dropdown(
                        id="compare-sources",
                        options=options,
                        multi=True,
                        value=[i for i in FIRST if i in sources],
                        **KEPT,
                    ),
                    html.Label("Curves", htmlFor="compare-curves"),
                    waited_for(dcc.Dropdown(id="compare-curves", options=[], multi=True)),
                    html.Fieldset(
                        [
                            html.Legend("Show"),
                            dcc.RadioItems(
                                id="compare-view", options=shown, value=next(iter(VIEWS)), className="choices", **KEPT
                            ),
                        ]
                    ),
                    html.Div(
                        [
                            html.Label("Device to change", htmlFor="compare-changed"),
                            dcc.Dropdown(id="compare-changed", options=[], clearable=False),
                            slider("compare-drives", DRIVES),
                            slider("compare-service", SERVICE),
                        ],
                        id="compare-changes",
                        hidden=True,
                    ),
                    html.P(id="compare-problem", className="problem", role="alert"),
                ],
                className="controls",
            ),
            html.Section(
                waited_for(html.Div(_note("Reading the measurements …"), id="compare-shown")), className="results"
            ),
        ],
        className="page two",
    )


def register(app: Dash, shelf: Shelf) -> None:
    """The page's callbacks."""
    app.callback(
        Output("compare-curves", "options"),
        Output("compare-curves", "value"),
        Output("compare-changed", "options"),
        Output("compare-changed", "value"),
        Input("compare-sources", "value"),
        State("compare-changed", "value"),
    )(lambda chosen, changed: offered(shelf, chosen, changed))
    app.callback(
        Output("compare-shown", "children"),
        Output("compare-problem", "children"),
        Output("compare-changes", "hidden"),
        Input("compare-sources", "value"),
        Input("compare-curves", "value"),
        Input("compare-view", "value"),
        Input("compare-changed", "value"),
        Input("compare-drives", "value"),
        Input("compare-service", "value"),
        Input("theme", "data"),
    )(lambda *values: shown(shelf, *values))


def warm_up(shelf: Shelf) -> None:
    """Load what the first who compares would else wait for."""
    for identity in FIRST:
        shelf.curves(shelf.sources()[identity])


def offered(shelf: Shelf, chosen: object, changed: object) -> tuple[_Options, list[str], _Options, str | None]:
    """The curves of the chosen measurements, and the first of each as a beginning; then those of devices that can be
    changed, and which of them is: ``changed`` as long as it is there."""
    curves, _ = _curves(shelf, chosen)
    first: dict[str, list[str]] = {}
    for curve in curves:
        first.setdefault(curve.source.identity, []).append(curve.identity)
    share = max(1, 6 // max(1, len(first)))
    value = [identity for identities in first.values() for identity in identities[:share]]
    closed = [c for c in curves if c.load_type.is_closed]
    kept = next((c.identity for c in closed if c.identity == changed), closed[0].identity if closed else None)
    return _options(curves), value, _options(closed), kept


def _options(curves: Sequence[ShelfCurve]) -> _Options:
    return [{"label": c.label, "value": c.identity} for c in curves]


def shown(
    shelf: Shelf,
    sources: object,
    wanted: object,
    view: object,
    changed: object,
    drives: object,
    service: object,
    theme_name: object,
) -> tuple[list[Component], str, bool]:
    """The chosen view of the chosen curves; what cannot be shown is said."""
    theme = theme_of(theme_name)
    curves, problem = _curves(shelf, sources)
    names = set(wanted) if isinstance(wanted, list) else set()
    picked = [c for c in curves if c.identity in names][:MOST_CURVES]
    changes = view == WHAT_IF
    try:
        if changes:
            device = next((c for c in curves if c.identity == changed and c.load_type.is_closed), None)
            return what_if(device, shelf, drives, service, theme), problem, False
        make = VIEWS.get(str(view), _curve_view)
        return make(shelf, _sources(shelf, sources), picked, theme), problem, True
    except (MeasureError, ValueError) as error:
        return [], str(error), not changes


def what_if(curve: ShelfCurve | None, shelf: Shelf, drives: object, service: object, theme: Theme) -> list[Component]:
    """A curve over outstanding requests with another number of drives and another service time."""
    from calibrate.fitting.predicted_curve import grid, predict
    from calibrate.lab.compare.figures import what_if_figures
    from calibrate.prediction.what_if import WhatIf
    from calibrate.prediction.what_if import what_if as changed

    if curve is None:
        return [_note("Choose a measurement over outstanding requests: what-if changes drives and service times.")]
    count, factor = DRIVES.checked(drives), SERVICE.checked(service)
    fitted = shelf.fitted(curve)
    scenario = changed(fitted, WhatIf(copies=(1.0, count), service=None if factor == 1 else factor))
    loads = grid(1.0, 2.0 * float(curve.load.max()))
    figures = what_if_figures(curve, predict(fitted, loads), predict(scenario.fit, loads), theme)
    knees = [f.knee.load for f in (fitted, scenario.fit)]
    knee_words = " → ".join("beyond the curve" if k is None else f"{k:.3g}" for k in knees)
    return [
        html.P([html.Strong(curve.label), ". The knee N*: ", html.Strong(knee_words, id="compare-knees"), "."]),
        *(drawn(figure, "what if") for figure in figures),
        html.Ul([html.Li(text) for text in (*scenario.changes, *scenario.assumptions)]),
    ]


def _curve_view(_shelf: Shelf, _sources: Sequence[str], picked: Sequence[ShelfCurve], theme: Theme) -> list[Component]:
    from calibrate.lab.compare.figures import curves_figure, load_figure

    if not picked:
        return [_note("Choose at least one curve.")]
    parts = [drawn(curves_figure(picked, theme), "response time against throughput", tall=True, named=len(picked))]
    if any(c.load_type.is_closed for c in picked):
        parts.append(drawn(load_figure(picked, theme), "throughput against outstanding requests", tall=True))
    return parts


def _heat_view(shelf: Shelf, sources: Sequence[str], _: Sequence[ShelfCurve], theme: Theme) -> list[Component]:
    from calibrate.report.measured.by_mix import heat_maps

    return _report_views(shelf, sources, heat_maps, theme) or [
        _note("None of these measurements varies both the size and the mix of reads and writes.")
    ]


def _tail_view(shelf: Shelf, sources: Sequence[str], _: Sequence[ShelfCurve], theme: Theme) -> list[Component]:
    from calibrate.report.measured.by_load import tails

    return _report_views(shelf, sources, tails, theme) or [
        _note("None of these measurements tells percentiles. Try 002-ssd-tails, or a run of the lab on a disk.")
    ]


def _little_view(shelf: Shelf, sources: Sequence[str], picked: Sequence[ShelfCurve], theme: Theme) -> list[Component]:
    from calibrate.lab.compare.figures import little_figure

    closed = [c for c in picked if c.load_type.is_closed]
    plot = (
        [drawn(little_figure(closed, theme), "Little's law", tall=True, named=len(closed))]
        if closed
        else [_note("Little's law needs a curve over outstanding requests.")]
    )
    found = shelf.sources()
    findings = [
        html.Li([html.Strong(found[s].short), f" {str(f).removeprefix(f'[{f.severity}] ')}"], className=f.severity)
        for s in sources
        for f in shelf.measured(found[s]).findings
        if f.check == "littles-law"
    ]
    return [
        *plot,
        html.P("Little's law: throughput times response time is the number in flight. A point at 1 obeys it."),
        html.Ul(findings),
    ]


def _report_views(shelf: Shelf, sources: Sequence[str], views: Callable[..., Any], theme: Theme) -> list[Component]:
    from calibrate.lab.compare.figures import themed

    found, parts = shelf.sources(), list[Component]()
    for identity in sources:
        for view in views(shelf.measured(found[identity])):
            if view.figure is not None and len(parts) < 2 * MOST_FIGURES:
                parts += [
                    html.H3(f"{found[identity].short}: {view.title}"),
                    drawn(themed(view.figure, theme), view.title, tall=True),
                ]
    return parts


WHAT_IF = "What if"
_View = Callable[[Shelf, Sequence[str], Sequence[ShelfCurve], Theme], list[Component]]
VIEWS: Mapping[str, _View] = {
    "Curves": _curve_view,
    "Heat maps": _heat_view,
    "Tails": _tail_view,
    "Little's law": _little_view,
    WHAT_IF: lambda *_: [],
}


def _sources(shelf: Shelf, chosen: object) -> list[str]:
    """The chosen identifiers that exist, no more than fit a page."""
    known = shelf.sources()
    return [i for i in chosen if i in known][:MOST_SOURCES] if isinstance(chosen, list) else []


def _curves(shelf: Shelf, chosen: object) -> tuple[list[ShelfCurve], str]:
    """The curves of the chosen sources, and why some cannot be read."""
    known, curves, problems = shelf.sources(), list[ShelfCurve](), list[str]()
    for identity in _sources(shelf, chosen):
        try:
            curves += shelf.curves(known[identity])
        except MeasureError as error:
            problems.append(f"{known[identity].label}: {error}")
    return curves, "; ".join(problems)


def _note(text: str) -> Component:
    return html.P(text, className="weak")
