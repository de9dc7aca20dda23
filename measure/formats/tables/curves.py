"""Which rows of a table are one curve: columns whose values recur, engines, and numbers of jobs.

``iodepth`` 8 with ``numjobs`` 4 are 32 outstanding requests. Columns that count all requests by their name (clients,
connections) are not multiplied by threads. The audit holds either against N = X R.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.column_names import load_noun, plain_name
from measure.formats.tables.columns import Roles, columns_option
from measure.formats.tables.unit_choice import note
from measure.sweep import describe_series

Records = Sequence[dict[str, Any]]
_NO_CURVE = re.compile(
    r"(?i:rep(?:eat|lica(?:te)?|etition)?s?|runs?(?:_?(?:id|no|number))?|iter(?:ation)?s?|trials?|rounds?|samples?|seeds?"
    r"|try|attempt|pass|date|time|(?:.*_)?timestamp|index|idx|id|no|number|n)"
)
_MOST_CURVES, _SHOWN = 50, 6


def count_jobs(records: Records, roles: Roles, name: str) -> list[Finding]:
    """Make the ``load`` of each record the number of all outstanding requests, in place, and ``depth`` that of one job.

    Jobs multiply a load that is a depth by its name, or that was declared with them. Raises DataError for less than one
    job.
    """
    for record in records:
        if not record["jobs"] >= 1:
            raise DataError(f"{name}: {record['jobs']:g} jobs at load {record['load']:g} send nothing; correct the row")
        record["depth"] = record["load"] / (1.0 if roles.per_job else record["jobs"])
        record["load"] *= record["jobs"] if roles.per_job else 1.0
    if all(record["jobs"] == 1 for record in records):
        return []
    load, jobs = roles.load.column, roles["jobs"].column
    message = f"the load is {load} alone, which counts all {jobs}."
    remedy = f"if each of these has as many, say so: {columns_option([f'depth={load}', f'jobs={jobs}'])}"
    if roles.per_job:
        message = f"the load is {load} x {jobs}, what all jobs have outstanding."
        remedy = f"if {load} already counts all jobs, say so: --columns jobs=1"
    return [note("outstanding", f"{name}: {message}", remedy)]


def split_series(
    records: Records, rows: Sequence[Mapping[str, str]], ignored: Sequence[str], name: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Give the ``records`` of several engines, and those that differ in a column which separates curves, a series each.

    ``rows`` are the cells of the same rows, ``ignored`` the columns without a role. Returns those of them that separate
    no curves, and a finding for each that does. None does where no two records have the same curve and load. Unlike a
    measured value, which hardly recurs, each value of such a column is there at two places at least.
    """
    if len({r.get("engine") for r in records}) > 1:  # their latencies hold different things
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
        findings.append(
            note(
                "curves-by-column",
                f"{name}: rows at the same load differ in {column} ({shown}), and are curves of their own.",
                f"look whether they are repeats of one point instead: then rename the column {column!r} to repeat.",
                "they were measured under conditions of their own.",
            )
        )
    return tuple(column for column in ignored if column not in separating), findings


def _separates(
    column: str, values: Sequence[str], places: Sequence[tuple[str, float]], crowded: Sequence[Sequence[int]]
) -> bool:
    """Whether a column separates curves: few values, each at two places or more, several of them at one place."""
    if _NO_CURVE.fullmatch(plain_name(column)) or not all(values):
        return False
    at: dict[str, set[tuple[str, float]]] = defaultdict(set)
    for value, place in zip(values, places, strict=True):
        at[value].add(place)
    if not 1 < len(at) <= _MOST_CURVES or any(len(found) < 2 for found in at.values()):
        return False
    return any(len({values[row] for row in group}) > 1 for group in crowded)


def split_jobs(records: Records, roles: Roles) -> None:
    """Give each number of jobs a series of its own where both depths and jobs vary, or where a load recurs.

    Rows with one product of different depths and jobs are not repeats. A sweep of depths at one number of jobs is one
    curve, and so is a sweep of jobs at one depth.
    """
    noun = load_noun(roles["jobs"].column).replace("requests", "jobs")
    one = {"processes": "process"}.get(noun, noun.removesuffix("s"))
    members: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        members[record["series"]].append(record)
    for group in members.values():
        depths: dict[float, set[float]] = defaultdict(set)
        jobs: dict[float, set[float]] = defaultdict(set)
        for record in group:
            depths[record["jobs"]].add(record["load"])
            jobs[record["load"]].add(record["jobs"])
        if sum(len(d) > 1 for d in depths.values()) > 1 or any(len(j) > 1 for j in jobs.values()):
            for record in group:
                _extend(record, f"{record['jobs']:g} {one if record['jobs'] == 1 else noun}")


def _extend(record: dict[str, Any], words: str) -> None:
    """Add words to the name of the record's curve, in the place of the name of no curve."""
    if words:
        is_unnamed = record["series"] == describe_series(None, None, None)
        record["series"] = words if is_unnamed else f"{record['series']} {words}"
