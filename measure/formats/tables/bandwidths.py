"""Bandwidth held against throughput x block: an MB that is a MiB, and rows whose block is another.

Where a table has a rate, a bandwidth and a block, bandwidth = rate x block in every row. A unit of 1024 or of 1000 that
was taken for the other leaves the same factor everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from measure.findings import Finding
from measure.formats.tables.by_law import note
from measure.formats.tables.column_names import UNITS, Roles
from measure.formats.tables.declared import columns_option
from measure.units import counted, format_bytes

_WITHIN, _APART = 0.006, 0.05
_TAKEN_FOR = {"kB/s": "KiB/s", "KB/s": "kB/s", "MB/s": "MiB/s", "GB/s": "GiB/s"}
_TAKEN_FOR |= {"KiB/s": "kB/s", "MiB/s": "MB/s", "GiB/s": "GB/s"}
"""A unit of 1000 -> that of 1024 for which it is taken, and the other way round."""


def check_bandwidths(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> list[Finding]:
    """Correct, in place, bandwidths in MiB/s whose column says MB/s, or the other way round; and findings.

    The unit is corrected where every row has their ratio within 0.6 %. Rows that differ by 5 % where most do not are
    named, and kept as they are.
    """
    if "block" not in roles or not {"throughput", "bandwidth"} <= roles.by_role.keys():
        return []
    known = [r for r in records if r["bandwidth_bytes_per_s"] and r["throughput_per_s"] and r["block_bytes"]]
    ratio = np.array([r["bandwidth_bytes_per_s"] / (r["throughput_per_s"] * r["block_bytes"]) for r in known])
    if not known:
        return []
    unit = re.sub(r"ps$|_per_s$|/sec$|_s$", "/s", roles["bandwidth"].unit)
    other = _TAKEN_FOR.get(unit)
    factor = UNITS["bandwidth"][other] / UNITS["bandwidth"][unit] if other else 1.0
    if other and np.all(np.abs(ratio * factor - 1) <= _WITHIN):
        for record in known:
            record["bandwidth_bytes_per_s"] *= factor
        column = roles["bandwidth"].column
        message = (
            f"{name}: bandwidth / throughput is {np.median(ratio):.4g} times the block in every row: {column!r} is in "
            f"{other}, not {unit}, and was corrected."
        )
        return [note("bandwidth-unit", message, f"say the unit: {columns_option([f'bandwidth={column}:{other}'])}")]
    odd = np.flatnonzero(np.abs(ratio - 1) > _APART)
    if not len(odd) or 2 * len(odd) >= len(known):
        return []
    first = known[int(odd[0])]
    moved = format_bytes(first["bandwidth_bytes_per_s"] / first["throughput_per_s"])
    message = (
        f"{name}: at {counted(len(odd), 'row')} of {len(known)} bandwidth / throughput is not the block: the first, at "
        f"load {first['load']:g}, has {moved} a request where the block is {format_bytes(first['block_bytes'])}."
    )
    remedy = "look at bs= of these runs; the throughput is kept as the table has it."
    return [Finding("block-of-some-rows", "warning", message, "another block, or a misprint.", remedy)]
