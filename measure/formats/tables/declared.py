"""What the user declares of a table's columns: ``--columns load=io_depth,latency=lat:us``, a role and a column each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from measure.errors import DataError
from measure.formats.tables.column_names import LOAD_ROLES, OPEN_UNIT, UNITS, ColumnRole, unit_in_name, unit_scale
from measure.formats.which_kind import TOLD
from measure.units import parse_bytes

EXAMPLE = "--columns load=io_depth,latency=latency_us:us,throughput=iops"
_USUAL_UNIT = {"latency": "us", "bandwidth": "MB/s", "block": "KiB", "buffer": "KiB", "load": "ns"}
_MOST_NAMES = 20


def parse_columns(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """``columns`` and ``units`` for ``load`` from the text after ``--columns``.

    Written ``role=column`` or ``role=column:unit``, separated by commas; a column with a comma in its name is put in
    double quotes together with its role. Raises DataError for anything else.

    >>> parse_columns("load=io_depth,latency=lat:us,throughput=iops")
    ({'load': 'io_depth', 'latency': 'lat', 'throughput': 'iops'}, {'latency': 'us'})
    """
    columns: dict[str, str] = {}
    units: dict[str, str] = {}
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise DataError(f"--columns {text!r} cannot be read ({error}); write it like {EXAMPLE}") from error
    for part in (p.strip() for p in parts):
        role, _, rest = (p.strip() for p in part.partition("="))
        if not rest:
            raise DataError(f"--columns: {part!r} is not role=column; write it like {EXAMPLE}")
        if role not in TOLD:
            check_role(role)
        if role in columns:
            raise DataError(f"--columns names the role {role!r} twice ({columns[role]!r} and {rest!r}); keep one")
        columns[role] = rest
        column, _, unit = (p.strip() for p in rest.rpartition(":"))
        if column and UNITS.get(role):
            unit_scale(role, unit)
            columns[role], units[role] = column, unit
    if not columns:
        raise DataError(f"--columns is empty; write it like {EXAMPLE}")
    return columns, units


def declared_roles(
    header: Sequence[str], declared: Mapping[str, str], units: Mapping[str, str], where: str
) -> dict[str, ColumnRole]:
    """The roles that the user declared, a column or a value each."""
    chosen: dict[str, ColumnRole] = {}
    for asked, column in declared.items():
        lower = column.lower()
        kind = "delay" if "delay" in lower or "pause" in lower else "arrival_rate" if "rate" in lower else "depth"
        role = kind if asked == "load" else asked
        constant = None if column in header else _constant(role, column)
        if column not in header and constant is None:
            raise DataError(f"{where} has no column {column!r} (declared as {asked}); {found_columns(header)}")
        twice = next((a for a, c in declared.items() if c == column and a != asked), None) if constant is None else None
        if twice is not None:
            raise DataError(f"{where}: the column {column!r} is declared as {asked} and as {twice}; keep one")
        if role in chosen:
            raise DataError(f"{where}: {column!r} and {chosen[role].column!r} are both declared as {role}; keep one")
        known = ColumnRole(role, column, constant=constant)
        chosen[role] = known if constant is not None else declared_role(role, column, units.get(asked), where)
    return chosen


def declared_role(role: str, column: str, unit: str | None, where: str) -> ColumnRole:
    """A declared column; without a declared unit, the one in its name, or the role's usual one."""
    if not UNITS[role]:
        return ColumnRole(role, column)
    unit = unit if unit is not None else unit_in_name(role, column)
    if unit is None and role == "latency":
        return ColumnRole(role, column, unit=OPEN_UNIT)
    if unit is None:
        usual = _USUAL_UNIT.get(role.removeprefix("read_").removeprefix("write_").partition("_")[0], "us")
        raise DataError(
            f"{where}: the unit of column {column!r} ({role}) is not in its name; say it, for example "
            f"{role}={column}:{usual}"
        )
    return ColumnRole(role, column, unit_scale(role, unit), unit)


def _constant(role: str, text: str) -> float | None:
    """The SI value declared in place of a column, or None where the text is not a value."""
    try:
        if role in ("block", "buffer"):
            return float(parse_bytes(text))
        if role in ("read_percent", "write_percent"):
            return float(text.removesuffix("%")) / 100
        return float(text) if role in (*LOAD_ROLES, "jobs", "pipeline") else None
    except ValueError:
        return None


def check_role(role: str) -> None:
    if role not in UNITS:
        raise DataError(f"invalid role {role!r}: expected one of {', '.join(UNITS)}")


def columns_option(parts: Sequence[str]) -> str:
    """The option ``--columns`` with these parts, each ``role=column``, quoted as a shell needs it.

    >>> columns_option(["latency=Latency (ms):ms"])
    "--columns 'latency=Latency (ms):ms'"
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return f"--columns {text}" if re.fullmatch(r"[\w=,:./-]+", text) else f"--columns '{text}'"


def found_columns(header: Sequence[str]) -> str:
    """The columns of a table in words."""
    more = f" and {len(header) - _MOST_NAMES} more" if len(header) > _MOST_NAMES else ""
    return f"its columns are {', '.join(header[:_MOST_NAMES])}{more}"
