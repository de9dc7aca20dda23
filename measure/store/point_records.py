"""Stores a tool's points; reports which finished and why the others failed.

One text for every tool that is started once a point: fio, fio on many hosts, MLC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure.errors import DataError, StoreError
from measure.findings import Finding
from measure.machine.process import Finished
from measure.store.directory import SweepStore
from measure.store.stored_point import StoredPoint
from measure.sweep import Provenance

STDERR_KEPT = 4000


@dataclass(frozen=True)
class KeptPoints:
    """The finished points of a directory, in the order of their measurement, and the failures of the others."""

    finished: tuple[StoredPoint, ...]
    failed: tuple[StoredPoint, ...]


def kept_points(store: SweepStore) -> KeptPoints:
    """What the directory holds. Raises DataError where no point is finished, StoreError where it is damaged."""
    points = store.points()
    finished = tuple(p for p in points if p.ok)
    keys = {p.key for p in finished}
    failed = tuple(p for p in points if not p.ok and p.key.partition(".failed")[0] not in keys)
    if not finished:
        reason = f": {failed[-1].record.get('reason')}" if failed else ""
        raise DataError(f"{store.directory} holds no finished point yet{reason}; run the measurement again")
    return KeptPoints(finished, failed)


def keep_point(
    store: SweepStore,
    key: str,
    finished: Finished,
    reason: str,
    *,
    command: str,
    request: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
    raw_suffix: str = ".json",
    attached: Mapping[str, Path] | None = None,
) -> None:
    """Keep what a tool printed for a point, as measured or, with a ``reason``, as failed. Raises StoreError."""
    record = {
        "status": "failed" if reason else "ok",
        "command": command,
        "request": dict(request),
        "started_at": finished.started_at,
        "ended_at": finished.ended_at,
        "returncode": finished.returncode,
        "timed_out": finished.timed_out,
        "stderr": finished.stderr[-STDERR_KEPT:].decode("utf-8", "replace"),
        **(notes or {}),
    }
    if reason:
        record["reason"] = reason
    store.add(key, finished.stdout or None, record, raw_suffix, attached)


def raw_text(point: StoredPoint) -> str:
    """What the tool printed for a point; StoreError where that is lost."""
    if point.raw is None or not point.raw.exists():
        raise StoreError(f"point {point.key} has lost its raw output; remove its record to measure it again")
    return point.raw.read_text("utf-8", "replace")


def failure(point: StoredPoint, load: float | None = None) -> Finding:
    """The finding about a point that was never finished."""
    return Finding(
        "point-failed", "error", str(point.record.get("reason", f"{point.key} failed")),
        f"what the tool said stands in points/{point.key}.json of the directory (stderr)",
        f"see to that, then start the same command again, which measures only what is missing; by hand: "
        f"{point.record.get('command', 'the command of the record')}",
        load=load,
    )  # fmt: skip


def provenance_of(store: SweepStore, finished: tuple[StoredPoint, ...]) -> Provenance:
    """Where a directory's points come from: what was noted when it was begun, and the commands in their order."""
    return replace(
        Provenance.from_dict(store.manifest.get("provenance", {})),
        commands=tuple(str(p.record.get("command", "")) for p in finished),
        started_at=str(finished[0].record.get("started_at", "")),
        source=store.directory.name,
    )
