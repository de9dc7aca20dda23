"""Where the times of ``qsim fit-service`` come from: a sweep, a published table, or percentiles as typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from calibrate.cli import parsing
from calibrate.cli.console import warn
from calibrate.cli.data import DataSource, known_dataset, known_series
from calibrate.cli.failures import wrong_usage

if TYPE_CHECKING:
    from calibrate.service import Times
    from measure.sweep import Provenance

Found: TypeAlias = "tuple[dict[str, Times], dict[str, str], Provenance | None]"
"""The times by name, why other curves have none, and where all are from."""


def of_typed(text: str, requests: float | None) -> Found:
    """Percentiles as typed."""
    from calibrate.service.sources import parse_percentiles
    from calibrate.service.times import of_percentiles

    try:
        told = parse_percentiles(text)
    except ValueError as error:
        raise wrong_usage(f"--percentiles: {error}") from error
    return {"percentiles": of_percentiles(told, requests)}, {}, None


def is_table(dataset: str) -> bool:
    """Whether the dataset is no curve, but a table of percentiles. CommandError for an unknown one."""
    from measure.datasets import about

    return not about(known_dataset(dataset)).curve


def of_table(dataset: str, series: str | None, load: float | None, requests: float | None) -> Found:
    """The percentiles of a published table."""
    from calibrate.report.measured import published
    from calibrate.service.sources import table_times

    shown = published(dataset)
    names = list(dict.fromkeys(shown.table["series"]))
    if series is not None and series not in names:
        raise wrong_usage(f"--series: {parsing.not_one_of(series, names)}")
    at = _load(sorted(set(shown.table["load"])), load)
    read = _each(names if series is None else [series], lambda name: table_times(shown.table, name, at, requests))
    return *read, shown.provenance


def of_sweep(source: DataSource, series: str | None, load: float | None, requests: float | None) -> Found:
    """The logs, histograms or percentiles of a sweep."""
    from calibrate.service.sources import service_times

    sweep = source.load()
    names = known_series(sweep, series)
    rows = sweep.points[sweep.points["series"].isin(names)]
    at = _load(sorted(set(rows["load"])), load) if load is not None else None
    if sweep.load_type.is_closed and (rows["load"].min() if at is None else at) > 1:
        warn(
            "at a load above 1 latencies hold the waiting as well as the service; measure depth 1 for the service alone"
        )
    return *_each(names, lambda name: service_times(sweep, name, at, requests)), sweep.provenance


def _load(measured: Sequence[float], load: float | None) -> float:
    if load is not None and load not in measured:
        there = ", ".join(f"{n:g}" for n in measured)
        raise wrong_usage(f"--load: no point was measured at {load:g}; there are {there}")
    return measured[0] if load is None else load


def _each(names: Sequence[str], read: Callable[[str], Times]) -> tuple[dict[str, Times], dict[str, str]]:
    from measure.errors import DataError

    found: dict[str, Times] = {}
    refused: dict[str, str] = {}
    for name in names:
        try:
            times = read(name)
        except DataError as error:
            refused[name] = str(error)
        else:
            found[times.source] = times
    return found, refused
