"""The plots of Explore: four quantities with the operating point on them, N(t) of a sample path, and the states.

One colour is one thing on the page: blue the theory of the chosen system, green its runs, red where the student is,
orange the other system on the same arrivals, purple and light blue the device under other loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrate.lab.explore.path import ManyRuns, Rival, SampleStretch
from calibrate.lab.explore.settings import Settings
from calibrate.lab.explore.theory_curves import QUANTITIES, LoadCurve, Mark, TheoryCurves, thinking_time
from calibrate.lab.widgets import Theme, line, marks, picture
from qsim import Metrics

TOP_OF_OPEN = 0.93  # up to which utilization an open queue's curve is shown in full; beyond, it leaves the picture
QUICK = {"automargin": False, "fixedrange": True, "nticks": 6, "ticklabeloverflow": "allow"}
"""Margins that are given and not found, numbers that are not moved out of each other's way, few lines, and no zooming
(a finger shall scroll the page): an update must not be waited for."""
EARLY = 0.2  # the share of the x axis up to which the number at the operating point has no room on its left


def quantity_figure(curves: TheoryCurves, quantity: str, theme: Theme) -> dict[str, Any]:
    """One quantity against utilization or requests in flight."""
    values = curves.lines[quantity]
    traces = [line(curves.x, values, "theory", theme.blue)]
    dashed = {"dash": "dash", "width": 2}
    traces += [line(curves.x, b, "bounds", theme.line, line=dashed) for b in curves.bounds.get(quantity, ())]
    traces.append(_simulated(curves.simulated, quantity, theme))
    top = _top(curves, quantity)
    if curves.here is not None:
        here = curves.here.values[quantity][0]
        look = {"size": 18, "symbol": "diamond", "line": {"width": 2, "color": theme.ground}}
        traces.append(marks([curves.here.x], [here], f"here: {here:.4g}", theme.red, marker=look))
    layout = theme.layout(
        curves.x_title,
        QUANTITIES[quantity],
        yaxis={"range": [0, top], **QUICK},
        xaxis={"range": [0, curves.x[-1] * 1.02], **QUICK},
        shapes=[] if curves.knee is None else [_upright(curves.knee, theme.line)],
        annotations=_words(curves, quantity, theme),
        uirevision=quantity,
        showlegend=False,
        margin={"t": 12 if curves.knee is None else 34, "l": round(4.2 * theme.font_size)},
    )
    return {"data": traces, "layout": layout}


def path_figure(path: SampleStretch, mean: float | None, theme: Theme, rival: Rival | None = None) -> dict[str, Any]:
    """N(t) of a sample path, with its average, the theory's L (None where unknown), and another system."""
    times, counts = path.steps()
    traces = [line(times, counts, "N(t) of this run", theme.green, line={"shape": "hv", "width": 2})]
    if rival is not None:
        style = {"shape": "hv", "width": 2, "dash": "dot"}
        traces.append(line(*rival.path.steps(), rival.name, theme.orange, line=style))
    own = path.mean_present()
    traces.append(line([0, path.end], [own, own], f"its average: {own:.3g}", theme.green, line={"dash": "dot"}))
    return _over_time(traces, "number present N(t)", path.end, mean, theme)


def runs_figure(runs: ManyRuns, mean: float | None, theme: Theme) -> dict[str, Any]:
    """The running averages of N(t) of many runs, with the theory's L (None where there is none)."""
    thin = {"width": 1.2}
    traces = [
        line(runs.times, run, "average of N(t) so far, each run", theme.green, line=thin, opacity=0.6, showlegend=not i)
        for i, run in enumerate(runs.averages)
    ]
    return _over_time(traces, "average number present", float(runs.times[-1]), mean, theme)


def _over_time(
    traces: list[dict[str, Any]], title: str, end: float, mean: float | None, theme: Theme
) -> dict[str, Any]:
    """The traces with the theory's L up to ``end``."""
    if mean is not None:
        name, dashed = f"mean by theory: L = {mean:.3g}", {"dash": "dash"}
        traces = [*traces, line([0, end], [mean, mean], name, theme.blue, line=dashed)]
    margin = {"l": round(4.2 * theme.font_size)}
    return {"data": traces, "layout": theme.layout("time", title, xaxis=QUICK, yaxis=QUICK, margin=margin)}


def loads_figure(settings: Settings, loads: Mapping[str, LoadCurve], now: float | None, theme: Theme) -> dict[str, Any]:
    """Response time over throughput of one device under three kinds of load."""
    own = "open" if settings.is_open else "thinking" if settings.think_time > 0 else "closed"
    others = iter((theme.purple, theme.sky))
    dashes = {"open": "solid", "thinking": "dash", "closed": "dot"}
    looks = {kind: (theme.blue if kind == own else next(others), dash) for kind, dash in dashes.items()}
    traces = [
        line(load.throughput, load.response, load.name, looks[kind][0], line={"dash": looks[kind][1]})
        for kind, load in loads.items()
    ]
    found = {kind: load.here for kind, load in loads.items() if load.here is not None}
    for kind, here in found.items():
        look = {"size": 11, "line": {"width": 2, "color": theme.ground}}
        traces.append(marks([now or 0.0], [here], f"{kind}: {here:.4g}", looks[kind][0], marker=look, showlegend=False))
    peak = settings.servers / settings.service_time
    top = 1.2 * max([8 * settings.service_time, *found.values()])
    layout = theme.layout(
        "throughput X",
        "response time R",
        yaxis={"range": [0, top], **QUICK},
        xaxis={"range": [0, 1.08 * peak], **QUICK},
        shapes=[] if now is None else [_upright(now, theme.line)],
        margin={"l": round(4.2 * theme.font_size)},
    )
    return {"data": traces, "layout": layout}


def loads_compared(settings: Settings, loads: Mapping[str, LoadCurve], now: float | None) -> str:
    """What each load would see at one throughput."""
    if now is None:
        return (
            "No load is served faster than the servers can: an open queue above it grows, the others just wait longer."
        )
    service, think = settings.service_time, thinking_time(settings)
    parts = []
    if (strangers := loads["open"].here) is not None:
        parts.append(f"strangers see R = {strangers:.4g}")
    if (waited := loads["thinking"].here) is not None:
        parts.append(f"about {now * (waited + think):.2g} users who think for {think:.3g} see {waited:.4g}")
    if (closed := loads["closed"].here) is not None:
        parts.append(f"a closed test sees {closed:.4g}: it sends nothing while it waits, and hides the queue")
    else:
        parts.append(f"a closed test cannot be there: a lone request in flight makes X = {1 / service:.3g} already")
    return f"At X = {now:.4g}, {100 * now * service / settings.servers:.3g} % of the peak, {'; '.join(parts)}."


def _simulated(simulated: tuple[Mark, ...], quantity: str, theme: Theme) -> dict[str, Any]:
    values = [mark.values[quantity] for mark in simulated]
    error = {
        "type": "data",
        "symmetric": False,
        "array": [high - v for v, _, high in values],
        "arrayminus": [v - low for v, low, _ in values],
        "thickness": 2,
        "width": 6,
    }
    return marks(
        [m.x for m in simulated],
        [v for v, _, _ in values],
        "simulated, 95 %",
        theme.green,
        error_y=error,
        marker={"size": 10, "symbol": "circle-open", "line": {"width": 3}},
    )


def _top(curves: TheoryCurves, quantity: str) -> float:
    """Where the y axis ends: an open queue's curve grows without bound, and the operating point must stay visible."""
    values = curves.lines[quantity]
    shown = max(values)
    if curves.knee is None:
        shown = max(v for x, v in zip(curves.x, values, strict=True) if x <= TOP_OF_OPEN)
    here = 0.0 if curves.here is None else curves.here.values[quantity][0]
    return 1.08 * max(shown, here) or 1.0


def _words(curves: TheoryCurves, quantity: str, theme: Theme) -> list[dict[str, Any]]:
    """What is written into a plot: the value where the student is, and the knee above its line."""
    words: list[dict[str, Any]] = []
    if curves.here is not None:
        x, y = curves.here.x, curves.here.values[quantity][0]
        side = {"xanchor": "right", "xshift": -12} if x > EARLY * curves.x[-1] else {"xanchor": "left", "xshift": 12}
        look = {"bgcolor": theme.ground, "opacity": 0.9, "yshift": 6, "font": {"size": theme.font_size + 3}}
        words.append({"x": x, "y": y, "text": f"<b>{y:.4g}</b>", **side, **look})
    if curves.knee is not None:
        place = {"x": curves.knee, "y": 1, "yref": "paper"}
        words.append({**place, "text": f"N* = {curves.knee:.3g}", "font": {"color": theme.text}})
    return [{"showarrow": False, "yanchor": "bottom", **each} for each in words]


def _upright(x: float, colour: str) -> dict[str, Any]:
    look = {"color": colour, "width": 2, "dash": "dashdot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": look}


DRAWN = 6  # states in the diagram; the rest are dots
MOST_BARS, TAIL = 40, 0.005


def rates_of(settings: Settings, count: int = DRAWN) -> tuple[list[float], list[float]] | None:
    """Birth rates of the states 0, 1, ... and death rates of 1, 2, ...; None where the state is more than a number.

    A think time of 0 leaves one state alone: all are always there.
    """
    if settings.kind == "mg1" or (not settings.is_open and settings.think_time == 0):
        return None
    last = count if settings.is_open else min(count, settings.population)
    present = range(last)
    births = [
        settings.arrival_rate if settings.is_open else (settings.population - n) / settings.think_time for n in present
    ]
    return births, [min(n + 1, settings.servers) / settings.service_time for n in present]


def described(settings: Settings) -> str:
    """The diagram in words, for screen readers."""
    rates = rates_of(settings)
    if rates is None:
        if settings.kind == "mg1":
            return "Not a birth and death process: the time since the service began belongs to the state."
        return "All requests are always at the servers: nobody thinks."
    births, deaths = (", ".join(f"{r:.3g}" for r in values) for values in rates)
    return f"Number present 0, 1, 2, ...: up at rates {births}; down at rates {deaths}"


def diagram(settings: Settings, theme: Theme) -> str:
    """The diagram as an SVG in a data address; empty where there is none."""
    rates = rates_of(settings)
    if rates is None:
        return ""
    more = settings.is_open or settings.population > len(rates[0])
    return picture("states.svg.j2", births=rates[0], deaths=rates[1], more=more, theme=theme)


def probabilities(settings: Settings, metrics: Metrics) -> list[float]:
    """p(0), p(1), ... until little is left, or as long as a picture takes them."""
    most = MOST_BARS if settings.is_open else min(MOST_BARS, settings.population)
    found: list[float] = []
    while len(found) <= most and 1 - sum(found) > TAIL:
        found.append(float(metrics.p(len(found))))
    return found


def bars_figure(settings: Settings, metrics: Metrics, theme: Theme) -> dict[str, Any]:
    """p(n) as bars."""
    shown = probabilities(settings, metrics)
    bars = {"type": "bar", "x": list(range(len(shown))), "y": shown, "marker": {"color": theme.blue}, "name": "p(n)"}
    x, y = {"fixedrange": True, "zeroline": False}, {"fixedrange": True}
    layout = theme.layout("number present n", "probability p(n)", showlegend=False, xaxis=x, yaxis=y, margin={"t": 12})
    return {"data": [bars], "layout": layout}
