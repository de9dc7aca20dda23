"""Tables with a depth and a number of jobs: ``iodepth`` 8 with ``numjobs`` 4 are 32 outstanding requests.

The load of such a row is the product, unless the table's own numbers say that the column counts all jobs already: by
Little's law X R is what was outstanding. Columns that count all requests by their name (clients, connections) are not
multiplied by threads, unless the numbers say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.column_names import load_noun
from measure.formats.tables.columns import Roles
from measure.formats.tables.refusals import columns_option
from measure.formats.tables.unit_choice import outstanding
from measure.sweep import describe_series

#: How near to 1 X R / N has to be, at how many of the rows.
_NEAR, _MOST_ROWS = 0.15, 0.8


def count_jobs(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[bool, list[Finding]]:
    """Make the ``load`` of each record the number of all outstanding requests, in place, and ``depth`` that of one job.

    Returned is whether the jobs multiply what the column says, and a Finding. Raises DataError for less than one job.
    """
    for record in records:
        if not record["jobs"] >= 1:
            raise DataError(f"{name}: {record['jobs']:g} jobs at load {record['load']:g} send nothing; correct the row")
    several = [r for r in records if r["jobs"] > 1]
    alone, product = (outstanding(several, with_jobs=counted) for counted in (False, True))
    multiply = roles.per_job
    if "jobs" not in roles.declared and len(alone):
        multiply = not _near_one(alone) if roles.per_job else _near_one(product) and not _near_one(alone)
    for record in records:
        record["depth"] = record["load"] if multiply else record["load"] / record["jobs"]
        record["load"] *= record["jobs"] if multiply else 1.0
    if not several:
        return multiply, []
    load, jobs = roles.load.column, roles["jobs"].column
    evidence = ""
    if len(alone):
        with_load, with_both = (f"{float(np.median(ratio)):.3g}" for ratio in (alone, product))
        evidence = f" (X R / N is {with_load} at the median with {load} alone, {with_both} with the product)"
    if multiply:
        return True, [Finding(
            "outstanding", "info", f"{name}: the load is {load} x {jobs}, what all jobs have outstanding{evidence}.",
            "", f"if {load} already counts all jobs, say so: --columns jobs=1",
        )]  # fmt: skip
    return False, [Finding(
        "outstanding", "info", f"{name}: the load is {load} alone, which counts all {jobs}{evidence}.",
        "", f"if each of these has as many, say so: {columns_option([f'depth={load}', f'jobs={jobs}'])}",
    )]  # fmt: skip


def part_jobs(records: Sequence[dict[str, Any]], roles: Roles) -> None:
    """Give each number of jobs a series of its own where both depths and jobs vary, or where a load recurs.

    Rows with one product of different depths and jobs are not repeats. A sweep of depths at one number of jobs is one
    curve, and so is a sweep of jobs at one depth.
    """
    members: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        members[record["series"]].append(record)
    noun = load_noun(roles["jobs"].column).replace("requests", "jobs")
    for group in members.values():
        if _is_grid(group):
            for record in group:
                known = "" if record["series"] == describe_series(None, None, None) else f"{record['series']} "
                word = {"processes": "process"}.get(noun, noun.removesuffix("s")) if record["jobs"] == 1 else noun
                record["series"] = f"{known}{record['jobs']:g} {word}"


def _near_one(ratio: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    return len(ratio) > 0 and float(np.mean(np.abs(ratio - 1) <= _NEAR)) >= _MOST_ROWS


def _is_grid(group: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two numbers of jobs or more have several depths each, or two have one load."""
    depths: dict[float, set[float]] = defaultdict(set)
    jobs: dict[float, set[float]] = defaultdict(set)
    for record in group:
        depths[record["jobs"]].add(record["load"])
        jobs[record["load"]].add(record["jobs"])
    return sum(len(d) > 1 for d in depths.values()) > 1 or any(len(j) > 1 for j in jobs.values())
