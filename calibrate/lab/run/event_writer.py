"""What the measuring process reports to the lab: one JSON object a line, on its standard output."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from calibrate.fitting.fit import fit
from calibrate.fitting.fit_file import with_origin
from calibrate.fitting.predicted_curve import grid, predict
from calibrate.lab.run.event_log import PREDICTION, SWEEP
from calibrate.lab.run.orders import Order
from calibrate.next import ENOUGH, recommended, to_begin_with
from calibrate.sealing import seal
from measure import load
from measure.errors import DataError
from measure.fio.plan import FioPoint
from measure.sweep import Sweep

PROGRESS_S = 0.3
DRAWN = 80
RAMP_S = 0.3

Write = Callable[[str], object]
Key = tuple[float, int]


class EventWriter:
    """Reports each point once, and seals the model's prediction when the first points are there."""

    def __init__(self, order: Order, directory: Path, sent: Collection[Key], write: Write) -> None:
        """``sent`` are the points (load, repeat) that earlier processes of this run reported."""
        self.order = order
        self.directory = directory
        self.sweep_directory = directory / SWEEP
        self._sent = set(sent)
        self._write = write
        self._done = -1
        self._last_s = 0.0
        self._began_s = time.monotonic()
        self._running: dict[float, float] = {}

    @property
    def loads(self) -> set[float]:
        """The loads whose points were sent."""
        return {load for load, _ in self._sent}

    def send(self, kind: str, **values: Any) -> None:
        """One line."""
        self._write(json.dumps({"kind": kind, **values}, allow_nan=False) + "\n")

    def watch(self, point: FioPoint, throughput_per_s: float) -> None:
        """What fio measures until now, of points that it prints at its end: the next progress shows it."""
        self._running[float(point.job.outstanding)] = throughput_per_s

    def progress(self, done: int, total: int, seconds_left: float, text: str) -> None:
        """What a measurement calls now and then; new points are sent as soon as they are stored.

        The loads that this measurement does not know of yet, since the first points come first, are added to what is
        left.
        """
        if done != self._done:
            self._done = done
            with suppress(DataError):  # no finished point yet
                self.add(load(self.sweep_directory))
        now_s = time.monotonic()
        if done < total and now_s - self._last_s >= PROGRESS_S:
            self._last_s = now_s
            later = max(0, len(set(self.order.loads) - self.loads) - (total - done))
            left_s = seconds_left + later * (self.order.seconds_per_point + RAMP_S)
            share = (now_s - self._began_s) / (now_s - self._began_s + left_s + RAMP_S)
            running = [[n, x] for n, x in self._running.items() if n not in self.loads]
            self.send("progress", text=text, seconds_left=round(left_s, 1), share=round(share, 3), running=running)

    def add(self, sweep: Sweep) -> None:
        """Send the points that were not sent yet, and seal the prediction once the first ones are all there."""
        columns = ["load", "repeat", "throughput_per_s", "latency_s"]
        for load_n, repeat, throughput, latency in sweep.points[columns].itertuples(index=False):
            if (key := (float(load_n), int(repeat))) not in self._sent:
                self._sent.add(key)
                values = {"throughput_per_s": float(throughput), "latency_s": float(latency)}
                self.send("point", load=key[0], repeat=key[1], **values)
        first = first_loads(self.order)
        if (self.directory / PREDICTION).exists() or not set(first) <= set(sweep.points["load"]):
            return
        self.send("progress", text="the model works out its curve", seconds_left=0.0)
        fitted = with_origin(fit(sweep, first), sweep)
        made = seal([fitted], [self.order.loads], self.directory / PREDICTION)
        curve = predict(fitted, grid(min(self.order.loads), max(self.order.loads), DRAWN)).to_dicts()
        self.send(
            "sealed", sha256=made.sha256, made_at=made.made_at, used=list(fitted.used), model=fitted.model, curve=curve
        )


def first_loads(order: Order) -> tuple[float, ...]:
    """The loads on which the model is calibrated: two depths, or the delays that are recommended to begin with.

    Of six or more delays a fourth lies between the shortest and the middle, near the bend of most memories: a run whose
    prediction is sealed before the rest cannot wait for :func:`calibrate.next.fourth_point`.
    """
    loads = order.loads
    if order.load_type.is_closed:
        return tuple(recommended(loads, 2))
    if len(loads) >= ENOUGH:
        return tuple(sorted({loads[0], loads[len(loads) // 4], loads[len(loads) // 2], loads[-1]}))
    return tuple(to_begin_with(order.load_kind, loads))
