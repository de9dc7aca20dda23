"""Files of one format as one Sweep, each by the reader of its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from measure.errors import DataError
from measure.findings import unreadable
from measure.formats.detection import Format, InputFile
from measure.formats.mess_curves import curves_sweep, looks_like_pairs
from measure.formats.mlc import mlc_sweep
from measure.formats.servers.tools import server_runs_sweep
from measure.formats.tables.table import csv_sweep
from measure.formats.watched.record import record_sweep
from measure.formats.watched.sysstat import sysstat_sweep
from measure.join_sweeps import join
from measure.sweep import Sweep

WATCHED: Mapping[str, Callable[[str, str], Sweep]] = {"record": record_sweep, "sysstat": sysstat_sweep}
"""What a device did second by second: its steady stretches."""


def sweep_of(
    kind: Format, files: Sequence[InputFile], columns: Mapping[str, str] | None, units: Mapping[str, str] | None,
    logs: Sequence[Path] = (),
) -> Sweep:  # fmt: skip
    """The sweep in files of one format; ``logs`` are those beside fio's results."""
    texts = {f.name: f.text for f in files}
    if kind == "fio":
        sweep = _fio_sweep(texts, logs)
    elif kind == "log":
        sweep = _log_sweep([f.path for f in files])
    elif kind == "mlc":
        sweep = mlc_sweep(texts)
    elif kind == "curves" and (not columns or all(looks_like_pairs(text) for text in texts.values())):
        sweep = curves_sweep(texts, units)
    elif kind == "server":
        sweep = server_runs_sweep(texts)
    elif kind in WATCHED:
        watched = [(f.name if len(files) > 1 else "", WATCHED[kind](f.text, f.name)) for f in files]
        sweep = watched[0][1] if len(files) == 1 else join(watched, ", ".join(texts))
    else:
        tables = [(f.name, csv_sweep(f.text, columns, units, name=f.name)) for f in files]
        sweep = tables[0][1] if len(tables) == 1 else join(tables, ", ".join(texts))
    name = sweep.name or files[0].name
    return replace(sweep, raw=tuple(f.path for f in files), name=name)


def _fio_sweep(texts: Mapping[str, str], logs: Sequence[Path]) -> Sweep:
    """fio's results, with the course of the runs where they were logged."""
    from measure.formats.fio.log_records import choose_logs, with_windows
    from measure.formats.fio.sweep import read_all, sweep_of_all

    records, findings, refusals = read_all(texts)
    if logs:
        groups, _ = choose_logs(logs)
        try:
            records, left = with_windows(records, groups)
        except DataError as error:
            left = []
            findings.append(unreadable(str(error)))
        findings += [
            unreadable(f"{g.files[0].name} is a log of none of the results beside it; load it by its own name.", "info")
            for g in left
        ]  # fmt: skip
    return sweep_of_all(records, findings, refusals)


def _log_sweep(paths: Sequence[Path]) -> Sweep:
    """fio's logs alone; DataError where none of them tells latencies."""
    from measure.formats.fio.log_records import choose_logs, record_of_logs
    from measure.formats.fio.sweep import sweep_of_all

    groups, aside = choose_logs(paths)
    if not groups:
        raise DataError(
            f"{aside[0].name} logs no latency of requests (bandwidth, IOPS or submission only); give NAME_lat.1.log "
            "or fio's JSON"
        )
    records, findings, refusals = [], [], []
    for group in groups:
        try:
            records.append(record_of_logs(group))
        except DataError as error:
            refusals.append(str(error))
            findings.append(unreadable(str(error)))
    return sweep_of_all(records, findings, refusals)
