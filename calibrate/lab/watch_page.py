"""The page Watch: throughput, response time and Little's law of one device, each second."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from calibrate.lab.widgets import KEPT, Theme, choice, graph, line, page, theme_of, waited_for
from calibrate.report.drawing import latency_axis, throughput_axis
from calibrate.watched import WatchedCurves, place
from measure.errors import MeasureError
from measure.formats.block_device_counts import DeviceInterval, pooled
from measure.units import format_duration, format_rate, plain_number
from measure.watching import Lost, counters_now, watch

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit

SHOWN = 60  # the seconds that are remembered
FORGOTTEN_S = 30.0  # seconds without a request after which a device is no longer watched


@dataclass
class LookedAt:
    """The intervals of one device, the time of the last request, and why watching ended ("" while it goes on)."""

    seen: deque[DeviceInterval] = field(default_factory=lambda: deque(maxlen=SHOWN))
    curves: WatchedCurves = field(default_factory=WatchedCurves)
    asked_s: float = 0.0
    ended: str = ""


class WatchedDevices:
    """Watches each requested device every second, as ``qsim watch`` does."""

    def __init__(self, look: Callable[[list[str]], Iterator[list[DeviceInterval | Lost]]] = watch) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._devices: dict[str, LookedAt] = {}

    def names(self) -> list[str]:
        """The devices that did anything since this machine started, the busiest first. MeasureError where none is
        counted."""
        used = {name: c.reads + c.writes for name, c in counters_now().items() if c.reads + c.writes}
        return sorted(used, key=lambda name: -used[name])

    def of(self, device: str) -> LookedAt:
        """The intervals of a device; the first request starts watching."""
        with self._lock:
            found = self._devices.get(device)
            if found is None or found.ended:
                found = self._devices[device] = LookedAt()
                threading.Thread(target=self._watch, args=(device, found), name=f"watch {device}", daemon=True).start()
            found.asked_s = time.monotonic()
            return found

    def _watch(self, device: str, into: LookedAt) -> None:
        for looked in self._look([device]):
            for one in looked:
                if isinstance(one, DeviceInterval):
                    into.curves.add(one)
                    into.seen.append(one)
            if time.monotonic() - into.asked_s > FORGOTTEN_S:
                break
        into.ended = f"{device} is watched no longer"


_Figures = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
EVERY_MS, SPOKEN_OF = 1000, 10
QUIET = "The device is idle: start a run on the disk in Run, or copy a large file, and look here again."
LAW = (
    "N = X R: the mean number of requests in the device is its throughput times its response time. The kernel counts "
    "each completed request and its time, which gives X R; how many are in the device is looked up 50 times a second, "
    "which gives N. Where other programs keep the processors busy, looks come late and N scatters."
)
PLOTS = {
    "little": "outstanding requests, both sides of Little's law",
    "throughput": "throughput",
    "response": "response time",
}


def layout(watched: WatchedDevices) -> Component:
    """The page; a line says so where this system has no counters."""
    try:
        names, problem = watched.names(), ""
    except MeasureError as error:
        names, problem = [], str(error)
    controls = [
        *choice("watch-device", "Device", names, next(iter(names), None), **KEPT),
        html.P(LAW, className="weak"),
        html.P(problem, id="watch-problem", className="problem", role="alert"),
        dcc.Interval(id="watch-clock", interval=EVERY_MS, disabled=not names),
    ]
    plots = [graph(f"watch-{name}", what) for name, what in PLOTS.items()] if names else []
    return page("Watch", controls, [waited_for(html.P(id="watch-shown", role="status")), *plots])


def register(app: Dash, watched: WatchedDevices) -> None:
    """The page's callback."""
    app.callback(
        Output("watch-shown", "children"),
        *(Output(f"watch-{name}", "figure") for name in PLOTS),
        Input("watch-clock", "n_intervals"),
        Input("watch-device", "value"),
        Input("theme", "data"),
    )(lambda _, device, theme: shown(watched, device, theme_of(theme)))


def shown(watched: WatchedDevices, device: object, theme: Theme) -> tuple[str, *_Figures]:
    """The sentence of the last second, and the figures of those before it."""
    if device not in watched.names():
        return "Choose a device.", *figures([], theme)
    found = watched.of(str(device))
    seen = list(found.seen)
    return sentence(seen, found.curves.curve(seen[-1]) if seen else None), *figures(seen, theme)


def sentence(seen: Sequence[DeviceInterval], curve: Fit | None = None) -> str:
    """Little's law of the last seconds in numbers, and where the device is on its ``curve``."""
    if not seen:
        return "Looking: the first second is not over yet."
    now = pooled(seen[-SPOKEN_OF:])
    if not now.requests:
        return QUIET
    return (
        f"{now.device}: {format_rate(now.throughput_per_s)} × {format_duration(now.response_time_s)} = "
        f"{plain_number(now.outstanding, 2)} outstanding by Little's law, and {plain_number(now.in_flight, 2)} were "
        f"seen in the device, in the last {now.seconds:.0f} s ({place(now, curve)})."
    )


def figures(seen: Sequence[DeviceInterval], theme: Theme) -> _Figures:
    """Outstanding requests by both sides of Little's law, throughput, and response time, against the seconds ago."""
    ago = np.cumsum([0.0, *(-i.seconds for i in reversed(seen[1:]))])[::-1][: len(seen)]
    rate = np.array([i.throughput_per_s for i in seen])
    time = np.array([i.response_time_s for i in seen])
    x_axis = throughput_axis(np.append(rate, 1.0))
    r_axis = latency_axis(time if np.isfinite(time).any() else np.array([1e-6]))
    little = [
        line(ago, [i.outstanding for i in seen], "X R, of the requests completed", theme.blue),
        line(ago, [i.in_flight for i in seen], "N, as seen in the device", theme.red, line={"dash": "dash"}),
    ]

    def figure(curves: list[dict[str, Any]], title: str) -> dict[str, Any]:
        return {"data": curves, "layout": theme.layout("seconds ago", title, xaxis={"range": [-SHOWN, 0]})}

    return (
        figure(little, "outstanding requests"),
        figure([line(ago, x_axis.of(rate), "throughput", theme.green)], x_axis.title),
        figure([line(ago, r_axis.of(time), "response time", theme.purple)], r_axis.title),
    )
