"""Tables that hold several kinds of load, with a column that says which: one device under each of them.

A column ``kind`` names it in each row (closed, thinking, open, poisson, paced), or each row fills either the column of
depths or that of rates. The rows of one kind are read as a table of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from measure.errors import DataError
from measure.formats.tables.cells import TextTable
from measure.formats.tables.column_names import plain_name, recognise

KIND = "kind"
"""The role of the column, and its name."""

_NAMES = frozenset({KIND, "load_kind", "kind_of_load", "load_type", "loop"})
_WORDS = {
    "closed": ("closed", "closed loop", "depth", "in flight"),
    "thinking": ("thinking", "users"),
    "poisson": ("poisson", "open", "open loop", "rate", "arrivals"),
    "paced": ("paced", "constant rate"),
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words}
_COUNTED = ("depth", "clients")
_LOADS = ("load", "n", "concurrency")


def by_kind(
    table: TextTable, columns: Mapping[str, str] | None, name: str
) -> dict[str, tuple[TextTable, dict[str, str]]]:
    """The rows of each kind as a table, with the ``columns`` to read it by; empty where the table holds one kind.

    Raises DataError for a declared column that is missing, or holds another word.
    """
    declared = dict(columns or {})
    if (kinds := _kinds(table, declared.pop(KIND, None), name)) is None and "load" not in declared:
        kinds = _by_filled_column(table, declared)
    found: dict[str, tuple[TextTable, dict[str, str]]] = {}
    for kind in dict.fromkeys(kinds or ()):
        rows = [row for row, own in zip(table.rows, kinds or (), strict=True) if own == kind]
        header = tuple(
            c for c in table.header if any(cells[c] for _, cells in rows) and not _says_kind(table, c, declared)
        )
        cells = tuple((line, {c: cells[c] for c in header}) for line, cells in rows)
        found[kind] = replace(table, header=header, rows=cells), _roles(header, kind, declared)
    return found if len(found) > 1 or KIND in (columns or {}) else {}


def _says_kind(table: TextTable, column: str, declared: Mapping[str, str]) -> bool:
    words = {cells[column].lower() for _, cells in table.rows}
    return column not in declared.values() and words <= _KINDS.keys()


def _kinds(table: TextTable, column: str | None, name: str) -> list[str] | None:
    """The kind of each row by a column that names it; None without one."""
    if column is None:
        named = [c for c in table.header if plain_name(c).lower() in _NAMES and _says_kind(table, c, {})]
        column = named[0] if named else None
    if column is None:
        return None
    if column not in table.header:
        raise DataError(f"{name} has no column {column!r} (declared as {KIND})")
    for line, cells in table.rows:
        if cells[column].lower() not in _KINDS:
            raise DataError(f"{name}: line {line}: {cells[column]!r} is no kind of load; write {', '.join(_WORDS)}")
    return [_KINDS[cells[column].lower()] for _, cells in table.rows]


def _by_filled_column(table: TextTable, declared: Mapping[str, str]) -> list[str] | None:
    """The kind of each row, by which column it fills, numbers or rates; None where one fills both or neither."""
    roles = {c: found.role for c in table.header if (found := recognise(c)) is not None}
    counts = [c for c, role in roles.items() if role in _COUNTED or declared.get("depth") == c]
    rates = [c for c, role in roles.items() if role == "arrival_rate" or declared.get("arrival_rate") == c]
    if len(counts) != 1 or len(rates) != 1:
        return None
    (count,), (rate,) = counts, rates
    if not all(bool(cells[count]) != bool(cells[rate]) for _, cells in table.rows):
        return None
    return ["closed" if cells[count] else "poisson" for _, cells in table.rows]


def _roles(header: tuple[str, ...], kind: str, declared: Mapping[str, str]) -> dict[str, str]:
    """The columns of a kind's rows as declared, its load as a rate or as a number in flight."""
    roles = {
        role: column for role, column in declared.items() if column in header or role not in ("depth", "arrival_rate")
    }
    role = "arrival_rate" if kind in ("poisson", "paced") else "depth"
    load = roles.pop("load", None)
    known = {found.role for c in header if (found := recognise(c)) is not None} | roles.keys()
    if load is None and role not in known:
        load = next((c for c in header if _may_be_load(c)), None)
    return roles if load is None else {**roles, role: load}


def _may_be_load(column: str) -> bool:
    found = recognise(column)
    return plain_name(column).lower() in _LOADS or (found is not None and found.role in (*_COUNTED, "arrival_rate"))
