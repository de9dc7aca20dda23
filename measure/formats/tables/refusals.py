"""What a table's columns do not tell, in one sentence with the line to write, made of the table's own names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from measure.errors import DataError
from measure.formats.tables.column_names import LOAD_ROLES, OPEN_UNIT, SPEEDS, ColumnRole, counts_tokens, unit_in_name

_MOST_NAMES = 20
_NO_BLOCK = "a block size (or an IOPS column)"
_LIKELY = {
    "load": r"depth|qd|user|client|conc|conn|load|thread|^n$", "latency": r"lat|time|ttft|mean|avg|[_(][mu]s|rt",
    "throughput": r"/s|per_s|ps$|thr|rate|tok|bw",
}  # fmt: skip


def ready_line(header: Sequence[str], chosen: Mapping[str, ColumnRole]) -> str:
    """A ``--columns`` line of the table's own names, to be looked over: what is not known is guessed.

    >>> ready_line(["users", "time", "rate"], {})
    '--columns load=users,latency=time:ms,throughput=rate'
    """
    rest = [c for c in header if c not in {r.column for r in chosen.values()}]
    parts = []
    for role, words in _LIKELY.items():
        roles = LOAD_ROLES if role == "load" else (role,)
        known = next((chosen[r] for r in roles if r in chosen), None)
        column = known.column if known else _likeliest(rest, words)
        rest = [c for c in rest if c != column]
        if not column and role == "load":
            parts.append("load=1")
        if not column:
            continue
        unit = known.unit if known and known.unit != OPEN_UNIT else unit_in_name("latency", column) or "ms"
        parts.append(f"{role}={column}:{unit}" if role == "latency" else f"{role}={column}")
    return columns_option(parts)


def columns_option(parts: Sequence[str]) -> str:
    """The option ``--columns`` with these parts, each ``role=column``, quoted as a shell needs it.

    >>> columns_option(["latency=Latency (ms):ms"])
    "--columns 'latency=Latency (ms):ms'"
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return f"--columns {text}" if re.fullmatch(r"[\w=,:./-]+", text) else f"--columns '{text}'"


def _likeliest(columns: Sequence[str], words: str) -> str:
    """The first column that has one of these words in its name, else the first one; "" where there is none."""
    found = [c for c in columns if re.search(words, c.lower())]
    return found[0] if found else columns[0] if columns else ""


def found_columns(header: Sequence[str]) -> str:
    more = f" and {len(header) - _MOST_NAMES} more" if len(header) > _MOST_NAMES else ""
    return f"its columns are {', '.join(header[:_MOST_NAMES])}{more}"


def ambiguous(where: str, first: ColumnRole, second: ColumnRole, header: Sequence[str]) -> str:
    role = "load" if first.role in (*LOAD_ROLES, "clients", "jobs") else first.role
    return (
        f"{where}: both {first.column!r} and {second.column!r} can be the {role}; say which, for example "
        f"{columns_option([f'{role}={second.column}'])} ({found_columns(header)})"
    )


def check_complete(roles: Mapping[str, ColumnRole], header: Sequence[str], where: str) -> None:
    """DataError where the columns do not make a point: by Little's law one of latency and throughput may be missing."""
    lacking = []
    latency = any(r in roles for r in ("latency", "read_latency", "write_latency"))
    if not any(r in roles for r in LOAD_ROLES):
        lacking.append("a load")
    per_request = any("throughput" in r for r in roles) or "block" in roles or "delay" in roles
    speed = any(r in roles for r in SPEEDS)
    if not latency and not ("depth" in roles and speed and per_request):
        lacking.append("a latency with its unit")
    if not speed and not ("depth" in roles and "latency" in roles and roles["latency"].unit != OPEN_UNIT):
        lacking.append("a throughput (or a bandwidth and the block size)")
    elif speed and not per_request:
        lacking.append(_NO_BLOCK)
    if not lacking:
        return
    told = f"{' and '.join(lacking)} cannot be found in its columns; {found_columns(header)}"
    if counts_tokens(header):
        raise DataError(
            f"{where}: {told}. Tokens are not requests, and the time to the first token is not the whole response: "
            f"give requests/s and whole latencies, or, if each token is a request: {ready_line(header, roles)}"
        )
    if lacking == [_NO_BLOCK]:
        raise DataError(f"{where}: {told}; declare it, for example --columns block=4KiB")
    line = ready_line(header, roles)
    if "latency=" not in line or "throughput=" not in line:
        raise DataError(
            f"{where}: {told}; add the column that is missing (where the load is a number of outstanding requests, one "
            "of latency and throughput is enough)"
        )
    raise DataError(f"{where}: {told}; declare them, for example {line} (a value works too: load=1, block=4KiB)")
