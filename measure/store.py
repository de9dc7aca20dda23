"""A sweep on disk: one finished point is one untouched raw file and one small record, written once.

    DIR/sweep.json             what is swept: tool, settings, provenance (written first)
    DIR/raw/depth-8.0.json     what the tool printed, byte for byte
    DIR/points/depth-8.0.json  the point: what was asked, the command, times, exit code, stderr, the raw file's name
    DIR/points.csv             the tidy table, derived from the above and rewritten at the end

A point exists when its record does. The raw file is on the disk before the record is, and both arrive by rename,
so that a kill at any moment leaves whole points or none. Starting again with the same settings skips the finished
points; a failed point keeps its record under another name and is tried again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.errors import StoreError

SCHEMA = "qsim-sweep/1"
MANIFEST = "sweep.json"


@dataclass(frozen=True)
class StoredPoint:
    """One finished point as kept: its key, its record, and the tool's raw output (None where it printed nothing)."""

    key: str
    record: Mapping[str, Any]
    raw: Path | None

    @property
    def ok(self) -> bool:
        """Whether the tool finished this point."""
        return self.record.get("status") == "ok"


@dataclass(frozen=True)
class SweepStore:
    """A directory that holds one sweep. ``create`` one to measure into it, ``read`` one to load it."""

    directory: Path
    manifest: Mapping[str, Any]

    @classmethod
    def create(
        cls, directory: Path, tool: str, settings: Mapping[str, Any], provenance: Mapping[str, Any]
    ) -> SweepStore:
        """A new sweep in ``directory``, or the one that is there if it was made with the same tool and settings.

        ``settings`` are what is fixed over the sweep (block size, target, runtime...), JSON-ready; the loads are not
        among them, so that a sweep can be extended. Raises StoreError where the directory holds something else or a
        sweep of other settings, and OSError's text as StoreError where it cannot be written.
        """
        path = directory / MANIFEST
        if path.exists():
            store = cls.read(directory)
            changed = _differences(store.manifest.get("settings", {}), _plain(settings))
            if store.manifest.get("tool") != tool:
                raise StoreError(
                    f"{directory} holds a {store.manifest.get('tool')} sweep, not {tool}; choose another --out"
                )
            if changed:
                raise StoreError(
                    f"{directory} holds a sweep with other settings ({'; '.join(changed)}); choose another --out, or "
                    "repeat the settings of the first run to go on with it"
                )
            return store
        if directory.exists() and not directory.is_dir():
            raise StoreError(f"{directory} is a file, not a directory; choose another --out")
        if directory.exists() and any(not entry.name.startswith(".") for entry in directory.iterdir()):
            raise StoreError(f"{directory} is not empty and holds no sweep of ours; choose another --out")
        manifest = {"schema": SCHEMA, "tool": tool, "settings": _plain(settings), "provenance": _plain(provenance)}
        try:
            # The manifest comes first: a kill after it leaves a sweep that can be continued, one before it nothing.
            directory.mkdir(parents=True, exist_ok=True)
            _write_once(path, json.dumps(manifest, indent=1).encode())
        except OSError as error:
            raise StoreError(f"cannot create a sweep in {directory}: {error.strerror or error}") from error
        return cls(directory, manifest)

    @classmethod
    def read(cls, directory: Path) -> SweepStore:
        """The sweep that is kept in ``directory``. StoreError where there is none or of another schema."""
        path = directory / MANIFEST
        try:
            manifest = json.loads(path.read_text("utf-8"))
        except FileNotFoundError as error:
            raise StoreError(f"{directory} holds no sweep of ours (no {MANIFEST})") from error
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
            raise StoreError(f"{path} is not of schema {SCHEMA}; another version or another program wrote it")
        return cls(directory, manifest)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for one writing run; StoreError where another run holds it."""
        with (self.directory / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise StoreError(
                    f"another run is measuring into {self.directory}; wait for it or choose another --out"
                ) from error
            yield

    def points(self) -> list[StoredPoint]:
        """Every finished point, failed ones included, in the order in which they were measured."""
        found: list[StoredPoint] = []
        for path in (self.directory / "points").glob("*.json"):
            try:
                record = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StoreError(f"{path} cannot be read: {error}; remove it to measure the point again") from error
            raw = self.directory / "raw" / record["raw"] if record.get("raw") else None
            found.append(StoredPoint(path.stem, record, raw))
        return sorted(found, key=lambda p: (str(p.record.get("started_at", "")), p.key))

    def finished(self) -> frozenset[str]:
        """The keys of the points that need not be measured again."""
        return frozenset(p.key for p in self.points() if p.ok)

    def add(self, key: str, raw: bytes | None, record: Mapping[str, Any], raw_suffix: str = ".json") -> StoredPoint:
        """Keep one point. ``record`` holds ``status`` ("ok" or "failed"), ``command``, ``started_at`` and ``request``.

        An "ok" point is written once: StoreError where its key exists. A failed one never takes the place of
        anything: its files get a number.
        """
        name = key if record.get("status") == "ok" else self._free_failed_name(key)
        record = dict(_plain(record))
        path = self.directory / "points" / f"{name}.json"
        try:
            for folder in ("raw", "points"):
                (self.directory / folder).mkdir(exist_ok=True)
            if raw is not None:
                record["raw"] = f"{name}{raw_suffix}"
                target = self.directory / "raw" / record["raw"]
                if target.exists():  # left by a kill between the raw file and its record: keep it, beside the new one
                    target.rename(_free(target.with_suffix(".interrupted" + target.suffix)))
                _write_once(target, raw)
            _write_once(path, json.dumps(record, indent=1).encode())
        except OSError as error:
            raise StoreError(f"cannot keep point {key} in {self.directory}: {error.strerror or error}") from error
        return StoredPoint(name, record, self.directory / "raw" / record["raw"] if raw is not None else None)

    def write_table(self, csv: str) -> Path:
        """(Re)write the derived tidy table beside the raw files."""
        path = self.directory / "points.csv"
        _replace(path, csv.encode())
        return path

    def _free_failed_name(self, key: str) -> str:
        return _free(self.directory / "points" / f"{key}.failed.json").stem


def _free(path: Path) -> Path:
    """``path``, or the first ``path`` with a number that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def _plain(value: Any) -> Any:
    """The value as JSON would give it back, so that settings compare equal after a round trip."""
    return json.loads(json.dumps(value, default=str))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = [k for k in {**before, **now} if before.get(k) != now.get(k)]
    return [f"{k}: there {before.get(k)!r}, now {now.get(k)!r}" for k in keys]


def _write_once(path: Path, content: bytes) -> None:
    if path.exists():
        raise StoreError(f"{path} exists already and is not overwritten")
    _replace(path, content)


def _replace(path: Path, content: bytes) -> None:
    """Write by rename, on the disk before it is visible under its name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
