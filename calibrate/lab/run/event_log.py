"""The files of a run, and what happened in it: a list of numbered events, in one order for everybody."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.errors import StoreError

ORDER = "order.json"
EVENTS = "events.jsonl"
SWEEP = "sweep"
GUESSES = "guesses.jsonl"
PREDICTION = "prediction.json"
RESULT = "result.json"
REPORT = "report.html"
MOST_AT_ONCE = 500

Event = Mapping[str, Any]


class EventLog:
    """Events are dictionaries with ``seq`` (0, 1, ...), ``at`` (ISO 8601, UTC) and ``kind``, and never change."""

    def __init__(self, path: Path) -> None:
        """The log in ``path``, with what is there already. StoreError where it cannot be read."""
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
