"""What the whole class looks at: the current run, and the runs before it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from calibrate.lab.folder import LabFolder
from calibrate.lab.run.files import EVENTS, ORDER
from calibrate.lab.run.orders import order_for
from calibrate.lab.run.session import LabRun, RefusedError


class RunTable:
    """The runs of a lab; the last one is what every browser sees. Methods may be called by several threads."""

    def __init__(self, folder: LabFolder) -> None:
        """The runs stored in ``folder``. StoreError where the last one cannot be read."""
        self.folder = folder
        self._lock = threading.Lock()
        kept = [d for d in folder.run_directories() if (d / ORDER).exists() and (d / EVENTS).exists()]
        self._current: LabRun | None = LabRun(kept[-1]) if kept else None

    @property
    def current(self) -> LabRun | None:
        """The run that everybody sees; None before the first."""
        return self._current

    def running(self) -> LabRun:
        """The current run. RefusedError where there is none yet."""
        if self._current is None:
            raise RefusedError("there is no run yet: the teacher opens one")
        return self._current

    def open(self, device: object, series: object, seconds_per_point: object, *, curve_hidden: bool = False) -> LabRun:
        """A new run of what was chosen, open for guesses. RefusedError while one measures, MeasureError otherwise."""
        with self._lock:
            if self._current is not None and self._current.phase == "running":
                raise RefusedError("a measurement is running; stop it first")
            order = replace(order_for(self.folder, device, series, seconds_per_point), curve_hidden=curve_hidden)
            self._current = LabRun.begin(self.folder.new_run(), order)
            return self._current

    def told(self, run_name: str, first: int) -> dict[str, Any]:
        """What a browser asks for twice a second: the events from ``first`` on, of the current run from its beginning
        where the browser knows another one. JSON-ready."""
        run = self._current
        if run is None:
            return {"run": "", "phase": "", "events": [], "progress": {}, "trouble": ""}
        events = run.log.since(first if run_name == run.name else 0)
        return {"run": run.name, "phase": run.phase, "events": list(events),
                "progress": run.progress if run.phase == "running" else {}, "trouble": run.trouble}  # fmt: skip

    def close(self) -> None:
        """Stop what is measuring."""
        if self._current is not None:
            self._current.stop()
