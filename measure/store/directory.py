"""A sweep on disk: one finished point is one untouched raw file and one small record, written once.

    DIR/sweep.json             what is swept: tool, settings, provenance (written first)
    DIR/raw/depth-8.0.json     the tool's output, byte for byte
    DIR/points/depth-8.0.json  the point: request, command, times, exit code, stderr, the raw file's name
    DIR/points.csv             the tidy table, derived from the above and rewritten at the end

A point exists when its record does. The raw file is on the disk before the record is, and both appear by rename,
so that a kill at any moment leaves complete points only. Starting again with the same settings skips the finished
points; a failed point keeps its record under another name and is tried again.

A power cut may lose data that the disk reported as written. So a record holds the length and the SHA-256 of its raw
file, and a point with an incomplete file does not count: the next run sets its files aside (``.damaged``) and measures
it again. Points are ordered by their numbers, not by the time of day, which may be set back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.errors import StoreError
from measure.findings import Finding, Severity
from measure.machine.files import TEMPORARY, lock_file, make_directory, remove_leftovers, write_durably, write_new

MAX_RECORD_BYTES = 2**25


@dataclass(frozen=True)
class StoredPoint:
    """One stored point: its key, its record, and the tool's raw output (None where it printed nothing)."""

    key: str
    record: Mapping[str, Any]
    raw: Path | None

    @property
    def ok(self) -> bool:
        """Whether the tool finished this point."""
        return self.record.get("status") == "ok"

    def asked(self, name: str) -> float:
        """The number ``name`` of the request; StoreError where the record holds none."""
        value = self.record["request"].get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise StoreError(
                f"the record of point {self.key} asks for {name} {value!r}, which is not a number; it was edited: "
                "remove it to measure the point again"
            )
        return float(value)


@dataclass(frozen=True)
class DamagedPoint:
    """A point whose record or raw file is incomplete, with the reason; treated as not measured."""

    key: str
    files: tuple[Path, ...]
    reason: str


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of reading a file or folder into StoreError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from error


def raw_of(directory: Path, record: Mapping[str, Any]) -> Path | None:
    """The raw file of a record, inside the directory; ValueError where the record is not qsim's."""
    kinds = {"command": str, "started_at": str, "request": dict, "sequence": int}
    if record.get("status") not in ("ok", "failed") or any(
        not isinstance(record.get(name), kind) for name, kind in kinds.items()
    ):
        raise ValueError("it holds no record of a point")
    name = record.get("raw")
    if name is None:
        return None
    if not isinstance(name, str) or Path(name).name != name or "\0" in name:
        raise ValueError("it names no raw file of this directory")
    return directory / "raw" / name


def read_raw(point: StoredPoint) -> tuple[bytes, str]:
    """The tool's output for a finished point, and why it is damaged; "" where it is complete.

    StoreError where it cannot be read.
    """
    record, raw = point.record, point.raw
    if raw is None:
        return b"", ""
    try:
        with readable(raw):
            content = raw.read_bytes()
    except FileNotFoundError:
        return b"", f"{raw} is missing"
    if len(content) != record.get("raw_bytes"):
        return b"", f"{raw} has {len(content):,} bytes of {record.get('raw_bytes')}"
    if hashlib.sha256(content).hexdigest() != record.get("raw_sha256"):
        return b"", f"{raw} is not what the tool printed (its SHA-256 differs)"
    return content, ""


def json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file. OSError where it cannot be read, ValueError where it is not an object."""
    with path.open("rb") as file:
        content = file.read(MAX_RECORD_BYTES + 1)
    if not content.strip(b"\0 \r\n"):
        raise ValueError("it is empty")
    if len(content) > MAX_RECORD_BYTES:
        raise ValueError(f"it is larger than {MAX_RECORD_BYTES >> 20} MiB")
    try:
        found = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


SCHEMA = "qsim-sweep/1"
MANIFEST = "sweep.json"
LOCK = ".lock"


@dataclass(frozen=True)
class StoredContents:
    """The points in a directory: complete ones in the order of measuring, and damaged ones."""

    points: list[StoredPoint]
    damaged: list[DamagedPoint]

    @property
    def finished(self) -> frozenset[str]:
        """The keys of the points that need not be measured again."""
        return frozenset(p.key for p in self.points if p.ok)


@dataclass(frozen=True)
class SweepStore:
    """A directory that holds one sweep. ``create`` one to measure into it, ``read`` one to load it."""

    directory: Path
    manifest: Mapping[str, Any]

    @classmethod
    def create(
        cls, directory: Path, tool: str, settings: Mapping[str, Any], provenance: Mapping[str, Any]
    ) -> SweepStore:
        """A new sweep in ``directory``, or the existing one if it has the same tool and settings.

        ``settings`` are fixed for the sweep (block size, target, runtime...), JSON-ready; the loads are not among them,
        so that a sweep can be extended. Raises StoreError where the directory holds something else, a sweep of other
        settings, or cannot be written.
        """
        path = directory / MANIFEST
        with _as_store_error(f"cannot create a sweep in {directory}"):
            if path.exists():
                store = cls.read(directory)
                changed = _differences(store.manifest.get("settings", {}), _plain(settings))
                if store.manifest.get("tool") != tool:
                    raise StoreError(
                        f"{directory} holds a {store.manifest.get('tool')} sweep, not {tool}; choose another --out"
                    )
                if changed:
                    raise StoreError(
                        f"{directory} holds a sweep with other settings ({'; '.join(changed)}); choose another --out, "
                        "or repeat the settings of the first run to go on with it"
                    )
                return store
            if directory.exists() and not directory.is_dir():
                raise StoreError(f"{directory} is a file, not a directory; choose another --out")
            if directory.exists() and not _is_empty(directory):
                raise StoreError(f"{directory} is not empty and holds no qsim sweep; choose another --out")
            manifest = {"schema": SCHEMA, "tool": tool, "settings": _plain(settings), "provenance": _plain(provenance)}
            # The manifest is written first: a kill after it leaves a sweep that can be resumed, one before it nothing.
            make_directory(directory)
            _write_once(path, json.dumps(manifest, indent=1).encode())
        return cls(directory, manifest)

    @classmethod
    def read(cls, directory: Path) -> SweepStore:
        """The sweep stored in ``directory``. StoreError where there is none, a damaged one or another schema."""
        path = directory / MANIFEST
        try:
            with readable(path):
                manifest = json_object(path)
        except FileNotFoundError as error:
            raise StoreError(f"{directory} holds no qsim sweep (no {MANIFEST})") from error
        except ValueError as error:
            raise StoreError(
                f"{path} cannot be read: {error}; measure into another directory (what the tool printed is still in "
                f"{directory / 'raw'})"
            ) from error
        if manifest.get("schema") != SCHEMA:
            raise StoreError(f"{path} is not of schema {SCHEMA}; another version or another program wrote it")
        return cls(directory, manifest)

    @contextmanager
    def locked(self) -> Iterator[frozenset[str]]:
        """Lock the directory for one writing run, and clean up what a kill or a power cut left.

        Gives the keys of the finished points. Raises StoreError where another run holds it or it cannot be written.
        """
        with ExitStack() as held:
            try:
                held.enter_context(lock_file(self.directory / LOCK))
            except BlockingIOError as error:
                raise StoreError(
                    f"another run is measuring into {self.directory}; wait for it or choose another --out"
                ) from error
            except OSError as error:
                raise StoreError(f"cannot write into {self.directory}: {error.strerror or error}") from error
            yield self._put_in_order()

    def contents(self, take: Callable[[StoredPoint, bytes], object] | None = None) -> StoredContents:
        """All points in the directory. ``take`` gets each finished point with its tool's output, read once."""
        found: list[StoredPoint] = []
        damaged: list[DamagedPoint] = []
        for path in self._files("points"):
            if path.suffix != ".json":
                continue
            try:
                with readable(path):
                    record = json_object(path)
                found.append(StoredPoint(path.stem, record, raw_of(self.directory, record)))
            except FileNotFoundError:  # moved by a run that began meanwhile
                continue
            except ValueError as error:
                damaged.append(DamagedPoint(path.stem, (path,), f"{path} cannot be read ({error})"))
        points: list[StoredPoint] = []
        for point in sorted(found, key=lambda p: (p.record["sequence"], p.key)):
            if point.ok and point.raw is not None:
                content, reason = read_raw(point)
                if reason:
                    record_file = self.directory / "points" / f"{point.key}.json"
                    damaged.append(DamagedPoint(point.key, (record_file, point.raw), reason))
                    continue
                if take is not None:
                    take(point, content)
            points.append(point)
        return StoredContents(points, sorted(damaged, key=lambda p: p.key))

    def findings(self, contents: StoredContents | None = None) -> list[Finding]:
        """Findings on the directory: damaged points, and files that were set aside."""
        again = "start the same measurement again: it sets the damaged files aside and measures the point again"
        said: list[tuple[Severity, str, str]] = [
            ("warning", f"Point {p.key} is left out: {p.reason}.", again) for p in (contents or self.contents()).damaged
        ]
        if aside := [p.name for p in self._files("points") + self._files("raw") if ".damaged" in p.suffixes]:
            said.append(("info", f"{', '.join(aside)}: damaged, and set aside when the sweep went on.", ""))
        cause = "A power cut, a full disk or a hand."
        return [Finding("damaged-point", severity, message, cause, remedy) for severity, message, remedy in said]

    def add(self, key: str, raw: bytes | None, record: Mapping[str, Any], raw_suffix: str = ".json") -> StoredPoint:
        """Store one point. ``record`` holds ``status`` ("ok" or "failed"), ``command``, ``started_at`` and ``request``.

        An "ok" point is written once: StoreError where its key exists. A failed one never replaces another: its files
        get a number.
        """
        if not (self.directory / MANIFEST).exists():
            raise StoreError(
                f"cannot keep point {key}: {self.directory} has vanished while it was measured into; start again"
            )
        name = key
        if record.get("status") != "ok":
            name = _free(self.directory / "points" / f"{key}.failed.json").stem
        record = {**_plain(record), "sequence": len(self._files("points"))}
        path = self.directory / "points" / f"{name}.json"
        with _as_store_error(f"cannot keep point {key} in {self.directory}"):
            for folder in ("raw", "points"):
                make_directory(self.directory / folder)
            if raw is not None:
                record["raw"] = f"{name}{raw_suffix}"
                record |= {"raw_bytes": len(raw), "raw_sha256": hashlib.sha256(raw).hexdigest()}
                _write_once(self._free_raw(record["raw"]), raw)
            _write_once(path, json.dumps(record, indent=1).encode())
        return StoredPoint(name, record, raw_of(self.directory, record))

    def write_table(self, csv: str) -> Path:
        """(Re)write the derived tidy table; StoreError where that fails."""
        path = self.directory / "points.csv"
        with _as_store_error(f"cannot write {path}"):
            write_durably(path, csv.encode())
        return path

    def _free_raw(self, name: str) -> Path:
        """The path for a raw file; a file left there by a kill before its record was written is moved aside."""
        target = self.directory / "raw" / name
        if target.exists():
            target.rename(_free(target.with_suffix(".interrupted" + target.suffix)))
        return target

    def _files(self, folder: str) -> list[Path]:
        """The files in a folder, without temporary ones; StoreError where it cannot be listed."""
        try:
            with readable(self.directory / folder):
                return sorted(p for p in (self.directory / folder).iterdir() if not p.name.startswith("."))
        except FileNotFoundError:
            return []

    def _put_in_order(self) -> frozenset[str]:
        """Set damaged files aside and remove temporary ones, under the lock; the keys of the finished points."""
        with _as_store_error(f"cannot put {self.directory} in order"):
            contents = self.contents()
            for point in contents.damaged:
                for path in reversed(point.files):  # the record last: without it there is no point
                    if path.exists():
                        path.rename(_free(path.with_name(path.name + ".damaged")))
            for folder in ("raw", "points"):
                remove_leftovers(self.directory / folder)
            remove_leftovers(self.directory, MANIFEST)
        return contents.finished


@contextmanager
def _as_store_error(what: str) -> Iterator[None]:
    """Turn an OSError into StoreError with ``what`` failed and the system's reason."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror or error}") from error


def _is_empty(directory: Path) -> bool:
    """Whether a directory holds nothing but files of a run that was killed at its start."""
    begun = re.compile(rf"\.{re.escape(MANIFEST)}{TEMPORARY}")
    return all(begun.fullmatch(entry.name) for entry in directory.iterdir())


def _free(path: Path) -> Path:
    """``path``, or the first ``path`` with a number that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def _plain(value: Any) -> Any:
    """The value after a round trip through JSON, so that settings compare equal."""
    return json.loads(json.dumps(value, default=str))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = [k for k in {**before, **now} if before.get(k) != now.get(k)]
    return [f"{k}: there {before.get(k)!r}, now {now.get(k)!r}" for k in keys]


def _write_once(path: Path, content: bytes) -> None:
    try:
        write_new(path, content)
    except FileExistsError as error:
        raise StoreError(f"{path} exists already and is not overwritten") from error
