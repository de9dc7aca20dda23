"""A directory as one Sweep: a qsim sweep, or a collection of what tools wrote.

Files of one subdirectory belong together, and the subdirectory's name goes before the names of its curves. One sweep
holds files of one format over one kind of load. What is no measurement (a notebook, a script, a picture, prose) and
what is of another format is left out, with one Finding that names the files; what looks like a measurement and cannot
be read has a Finding of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from measure.errors import DataError, StoreError
from measure.findings import Finding, unreadable
from measure.formats.by_format import (
    NAMES,
    Format,
    InputFile,
    NoMeasurementError,
    counted_characters,
    read_file,
    sweep_of,
)
from measure.store.directory import MANIFEST, SweepStore
from measure.sweep import Sweep, join
from measure.text_files import reading
from measure.units import counted

_MAX_FILES = 20_000
_MAX_LISTED = 20
_MAX_NAMED = 10
_CODE = (".py", ".pyc", ".r", ".m", ".jl", ".c", ".h", ".cc", ".cpp", ".rs", ".go", ".js", ".ts", ".css")
_SCRIPTS = (".sh", ".bash", ".bat", ".ps1", ".gp", ".gnuplot", ".plt", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".mk")
_NOTEBOOKS = (".ipynb", ".rmd")
_PAGES = (".html", ".htm", ".tex", ".bib", ".pdf", ".ps", ".eps", ".doc", ".docx", ".odt", ".ppt", ".pptx", ".odp")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".ico", ".tif", ".tiff")
_NO_DATA = frozenset((*_CODE, *_NOTEBOOKS, *_SCRIPTS, *_PAGES, *_PICTURES))
_TABLES = frozenset({".csv", ".tsv"})
_DOCUMENT = re.compile(
    r"(?i:(?:readme|licen[cs]e|copying|notice|authors|changelog|makefile|dockerfile)(?:\..*)?|.*\.md)"
)
_NUMBERS = re.compile(r"^[^\n]{0,200}?\d[ \t]*[,;|\t ][ \t]*[+-]?\.?\d", re.MULTILINE)
_LOOK_AT = 2**16
_RUNS: tuple[Format, ...] = ("fio", "server")
"""Formats of which a file is one run, and a second of them a repeat."""

_READERS = {
    "fio": ("measure.fio.sweep", "read_fio_store"),
    "drive": ("measure.fio.sweep", "read_fio_store"),
    "memory": ("measure.memory.sweep", "read_memory_store"),
    "memory_probe": ("measure.memory.sweep", "read_memory_store"),
    "mlc": ("measure.mlc.sweep", "read_mlc"),
    "known-device": ("measure.known_device.in_python", "read_device_store"),
}
"""What reads the sweeps of each tool, imported where there is one."""

Part = tuple[str, Sweep]


@dataclass
class _Contents:
    """What a directory holds: measurements by format and folder (``runs``: their texts), what is left out, and why."""

    files: dict[Format, dict[Path, list[InputFile]]] = field(default_factory=lambda: {kind: {} for kind in NAMES})
    no_data: list[str] = field(default_factory=list)
    runs: set[tuple[Path, str]] = field(default_factory=set)
    copies: list[str] = field(default_factory=list)
    damaged: list[Finding] = field(default_factory=list)


def load_directory(directory: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    """The sweep in a directory; ``columns`` and ``units`` concern its tables.

    Raises DataError where nothing in it can be read as a measurement.
    """
    if (directory / MANIFEST).is_file():
        return load_store(directory)
    stores, paths = _walk(directory)
    contents = _Contents()
    parts: list[Part] = []
    for store in stores:
        try:
            parts.append((_label(store, directory), load_store(store)))
        except DataError as error:
            contents.damaged.append(unreadable(str(error)))
    _sort(paths, directory, contents)
    read, others = _load_files(contents, directory, columns, units)
    parts += read
    if not parts:
        first = f" (the first: {contents.damaged[0].message})" if contents.damaged else ""
        raise DataError(
            f"{directory} holds nothing that can be read as a measurement, {counted(len(paths), 'file')} tried{first}; "
            "name a directory with fio JSON, MLC text or a qsim sweep"
        )
    chosen, other_loads = _of_one_load(parts)
    sweep = join(chosen, str(directory))
    no_data = _files_left_out(
        sorted(contents.no_data),
        "is not a measurement",
        "are not measurements",
        "if one of them holds measurements, load it by its own name.",
    )
    copies = _files_left_out(
        contents.copies,
        "is a copy of another file there",
        "are copies of other files there",
        "a run counts once: a copy would make the noise of repeats look small.",
    )
    left_out = [*no_data, *copies, *others, *other_loads]
    findings = (*sweep.findings, *_capped(contents.damaged), *left_out)
    return replace(sweep, findings=findings, name=directory.name or str(directory))


# --- a qsim sweep --------------------------------------------------------------------------------------------------


def load_store(directory: Path) -> Sweep:
    """A sweep directory of qsim, read by the module that wrote it. Raises DataError."""
    try:
        store = SweepStore.read(directory)
        with reading(str(directory)):
            tool = store.manifest.get("tool")
            if tool in _READERS:
                module, reader = _READERS[tool]
                sweep: Sweep = getattr(import_module(module), reader)(store)
                return sweep
    except (StoreError, OSError) as error:
        raise DataError(str(error)) from error
    raise DataError(f"{directory} holds a sweep by {tool!r}, which this version cannot read; update qsim")


# --- what the files are ---------------------------------------------------------------------------------------------


def _walk(directory: Path) -> tuple[list[Path], list[Path]]:
    """The qsim sweeps below a directory, and every other file that is not hidden; links are not followed."""
    stores: list[Path] = []
    files: list[Path] = []

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be listed: {error.strerror}; check its permissions") from error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        if MANIFEST in names:
            stores.append(Path(folder))
            folders.clear()
            continue
        files += [Path(folder, n) for n in sorted(names) if not n.startswith(".")]
        if len(files) > _MAX_FILES:
            raise DataError(f"{directory} holds more than {_MAX_FILES} files; name the folder with the measurements")
    return stores, files


def _sort(paths: Iterable[Path], directory: Path, contents: _Contents) -> None:
    """Put each file where it belongs in ``contents``; a script or a picture is not even read."""
    characters = 0
    for path in paths:
        name = str(path.relative_to(directory))
        if path.suffix.lower() in _NO_DATA or _DOCUMENT.fullmatch(path.name):
            contents.no_data.append(name)
            continue
        try:
            kind, file = read_file(path, name)
        except NoMeasurementError as error:
            if error.text is not None and _NUMBERS.search(error.text[:_LOOK_AT]):
                contents.damaged.append(unreadable(str(error)))
            else:
                contents.no_data.append(name)
            continue
        except DataError as error:
            contents.damaged.append(unreadable(str(error)))
            continue
        if kind == "table" and path.suffix.lower() not in _TABLES and not _NUMBERS.search(file.text[:_LOOK_AT]):
            contents.no_data.append(name)
            continue
        characters = counted_characters(characters, file, str(directory))
        run = (path.parent, file.text)
        if kind in _RUNS and run in contents.runs:
            contents.copies.append(name)
            continue
        contents.runs.add(run)
        contents.files[kind].setdefault(path.parent, []).append(file)


# --- reading them ---------------------------------------------------------------------------------------------------


def _load_files(
    contents: _Contents, directory: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None
) -> tuple[list[Part], list[Finding]]:
    """The parts in files of the first format that can be read, and a Finding for the files of others."""
    for kind, folders in contents.files.items():
        parts: list[Part] = []
        for folder, members in sorted(folders.items()):
            parts += _load_members(kind, _label(folder, directory), members, columns, units, contents.damaged)
        if not parts:
            folders.clear()  # what is wrong with each is said
            continue
        left = {k: f for k, f in contents.files.items() if k != kind}
        others = [f"{m.name} ({NAMES[k]})" for k, f in left.items() for members in f.values() for m in members]
        return parts, _files_left_out(
            others,
            f"is of another format than the {NAMES[kind]}",
            f"are of other formats than the {NAMES[kind]}",
            "load them by their own names.",
        )
    return [], []


def _load_members(
    kind: Format,
    label: str,
    members: Sequence[InputFile],
    columns: Mapping[str, str] | None,
    units: Mapping[str, str] | None,
    damaged: list[Finding],
) -> list[Part]:
    """The files of one folder together, without those that cannot be read alone; apart where they do not fit."""
    try:
        return [(label, sweep_of(kind, members, columns, units))]
    except DataError:
        pass  # each is read alone now, and what is wrong with it is reported
    alone: dict[tuple[str, str], list[tuple[InputFile, Sweep]]] = {}
    for member in members:
        try:
            sweep = sweep_of(kind, [member], columns, units)
        except DataError as error:
            damaged.append(unreadable(str(error)))
        else:
            alone.setdefault((sweep.load_kind, sweep.load_unit), []).append((member, sweep))
    parts: list[Part] = []
    for group in alone.values():
        try:
            parts.append((label, sweep_of(kind, [member for member, _ in group], columns, units)))
        except DataError:
            parts += [(member.name, sweep) for member, sweep in group]
    return parts


def _of_one_load(parts: Sequence[Part]) -> tuple[list[Part], list[Finding]]:
    """The parts over one kind of load: one that can be fitted before a bandwidth, then the one with most points."""
    groups: dict[tuple[str, str], list[Part]] = {}
    for label, sweep in parts:
        groups.setdefault((sweep.load_kind, sweep.load_unit), []).append((label, sweep))
    ranked = sorted(
        groups.values(),
        key=lambda g: (g[0][1].load_type.is_bandwidth or g[0][1].load_type.is_size, -sum(len(sweep) for _, sweep in g)),
    )
    chosen = ranked[0]
    over = _load_words(chosen[0][1])
    findings = []
    for group in ranked[1:]:
        names = [name for label, sweep in group for name in _sources(label, sweep)]
        findings.append(
            _left_out(
                f"{_hold(len(names))} curves over {_load_words(group[0][1])} and not over {over}, and "
                f"{_are(len(names))} "
                f"left out: {_named(names)}.",
                "load them by their own names.",
            )
        )
    return chosen, findings


def _sources(label: str, sweep: Sweep) -> list[str]:
    """The files of a part; the folder alone of a qsim sweep."""
    folders = {raw.parent for raw in sweep.raw}
    if not folders or any((folder / MANIFEST).is_file() for folder in folders | {f.parent for f in folders}):
        return [label or sweep.name]
    return [raw.name for raw in sweep.raw]


def _load_words(sweep: Sweep) -> str:
    return f"{sweep.load_type.name} ({sweep.load_unit})"


def _label(folder: Path, root: Path) -> str:
    return "" if folder == root else str(folder.relative_to(root))


# --- what is left out -----------------------------------------------------------------------------------------------


def _files_left_out(names: Sequence[str], one: str, several: str, remedy: str) -> list[Finding]:
    if not names:
        return []
    what = f"{counted(len(names), 'file')} {one if len(names) == 1 else several}"
    return [_left_out(f"{what} and {_are(len(names))} left out: {_named(names)}.", remedy)]


def _left_out(message: str, remedy: str) -> Finding:
    return Finding("files-left-out", "info", message, "", remedy)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _hold(count: int) -> str:
    return f"{counted(count, 'file')} hold{'s' if count == 1 else ''}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _capped(findings: Sequence[Finding]) -> list[Finding]:
    shown = list(findings[:_MAX_LISTED])
    if len(findings) > _MAX_LISTED:
        shown.append(unreadable(f"{counted(len(findings) - _MAX_LISTED, 'more file')} could not be read either."))
    return shown
