"""Which rows of a table belong together: those of one kind of load, of one curve, repeats, and copies of others.

A table may hold one device under several kinds of load. A column ``kind`` names it in each row (closed, thinking, open,
poisson, paced), each row fills either the column of depths or that of rates, or a column has the think time of each
row: every think time is a kind, and 0 is closed. The rows of one kind are read as a table of their own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.by_law import column_values, note
from measure.formats.tables.cells import TextTable, block_bytes, number, with_points
from measure.formats.tables.column_names import (
    IN_CELLS,
    ColumnRole,
    Roles,
    declared_role,
    load_noun,
    meaning_of,
    plain_name,
    recognise,
)
from measure.formats.which_kind import is_time
from measure.sweep import describe_series
from measure.units import counted, format_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

Records = Sequence[dict[str, Any]]
_NO_CURVE = re.compile(
    r"(?i:rep(?:eat|lica(?:te)?|etition)?s?|runs?(?:_?(?:id|no|number))?|iter(?:ation)?s?|trials?|rounds?|samples?|seeds?"
    r"|try|attempt|pass|date|time|(?:.*_)?timestamp|index|idx|id|no|number|n)"
)
_SHOWN, _NOTED = 6, 40
_WHOLE_LOAD = 0.15  # relative distance from the load within which a direction alone has all of it
_ONE_MIX = 5.0  # the most by which the shares of reads of one mix differ, in percent of all requests
_DIRECTIONS, _MEASURED = ("read", "write"), ("throughput", "bandwidth", "latency")
_COPIED = "no repeat agrees in every digit at every load; the copies add nothing."

KIND = "kind"
THINK = "think"
"""The roles of the columns that say a kind, and their names."""

_KIND_NAMES = frozenset({KIND, "load_kind", "kind_of_load", "load_type", "loop"})
_KIND_WORDS = {
    "closed": ("closed", "closed loop", "depth", "in flight"),
    "thinking": ("thinking", "users"),
    "poisson": ("poisson", "open", "open loop", "rate", "arrivals"),
    "paced": ("paced", "constant rate"),
}
_OF_RATES = ("poisson", "paced")
_KINDS = {word: kind for kind, words in _KIND_WORDS.items() for word in words}
_COUNTED = ("depth", "clients")
_LOADS = ("load", "n", "concurrency")

Cells = Mapping[str, str]
_Rows = list[tuple[int, Cells]]


def by_kind(
    table: TextTable, columns: Mapping[str, str] | None, units: Mapping[str, str] | None, name: str
) -> dict[str, tuple[TextTable, dict[str, str]]]:
    """The rows of each kind as a table, with the ``columns`` to read it by; empty where no column says a kind.

    Raises DataError for a declared column that is missing, holds another word, or a think time that is none.
    """
    declared = dict(columns or {})
    said = declared.pop(THINK, None)
    if (kinds := _kinds(table, declared.pop(KIND, None), name)) is None and "load" not in declared:
        kinds = _by_filled_column(table, declared)
    if think := _think_column(table, said, (units or {}).get(THINK), of_rates=kinds is None, name=name):
        kinds = _with_think_times(table, think, kinds, name)
    found: dict[str, tuple[TextTable, dict[str, str]]] = {}
    shown = [c for c in table.header if not _says_kind(table, c, declared) and (think is None or c != think.column)]
    for kind in dict.fromkeys(kinds or ()):
        rows = [row for row, own in zip(table.rows, kinds or (), strict=True) if own == kind]
        header = tuple(c for c in shown if any(cells[c] for _, cells in rows))
        cells = tuple((line, {c: cells[c] for c in header}) for line, cells in rows)
        found[kind] = replace(table, header=header, rows=cells), _roles(header, kind, declared)
    return found if len(found) > 1 or KIND in (columns or {}) or think is not None else {}


def _says_kind(table: TextTable, column: str, declared: Mapping[str, str]) -> bool:
    words = {cells[column].lower() for _, cells in table.rows}
    return column not in declared.values() and words <= _KINDS.keys()


def _kinds(table: TextTable, column: str | None, name: str) -> list[str] | None:
    """The kind of each row by a column that names it; None without one."""
    named = (c for c in table.header if plain_name(c).lower() in _KIND_NAMES and _says_kind(table, c, {}))
    column = next(named, None) if column is None else column
    if column is None:
        return None
    if column not in table.header:
        raise DataError(f"{name} has no column {column!r} (declared as {KIND})")
    for line, cells in table.rows:
        if (said := cells[column]).lower() not in _KINDS:
            raise DataError(f"{name}: line {line}: {said!r} is no kind of load; write {', '.join(_KIND_WORDS)}")
    return [_KINDS[cells[column].lower()] for _, cells in table.rows]


def _think_column(
    table: TextTable, said: str | None, unit: str | None, *, of_rates: bool, name: str
) -> ColumnRole | None:
    """The column of think times: the one ``said``, or named so, that varies; DataError where it is unknown."""
    if said is not None and is_time(said):
        return None
    if said is not None and said not in table.header:
        raise DataError(f"{name} has no column {said!r} (declared as {THINK}), and {said!r} is no time, such as 1s")
    known = {r.role: r for r in map(recognise, table.header) if r is not None}
    if said is None and (THINK not in known or (of_rates and "arrival_rate" in known)):
        return None
    column = known[THINK] if said is None else ColumnRole(THINK, said)
    values = column_values(table, column)
    if said is None and not column.unit and (np.isnan(values).all() or np.ptp(values) == 0):
        return column if (values == 0).all() else None
    return declared_role(THINK, column.column, unit, name)


def _with_think_times(table: TextTable, think: ColumnRole, kinds: list[str] | None, name: str) -> list[str]:
    """The kind of each row, which is its think time unless it is one of rates. DataError for a cell that has none."""
    found = []
    rows = with_points(table, [think.column], name).rows
    for (line, cells), kind in zip(rows, kinds or ["closed"] * len(rows), strict=True):
        seconds = None if kind in _OF_RATES else number(cells[think.column], think, line, name)
        if kind not in _OF_RATES and (seconds is None or seconds < 0):
            what = f"the think time, in column {think.column!r}, is {'empty' if seconds is None else 'below zero'}"
            raise DataError(f"{name}: line {line}: {what}; write 0 where nobody thinks")
        found.append(kind if seconds is None else f"{seconds:.12g}s")
    return found


def _by_filled_column(table: TextTable, declared: Mapping[str, str]) -> list[str] | None:
    """The kind of each row, by which column it fills, numbers or rates; None where one fills both or neither."""
    roles = {c: found.role for c in table.header if (found := recognise(c)) is not None}
    counts = [c for c, role in roles.items() if role in _COUNTED or declared.get("depth") == c]
    rates = [c for c, role in roles.items() if role == "arrival_rate" or declared.get("arrival_rate") == c]
    if len(counts) != 1 or len(rates) != 1:
        return None
    filled = [(bool(cells[counts[0]]), bool(cells[rates[0]])) for _, cells in table.rows]
    return ["closed" if count else "poisson" for count, _ in filled] if all(a != b for a, b in filled) else None


def _roles(header: tuple[str, ...], kind: str, declared: Mapping[str, str]) -> dict[str, str]:
    """The columns of a kind's rows as declared, its load as a rate or as a number in flight."""
    roles = {
        role: column for role, column in declared.items() if column in header or role not in ("depth", "arrival_rate")
    }
    role = "arrival_rate" if kind in _OF_RATES else "depth"
    load = roles.pop("load", None)
    known = {found.role for c in header if (found := recognise(c)) is not None} | roles.keys()
    if load is None and not known & ({*_COUNTED} if role == "depth" else {role}):
        load = next((c for c in header if _may_be_load(c)), None)
    return roles if load is None else {**roles, role: load}


def _may_be_load(column: str) -> bool:
    found = recognise(column)
    return plain_name(column).lower() in _LOADS or (found is not None and found.role in (*_COUNTED, "arrival_rate"))


_SUM = re.compile(
    r"\W*(?i:(?:grand |sub-?)?totals?|sums?|averages?|avg|means?|medians?|min(?:imum)?|max(?:imum)?|std\.? ?dev|stdev"
    r"|overall|geo(?:metric )?mean|summe|gesamt|mittelwert|durchschnitt|moyenne|somme|media|promedio)\W*"
)


def remarks_below(table: TextTable, name: str) -> list[Finding]:
    """A finding that names the notes below the last row, if there are any."""
    if not table.notes:
        return []
    named = ", ".join(f"line {line} ({text[:_NOTED]!r})" for line, text in table.notes[:_SHOWN])
    return [note("remarks", f"{name}: {named} left out, as no point.", "write a point as the rows above.")]


def without_sums(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """The table without rows that lack a number and say "Average" or "Total"; and a finding that names them."""
    rows = [cells for _, cells in table.rows]
    numbers = [c for c in table.header if 2 * sum(_is_number(cells[c]) for cells in rows) > len(rows)]
    lacks = [not all(_is_number(cells[c]) for c in numbers) for cells in rows]
    words = [is_short and next(filter(_SUM.fullmatch, c.values()), "") for c, is_short in zip(rows, lacks, strict=True)]
    kept = tuple(row for row, word in zip(table.rows, words, strict=True) if not word)
    if not kept or len(kept) == len(rows):
        return table, []
    sums = [f"line {line} ({word})" for (line, _), word in zip(table.rows, words, strict=True) if word]
    message = f"{name}: {', '.join(sums[:_SHOWN])} {'sums' if len(sums) == 1 else 'sum'} up other rows: left out."
    remedy = "write the load into that row where it is a point."
    return replace(table, rows=kept), [note("rows-left-out", message, remedy)]


def with_merged_cells(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """The table with cells that span several rows, of which an export fills the first, in each; and a finding."""
    roles = [found.column.role if (found := meaning_of(column)) else "" for column in table.header]
    measured = (k for k, role in enumerate(roles) if role.endswith(_MEASURED) or role.startswith("latency_"))
    left = table.header[: next(measured, 1)]
    filled = {c: [bool(cells[c]) for _, cells in table.rows] for c in left}
    merged = [c for c in left if _spans_rows(table, c, filled)]
    if not merged:
        return table, []
    above: dict[str, str] = {}
    rows = []
    for line, cells in table.rows:
        above |= {c: cells[c] for c in merged if cells[c]}
        rows.append((line, {**cells, **above}))
    message = f"{name}: an empty cell of {' and of '.join(map(repr, merged))} is that above it, as of merged cells."
    return replace(table, rows=tuple(rows)), [note("merged-cells", message, "fill each cell where it is another.")]


def _spans_rows(table: TextTable, column: str, filled: Mapping[str, Sequence[bool]]) -> bool:
    mine = filled[column]
    begins = [k for k, is_filled in enumerate(mine) if is_filled]
    others = [each for c, each in filled.items() if c != column]
    if not mine or not mine[0] or all(mine) or any(all(a != b for a, b in zip(mine, o, strict=True)) for o in others):
        return False
    spans = {b - a for a, b in pairwise([*begins, len(mine)])}
    words = not any(_is_number(cells[column]) for _, cells in table.rows)
    return (words and column == table.header[0]) or (len(begins) > 1 and len(spans) == 1)


def with_curves_apart(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """The table with a row for each of several curves side by side, as of two devices; and a finding that names them.

    Each has a rate and a mean time of its own, whose names differ from those of the others in the same words.
    """
    words = {c: plain_name(c).split("_") for c in table.header}
    rates, times = (_own_words(table.header, words, what) for what in ("throughput", "latency"))
    if len(rates) < 2 or set(rates) != set(times) or frozenset() in rates or "series" in table.header:
        return table, []
    lower = {column: {word.lower() for word in named} for column, named in words.items()}
    owner = {c: max((own for own in rates if own <= named), key=len, default=None) for c, named in lower.items()}
    rows, labels = [], []
    for own, rate in rates.items():
        label = " ".join(word for word in words[rate] if word.lower() in own)
        short = {c: "_".join(w for w in words[c] if w.lower() not in own) for c, of in owner.items() if of == own}
        labels.append(label)
        for line, cells in table.rows:
            if any(cells[c] for c in short):
                shared = {c: cell for c, cell in cells.items() if owner[c] is None}
                rows.append((line, shared | {new: cells[c] for c, new in short.items()} | {"series": label}))
    header = tuple(dict.fromkeys(column for _, cells in rows for column in cells))
    whole = tuple((line, {c: cells.get(c, "") for c in header}) for line, cells in rows)
    message = f"{name}: the columns of {', '.join(map(repr, labels))} are a curve each."
    remedy = "for one alone, name its columns: --columns throughput=COLUMN,latency=COLUMN:ms"
    return replace(table, header=header, rows=whole), [note("curves-side-by-side", message, remedy)]


def _own_words(header: Sequence[str], words: Mapping[str, Sequence[str]], what: str) -> dict[frozenset[str], str]:
    """The columns of a rate or a mean time by the words that others of them lack; doubtful names where no other is."""
    found = {c: n.is_sure for c in header if (n := meaning_of(c)) is not None and n.column.role == what}
    each = {c: {word.lower() for word in words[c]} for c in [c for c, is_sure in found.items() if is_sure] or found}
    common = set.intersection(*each.values()) if each else set()
    return {frozenset(own - common): c for c, own in each.items()}


def without_copies(rows: _Rows, roles: Roles, name: str) -> tuple[_Rows, list[Finding]]:
    """The rows without copies of others, and a finding for each kind of copy.

    Rows are copies where all their numbers agree, repeats and dates aside, and this holds at every load: each row is
    there twice, or thrice; or all rows of one name (of a device, a host) are there under another name.
    """
    columns = [c for c in (rows[0][1] if rows else {}) if not _NO_CURVE.fullmatch(plain_name(c))]
    numbers = [c for c in columns if all(_is_number(cells[c]) for _, cells in rows)]
    words = [c for c in columns if c not in numbers]
    loads = roles.load.column
    groups: dict[tuple[str, ...], _Rows] = defaultdict(list)
    for row in rows:
        groups[tuple(row[1][c] for c in words)].append(row)
    kept: dict[tuple[str, ...], dict[tuple[str, ...], tuple[int, Cells]]] = {}
    times, findings = set(), []
    for words_of, group in groups.items():
        values = [tuple(cells[c] for c in numbers) for _, cells in group]
        counts = set(Counter(values).values())
        if len({cells.get(loads) for _, cells in group}) < 2 or len(counts) > 1:
            return rows, []
        times |= counts - {1}
        kept[words_of] = dict(reversed(list(zip(reversed(values), reversed(group), strict=True))))
    if len(times) == 1:
        often = {2: "twice", 3: "three times"}.get(n := times.pop(), f"{n} times")
        message = f"{name}: every row is there {often}; the copies are left out."
        findings.append(note("copied-rows", message, "measure again for repeats.", _COPIED))
    names = [c for c in words if c in roles.ignored or ("series" in roles and c == roles["series"].column)]
    first: dict[Any, tuple[str, ...]] = {}
    for words_of, found in list(kept.items()):
        others = tuple(word for c, word in zip(words, words_of, strict=True) if c not in names)
        twin = first.setdefault((others, frozenset(found)), words_of)
        if twin is not words_of and len(numbers) > 2:
            one, other = (
                " ".join(w for c, w in zip(words, each, strict=True) if c in names) for each in (twin, words_of)
            )
            message = f"{name}: the {counted(len(found), 'row')} of {other!r} are copies of those of {one!r}; left out."
            findings.append(Finding("copied-rows", "warning", message, _COPIED, f"measure {other!r} too."))
            del kept[words_of]
    chosen = {id(row) for found in kept.values() for row in found.values()}
    return [row for row in rows if id(row) in chosen] if findings else rows, findings


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?[%kKMG]?", cell) is not None


def with_directions_apart(table: TextTable, roles: Roles, name: str) -> tuple[TextTable, list[Finding]]:
    """The table with a row for reads and one for writes, where they were measured apart; and why.

    Each alone has the whole load by N = X R then, as the directions of one mix share it. Without latencies their shares
    vary, as those of one mix do not.
    """
    rates = {kind: _rates(table, roles, kind) for kind in _DIRECTIONS}
    mixed = {"latency", "read_percent", "write_percent", "mix"} & roles.by_role.keys()
    latencies = [kind for kind in _DIRECTIONS if f"{kind}_latency" in roles]
    why = "N = X R holds for each alone" if "depth" in roles else ""
    if len(latencies) == 2 and why:
        load = column_values(table, roles["depth"])
        jobs = column_values(table, roles["jobs"]) if "jobs" in roles else np.ones_like(load)
        for kind in _DIRECTIONS:
            outstanding = rates[kind] * column_values(table, roles[f"{kind}_latency"])
            if not any(np.all(np.abs(outstanding / n - 1) < _WHOLE_LOAD) for n in (load, load * jobs)):
                return table, []
    elif mixed or latencies or not all(np.all(rate > 0) for rate in rates.values()):
        return table, []
    else:
        share = 100 * rates["read"] / (rates["read"] + rates["write"])
        if np.ptp(share) <= _ONE_MIX:
            return table, []
        why = f"the share of reads is {share.min():.0f} % to {share.max():.0f} %, and that of one mix is fixed"
    named = [[roles[role].column for what in _MEASURED if (role := f"{d}_{what}") in roles] for d in _DIRECTIONS]
    rows = [(line, {**cells, **dict.fromkeys(other, "")}) for other in reversed(named) for line, cells in table.rows]
    message = f"{name}: reads and writes have a curve each: {why}."
    remedy = "where both ran at once, give the columns of all requests: --columns throughput=COLUMN,latency=COLUMN"
    return replace(table, rows=tuple(rows)), [note("directions-apart", message, remedy)]


def _rates(table: TextTable, roles: Roles, direction: str) -> NDArray[np.float64]:
    """The requests a second of one direction in each row (n,), by its bandwidth where it has no rate; else NaN."""
    if (rate := f"{direction}_throughput") in roles:
        return column_values(table, roles[rate])
    if (speed := f"{direction}_bandwidth") not in roles or "block" not in roles:
        return np.full(len(table.rows), np.nan)
    block = roles["block"]
    in_cells = [block_bytes(cells[block.column]) or np.nan for _, cells in table.rows if block.unit == IN_CELLS]
    return column_values(table, roles[speed]) / (in_cells or column_values(table, block))


def split_settings(records: Records, roles: Roles) -> None:
    """Give different blocks, mixes, patterns and buffers within one named series a curve each, in place."""
    named = {
        "block_bytes": {"block"},
        "read_fraction": {"read_percent", "write_percent", "mix"},
        "pattern": {"pattern", "mix"},
        "buffer": {"buffer"},
    }
    for group in by_series(records).values():
        varied = {c for c, of in named.items() if of & roles.by_role.keys() and len({r[c] for r in group}) > 1}
        for record in group if varied else ():
            block, read, pattern, buffer = (record[c] if c in varied else None for c in named)
            _extend(record, describe_series(block, read, pattern, [f"buffer {format_bytes(buffer)}"] if buffer else []))


def by_series(records: Records) -> dict[str, list[dict[str, Any]]]:
    """The records of each curve."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["series"]].append(record)
    return groups


def split_series(
    records: Records, rows: Sequence[Mapping[str, str]], roles: Roles, name: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Give ``records`` of different engines, and of different values in a column that separates curves, a series each.

    ``rows`` are the cells of the same rows. Returns the columns that separate no curves, and a finding for each other.
    """
    ignored = roles.ignored
    engines = {(r["series"] if "series" in roles else "", r.get("engine")) for r in records}
    if len(engines) > len({series for series, _ in engines}):  # their latencies include different parts
        for record in records:
            record["series"] = f"{record['series']} {record['engine'] or 'without an engine'}"
    places = [(record["series"], record["load"]) for record in records]
    shared: dict[tuple[str, float], list[int]] = defaultdict(list)
    for i, place in enumerate(places):
        shared[place].append(i)
    crowded = [group for group in shared.values() if len(group) > 1]
    columns = {column: [row[column] for row in rows] for column in ignored if crowded}
    separating = {column: values for column, values in columns.items() if _separates(column, values, places, crowded)}
    for i, record in enumerate(records):
        _extend(record, " ".join(f"{column} {values[i]}" for column, values in separating.items()))
    findings = []
    for column, values in separating.items():
        distinct = list(dict.fromkeys(values))
        shown = ", ".join(distinct[:_SHOWN]) + (", ..." if len(distinct) > _SHOWN else "")
        message = f"{name}: rows at the same load differ in {column} ({shown}), and are curves of their own."
        remedy = f"look whether they are repeats of one point instead: then rename the column {column!r} to repeat."
        because = "they were measured under conditions of their own."
        findings.append(note("curves-by-column", message, remedy, because))
    return tuple(column for column in ignored if column not in separating), findings


def _separates(
    column: str, values: Sequence[str], places: Sequence[tuple[str, float]], crowded: Sequence[Sequence[int]]
) -> bool:
    """Whether a column separates curves: values each at two places or more, several of them at one place."""
    if _NO_CURVE.fullmatch(plain_name(column)) or not all(values):
        return False
    at: dict[str, set[tuple[str, float]]] = defaultdict(set)
    for value, place in zip(values, places, strict=True):
        at[value].add(place)
    recur = all(len(found) > 1 for found in at.values())
    return recur and any(len({values[row] for row in group}) > 1 for group in crowded)


def split_jobs(records: Records, roles: Roles) -> None:
    """Give each number of jobs a series of its own where both depths and jobs vary, or where a load recurs."""
    noun = load_noun(roles["jobs"].column).replace("requests", "jobs")
    one = {"processes": "process"}.get(noun, noun.removesuffix("s"))
    for group in by_series(records).values():
        depths: dict[float, set[float]] = defaultdict(set)
        jobs: dict[float, set[float]] = defaultdict(set)
        for record in group:
            depths[record["jobs"]].add(record["load"])
            jobs[record["load"]].add(record["jobs"])
        if sum(len(d) > 1 for d in depths.values()) > 1 or any(len(j) > 1 for j in jobs.values()):
            for record in group:
                _extend(record, f"{record['jobs']:g} {one if record['jobs'] == 1 else noun}")


def _extend(record: dict[str, Any], words: str) -> None:
    """Add words to the name of the record's curve, or make them its name where it has none."""
    if words:
        is_unnamed = record["series"] == describe_series(None, None, None)
        record["series"] = words if is_unnamed else f"{record['series']} {words}"
