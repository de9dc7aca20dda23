"""A stored point of a sweep directory: its record, its raw files, and whether they are as they were written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.errors import StoreError

MAX_RECORD_BYTES = 2**25


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
    """A point of which the record or the raw file is not whole, and why. It counts as not measured."""

    key: str
    files: tuple[Path, ...]
    reason: str


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """StoreError where a file or folder that is there cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from error


def raw_of(directory: Path, record: Mapping[str, Any]) -> Path | None:
    """The raw file of a record, inside the directory; ValueError where the record is none of qsim."""
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
    """What the tool printed for a finished point, and what is wrong with it; "" where nothing is.

    Where something is wrong the content is not whole. StoreError where it cannot be read.
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
    """The object in a JSON file. OSError where it cannot be read, ValueError where it holds none."""
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
