"""``load``: reads any tool's output as a Sweep: a file, several, or a directory.

A directory is a qsim sweep, or a collection of tools' outputs. Files of one subdirectory belong together, and the
subdirectory's name precedes the names of its curves. One sweep holds files of one format over one kind of load. Files
that are not measurements (a notebook, a script, a picture, prose) or have another format are left out, with one Finding
that names them; a file that looks like a measurement and cannot be read has a Finding of its own.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from measure.errors import DataError, StoreError
from measure.findings import MOST_NAMED, Finding, unreadable
from measure.formats.by_format import (
    NAMES,
    Columns,
    Format,
    InputFile,
    NoMeasurementError,
    counted_characters,
    has_numbers,
    read_file,
    sweep_of,
)
from measure.formats.tables.latencies import LatencyTable, latency_table
from measure.loads import ArrivalRate, Bandwidth, BufferSize, ClosedLoad, Load
from measure.store.directory import MANIFEST, SweepStore
from measure.sweep import Sweep, join, of_several_kinds, way_of_coming
from measure.text_files import STDIN, reading, shown_name
from measure.units import counted, first_of


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

    In a directory, files that cannot be read become Findings. Raises DataError with one sentence that names the file,
    what is wrong and the remedy.

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


def load_latencies(paths: Sequence[str | os.PathLike[str]]) -> list[LatencyTable]:
    """The tables in files and directories, where all that they hold is latencies alone; none otherwise."""
    found: list[LatencyTable] = []
    for path in map(Path, paths):
        tables = [latency_table(file.text, file.name) for file in _only_tables(path)]
        if not tables or None in tables:
            return []
        found += filter(None, tables)
    return found


def _only_tables(path: Path) -> list[InputFile]:
    """The tables in a file or a directory; none where it holds measurements of another format, or damaged ones."""
    if path == STDIN:
        return []
    if not path.is_dir():
        kind, file = read_file(path, path.name)
        return [file] if kind == "table" else []
    contents = _Contents()
    stores, files = _walk(path)
    _sort(files, path, contents)
    others = any(found for kind, found in contents.files.items() if kind != "table")
    tables = [file for folder in contents.files["table"].values() for file in folder]
    return [] if stores or others or contents.damaged else tables


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
    paths = [Path(p) if Path(p) != STDIN or str(p) == "-" else Path.cwd() / p for p in given]  # ./- is a file
    if twice := [p for i, p in enumerate(paths) if p in paths[:i]]:
        raise DataError(f"{twice[0]} is named twice; a file counts once")
    return paths


def _load_one(path: Path, columns: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sweep:
    if path.is_dir():
        return load_directory(path, columns, units)
    name = "stdin" if path == STDIN else path.name
    kind, file = read_file(path, name if path == STDIN else str(path))
    return sweep_of(kind, [replace(file, name=shown_name(name))], columns, units)


# --- a directory ---------------------------------------------------------------------------------------------------

_MAX_FILES = 20_000
_MAX_LISTED = 20
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
_RUNS: tuple[Format, ...] = ("fio", "server")
"""Formats in which a file is one run, so that a second such file is a repeat."""

Part = tuple[str, Sweep]


@dataclass
class _Contents:
    """The contents of a directory: measurements by format and folder, files left out with reasons, damaged files."""

    files: dict[Format, dict[Path, list[InputFile]]] = field(default_factory=lambda: {kind: {} for kind in NAMES})
    left_out: list[str] = field(default_factory=list)
    damaged: list[Finding] = field(default_factory=list)


def load_directory(directory: Path, columns: Columns, units: Columns) -> Sweep:
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
    parts += _load_files(contents, directory, columns, units)
    if not parts:
        first = f" (the first: {contents.damaged[0].message})" if contents.damaged else ""
        raise DataError(
            f"{directory} holds nothing that can be read as a measurement, {counted(len(paths), 'file')} tried{first}; "
            "name a directory with fio JSON, MLC text or a qsim sweep"
        )
    sweep = join(_of_one_load(parts, contents.left_out), shown_name(directory))
    shown = contents.damaged[:_MAX_LISTED]
    if more := len(contents.damaged) - len(shown):
        shown.append(unreadable(f"{counted(more, 'more file')} could not be read either."))
    findings = (*sweep.findings, *shown, *files_left_out(contents.left_out))
    return replace(sweep, findings=findings, name=shown_name(directory.name or str(directory)))


# --- a qsim sweep --------------------------------------------------------------------------------------------------


def load_store(directory: Path) -> Sweep:
    """A sweep directory of qsim, read by the module that wrote it. Raises DataError."""
    try:
        store = SweepStore.read(directory)
        with reading(str(directory)):
            tool = str(store.manifest.get("tool"))
            if reader := _reader_of(tool):
                sweep = reader(store)
                origin = replace(sweep.provenance, source=shown_name(sweep.provenance.source))
                return replace(sweep, name=shown_name(sweep.name), provenance=origin)
    except (StoreError, OSError) as error:
        raise DataError(str(error)) from error
    raise DataError(f"{directory} holds a sweep by {tool!r}, which this version cannot read; update qsim")


def _reader_of(tool: str) -> Callable[[SweepStore], Sweep] | None:
    """What reads the sweep directories of a tool; None where this version does not know it."""
    if tool in ("fio", "drive"):
        from measure.fio.fio_sweep import read_fio_store as reader
    elif tool == "memory_probe":
        from measure.memory.probe import read_memory_store as reader
    elif tool == "mlc":
        from measure.mlc import read_mlc as reader
    elif tool == "command":
        from measure.command import read_command_store as reader
    elif tool == "known-device":
        from measure.known_device.device_sweep import read_device_store as reader
    else:
        return None
    return reader


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
    """Sort the files into ``contents``; a script or a picture is not read."""
    characters = 0
    runs: set[tuple[Path, str]] = set()
    for path in paths:
        name = shown_name(path.relative_to(directory))
        try:
            kind, file = read_measurement(path, name)
        except NoMeasurementError:
            contents.left_out.append(f"{name} (no measurement)")
            continue
        except DataError as error:
            contents.damaged.append(unreadable(str(error)))
            continue
        characters = counted_characters(characters, file, str(directory))
        run = (path.parent, file.text)
        if kind in _RUNS and run in runs:  # an identical file is not a repeat: it would make the noise look small
            contents.left_out.append(f"{name} (a copy)")
        else:
            runs.add(run)
            contents.files[kind].setdefault(path.parent, []).append(file)


def read_measurement(path: Path, name: str) -> tuple[Format, InputFile]:
    """A file of a folder, read; NoMeasurementError where its name or content shows that it is no measurement."""
    if path.suffix.lower() in _NO_DATA or _DOCUMENT.fullmatch(path.name):
        raise NoMeasurementError(f"{name} is no measurement")
    kind, file = read_file(path, name)
    if kind == "table" and path.suffix.lower() not in _TABLES and not has_numbers(file.text):
        raise NoMeasurementError(f"{name} is no measurement")
    return kind, file


# --- reading them ---------------------------------------------------------------------------------------------------


def _load_files(contents: _Contents, directory: Path, columns: Columns, units: Columns) -> list[Part]:
    """The parts in files of the first format that can be read; files of other formats are left out."""
    parts: list[Part] = []
    for kind, folders in contents.files.items():
        if parts:
            names = [member.name for members in folders.values() for member in members]
            contents.left_out += [f"{name} ({NAMES[kind]})" for name in names]
            continue
        for folder, members in sorted(folders.items()):
            parts += _load_members(kind, _label(folder, directory), members, columns, units, contents.damaged)
    return parts


def _load_members(
    kind: Format, label: str, members: Sequence[InputFile], columns: Columns, units: Columns, damaged: list[Finding]
) -> list[Part]:
    """The files of one folder as one part, without unreadable ones; as several parts where they do not fit together."""
    try:
        return [(label, sweep_of(kind, members, columns, units))]
    except DataError:
        pass  # each is read alone below, and its error is reported
    alone: dict[Load, list[tuple[InputFile, Sweep]]] = defaultdict(list)
    for member in members:
        try:
            sweep = sweep_of(kind, [member], columns, units)
            alone[sweep.load_type.shared_by(())].append((member, sweep))
        except DataError as error:
            damaged.append(unreadable(str(error)))
    parts: list[Part] = []
    for group in alone.values():
        try:
            parts.append((label, sweep_of(kind, [member for member, _ in group], columns, units)))
        except DataError:
            parts += [(member.name, sweep) for member, sweep in group]
    return parts


def _of_one_load(parts: Sequence[Part], left_out: list[str]) -> list[Part]:
    """The parts over one kind of load: preferably one that can be fitted, then the one with most points."""
    groups: dict[Load, list[Part]] = defaultdict(list)
    for part in parts:
        groups[part[1].load_type.shared_by(())].append(part)
    chosen, *others = sorted(
        groups.values(),
        key=lambda g: (isinstance(g[0][1].load_type, Bandwidth | BufferSize), -sum(len(sweep) for _, sweep in g)),
    )
    for label, sweep in (part for group in others for part in group):
        load = sweep.load_type
        why = f"over {load.name}{'' if isinstance(load, ClosedLoad) else f' in {load.unit}'}"
        is_store = any((folder / MANIFEST).is_file() for raw in sweep.raw for folder in list(raw.parents)[:2])
        names = [raw.name for raw in sweep.raw] if sweep.raw and not is_store else [label or sweep.name]
        left_out += [f"{name} ({why})" for name in names]
    return chosen


def files_left_out(names: Sequence[str]) -> list[Finding]:
    """One finding that names the files with the reasons; none without a file."""
    if not names:
        return []
    message = f"{counted(len(names), 'file')} left out: {first_of(sorted(names), MOST_NAMED)}."
    return [Finding("files-left-out", "info", message, "", "load a measurement among them by its own name.")]


def _label(folder: Path, root: Path) -> str:
    return "" if folder == root else shown_name(folder.relative_to(root))
