"""Published measurements that come with the package, so that everything can be tried without hardware.

``dataset_names()`` lists them, ``about(name)`` describes one with its known errors, ``load_dataset(name)`` gives the
Sweep and ``dataset_table(name)`` the table as printed.
"""

from __future__ import annotations

import io
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.latencies import LatencyTable, latency_table
from measure.formats.tables.table import csv_sweep
from measure.loads import LoadKind
from measure.origin import Provenance, told, word_of
from measure.sweep import Sweep
from measure.units import format_duration

__all__ = [
    "DatasetInfo",
    "about",
    "audit_dataset",
    "check_labels",
    "dataset_latencies",
    "dataset_names",
    "dataset_table",
    "load_dataset",
]


@dataclass(frozen=True)
class DatasetInfo:
    """One table of the catalogue.

    ``columns`` and ``units`` are what :func:`measure.load` needs to read it. ``curve`` is False where the table has no
    throughput or no load, so that it cannot become a Sweep; ``why_no_curve`` then says what it holds.
    ``instead`` is the command for a table that ``qsim compare`` refuses.
    """

    name: str
    title: str
    source: str
    device: str
    host_cpu: str
    tool: str
    varied: str
    anomaly: str
    load_kind: LoadKind = "queue_depth"
    columns: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    curve: bool = True
    why_no_curve: str = ""
    instead: str = ""


_BY_NAME = {
    name: DatasetInfo(name, **entry)
    for name, entry in tomllib.loads((files(__name__) / "catalogue.toml").read_text("utf-8")).items()
}


def dataset_names(*, curves_only: bool = False) -> tuple[str, ...]:
    """The names in the catalogue's order; with ``curves_only`` those that ``load_dataset`` can load.

    >>> dataset_names(curves_only=True)[:2]
    ('000-ssd', '000-memory')
    """
    return tuple(info.name for info in _BY_NAME.values() if info.curve or not curves_only)


def about(name: str) -> DatasetInfo:
    """The catalogue's entry of a dataset. DataError listing the names for an unknown one."""
    info = _BY_NAME.get(name)
    if info is None:
        raise DataError(f"there is no dataset {name!r}; there are {', '.join(_BY_NAME)}")
    return info


def load_dataset(name: str, *, as_published: bool = False) -> Sweep:
    """A dataset as a Sweep in SI units, all its curves, with the errors corrected that the audit proves.

    A Finding says what was corrected (:mod:`measure.auditing.all_checks`); ``as_published`` leaves the numbers as
    they were printed.
    Raises DataError for an unknown name, and for a table that is not a curve, naming what it holds.

    >>> load_dataset("004-ssd-depth")
    Sweep 004-ssd-depth: 5 points of 1 curve by fio on Windows, direct not set: 16 KiB
    outstanding requests N: 1 to 1024 requests
    """
    info = about(name)
    if not info.curve:
        raise DataError(
            f"dataset {name!r} is no curve: {info.why_no_curve}; run instead: {info.instead}, or to see it qsim show "
            f"--dataset {name}"
        )
    sweep = csv_sweep(_text(name), info.columns, info.units, name=f"{name}.csv")
    details = {**sweep.provenance.details, "title": info.title, "varied": info.varied, "anomaly": info.anomaly}
    provenance = Provenance(
        tool=info.tool, cpu=info.host_cpu, device=info.device, source=f"{info.source}, table {name}", details=details
    )
    # The catalogue knows a table's further columns: no finding about them.
    noted = tuple(f for f in sweep.findings if f.check != "columns")
    by_report = sweep.points["load_origin"].where(
        sweep.points["load_origin"].map(word_of) != "told", told("the report")
    )
    points = sweep.points.assign(load_origin=by_report)  # a load that is no column stands in the report's text
    sweep = replace(sweep, points=points, provenance=provenance, findings=noted, name=name)
    if as_published:
        return sweep
    from measure.auditing.all_checks import corrected as correct

    return correct(sweep)


def dataset_table(name: str) -> pd.DataFrame:
    """A dataset's table exactly as printed, units and labels included. DataError for an unknown name."""
    about(name)
    return pd.read_csv(io.StringIO(_text(name)), comment="#")


def _text(name: str) -> str:
    return (files(__name__) / f"{name}.csv").read_text("utf-8")


def check_labels(measured: Mapping[str, float], baseline: Mapping[str, float]) -> list[Finding]:
    """An error where "read" and "write" in ``measured`` (latencies at depth 1, s) are exchanged against ``baseline``.

    They are where the exchange brings both within 25 % and the labels do not.
    """
    near = math.log(1.25)
    straight = max(abs(math.log(measured[d] / baseline[d])) for d in ("read", "write"))
    crossed = max(abs(math.log(measured[a] / baseline[b])) for a, b in (("read", "write"), ("write", "read")))
    if straight <= near or crossed > near:
        return []
    times = {d: (format_duration(measured[d]), format_duration(baseline[d])) for d in ("read", "write")}
    return [
        Finding(
            "labels",
            "error",
            f"at depth 1 the reads take {times['read'][0]} and the writes {times['write'][0]}, where the "
            "baselines of the "
            f"same device are {times['read'][1]} and {times['write'][1]}.",
            "the labels read and write are exchanged.",
            "look at rw= in the command of one run.",
        )
    ]


def audit_dataset(name: str) -> list[Finding]:
    """The audit of a dataset of the catalogue, also of tables that are not curves."""
    if about(name).curve:
        from measure.auditing.all_checks import audit

        return audit(load_dataset(name, as_published=True))
    return list(dataset_latencies(name).findings)


def dataset_latencies(name: str) -> LatencyTable:
    """A dataset of latencies alone, in seconds, with what its audit finds. DataError for a dataset that is a curve.

    >>> float(dataset_latencies("002-ssd-tails").points["latency_p999_s"].max())
    0.00224461
    """
    info, found = about(name), latency_table(_text(name), name)
    if found is None:
        raise DataError(f"dataset {name!r} is no table of latencies alone; run: qsim show --dataset {name}")
    return replace(found, findings=(*found.findings, *(_swapped(found) if "labels" in info.anomaly else ())))


def _swapped(tails: LatencyTable) -> list[Finding]:
    """The labels of percentiles over the depth against the same report's baselines."""
    alone = tails.points[tails.points["load"] == 1]
    baseline = dataset_latencies("002-ssd-baseline").points
    words = {1.0: "read", 0.0: "write"}
    measured = {words[s]: float(p) for s, p in zip(alone["read_fraction"], alone["latency_p50_s"], strict=True)}
    known = {d: float(baseline.set_index("series")["latency_s"][f"4Ki random {d}"]) for d in words.values()}
    return check_labels(measured, known)
