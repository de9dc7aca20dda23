"""The page System: users, processors, and a drive that was measured, as one network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dash import Dash, Input, Output, ctx, dcc, html, no_update
from dash.development.base_component import Component

from calibrate.lab.compare.shelf import Shelf, ShelfCurve
from calibrate.lab.folder import LabSource
from calibrate.lab.system.figures import curve_figure, network_picture
from calibrate.lab.themes import theme_of
from calibrate.lab.widgets import SliderNumber, graph, slider
from measure.errors import DataError, MeasureError
from qsim.errors import QsimError

USUAL = "dataset-003-ssd-read"
DRAWS, PLACES = 60, 24
SIMULATED, RUNS = 20_000, 1
NUMBERS: Mapping[str, SliderNumber] = {
    "users": SliderNumber("users", 1, 1000, 1, 100),
    "think": SliderNumber("think time, s", 0.01, 5.0, 0.01, 0.1),
    "cpu": SliderNumber("CPU time of a transaction, ms", 0.05, 20.0, 0.05, 1.0),
    "cores": SliderNumber("processors", 1, 64, 1, 4),
    "reads": SliderNumber("reads of a transaction", 1, 200, 1, 20),
}
QUANTITIES = ("throughput", "response")
WHERE_FROM = "Bands come from the measured drive: devices that its points allow. The rest is taken as set."
HOW = "Guess first: which one is full first, and at how many users does waiting begin?"


def layout(shelf: Shelf) -> Component:
    """The page; the latest run of the lab is the drive, or a dataset."""
    sources = list(shelf.folder.sources().values())
    runs = [s.identity for s in sources if s.label.startswith("run ")]
    options: Any = [{"label": s.label, "value": s.identity} for s in sources]
    return html.Div(
        [
            html.Section(
                [
                    html.H2("An application on a drive"),
                    html.P(HOW, className="weak"),
                    html.Label("Drive", htmlFor="system-drive"),
                    dcc.Dropdown(id="system-drive", options=options, value=(runs or [USUAL])[-1], clearable=False),
                    *(slider(f"system-{name}", number) for name, number in NUMBERS.items()),
                    html.Div(html.Button("Simulate it", id="system-run", n_clicks=0), className="buttons"),
                    html.P(id="system-problem", className="problem", role="alert"),
                ],
                className="controls",
            ),
            html.Section(
                [
                    html.P(id="system-answer", className="outcome"),
                    html.Div(id="system-network", className="states"),
                    *(graph(f"system-{name}-plot", f"{name} over users") for name in QUANTITIES),
                    html.P(WHERE_FROM, className="weak"),
                ],
                className="results",
            ),
        ],
        className="page two",
    )


def register(app: Dash, shelf: Shelf) -> None:
    """The page's callback."""
    app.callback(
        Output("system-problem", "children"),
        Output("system-answer", "children"),
        Output("system-network", "children"),
        *(Output(f"system-{name}-plot", "figure") for name in QUANTITIES),
        Input("system-drive", "value"),
        Input("system-run", "n_clicks"),
        Input("theme", "data"),
        *(Input(f"system-{name}", "value") for name in NUMBERS),
    )(
        lambda drive, _clicks, look, *values: update(
            shelf, drive, look, *values, simulated=ctx.triggered_id == "system-run"
        )
    )


def update(shelf: Shelf, drive: object, look: object, *values: object, simulated: bool = False) -> tuple[Any, ...]:
    """What the page shows for what is set; a problem in words, and then nothing else changes."""
    from calibrate.application.system import system
    from qsim import Delay, Exponential, Network, Station, simulate

    try:
        numbers = {name: NUMBERS[name].checked(value) for name, value in zip(NUMBERS, values, strict=True)}
        users = int(numbers["users"])
        cpu = Station(Exponential(1e-3 * numbers["cpu"]), servers=int(numbers["cores"]))
        station = shelf.fitted(_curve(shelf, shelf.folder.source(drive))).station(visits=int(numbers["reads"]))
        network = Network({"users": Delay(numbers["think"]), "cpu": cpu, "drive": station})
        clients = np.unique([users, *np.geomspace(1, max(2 * users, 50), PLACES).round()]).astype(int).tolist()
        result = system(network, clients=clients, draws=DRAWS)
        runs: dict[str, tuple[float, float, float]] = {}
        if simulated:
            run = simulate(network.with_population(users), customers=SIMULATED, seed=RUNS, allow_short=True)
            runs = {
                "throughput": (run.throughput, *run.interval("throughput")),
                "response": (run.W, *run.interval("W")),
            }
        busy = {name: float(result.utilization(name)[0][clients.index(users)]) for name in result.stations}
        answer = _answer(result, users)
    except (ValueError, MeasureError, QsimError) as error:
        return str(error), *([no_update] * (2 + len(QUANTITIES)))
    theme = theme_of(look)
    words = f"{users} users, then " + ", then ".join(f"{name}, {100 * b:.0f} % busy" for name, b in busy.items())
    picture = network_picture(users, busy, result.bottleneck, theme)
    return (
        "",
        answer,
        html.Img(src=picture, alt=f"{words}; {result.bottleneck} is full first"),
        *(curve_figure(result, name, users, theme, runs.get(name)) for name in QUANTITIES),
    )


def _answer(result: Any, users: int) -> str:
    at = [users]
    rate, time_s = float(result.throughput(at)[0, 0]), float(result.response(at)[0, 0])
    knee = result.knee
    ends = "" if knee.low is None or knee.high is None else f" ({knee.low:.3g} to {knee.high:.3g})"
    return (
        f"{result.bottleneck} is full first. Waiting begins at {knee.estimate:.3g} users{ends}. "
        f"{users} users get {rate:.3g} transactions a second, each in {1e3 * time_s:.3g} ms."
    )


def _curve(shelf: Shelf, source: LabSource) -> ShelfCurve:
    """The first curve over outstanding requests. DataError where there is none."""
    found = next((c for c in shelf.curves(source) if c.load_type.is_closed), None)
    if found is None:
        raise DataError(f"{source.label} has no curve over outstanding requests; choose another drive")
    return found
