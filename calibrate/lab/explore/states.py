"""The states of a queue: the rates between them, drawn, and how likely each number present is."""

from __future__ import annotations

from typing import Any

from calibrate.lab.explore.settings import Settings
from calibrate.lab.widgets import Theme, picture
from qsim import Metrics

DRAWN = 6
"""States in the diagram; the rest are dots."""
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
    """The diagram in words, for who hears the page."""
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


def bars_figure(settings: Settings, metrics: Metrics | None, theme: Theme) -> dict[str, Any]:
    """p(n) as bars."""
    shown = [] if metrics is None else probabilities(settings, metrics)
    bars = {"type": "bar", "x": list(range(len(shown))), "y": shown, "marker": {"color": theme.blue}, "name": "p(n)"}
    x, y = {"fixedrange": True, "zeroline": False}, {"fixedrange": True}
    layout = theme.layout("number present n", "probability p(n)", showlegend=False, xaxis=x, yaxis=y, margin={"t": 12})
    return {"data": [bars], "layout": layout}
