"""The page System: users, processors, and a drive that was measured, as one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from dash import Dash, Input, Output, html, no_update
from dash.development.base_component import Component

from calibrate.lab import widgets
from calibrate.lab.folder import LabFolder, LabSource, SourceCurve
from calibrate.lab.widgets import SliderNumber, Theme, line
from measure.errors import DataError, MeasureError
from measure.loads import ClosedLoad
from measure.units import around, plain_number
from qsim.errors import QsimError

if TYPE_CHECKING:
    from calibrate.application.system import System
    from qsim import Station

USUAL = "dataset-003-ssd-read"
DRAWS, PLACES = 60, 24
SEED = 1
BEFORE, JUMPS = 10, 400  # moves of each user before the moving run begins, and the moves that it shows
MOST_USERS, MOST_SERVERS, MOST_READS = 5000, 1000, 10_000
NUMBERS: Mapping[str, SliderNumber] = {
    "users": SliderNumber("users", 1, 1000, 1, 300, MOST_USERS),
    "think": SliderNumber("think time, s", 0.01, 5.0, 0.01, 0.1),
    "cpu": SliderNumber("CPU time of a transaction, ms", 0.05, 20.0, 0.05, 1.0),
    "cores": SliderNumber("processors", 1, 64, 1, 4, MOST_SERVERS),
    "reads": SliderNumber("reads of a transaction", 1, 200, 1, 20, MOST_READS),
}
QUANTITIES = ("throughput", "response")
WHERE_FROM = "Bands come from the measured drive: devices that its points allow. The rest is taken as set."
HOW = "Guess first: which one is full first, and at how many users does waiting begin?"


def layout(folder: LabFolder) -> Component:
    """The page; the latest run of the lab is the drive, or a dataset."""
    sources = list(folder.sources().values())
    runs = [s.identity for s in sources if s.label.startswith("run ")]
    drives = {s.identity: s.label for s in sources}
    controls = [
        html.P(HOW, className="weak"),
        *widgets.choice("system-drive", "Drive", drives, (runs or [USUAL])[-1]),
        *(widgets.slider(f"system-{name}", number) for name, number in NUMBERS.items()),
        html.P(id="system-problem", className="problem", role="alert"),
    ]
    answer = [html.P(id="system-answer", className="outcome"), html.Div(id="system-network", className="states")]
    results = [
        widgets.waited_for(html.Div(answer)),
        widgets.moving("system", "A stretch of its life", "users think, wait for a processor, and wait for the drive"),
        *(widgets.graph(f"system-{name}-plot", f"{name} over users") for name in QUANTITIES),
        html.P(WHERE_FROM, className="weak"),
    ]
    return widgets.page("An application on a drive", controls, results)


def register(app: Dash, folder: LabFolder) -> None:
    """The page's callbacks."""
    app.callback(
        Output("system-problem", "children"),
        Output("system-answer", "children"),
        Output("system-network", "children"),
        *(Output(f"system-{name}-plot", "figure") for name in QUANTITIES),
        Output("system-stretch", "data"),
        Input("system-drive", "value"),
        Input("theme", "data"),
        *(Input(f"system-{name}", "value") for name in NUMBERS),
    )(lambda *values: update(folder, *values))
    widgets.follow_sliders(app, (f"system-{name}" for name in NUMBERS))
    widgets.animate(app, "system", "watch_system")


def update(folder: LabFolder, drive: object, look: object, *values: object) -> tuple[Any, ...]:
    """The page's content for the settings; for invalid ones a message, and nothing else changes."""
    from calibrate.application.arrivals import system
    from qsim import Delay, Exponential, Network, Station

    try:
        numbers = {name: NUMBERS[name].checked(value) for name, value in zip(NUMBERS, values, strict=True)}
        users = int(numbers["users"])
        cpu = Station(Exponential(1e-3 * numbers["cpu"]), servers=int(numbers["cores"]))
        station = _curve(folder.source(drive)).fitted().station(visits=int(numbers["reads"]))
        network = Network({"users": Delay(numbers["think"]), "cpu": cpu, "drive": station})
        most = max(2 * users, 50)
        clients = (
            np.unique(np.round([users, *np.geomspace(1, most, PLACES), *np.linspace(1, most, PLACES)]))
            .astype(int)
            .tolist()
        )
        result = system(network, clients=clients, draws=DRAWS)
        busy = {name: float(result.utilization(name)[0][clients.index(users)]) for name in result.stations}
        answer = _answer(result, users)
    except (ValueError, MeasureError, QsimError) as error:
        return str(error), *([no_update] * (3 + len(QUANTITIES)))
    theme = widgets.theme_of(look)
    words = f"{users} users, then " + ", then ".join(f"{name}, {100 * b:.0f} % busy" for name, b in busy.items())
    drawn = widgets.picture("network.svg.j2", users=users, busy=busy, bottleneck=result.bottleneck, theme=theme)
    return (
        "",
        answer,
        html.Img(src=drawn, alt=f"{words}; {result.bottleneck} is full first"),
        *(curve_figure(result, name, users, theme) for name in QUANTITIES),
        stretch(users, numbers["think"], [cpu, station], [*busy].index(result.bottleneck)),
    )


def stretch(
    users: int, think: float, stations: Sequence[Station], bottleneck: int, jumps: int = JUMPS
) -> dict[str, Any]:
    """A stretch of the network's life as moves of one user each, for the page's animation; JSON-ready.

    Each time is exponential, so that the numbers present are a Markov chain: users think, then come to each station in
    turn. ``start`` are the numbers at the beginning, ``times`` when somebody moves, and ``moves`` from where.
    """
    draw = Random(SEED)
    leaving = [[n / think for n in range(users + 1)], *(_rates(station, users) for station in stations)]
    places, before = len(leaving), BEFORE * users
    present = [users] + [0] * len(stations)
    start, times, moves, now = list(present), list[float](), list[int](), 0.0
    for number in range(before + jumps):
        if number == before:
            start, now = list(present), 0.0
        rates = [rate[n] for rate, n in zip(leaving, present, strict=True)]
        now += draw.expovariate(sum(rates))
        (place,) = draw.choices(range(places), rates)
        if number >= before:
            times.append(now)
            moves.append(place)
        present[place] -= 1
        present[(place + 1) % places] += 1
    return {"start": start, "times": times, "moves": moves, "bottleneck": 1 + bottleneck}


def _rates(station: Station, users: int) -> list[float]:
    """At which rate users leave a station with 0, 1, ... present."""
    present = np.arange(users + 1)
    speeds = np.minimum(present, station.servers) if station.speeds is None else np.array([0.0, *station.speeds])
    rates: list[float] = (
        speeds[np.minimum(present, len(speeds) - 1)] / (station.time.mean * cast(float, station.visits))
    ).tolist()
    return rates


def _answer(result: Any, users: int) -> str:
    at = [users]
    rate, time_s = float(result.throughput(at)[0, 0]), float(result.response(at)[0, 0])
    begins = around("{:.3g}".format, result.knee.estimate, result.knee.low, result.knee.high)
    return (
        f"{result.bottleneck} is full first. Waiting begins at {begins} users. "
        f"{users} users get {plain_number(rate, 3)} transactions a second, each in {1e3 * time_s:.3g} ms."
    )


def _curve(source: LabSource) -> SourceCurve:
    for found in source.curves():
        if isinstance(found.load_type, ClosedLoad):
            return found
    raise DataError(f"{source.label} has no curve over outstanding requests; choose another drive")


def curve_figure(result: System, quantity: str, users: float, theme: Theme) -> dict[str, Any]:
    """Throughput or response over users with its 90 % band."""
    is_response = quantity == "response"
    values = (1e3 * result.response()) if is_response else result.throughput()
    middle, low, high = values
    x = result.clients.tolist()
    band = {"line": {"width": 0}, "fill": "toself", "fillcolor": f"{theme.blue}33", "hoverinfo": "skip"}
    traces = [
        line([*x, *x[::-1]], [*high, *low[::-1]], "90 % band", theme.blue, **band),
        line(x, middle, "predicted", theme.blue),
        line([users, users], [0, float(high.max())], f"{users:g} users", theme.red, line={"dash": "dot"}),
    ]
    if result.knee.estimate is not None and result.knee.estimate <= x[-1]:
        knee = result.knee.estimate
        height = [0, float(np.max(middle))]
        traces.append(line([knee, knee], height, f"knee: {knee:.3g} users", theme.orange, line={"dash": "dashdot"}))
    title = "response time (ms)" if is_response else "transactions a second"
    layout = theme.layout("users", title, xaxis={"fixedrange": True}, yaxis={"fixedrange": True})
    return {"data": traces, "layout": layout}
