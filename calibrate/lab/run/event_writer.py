"""What the measuring process reports to the lab: one JSON object a line, on its standard output."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from calibrate.fitting.curve_fit import fit
from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_file import with_origin
from calibrate.fitting.predicted_curve import grid, predict
from calibrate.lab.run.event_log import PREDICTION, SWEEP
from calibrate.lab.run.orders import Order
from calibrate.next.load import ENOUGH, recommended, to_begin_with
from calibrate.sealing.sealed_prediction import seal
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
        self._sent = set(sent)
        self._write = write
        self._done = -1
        self._last_s = 0.0
        self._began_s = time.monotonic()
        self._loads = {load for load, _ in sent}
        self._running: dict[float, float] = {}

    @property
    def sweep_directory(self) -> Path:
        """The directory of the points."""
        return self.directory / SWEEP

    @property
    def sealed(self) -> bool:
        """Whether the model has sealed its prediction."""
        return (self.directory / PREDICTION).exists()

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
            self.kept()
        now_s = time.monotonic()
        if done < total and now_s - self._last_s >= PROGRESS_S:
            self._last_s = now_s
            later = max(0, len(set(self.order.loads) - self._loads) - (total - done))
            left_s = seconds_left + later * (self.order.seconds_per_point + RAMP_S)
            share = (now_s - self._began_s) / (now_s - self._began_s + left_s + RAMP_S)
            running = [[n, x] for n, x in self._running.items() if n not in self._loads]
            self.send("progress", text=text, seconds_left=round(left_s, 1), share=round(share, 3), running=running)

    def kept(self) -> None:
        """Report what is new in the sweep's directory, and seal once the first points are complete."""
        try:
            sweep = load(self.sweep_directory)
        except DataError:  # no finished point yet
            return
        self.points(sweep)
        self.seal(sweep)

    def has(self, load: float) -> bool:
        """Whether a point at this load was sent."""
        return load in self._loads

    def points(self, sweep: Sweep) -> None:
        """Send the points that were not sent yet."""
        for row in sweep.points.to_dict("records"):
            key = (float(row["load"]), int(row["repeat"]))
            if key not in self._sent:
                self._sent.add(key)
                self._loads.add(key[0])
                self.send(
                    "point",
                    load=key[0],
                    repeat=key[1],
                    throughput_per_s=float(row["throughput_per_s"]),
                    latency_s=float(row["latency_s"]),
                )

    def seal(self, sweep: Sweep) -> None:
        """Seal what the model predicts from the first points, as soon as these are all there."""
        here = {float(n) for n in sweep.points["load"]}
        first = first_loads(self.order)
        if self.sealed or not set(first) <= here:
            return
        self.send("progress", text="the model works out its curve", seconds_left=0.0)
        fitted = with_origin(fit(sweep, first), sweep)
        made = seal([fitted], [self.order.loads], self.directory / PREDICTION)
        self.send(
            "sealed",
            sha256=made.sha256,
            made_at=made.made_at,
            used=list(fitted.used),
            model=fitted.model,
            curve=drawn_curve(fitted, self.order),
        )


def drawn_curve(fitted: Fit, order: Order) -> list[dict[str, float]]:
    """The curve of ``fitted`` over the loads of ``order``, fine enough to be drawn; JSON-ready."""
    low, high = min(order.loads), max(order.loads)
    return predict(fitted, grid(low, high, DRAWN)).to_dicts()


def first_loads(order: Order) -> tuple[float, ...]:
    """The loads on which the model is calibrated: two depths, or the delays that are recommended to begin with.

    Of six or more delays a fourth lies between the shortest and the middle, near the bend of most memories: a run whose
    prediction is sealed before the rest cannot wait for :func:`calibrate.next.load.fourth_point`.
    """
    loads = order.loads
    if order.load_type.is_closed:
        return tuple(recommended(loads, 2))
    if len(loads) >= ENOUGH:
        return tuple(sorted({loads[0], loads[len(loads) // 4], loads[len(loads) // 2], loads[-1]}))
    return tuple(to_begin_with(order.load_kind, loads))
