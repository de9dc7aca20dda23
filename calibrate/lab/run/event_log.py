"""The files of a run, and its numbered events, in one order for everybody.

The measuring process reports to the lab with one JSON object a line, on its standard output.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from calibrate.fitting.calibrating import fit
from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_file import with_origin
from calibrate.fitting.own_load import own_curve
from calibrate.fitting.predicted_curve import grid
from calibrate.lab.run.known_queue import in_numbers, predicted_curve
from calibrate.lab.run.orders import Order
from calibrate.next import ENOUGH, recommended, to_begin_with
from calibrate.sealing import seal
from measure import load
from measure.errors import DataError, StoreError
from measure.fio.plan import FioPoint
from measure.loads import ClosedLoad
from measure.sweep import Sweep

ORDER = "order.json"
EVENTS = "events.jsonl"
SWEEP = "sweep"
CLOSED = "closed"
GUESSES = "guesses.jsonl"
PREDICTION = "prediction.json"
RESULT = "result.json"
REPORT = "report.html"
MOST_AT_ONCE = 500

Event = Mapping[str, Any]


class EventLog:
    """Events are dictionaries with ``seq`` (0, 1, ...), ``at`` (ISO 8601, UTC) and ``kind``, and never change."""

    def __init__(self, path: Path) -> None:
        """The log in ``path``, with its existing events. StoreError where it cannot be read."""
        self._path = path
        self._lock = threading.Lock()
        self._events: list[Event] = _read(path)

    def add(self, kind: str, **values: Any) -> Event:
        """Append an event; it is in the file before anybody sees it. StoreError where it cannot be written."""
        with self._lock:
            event = {
                "seq": len(self._events),
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "kind": kind,
                **values,
            }
            text = json.dumps(event, allow_nan=False) + "\n"
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                raise StoreError(f"{self._path} cannot be written: {error.strerror or error}") from error
            self._events.append(event)
            return event

    def since(self, first: int = 0) -> Sequence[Event]:
        """The events numbered ``first`` and above, at most some hundred at once."""
        return self._events[max(0, first) : max(0, first) + MOST_AT_ONCE]

    def of_kind(self, *kinds: str) -> list[Event]:
        """All events of these kinds, in order."""
        return [e for e in self._events if e["kind"] in kinds]


def _read(path: Path) -> list[Event]:
    """The events in a file. A last line that a kill cut short is dropped, and the file with it put right."""
    if not path.exists():
        return []
    try:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        events: list[Event] = []
        for number, line in enumerate(lines):
            if number == len(lines) - 1 and not line.endswith("\n"):
                path.write_text("".join(lines[:-1]), "utf-8")
                break
            events.append(json.loads(line))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}); move its folder away and start the lab again") from error
    return events


PROGRESS_S = 0.3
DRAWN = 80
RAMP_S, POINT_S = 0.3, 1.0  # how long a point runs before it is counted, and then

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
            left_s = seconds_left + later * (POINT_S + RAMP_S)
            share = (now_s - self._began_s) / (now_s - self._began_s + left_s + RAMP_S)
            running = [[n, x] for n, x in self._running.items() if n not in self.loads]
            self.send("progress", text=text, seconds_left=round(left_s, 1), share=round(share, 3), running=running)

    def add(self, sweep: Sweep) -> None:
        """Send the points that were not sent yet, and seal the prediction once the first ones are all there."""
        asked = sweep.points["asked_rate_per_s" if self.order.is_queue else "load"]
        for wanted, row in zip(asked, sweep.points.to_dict("records"), strict=True):
            if (key := (float(wanted), int(row["repeat"]))) not in self._sent:
                self._sent.add(key)
                values = {name: float(row[name]) for name in ("throughput_per_s", "latency_s")}
                self.send("point", load=key[0], repeat=key[1], **values, **self._queue(row))
        first = first_loads(self.order)
        if not (self.order.is_queue or self.is_sealed) and set(first) <= set(sweep.points["load"]):
            self.seal(with_origin(fit(sweep, first), sweep))

    @property
    def is_sealed(self) -> bool:
        """Whether the prediction of this run is sealed."""
        return (self.directory / PREDICTION).exists()

    def seal(self, fitted: Fit) -> None:
        """Seal what a fit predicts of the loads, and send the curve."""
        self.send("progress", text="the model works out its curve", seconds_left=0.0)
        if self.order.is_queue:
            made = seal([fitted], [fitted.used], self.directory / PREDICTION)
            curve = predicted_curve(self.order, fitted).to_dicts()
        else:
            made = seal([fitted], [self.order.loads], self.directory / PREDICTION)
            curve = own_curve(fitted, grid(min(self.order.loads), max(self.order.loads), DRAWN)).to_dicts()
        self.send(
            "sealed", sha256=made.sha256, made_at=made.made_at, used=list(fitted.used), model=fitted.model, curve=curve
        )

    def _queue(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        """What a point of a known queue says besides."""
        if not self.order.is_queue:
            return {}
        return {"queue": in_numbers(self.order, row["throughput_per_s"], row["latency_s"], row["requests"])}


def first_loads(order: Order) -> tuple[float, ...]:
    """The loads on which the model is calibrated: two depths, or the delays that are recommended to begin with.

    Of six or more delays a fourth lies between the shortest and the middle, near the bend of most memories: a run whose
    prediction is sealed before the rest cannot wait for :func:`calibrate.next.fourth_point`.
    """
    loads = order.loads
    if isinstance(order.load_type, ClosedLoad):
        return tuple(recommended(loads, 2))
    if len(loads) >= ENOUGH:
        return tuple(sorted({loads[0], loads[len(loads) // 4], loads[len(loads) // 2], loads[-1]}))
    return tuple(to_begin_with(order.load_type, loads))
