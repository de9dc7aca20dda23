"""A run: its guesses, its measurement in a process of its own, its log, which every browser follows; and all runs."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from calibrate.lab.folder import LabFolder
from calibrate.lab.run.event_log import EVENTS, GUESSES, ORDER, REPORT, RESULT, TAKEN_BACK, TOLD, Event, EventLog
from calibrate.lab.run.orders import Order, order_for
from measure.errors import MeasureError, StoreError
from measure.machine.durable import write_durably
from measure.machine.process import run_tool

Phase = Literal["open", "running", "stopped", "failed", "measured", "revealed"]
_PHASES: dict[str, Phase] = {
    "opened": "open",
    "started": "running",
    "stopped": "stopped",
    "failed": "failed",
    "measured": "measured",
    "revealed": "revealed",
}
_TOLD_BY_WORKER = ("point", "sealed", "measured", "progress")
LONGEST_NAME, MOST_GUESSES, HIGHEST_KNEE = 40, 500, 1e9
TIME_LIMIT_S = 3600.0
GRACE_S = 10.0
MODEL_NAME = "qsim"


class RefusedError(Exception):
    """What a viewer asked for cannot be done now; the message says why, in the viewer's words."""


class _StopAskedError(Exception):
    """The teacher stopped the measurement, or the lab ends."""


class LabRun:
    """A run kept in ``directory``; every method may be called by several threads."""

    def __init__(self, directory: Path) -> None:
        """The run that is in ``directory``. StoreError where it cannot be read."""
        self.directory = directory
        self.order = Order.read(directory / ORDER)
        self.log = EventLog(directory / EVENTS)
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
            "opened", label=order.label, load_kind=order.load_kind, load_name=order.load_name, loads=list(order.loads)
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
        return _PHASES[str(self.log.of_kind(*_PHASES)[-1]["kind"])]

    def standing(self) -> list[Event]:
        """The guesses that were not taken back, in order."""
        gone = self._taken_back()
        return [e for e in self.log.of_kind("guess") if e["commitment"] not in gone]

    def guess(self, name: object, knee: object) -> tuple[Event, str]:
        """Seal a guess; its event, and the nonce by which alone its guesser can prove it.

        RefusedError where it is none, came too late, or the name has guessed already.
        """
        from calibrate.sealing.guesses import Guess, add_guess, read_guess

        who = _checked_name(name)
        if isinstance(knee, bool) or not isinstance(knee, int | float) or not 0 < knee <= HIGHEST_KNEE:
            raise RefusedError(f"the knee must be a number above 0, in {self.order.load_name}")
        with self._lock:
            if self.phase != "open":
                raise RefusedError("guesses are closed: the measurement has begun")
            if any(str(e["name"]).casefold() == who.casefold() for e in self.standing()):
                raise RefusedError(f"{who} has sealed a guess already; take it back first, or take another name")
            if len(self.log.of_kind("guess")) >= MOST_GUESSES:
                raise RefusedError(f"{MOST_GUESSES} guesses are sealed; no more are taken")
            own = self.directory / f"guesses.{secrets.token_hex(6)}.guess.json"
            gone = self._taken_back()
            entry, _ = add_guess(self.directory / GUESSES, Guess(who, float(knee)), own, gone)
            return self.log.add("guess", name=who, commitment=entry.commitment), read_guess(own)[1].hex()

    def take_back(self, name: object, knee: object, nonce: object) -> None:
        """Take back a guess that one sealed, which the knee and the nonce prove. RefusedError where they do not."""
        from calibrate.sealing.guesses import Guess, committed

        try:
            proof = committed(Guess(str(name), float(str(knee))), bytes.fromhex(str(nonce)))
        except ValueError as error:
            raise RefusedError("there is no guess of yours to take back") from error
        self._withdraw(lambda event: secrets.compare_digest(str(event["commitment"]), proof))

    def remove(self, name: object) -> None:
        """Take back anybody's guess, which is for the teacher. RefusedError where there is none by that name."""
        self._withdraw(lambda event: event["name"] == name)

    def start(self) -> None:
        """Begin to measure, or go on. RefusedError where that cannot be."""
        with self._lock:
            if self.phase not in ("open", "stopped", "failed"):
                raise RefusedError("this run cannot be started (any more)")
            told = [[e["load"], e["repeat"]] for e in self.log.of_kind("point")]
            try:
                write_durably(self.directory / TOLD, json.dumps(told).encode())
                write_durably(self.directory / TAKEN_BACK, json.dumps(sorted(self._taken_back())).encode())
            except OSError as error:
                raise StoreError(f"{self.directory} cannot be written: {error.strerror or error}") from error
            self._stop.clear()
            self.trouble = ""
            self.progress = {"text": "getting the tools ready"}
            self.log.add("started", resumed=bool(told))
            self._thread = threading.Thread(target=self._measure, name=f"run {self.name}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop measuring and wait until that is done; finished points stay."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2 * GRACE_S)

    def reveal(self) -> None:
        """Tell everybody what was sealed and what was measured. RefusedError before all is measured."""
        with self._lock:
            if self.phase != "measured":
                raise RefusedError("there is nothing to reveal yet: let the run finish first")
            try:
                result = json.loads((self.directory / RESULT).read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StoreError(f"what was worked out cannot be read: {error}; resume the run") from error
            self.log.add("revealed", **result)

    @property
    def revealed(self) -> Event | None:
        """What the reveal showed; None before."""
        return next(iter(self.log.of_kind("revealed")), None)

    @property
    def report(self) -> Path | None:
        """The report's file once everything is revealed, None before."""
        path = self.directory / REPORT
        return path if self.phase == "revealed" and path.is_file() else None

    def _taken_back(self) -> set[str]:
        return {str(e["commitment"]) for e in self.log.of_kind("taken_back")}

    def _withdraw(self, meant: Callable[[Event], bool]) -> None:
        with self._lock:
            if self.phase != "open":
                raise RefusedError("guesses are closed: the measurement has begun")
            found = next((e for e in self.standing() if meant(e)), None)
            if found is None:
                raise RefusedError("there is no guess to take back")
            self.log.add("taken_back", commitment=found["commitment"])

    def _measure(self) -> None:
        """The thread of the measurement; the process it starts must not outlive it."""
        try:
            self._measure_and_tell()
        finally:
            if self.phase == "running":
                self.trouble = f"the measurement ended, and {self.directory / EVENTS} could not be written"

    def _measure_and_tell(self) -> None:
        """Run the measuring process to its end, and tell how it ended. StoreError where the log cannot be written."""
        reader = _Lines(self._hear)
        argv = [sys.executable, "-m", "calibrate.lab.run.worker", str(self.directory)]
        try:
            finished = run_tool(argv, TIME_LIMIT_S, on_output=reader.feed, on_tick=self._check, grace_s=GRACE_S)
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
            told = json.loads(line)
            kind = told.pop("kind")
        except (ValueError, KeyError, AttributeError, TypeError):
            return
        if kind == "progress":
            self.progress = told
        elif kind in _TOLD_BY_WORKER:
            self.log.add(kind, **told)


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
        return {
            "run": run.name,
            "phase": run.phase,
            "events": list(events),
            "progress": run.progress if run.phase == "running" else {},
            "trouble": run.trouble,
        }

    def close(self) -> None:
        """Stop what is measuring."""
        if self._current is not None:
            self._current.stop()


class _Lines:
    def __init__(self, hear: Any) -> None:
        self._hear = hear
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """The next chunk."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._hear(line)


def _checked_name(name: object) -> str:
    """A name that can be shown. RefusedError where it is none."""
    who = " ".join(name.split()) if isinstance(name, str) else ""
    if not who or not who.isprintable():
        raise RefusedError("say who guesses: a name in letters")
    if len(who) > LONGEST_NAME:
        raise RefusedError(f"the name is longer than {LONGEST_NAME} letters")
    if who.casefold() == MODEL_NAME or who.casefold().startswith(f"{MODEL_NAME} ("):
        raise RefusedError(f"{MODEL_NAME} is the model; take another name")
    return who


def _why(stderr: bytes, returncode: int, *, timed_out: bool) -> str:
    if timed_out:
        return f"it took longer than {TIME_LIMIT_S / 60:g} minutes and was stopped"
    said = stderr.decode("utf-8", "replace").strip().splitlines()
    if returncode < 0:
        return f"the measurement was killed (signal {-returncode}); resume to measure the rest"
    return said[-1] if said else f"the measurement ended with exit code {returncode}"
