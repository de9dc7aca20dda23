"""The lab's own folder: its runs, the sweeps to compare, and the place of the test file. Nothing outside is touched.

    FOLDER/runs/001/          a run: events.jsonl, order.json, guesses.jsonl, prediction.json, sweep/, report.html
    FOLDER/sweeps/            what the teacher puts there: sweep directories, fio JSON, MLC text, CSV tables
    FOLDER/disk/              the test file of fio, while a disk is measured
    FOLDER/.key               what signs the sessions of browsers

The page never names a path. It is given identifiers, which only this module turns into paths, and only into those that
it found itself.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from measure.errors import DataError, MeasureError, StoreError
from measure.loads import Load
from measure.machine.files import lock_file, write_durably

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.fitting.fit import Fit
    from calibrate.report.measured.measured_data import MeasuredData
    from measure import Sweep

RUNS, SWEEPS, DISK = "runs", "sweeps", "disk"
KEY, KEY_BYTES = ".key", 32
RUN_DIGITS = 3
KEPT = 24  # sources that stay in memory, and fits of their curves, until they change
_READING = threading.Lock()  # browsers that ask for the same at once wait for one answer


@dataclass(frozen=True)
class LabSource:
    """Something measured before: a published dataset (``dataset`` is its name) or a sweep in the folder (``path``)."""

    identity: str
    label: str
    dataset: str = ""
    path: Path | None = None

    @property
    def short(self) -> str:
        """A name for a legend."""
        return self.dataset or self.label

    def changed_ns(self) -> int:
        """Time of the last change; 0 for a source that never changes."""
        try:
            return 0 if self.path is None else self.path.stat().st_mtime_ns
        except OSError as error:
            raise DataError(f"{self.label} is not there any more; load the page again") from error

    def load(self) -> Sweep:
        """The sweep. DataError and StoreError where it cannot be read (any more)."""
        from measure import load, load_dataset

        return load_dataset(self.dataset) if self.path is None else load(self.path)

    def measured(self) -> MeasuredData:
        """Its points, averaged and audited. DataError, StoreError where they cannot be read."""
        with _READING:
            return _measured(self, self.changed_ns())

    def curves(self) -> list[SourceCurve]:
        """Its curves of two points or more. DataError, StoreError where it cannot be read."""
        measured = self.measured()
        rows = measured.table.dropna(subset=["load", "throughput_per_s", "latency_s"])
        found = []
        for series, group in rows.groupby("series", sort=False):
            ordered = group.sort_values("load")
            if ordered["load"].nunique() < 2:
                continue
            label = f"{self.short}: {series}"
            found.append(SourceCurve(label, self, str(series), measured.load_type, ordered))
        return found


@dataclass(frozen=True)
class SourceCurve:
    """One curve of a source, ``label`` in words; ``figures`` in SI units with their origins, by load."""

    label: str
    source: LabSource
    series: str
    load_type: Load
    figures: pd.DataFrame

    def fitted(self) -> Fit:
        """The model calibrated on all its points. DataError where it has too few, or of the wrong kind."""
        with _READING:
            return _fitted(self.source, self.series, self.source.changed_ns())


@lru_cache(maxsize=KEPT)
def _measured(source: LabSource, changed_ns: int) -> MeasuredData:
    from calibrate.report.measured.measured_data import measured, published

    return published(source.dataset) if source.dataset else measured(source.load(), source.label)


@lru_cache(maxsize=KEPT)
def _fitted(source: LabSource, series: str, changed_ns: int) -> Fit:
    from calibrate.fitting.calibrating import fit

    sweep = source.load().select(series)
    return fit(sweep, sorted({float(n) for n in sweep.points["load"]}))


@dataclass(frozen=True)
class LabFolder:
    """The folder in ``root``, which exists."""

    root: Path

    def run_directories(self) -> list[Path]:
        """The runs, the oldest first."""
        return sorted(p for p in (self.root / RUNS).iterdir() if p.is_dir() and p.name.isdecimal())

    def key(self) -> bytes:
        """The key that signs the sessions of browsers; a lab that is started again knows them. StoreError."""
        path = self.root / KEY
        try:
            if not path.exists():
                write_durably(path, secrets.token_bytes(KEY_BYTES), 0o600)
            return path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path} cannot be used: {error.strerror or error}") from error

    def new_run(self) -> Path:
        """Create a directory for a new run. StoreError where that fails."""
        last = max((int(p.name) for p in self.run_directories()), default=0)
        path = self.root / RUNS / f"{last + 1:0{RUN_DIGITS}d}"
        try:
            path.mkdir()
        except OSError as error:
            raise StoreError(f"{path} cannot be created: {error.strerror or error}") from error
        return path

    def sources(self) -> Mapping[str, LabSource]:
        """Everything measured before, by identifier: the published datasets, the teacher's sweeps, earlier runs."""
        from measure.datasets import about, dataset_names

        published = [
            LabSource(f"dataset-{name}", f"{name}: {about(name).title}", dataset=name)
            for name in dataset_names(curves_only=True)
        ]
        own = [_own(p, p.name) for p in sorted((self.root / SWEEPS).iterdir()) if not p.name.startswith(".")]
        runs = [_own(p / "sweep", f"run {p.name}") for p in self.run_directories() if (p / "sweep").is_dir()]
        return {source.identity: source for source in (*published, *own, *runs)}

    def source(self, identity: object) -> LabSource:
        """The source with this identifier. DataError for an unknown one."""
        found = self.sources().get(str(identity))
        if found is None:
            raise DataError("that measurement is not in the lab (any more); choose another one")
        return found


def _own(path: Path, label: str) -> LabSource:
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()
    return LabSource(f"own-{digest[:12]}", label.encode("utf-8", "replace").decode(), path=path)


@contextmanager
def opened(root: Path) -> Iterator[LabFolder]:
    """The lab's folder in ``root``, made where it is missing, and held: one lab at a time.

    Raises MeasureError where it cannot be made, is no folder of a lab, or another lab has it.
    """
    _refuse_foreign(root)
    with ExitStack() as held:
        try:
            for name in (RUNS, SWEEPS, DISK):
                (root / name).mkdir(parents=True, exist_ok=True)
            held.enter_context(lock_file(root / ".lock"))
        except BlockingIOError as error:
            raise MeasureError(f"another lab uses {root}; close it, or name another folder: --folder DIR") from error
        except OSError as error:
            raise MeasureError(f"the lab's folder {root} cannot be used: {error.strerror or error}") from error
        yield LabFolder(root.resolve())


def _refuse_foreign(root: Path) -> None:
    """MeasureError where ``root`` is a file, or a folder with something else in it."""
    if root.exists() and not root.is_dir():
        raise MeasureError(f"{root} is a file; name a folder for the lab: --folder DIR")
    if root.is_dir() and not (root / RUNS).is_dir() and any(root.iterdir()):
        raise MeasureError(f"{root} is not empty and no folder of a lab; name another one: --folder DIR")
