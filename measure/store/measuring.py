"""One protocol for every measurement: plan, run, store, read.

A measurement supplies its points, a function that runs one, and a reader of their directory. ``measure`` does the
rest for every tool: it opens or creates the directory, runs the missing points in order, stores each before the next
begins, reports progress, resumes after an interruption, and reads the whole directory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from measure.errors import DataError, StoreError, ToolFailedError
from measure.findings import Finding
from measure.machine.host import host_facts
from measure.machine.process import Finished, now
from measure.origin import Provenance
from measure.store.directory import MANIFEST, StoredPoint, SweepStore
from measure.sweep import Sweep
from measure.text_files import plain_cells

STDERR_KEPT = 4000

Progress = Callable[[int, int, float, str], None]
"""on_progress(points done, points in all, seconds left, present activity in words)"""

Tick = Callable[[str], None]  # called a few times a second with the present activity in words


def measured_here(tool: str, device: str, details: Mapping[str, Any], version: str = "") -> Provenance:
    """The provenance of a measurement by ``tool`` on this machine, now."""
    host = host_facts()
    return Provenance(
        tool=tool,
        tool_version=version,
        host=host.hostname,
        kernel=host.kernel,
        cpu=host.cpu_model,
        device=device,
        started_at=now(),
        details={**details, "host_facts": host.to_dict()},
    )


class PlannedPoint(Protocol):
    """A point to be measured: its key in the store, and the words for a progress bar."""

    @property
    def key(self) -> str: ...

    def describe(self) -> str: ...


P = TypeVar("P", bound=PlannedPoint)
T = TypeVar("T")
More = Callable[[Sweep], Sequence[P]]  # chooses further points from the sweep measured so far


@dataclass(frozen=True)
class Outcome:
    """The outcome of a point: the raw output, the content of its record, and the reason of a failure (empty: none).

    ``place`` is the load in the words with which the reason begins; empty where it begins otherwise.
    """

    raw: bytes | None
    record: Mapping[str, Any]
    reason: str = ""
    raw_suffix: str = ".json"
    place: str = ""

    def keep(self, store: SweepStore, key: str) -> None:
        """Store the point as measured or, with a reason, as failed. Raises StoreError."""
        failed = {"status": "failed", "reason": self.reason, "place": self.place}
        status = failed if self.reason else {"status": "ok"}
        store.add(key, self.raw, {**status, **self.record}, self.raw_suffix)


def printed(finished: Finished, reason: str, command: str, request: Mapping[str, Any], **notes: Any) -> Outcome:
    """The outcome of a tool that was run for the point, with ``notes`` for its record."""
    return Outcome(
        finished.stdout or None,
        {
            "command": command,
            "request": dict(request),
            "started_at": finished.started_at,
            "ended_at": finished.ended_at,
            "returncode": finished.returncode,
            "timed_out": finished.timed_out,
            "stderr": finished.stderr[-STDERR_KEPT:].decode("utf-8", "replace"),
            **notes,
        },
        reason,
    )


Run = Callable[[P, Tick], Outcome]


@dataclass(frozen=True)
class Measurement(Generic[P]):
    """A tool's part of the protocol.

    ``tool`` names it in its directories, which are resumed only with the same ``settings``. ``ready(store, missing,
    tick)`` prepares the missing points in about ``prepare_seconds``, and gives the function that runs one. ``hold``
    locks the target; it is entered before the directory is created, so that a rejected target leaves none. ``tidy``
    removes leftovers of a killed run, where no point is missing.
    """

    tool: str
    points: Sequence[P]
    settings: Mapping[str, Any]
    provenance: Callable[[], Provenance]
    ready: Callable[[SweepStore, Sequence[P], Tick], AbstractContextManager[Run[P]]]
    read: Callable[[SweepStore], Sweep]
    seconds: Callable[[P], float]
    prepare_seconds: float = 0.0
    hold: Callable[[], AbstractContextManager[object]] = nullcontext
    tidy: Callable[[SweepStore], None] = lambda _: None


def measure(
    plan: Measurement[P], out_dir: Path, on_progress: Progress | None = None, more: More[P] | None = None
) -> Sweep:
    """Measure the missing points in the sweep directory ``out_dir``, and return the whole sweep.

    Then ``more`` is called for further points, and called again until it returns no new one. A point that fails is
    recorded with the reason, and the others go on; an interruption keeps every finished point. Raises StoreError (the
    directory holds something else), ToolFailedError where no point could be measured, and what the measurement raises.
    """
    with ExitStack() as directory, ExitStack() as target:
        if is_new := not (out_dir / MANIFEST).exists():
            target.enter_context(plan.hold())
        store = SweepStore.create(out_dir, plan.tool, plan.settings, plan.provenance().to_dict())
        finished = set(directory.enter_context(store.locked()))
        clock = _Clock(plan, on_progress or (lambda *_: None))
        run: Run[P] | None = None
        known: set[str] = set()
        new = list(plan.points)
        while new:
            known.update(point.key for point in new)
            clock.total = len(known)
            missing = [point for point in new if point.key not in finished]
            if missing and run is None:
                if not is_new:
                    target.enter_context(plan.hold())
                tick = clock.step(missing, missing, plan.prepare_seconds)
                run = target.enter_context(plan.ready(store, missing, tick))
            if run is not None:
                _measure(store, missing, run, clock, finished)
            further = more(plan.read(store)) if more is not None else ()
            new = list({point.key: point for point in further if point.key not in known}.values())
        if run is None:
            plan.tidy(store)
        target.close()
        sweep = plan.read(store)
        store.write_table(plain_cells(sweep.points).to_csv(index=False))
        clock.report(len(known), len(known), 0.0, "done")
    return sweep


def _measure(store: SweepStore, missing: Sequence[P], run: Run[P], clock: _Clock[P], finished: set[str]) -> None:
    """Run and store each point; ToolFailedError where none is finished at the end."""
    reason = ""
    for place, point in enumerate(missing):
        tick = clock.step(missing[place:], missing[place + 1 :], clock.seconds([point]))
        tick(point.describe())
        start = time.monotonic()
        outcome = run(point, tick)
        clock.taken_s += time.monotonic() - start
        clock.expected_s += clock.plan.seconds(point)
        outcome.keep(store, point.key)
        if outcome.reason:
            reason = outcome.reason
        else:
            finished.add(point.key)
    if not finished:
        raise ToolFailedError(f"no point of the sweep could be measured; the last: {reason}")


@dataclass
class _Clock(Generic[P]):
    """Reports the number of points done, and the seconds left for the others."""

    plan: Measurement[P]
    report: Progress
    total: int = 0
    taken_s: float = 0.0
    expected_s: float = 0.0

    def seconds(self, points: Sequence[P]) -> float:
        pace = self.taken_s / self.expected_s if self.expected_s else 1.0
        return pace * sum(map(self.plan.seconds, points))

    def step(self, left: Sequence[P], behind: Sequence[P], seconds: float) -> Tick:
        """The tick of a step of about ``seconds``; ``left``: all points to do, ``behind``: those after it."""
        end, behind_s = time.monotonic() + seconds, self.seconds(behind)
        return lambda text: self.report(
            self.total - len(left), self.total, behind_s + max(0.0, end - time.monotonic()), text
        )


@dataclass(frozen=True)
class Kept(Generic[T]):
    """The finished points of a directory in order of measuring, their parsed outputs, and findings on the others."""

    store: SweepStore
    finished: tuple[StoredPoint, ...]
    values: tuple[T, ...]
    failed: tuple[StoredPoint, ...]
    findings: tuple[Finding, ...]

    def check_any(self) -> None:
        """Raise DataError where no point is finished."""
        if not self.finished:
            reason = f": {self.failed[-1].record.get('reason')}" if self.failed else ""
            raise DataError(f"{self.store.directory} holds no finished point yet{reason}; run the measurement again")

    @property
    def provenance(self) -> Provenance:
        """The provenance stored when the directory was begun, with the points' commands in order."""
        return replace(
            Provenance.from_dict(self.store.manifest.get("provenance", {})),
            commands=tuple(str(p.record.get("command", "")) for p in self.finished),
            started_at=str(self.finished[0].record.get("started_at", "")),
            source=self.store.directory.name,
        )

    @property
    def raw(self) -> tuple[Path, ...]:
        """The raw files of the finished points."""
        return tuple(p.raw for p in self.finished if p.raw is not None)


def read_kept(store: SweepStore, parse: Callable[[str, StoredPoint], T]) -> Kept[T]:
    """The points of the directory; ``parse`` gets the text of a finished point's tool, read and checked once.

    Raises StoreError where the directory is damaged, and what ``parse`` raises.
    """
    values: dict[str, T] = {}

    def take(point: StoredPoint, content: bytes) -> None:
        values[point.key] = parse(content.decode("utf-8", "replace"), point)

    contents = store.contents(take)
    finished = tuple(p for p in contents.points if p.ok)
    if lost := next((p for p in finished if p.key not in values), None):
        raise StoreError(f"point {lost.key} has lost its raw output; remove its record to measure it again")
    failed = tuple(p for p in contents.points if not p.ok and p.key.partition(".failed")[0] not in values)
    findings = (*map(_failure, failed), *store.findings(contents))
    return Kept(store, finished, tuple(values[p.key] for p in finished), failed, findings)


def _failure(point: StoredPoint) -> Finding:
    """The finding on a point that was never finished; its load is not named twice."""
    load = point.asked("load") if "load" in point.record["request"] else None
    reason = str(point.record.get("reason", f"{point.key} failed"))
    place = str(point.record.get("place") or "")
    return Finding(
        "point-failed",
        "error",
        reason.removeprefix(f"{place}: ") if place else reason,
        f"what the tool said stands in points/{point.key}.json of the directory (stderr)",
        f"see to that, then start the same command again, which measures only what is missing; by hand: "
        f"{point.record.get('command', 'the command of the record')}",
        load=load,
    )
