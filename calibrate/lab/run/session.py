"""A run: its guesses, its measurement in a separate process, its log, which every browser follows; and all runs."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast, get_args

from calibrate.lab.folder import LabFolder
from calibrate.lab.run.duel import Guess, Judged, looks, outcome, ranked
from calibrate.lab.run.event_log import EVENTS, GUESSES, ORDER, REPORT, RESULT, Event, EventLog
from calibrate.lab.run.known_queue import curve
from calibrate.lab.run.orders import Order, order_for
from measure.errors import MeasureError, StoreError
from measure.machine.process import run_tool
from qsim.errors import InvalidParameterError

Phase = Literal["open", "running", "stopped", "failed", "measured", "revealed"]
_PHASES = {"opened": "open", "started": "running"} | {kind: kind for kind in get_args(Phase)}
"""The phase that begins with an event of a kind."""
_FROM_WORKER = ("point", "sealed", "measured", "progress")
MOST_GUESSES, MOST_TRIES, MOST_REMOVED = 500, 10, 2
"""Guesses that stand in a run, how often a session may seal one in a run, and how often the teacher takes its guess
back before no more are taken."""
TIME_LIMIT_S = 3600.0
GRACE_S = 10.0


class RefusedError(Exception):
    """An action that is not possible now; the message says why, in the viewer's words."""


class _StopAskedError(Exception):
    """The teacher stopped the measurement, or the lab ends."""


class LabRun:
    """A run kept in ``directory``; every method may be called by several threads."""

    def __init__(self, directory: Path) -> None:
        """The run that is in ``directory``. StoreError where it cannot be read."""
        self.directory = directory
        self.order = Order.read(directory / ORDER)
        self.log = EventLog(directory / EVENTS)
        secret = directory / GUESSES
        secret.touch(0o600)
        self._secret = EventLog(secret)
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.progress: dict[str, Any] = {}
        self.trouble = ""  # why a measurement ended, where the log could not be written
        if self.phase == "running":
            self.log.add("stopped", why="the lab was closed while it measured")

    @classmethod
    def begin(cls, directory: Path, order: Order) -> LabRun:
        """A new run, open for guesses. StoreError where it cannot be written."""
        order.write(directory / ORDER)
        EventLog(directory / EVENTS).add(
            "opened",
            label=order.label,
            load_kind=order.load_type.kind,
            load_name=order.load_name,
            loads=list(order.loads),
            quantity=order.quantity,
            question=order.question,
            rule=order.rule,
            **({"theory": curve(order)} if order.is_queue else {}),
        )
        return cls(directory)

    @property
    def name(self) -> str:
        """By which a browser knows it."""
        return self.directory.name

    @property
    def phase(self) -> Phase:
        """Where it stands."""
        if self.trouble:
            return "failed"
        return cast(Phase, _PHASES[self.log.of_kind(*_PHASES)[-1]["kind"]])

    def standing(self) -> list[Event]:
        """The sealed guesses that were not taken back, in order, with their secrets."""
        gone = {e["commitment"] for e in self.log.of_kind("taken_back")}
        return [e for e in self._secret.of_kind("guess") if e["commitment"] not in gone]

    def guess(self, name: object, load: object, session: str) -> Event:
        """Seal the guess of a browser's ``session``; the event that everybody sees, with how the name looks.

        RefusedError where it cannot be taken, comes too late, or the session or the name has a guess already.
        """
        try:
            made = Guess.sealed(name, load)
        except InvalidParameterError as error:
            raise RefusedError(str(error)) from error
        with self._lock:
            self._check_open()
            standing = self.standing()
            if any(e["session"] == session for e in standing):
                raise RefusedError("this browser has sealed a guess already; take it back to guess again")
            if any(e["guess"]["name"].casefold() == made.name.casefold() for e in standing):
                raise RefusedError(f"{made.name} has sealed a guess already; take another name")
            if len(standing) >= MOST_GUESSES:
                raise RefusedError("no more guesses are taken; the teacher can take some back")
            self._check_tries(session)
            self._secret.add("guess", guess=asdict(made), commitment=made.commitment, session=session)
            return self.log.add("guess", name=made.name, commitment=made.commitment, looks=looks(made.name))

    def take_back(self, session: str) -> None:
        """Take back the guess of a browser's session. RefusedError where there is none."""
        with self._lock:
            self._check_open()
            self._withdraw([e["commitment"] for e in self.standing() if e["session"] == session])

    def remove(self, chosen: object, *, between: bool = False) -> None:
        """Take back the guesses whose events have the numbers ``chosen``, or all from the first of these to the last.

        It is for the teacher. RefusedError where none of them stands.
        """
        numbers = [n for n in chosen if isinstance(n, int)] if isinstance(chosen, list) else []
        with self._lock:
            self._check_open()
            meant = range(min(numbers), max(numbers) + 1) if between and numbers else numbers
            standing = {e["commitment"] for e in self.standing()}
            asked = (e["commitment"] for e in self.log.of_kind("guess") if e["seq"] in meant)
            self._withdraw([c for c in asked if c in standing], by="teacher")

    def start(self) -> None:
        """Begin to measure, or go on. RefusedError where that cannot be."""
        with self._lock:
            if self.phase not in ("open", "stopped", "failed"):
                raise RefusedError("this run cannot be started (any more)")
            self._stop.clear()
            self.trouble = ""
            self.progress = {"text": "getting the tools ready"}
            self.log.add("started", resumed=bool(self.log.of_kind("point")))
            self._thread = threading.Thread(target=self._measure, name=f"run {self.name}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop measuring and wait until that is done; finished points stay."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2 * GRACE_S)

    def reveal(self) -> None:
        """Open the guesses and rank them. RefusedError before all is measured."""
        with self._lock:
            if self.phase != "measured":
                raise RefusedError("there is nothing to reveal yet: let the run finish first")
            try:
                result = json.loads((self.directory / RESULT).read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StoreError(f"the result of the run cannot be read: {error}; resume the run") from error
            judged = Judged(**result["judged"])
            rows = ranked([Guess(**e["guess"]) for e in self.standing()], result["model"], judged)
            board = [asdict(row) for row in rows]
            self.log.add("revealed", **result, leaderboard=board, outcome=outcome(self.order, rows, judged))

    @property
    def revealed(self) -> Event | None:
        """What the reveal showed; None before."""
        return next(iter(self.log.of_kind("revealed")), None)

    @property
    def report(self) -> Path | None:
        """The report's file once everything is revealed, None before."""
        path = self.directory / REPORT
        return path if self.phase == "revealed" and path.is_file() else None

    def _check_open(self) -> None:
        if self.phase != "open":
            raise RefusedError("guesses are closed: the measurement has begun")

    def _check_tries(self, session: str) -> None:
        """RefusedError where a session has sealed as often as it may, or the teacher took its guesses back."""
        own = {e["commitment"] for e in self._secret.of_kind("guess") if e["session"] == session}
        if len(own) >= MOST_TRIES:
            raise RefusedError(f"this browser has sealed {MOST_TRIES} guesses in this run; no more are taken")
        removed = [e for e in self.log.of_kind("taken_back") if e.get("by") == "teacher" and e["commitment"] in own]
        if len(removed) >= MOST_REMOVED:
            raise RefusedError(f"the teacher took back {MOST_REMOVED} guesses of this browser; no more are taken")

    def _withdraw(self, commitments: Sequence[str], by: str = "") -> None:
        if not commitments:
            raise RefusedError("there is no guess to take back")
        for commitment in commitments:
            self.log.add("taken_back", commitment=commitment, by=by)

    def _measure(self) -> None:
        """The thread of the measurement; the process it starts must not outlive it."""
        try:
            self._measure_to_the_end()
        finally:
            if self.phase == "running":
                self.trouble = f"the measurement ended, and {self.directory / EVENTS} could not be written"

    def _measure_to_the_end(self) -> None:
        """Run the measuring process to its end, and log its result. StoreError where the log cannot be written."""
        rest = b""

        def feed(chunk: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._hear(line)

        argv = [sys.executable, "-m", "calibrate.lab.run.worker", str(self.directory)]
        try:
            finished = run_tool(argv, TIME_LIMIT_S, on_output=feed, on_tick=self._check, grace_s=GRACE_S)
        except _StopAskedError:
            ended, why = "stopped", ""
        except MeasureError as error:
            ended, why = "failed", str(error)
        else:
            ended, why = "failed", _why(finished.stderr, finished.returncode, timed_out=finished.timed_out)
        if self.phase == "running":  # else it was measured, whatever came after
            self.log.add(ended, why=why)

    def _check(self, _elapsed_s: float) -> None:
        if self._stop.is_set():
            raise _StopAskedError

    def _hear(self, line: bytes) -> None:
        """A line of the measuring process; other output is ignored."""
        try:
            message = json.loads(line)
            kind = message.pop("kind")
        except (ValueError, KeyError, AttributeError, TypeError):
            return
        if kind == "progress":
            self.progress = message
        elif kind in _FROM_WORKER:
            self.log.add(kind, **message)


class RunTable:
    """The runs of a lab; the last one is what every browser sees. Methods may be called by several threads."""

    def __init__(self, folder: LabFolder) -> None:
        """The runs stored in ``folder``. StoreError where the last one cannot be read."""
        self.folder = folder
        self._lock = threading.Lock()
        kept = [d for d in folder.run_directories() if (d / ORDER).exists() and (d / EVENTS).exists()]
        self.current = LabRun(kept[-1]) if kept else None  # the run that everybody sees; None before the first

    def running(self) -> LabRun:
        """The current run. RefusedError where there is none yet."""
        if self.current is None:
            raise RefusedError("there is no run yet: the teacher opens one")
        return self.current

    def open(self, device: object) -> LabRun:
        """Start a new run, open for guesses. RefusedError while one measures, MeasureError otherwise."""
        with self._lock:
            if self.current is not None and self.current.phase == "running":
                raise RefusedError("a measurement is running; stop it first")
            order = order_for(self.folder, device)
            self.current = LabRun.begin(self.folder.new_run(), order)
            return self.current

    def news(self, run_name: str, first: int) -> dict[str, Any]:
        """What a browser asks for twice a second: the events from ``first`` on, of the current run from its beginning
        where the browser knows another one. JSON-ready."""
        run = self.current
        if run is None:
            return {"run": "", "phase": "", "events": [], "progress": {}, "trouble": ""}
        events = run.log.since(first if run_name == run.name else 0)
        return {
            "run": run.name,
            "phase": run.phase,
            "events": list(events),
            "progress": run.progress if run.phase == "running" else {},
            "trouble": run.trouble,
        }

    def close(self) -> None:
        """Stop the measurement."""
        if self.current is not None:
            self.current.stop()


def _why(stderr: bytes, returncode: int, *, timed_out: bool) -> str:
    if timed_out:
        return f"it took longer than {TIME_LIMIT_S / 60:g} minutes and was stopped"
    said = stderr.decode("utf-8", "replace").strip().splitlines()
    if returncode < 0:
        return f"the measurement was killed (signal {-returncode}); resume to measure the rest"
    return said[-1] if said else f"the measurement ended with exit code {returncode}"
