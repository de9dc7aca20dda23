"""The few figures that stand on top of a page: the knees, the peak and the idle latency of a fit, with intervals."""

from __future__ import annotations

from calibrate.fitting.answer import idle_figure, knee_figure, knee_word, peak_figure
from calibrate.fitting.fit import Fit
from calibrate.report.view import KeyFigure


def key_figures(fit: Fit) -> list[KeyFigure]:
    """Those that are known."""
    load, word = fit.load_type, knee_word(fit)
    doubt = "" if word == "sure" else f" ({word})"
    knee = "bandwidth at the knee" if load.is_memory else "arrivals at the knee"
    peak, idle = "peak throughput", "latency of one request alone"
    found = [(knee_figure(fit), f"{f'{load.noun} where queueing starts' if load.is_closed else knee}{doubt}")]
    if load.is_closed:
        found.append((knee_figure(fit, knee=fit.ninety), f"{load.noun} with 90 % of the peak"))
    if load.is_memory:
        peak, idle = "peak bandwidth of the memory", "idle latency of the memory"
    return [
        key_figure(text, what) for text, what in (*found, (peak_figure(fit), peak), (idle_figure(fit), idle)) if text
    ]


def key_figure(text: str, what: str) -> KeyFigure:
    """``73 k/s (54 to 423)``, its interval apart."""
    value, _, interval = text.partition(" (")
    return KeyFigure(value, interval.removesuffix(")"), what)
