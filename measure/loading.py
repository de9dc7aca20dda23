"""``load``: reads any tool's output as a Sweep.

Detects a file's format from its content, not its name: fio's output (JSON, also with messages around it, or the report
for people), MLC's text, bandwidth-latency curves, a table. Only fio's logs are identified by name. Logs are
read in pieces, so that their size does not matter. Directories are read by :mod:`measure.directories`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from measure.directories import load_directory
from measure.errors import DataError
from measure.formats.by_format import NAMES, Columns, Format, InputFile, counted_characters, read_file, sweep_of
from measure.formats.tables.latencies import LatencyTable, latency_table
from measure.loads import ArrivalRate, ClosedLoad, Load
from measure.sweep import Sweep, join, of_several_kinds, way_of_coming
from measure.text_files import STDIN, shown_name


def load(
    path_or_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Sweep:
    """Read measurements from a file, several files, or a directory.

    ``path_or_paths``: a sweep directory of qsim, fio's output or logs, MLC text, bandwidth-latency curves, a CSV table,
    a directory of these, or a list of files; ``-`` is the standard input. ``columns`` maps roles to the columns of a
    table ({"load": "io_depth", "latency": "lat"}) and ``units`` roles to units ({"latency": "us"}); they concern tables
    and bandwidth-latency text without units, see :mod:`measure.formats.tables.columns`.

    In a directory, files that cannot be read, or are not measurements, become Findings, and the rest is loaded; a file
    given by name that cannot be read is an error. Raises DataError with one sentence that names the file, what is wrong
    and the remedy.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (table := Path(folder, "drive.csv")).write_text("depth,iops,latency_us\\n1,12000,83\\n8,80000,100\\n")
    ...     print(load(table))
    Sweep drive.csv: 2 points of 1 curve by csv: all points
    outstanding requests N: 1 to 8 requests
    """
    paths = _paths(path_or_paths)
    if len(paths) == 1:
        return _load_one(paths[0], columns, units)
    try:
        return _load_together(paths, columns, units)
    except DataError:
        if (found := _by_kind(paths, columns, units)) is None:
            raise
    return of_several_kinds(found)


def load_latencies(path: str | os.PathLike[str]) -> LatencyTable | None:
    """A table of latencies alone, without a throughput; None for any other file."""
    if Path(path) == STDIN or Path(path).is_dir():
        return None
    kind, file = read_file(Path(path), os.path.basename(path))
    return latency_table(file.text, file.name) if kind == "table" else None


def _by_kind(paths: Sequence[Path], columns: Columns, units: Columns) -> list[Sweep] | None:
    """A sweep for each kind of load in ``paths``; None where they are of one kind, or cannot be read one by one."""
    groups: dict[tuple[str, Load | float | None], list[Path]] = {}
    several = False
    try:
        for path in paths:
            load_type = _load_one(path, columns, units).load_type
            groups.setdefault(way_of_coming(load_type), []).append(path)
            several = len(groups) > 1 and isinstance(load_type, ArrivalRate | ClosedLoad)
        return [load(group, columns, units) for group in groups.values()] if several else None
    except DataError:
        return None


def _load_together(paths: Sequence[Path], columns: Columns, units: Columns) -> Sweep:
    """Files or directories over one kind of load."""
    if any(p.is_dir() for p in paths):
        sweeps = [_load_one(p, columns, units) for p in paths]
        names = [shown_name(p) for p in paths]
        return join(list(zip(names, sweeps, strict=True)), " and ".join(names))
    short = [p.name for p in paths]
    names = short if len(set(short)) == len(short) else [str(p) for p in paths]
    read: list[tuple[Format, InputFile]] = []
    characters = 0
    for name, path in zip(names, paths, strict=True):
        read.append(read_file(path, name))
        characters = counted_characters(characters, read[-1][1], ", ".join(map(str, paths[:3])))
    kinds = {kind for kind, _ in read}
    if len(kinds) > 1:
        raise DataError(
            f"{', '.join(map(str, paths[:3]))}: {' and '.join(sorted(NAMES[k] for k in kinds))} cannot be one sweep; "
            "load them one after the other"
        )
    return sweep_of(kinds.pop(), [file for _, file in read], columns, units)


def _paths(path_or_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    given = [path_or_paths] if isinstance(path_or_paths, str | os.PathLike) else list(path_or_paths)
    if not given:
        raise DataError("no file was named; give a file, several files or a directory")
    if any(not str(p) for p in given):
        raise DataError("the name of a file is empty; give a file, several files or a directory")
    paths = [Path(p) for p in given]
    if twice := [p for i, p in enumerate(paths) if p in paths[:i]]:
        raise DataError(f"{twice[0]} is named twice; a file counts once")
    return paths


def _load_one(path: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    if path.is_dir():
        return load_directory(path, columns, units)
    name = "stdin" if path == STDIN else path.name
    kind, file = read_file(path, name if path == STDIN else str(path))
    return sweep_of(kind, [replace(file, name=shown_name(name))], columns, units)
