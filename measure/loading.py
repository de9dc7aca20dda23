"""``load``: whatever a tool wrote becomes a Sweep.

What a file is, is told by its content and not by its name: fio's output (JSON, also with messages around it, terse, the
report for people), MLC's text, bandwidth-latency curves, a table. Of fio's logs the name tells what they log. A
directory is either a sweep of ours (it holds ``sweep.json``) or a collection of such files; files of one subdirectory
belong together, and the subdirectory's name goes before the names of its curves. Logs beside fio's results tell how
those runs went; logs alone are points themselves, and are read in pieces, so that their size does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from measure.csv_table import csv_sweep
from measure.dataset import Sweep
from measure.errors import DataError
from measure.findings import Finding, unreadable
from measure.joining import join
from measure.mess_curves import curves_sweep, looks_like_pairs
from measure.mlc_output import mlc_sweep
from measure.sniffing import NAMES, Format, InputFile, read_file
from measure.store import MANIFEST
from measure.stored_sweeps import load_store

_MAX_FILES = 20_000
_MAX_LISTED = 20
_MAX_TEXT = 2**29  # characters of all files together, logs aside


def load(
    path_or_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Sweep:
    """Read measurements from a file, several files, or a directory.

    ``path_or_paths``: a sweep directory of ours, fio's output or logs, MLC text, bandwidth-latency curves, a CSV table,
    a directory of these, or a list of files. ``columns`` maps roles to the columns of a table ({"load": "io_depth",
    "latency": "lat"}) and ``units`` roles to units ({"latency": "us"}); they concern tables and bandwidth-latency text
    without units, see :mod:`measure.csv_columns`.

    Files of a directory that cannot be read become Findings, and the rest is loaded; a file that was named itself and
    cannot be read is an error. Raises DataError with one sentence that names the file, what is wrong and the remedy.
    """
    paths = _paths(path_or_paths)
    if len(paths) == 1:
        return _load_one(paths[0], columns, units)
    directories = [p for p in paths if p.is_dir()]
    if directories:
        sweeps = [_load_one(p, columns, units) for p in paths]
        return join([(str(p), s) for p, s in zip(paths, sweeps, strict=True)], " and ".join(map(str, paths)))
    names = _short_names(paths)
    read: list[tuple[Format, InputFile]] = []
    characters = 0
    for name, path in zip(names, paths, strict=True):
        read.append(read_file(path, name))
        characters = _counted(characters, read[-1][1], ", ".join(map(str, paths[:3])))
    kinds = {kind for kind, _ in read}
    if len(kinds) > 1 and kinds != {"fio", "log"}:
        raise DataError(
            f"{', '.join(map(str, paths[:3]))}: {' and '.join(sorted(NAMES[k] for k in kinds))} cannot be one sweep; "
            "load them one after the other"
        )
    kind = "fio" if "fio" in kinds else next(iter(kinds))
    logs = [f.path for k, f in read if k == "log"]
    return _sweep(kind, [f for k, f in read if k == kind], columns, units, logs if kind == "fio" else ())


def _counted(characters: int, file: InputFile, where: str) -> int:
    """The characters read so far; DataError where all files together would fill the memory."""
    characters += len(file.text)
    if characters > _MAX_TEXT:
        raise DataError(f"{where} hold more than {_MAX_TEXT / 1e6:g} MB of text; name fewer of them")
    return characters


def _paths(path_or_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    given = [path_or_paths] if isinstance(path_or_paths, str | os.PathLike) else list(path_or_paths)
    if not given:
        raise DataError("no file was named; give a file, several files or a directory")
    if any(not str(p) for p in given):
        raise DataError("the name of a file is empty; give a file, several files or a directory")
    paths = [Path(p) for p in given]
    twice = [p for i, p in enumerate(paths) if p in paths[:i]]
    if twice:
        raise DataError(f"{twice[0]} is named twice; a file counts once")
    return paths


def _short_names(paths: Sequence[Path]) -> list[str]:
    """The files' names; their whole paths where two names are alike."""
    names = [p.name for p in paths]
    return names if len(set(names)) == len(names) else [str(p) for p in paths]


def _load_one(path: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    if path.is_dir():
        return _load_directory(path, columns, units)
    kind, file = read_file(path, str(path))
    return _sweep(kind, [replace(file, name=path.name)], columns, units)


def _sweep(
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
    else:
        tables = [(f.name, csv_sweep(f.text, columns, units, name=f.name)) for f in files]
        sweep = tables[0][1] if len(tables) == 1 else join(tables, ", ".join(texts))
    name = sweep.name or files[0].name
    return replace(sweep, raw=tuple(f.path for f in files), name=name)


def _fio_sweep(texts: Mapping[str, str], logs: Sequence[Path]) -> Sweep:
    """fio's results, with the course of the runs where they were logged."""
    from measure.fio_output import read_all, sweep_of_all
    from measure.log_records import choose_logs, with_windows

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
    from measure.fio_output import sweep_of_all
    from measure.log_records import choose_logs, record_of_logs

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


# --- directories ------------------------------------------------------------------------------------------------


def _load_directory(directory: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    if (directory / MANIFEST).is_file():
        return load_store(directory)
    stores, paths = _walk(directory)
    refused: list[Finding] = []
    files: dict[Format, dict[Path, list[InputFile]]] = {kind: {} for kind in NAMES}
    characters = 0
    for path in paths:
        name = str(path.relative_to(directory))
        try:
            found, file = read_file(path, name)
        except DataError as error:
            refused.append(unreadable(str(error)))
            continue
        files[found].setdefault(path.parent, []).append(file)
        characters = _counted(characters, file, str(directory))
    parts: list[tuple[str, Sweep]] = []
    for store in stores:
        _try(lambda store=store: load_store(store), _label(store, directory), parts, refused)  # type: ignore[misc]
    kind = next((k for k in NAMES if files[k]), None)
    if kind is not None:
        for folder, members in sorted(files[kind].items()):
            logs = [f.path for f in files["log"].pop(folder, ())] if kind == "fio" else []
            _load_members(kind, _label(folder, directory), members, columns, units, logs, parts, refused)
        refused += [
            unreadable(f"{f.name} is a {NAMES[k]} in a directory of {NAMES[kind]}; load it by its own name.", "info")
            for k in NAMES if k != kind for members in files[k].values() for f in members
        ]  # fmt: skip
    if not parts:
        first = f" (the first: {refused[0].message})" if refused else ""
        raise DataError(
            f"{directory} holds nothing that can be read as a measurement, {len(paths)} file(s) tried{first}; "
            "name a directory with fio JSON, MLC text or a sweep of ours"
        )
    sweep = join(parts, str(directory)) if len(parts) > 1 else parts[0][1]
    return replace(sweep, findings=(*sweep.findings, *_capped(refused)), name=directory.name or str(directory))


def _load_members(
    kind: Format, label: str, members: list[InputFile], columns: Mapping[str, str] | None,
    units: Mapping[str, str] | None, logs: Sequence[Path], parts: list[tuple[str, Sweep]], refused: list[Finding],
) -> None:  # fmt: skip
    """Load the files of one folder together, without those that cannot be read alone."""
    try:
        parts.append((label, _sweep(kind, members, columns, units, logs)))
    except DataError:
        good: list[InputFile] = []
        for member in members:
            try:
                _sweep(kind, [member], columns, units)
                good.append(member)
            except DataError as error:
                refused.append(unreadable(str(error)))
        if good:
            _try(lambda: _sweep(kind, good, columns, units, logs), label, parts, refused)


def _try(read: Callable[[], Sweep], label: str, parts: list[tuple[str, Sweep]], refused: list[Finding]) -> None:
    try:
        parts.append((label, read()))
    except DataError as error:
        refused.append(unreadable(str(error)))


def _walk(directory: Path) -> tuple[list[Path], list[Path]]:
    """The sweeps of ours below a directory, and every other file that is not hidden; links are not followed."""
    stores: list[Path] = []
    files: list[Path] = []

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be listed: {error.strerror}; check its permissions") from error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        if MANIFEST in names:
            stores.append(Path(folder))
            folders.clear()
            continue
        files += [Path(folder, n) for n in sorted(names) if not n.startswith(".")]
        if len(files) > _MAX_FILES:
            raise DataError(f"{directory} holds more than {_MAX_FILES} files; name the folder with the measurements")
    return stores, files


def _label(folder: Path, root: Path) -> str:
    return "" if folder == root else str(folder.relative_to(root))


def _capped(findings: Sequence[Finding]) -> list[Finding]:
    shown = list(findings[:_MAX_LISTED])
    if len(findings) > _MAX_LISTED:
        shown.append(unreadable(f"{len(findings) - _MAX_LISTED} more file(s) were not read either."))
    return shown
