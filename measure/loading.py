"""``load``: whatever a tool wrote becomes a Sweep.

What a file is, is told by its content and not by its name: fio's JSON (also with messages around it), MLC's
loaded-latency text, a table. A directory is either a sweep of ours (it holds ``sweep.json``) or a collection of such
files; files of one subdirectory belong together, and the subdirectory's name goes before the names of its curves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from measure.csv_table import csv_sweep, looks_like_table
from measure.dataset import Provenance, Sweep
from measure.errors import DataError, MeasureError, StoreError
from measure.findings import Finding
from measure.mlc_output import looks_like_mlc, mlc_sweep
from measure.store import MANIFEST, SweepStore
from measure.text_files import read_text

Format = Literal["fio", "mlc", "table"]

_NAMES: Mapping[Format, str] = {"fio": "fio JSON", "mlc": "MLC text", "table": "table"}
_MAX_FILES = 20_000
_MAX_LISTED = 20


def load(
    path_or_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Sweep:
    """Read measurements from a file, several files, or a directory.

    ``path_or_paths``: a sweep directory of ours, fio JSON, MLC loaded-latency text, a CSV table, a directory of these,
    or a list of files. ``columns`` maps roles to the columns of a table ({"load": "io_depth", "latency": "lat"}) and
    ``units`` roles to units ({"latency": "us"}); they concern tables only, see :mod:`measure.csv_columns`.

    Files of a directory that cannot be read become Findings, and the rest is loaded; a file that was named itself and
    cannot be read is an error. Raises DataError with one sentence that names the file, what is wrong and the remedy.
    """
    paths = _paths(path_or_paths)
    if len(paths) == 1:
        return _load_one(paths[0], columns, units)
    directories = [p for p in paths if p.is_dir()]
    if directories:
        sweeps = [_load_one(p, columns, units) for p in paths]
        return _join([(str(p), s) for p, s in zip(paths, sweeps, strict=True)], " and ".join(map(str, paths)))
    names = _short_names(paths)
    files = [_File(name, path, read_text(path)) for name, path in zip(names, paths, strict=True)]
    kinds = {sniff(f.text, f.name) for f in files}
    if len(kinds) > 1:
        raise DataError(
            f"{', '.join(map(str, paths[:3]))}: {' and '.join(sorted(_NAMES[k] for k in kinds))} cannot be one sweep; "
            "load them one after the other"
        )
    return _sweep(next(iter(kinds)), files, columns, units)


def sniff(text: str, name: str) -> Format:
    """Which tool's output a text is; DataError saying what it looks like where it is none that is read."""
    start = text.lstrip("\ufeff \t\r\n")
    if '"fio version"' in text:
        return "fio"
    if looks_like_mlc(text):
        return "mlc"
    if start.startswith(("{", "[")):
        raise DataError(f'{name} is JSON, but not fio\'s (no "fio version"); run fio with --output-format=json+')
    if start.startswith(("fio:", "fio-")) or "fio: terminating" in text[:65536]:
        raise DataError(f"{name} holds fio's messages but no JSON result; run fio again with --output-format=json+")
    if looks_like_table(text):
        return "table"
    raise DataError(f"{name} is neither fio's JSON, MLC's loaded-latency text nor a CSV table; begins {start[:40]!r}")


@dataclass(frozen=True)
class _File:
    name: str
    path: Path
    text: str


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
    file = _File(path.name, path, read_text(path))
    return _sweep(sniff(file.text, str(path)), [file], columns, units)


def _sweep(
    kind: Format, files: Sequence[_File], columns: Mapping[str, str] | None, units: Mapping[str, str] | None
) -> Sweep:
    """The sweep in files of one format."""
    texts = {f.name: f.text for f in files}
    if kind == "fio":
        from measure.fio_output import fio_sweep

        sweep = fio_sweep(texts)
    elif kind == "mlc":
        sweep = mlc_sweep(texts)
    else:
        tables = [(f.name, csv_sweep(f.text, columns, units, name=f.name)) for f in files]
        sweep = tables[0][1] if len(tables) == 1 else _join(tables, ", ".join(texts))
    name = sweep.name or files[0].name
    return replace(sweep, raw=tuple(f.path for f in files), name=name)


# --- directories ------------------------------------------------------------------------------------------------


def _load_directory(directory: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    if (directory / MANIFEST).is_file():
        return _load_store(directory)
    stores, paths = _walk(directory)
    refused: list[Finding] = []
    files: dict[Format, dict[Path, list[_File]]] = {"fio": {}, "mlc": {}, "table": {}}
    for path in paths:
        name = str(path.relative_to(directory))
        try:
            text = read_text(path)
            files[sniff(text, name)].setdefault(path.parent, []).append(_File(name, path, text))
        except DataError as error:
            refused.append(_refusal(str(error)))
    parts: list[tuple[str, Sweep]] = []
    for store in stores:
        _try(lambda store=store: _load_store(store), _label(store, directory), parts, refused)  # type: ignore[misc]
    kind = next((k for k in _NAMES if files[k]), None)
    if kind is not None:
        for folder, members in sorted(files[kind].items()):
            _load_members(kind, _label(folder, directory), members, columns, units, parts, refused)
        refused += [
            _refusal(f"{f.name} is a {_NAMES[k]} in a directory of {_NAMES[kind]}; load it by its own name.", "info")
            for k in _NAMES if k != kind for members in files[k].values() for f in members
        ]  # fmt: skip
    if not parts:
        first = f" (the first: {refused[0].message})" if refused else ""
        raise DataError(
            f"{directory} holds nothing that can be read as a measurement, {len(paths)} file(s) tried{first}; "
            "name a directory with fio JSON, MLC text or a sweep of ours"
        )
    sweep = _join(parts, str(directory)) if len(parts) > 1 else parts[0][1]
    return replace(sweep, findings=(*sweep.findings, *_capped(refused)), name=directory.name or str(directory))


def _load_members(
    kind: Format, label: str, members: list[_File], columns: Mapping[str, str] | None,
    units: Mapping[str, str] | None, parts: list[tuple[str, Sweep]], refused: list[Finding],
) -> None:  # fmt: skip
    """Load the files of one folder together, without those that cannot be read alone."""
    try:
        parts.append((label, _sweep(kind, members, columns, units)))
    except DataError:
        good: list[_File] = []
        for member in members:
            try:
                _sweep(kind, [member], columns, units)
                good.append(member)
            except DataError as error:
                refused.append(_refusal(str(error)))
        if good:
            _try(lambda: _sweep(kind, good, columns, units), label, parts, refused)


def _try(read: Callable[[], Sweep], label: str, parts: list[tuple[str, Sweep]], refused: list[Finding]) -> None:
    try:
        parts.append((label, read()))
    except DataError as error:
        refused.append(_refusal(str(error)))


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


def _load_store(directory: Path) -> Sweep:
    """A sweep directory of ours, read by the module that wrote it."""
    try:
        store = SweepStore.read(directory)
        tool = store.manifest.get("tool")
        if tool == "fio":
            from measure.fio import read_fio_store

            return read_fio_store(store)
        if tool in ("memory", "memory_probe"):
            from measure.memory_probe import read_memory_store

            return read_memory_store(store)
        if tool == "mlc":
            raw = sorted((directory / "raw").iterdir())
            return _sweep("mlc", [_File(p.name, p, read_text(p)) for p in raw], None, None)
    except DataError:
        raise
    except (StoreError, OSError) as error:
        raise DataError(str(error)) from error
    except MeasureError as error:
        raise DataError(f"{directory}: {error}") from error
    raise DataError(f"{directory} holds a sweep by {tool!r}, which this version cannot read; update qsim")


def _label(folder: Path, root: Path) -> str:
    return "" if folder == root else str(folder.relative_to(root))


def _refusal(message: str, severity: Literal["info", "warning"] = "warning") -> Finding:
    return Finding("unreadable-file", severity, message)


def _capped(findings: Sequence[Finding]) -> list[Finding]:
    shown = list(findings[:_MAX_LISTED])
    if len(findings) > _MAX_LISTED:
        shown.append(_refusal(f"{len(findings) - _MAX_LISTED} more file(s) were not read either."))
    return shown


def _join(parts: Iterable[tuple[str, Sweep]], name: str) -> Sweep:
    """Several sweeps as one, each curve under the name of where it comes from."""
    labelled = list(parts)
    kinds = {s.load_kind for _, s in labelled}
    if len(kinds) > 1:
        raise DataError(f"{name}: curves over {' and over '.join(sorted(kinds))} cannot be one sweep; load one of them")
    load_units = {s.load_unit for _, s in labelled}
    if len(load_units) > 1:
        raise DataError(f"{name}: loads in {' and in '.join(sorted(load_units))} cannot be one sweep; load one of them")
    tables, findings = [], []
    details: dict[str, Any] = {label or s.name: dict(s.provenance.details) for label, s in labelled}
    buffers: dict[str, float] = {}
    for label, sweep in labelled:
        prefix = f"{label}: " if label else ""
        tables.append(sweep.points.assign(series=prefix + sweep.points["series"]))
        given = sweep.provenance.details.get("buffer_bytes")
        if isinstance(given, int | float):
            given = dict.fromkeys(sweep.series, given)
        buffers.update({prefix + series: float(size) for series, size in (given or {}).items()})
        findings += [replace(f, series=prefix + f.series) if f.series else f for f in sweep.findings]
    first = labelled[0][1]
    provenances = [s.provenance for _, s in labelled]
    provenance = Provenance(
        tool=_common(p.tool for p in provenances),
        tool_version=_common(p.tool_version for p in provenances),
        commands=tuple(c for p in provenances for c in p.commands),
        host=_common(p.host for p in provenances), kernel=_common(p.kernel for p in provenances),
        cpu=_common(p.cpu for p in provenances), device=_common(p.device for p in provenances),
        source=name, details=details,
    )  # fmt: skip
    if buffers:
        details["buffer_bytes"] = buffers
    raw = tuple(r for _, s in labelled for r in s.raw)
    with_rows = [t.dropna(axis="columns", how="all") for t in tables]
    return Sweep(pd.concat(with_rows, ignore_index=True), first.load_kind, first.load_unit, provenance,
                 tuple(findings), raw, name)  # fmt: skip


def _common(values: Iterable[str]) -> str:
    """The values without repetition, for a field that may differ between the parts."""
    return ", ".join(dict.fromkeys(v for v in values if v))
