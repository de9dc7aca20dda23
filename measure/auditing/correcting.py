"""``corrected``: a sweep with the errors undone that the audit can prove, and a Finding for each.

Only what Little's law determines is changed: a unit, the block size, jobs that were not counted, and otherwise the
latency, which becomes N / X where the printed one contradicts its own depth and throughput.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from measure.auditing.littles_law import BlockVerdict, Diagnosis, diagnoses
from measure.findings import Finding
from measure.sweep import Sweep, describe_series
from measure.units import format_bytes

_BY_LITTLE = ("one-direction", "half-latency", "constant-share", "unexplained", "depth-not-filled")
_WORTH = 0.05


def corrected(sweep: Sweep) -> Sweep:
    """The sweep with what the audit shows to be wrong put right; the same sweep where nothing is.

    - a unit off by 1000: the latency is divided by it;
    - a file's size taken for the block's: throughput and block are recomputed, and the curve gets a new name;
    - jobs not counted: the load is multiplied by them;
    - one direction tabulated, half a latency, a missing share: R = N / X at the points that deviate by more than 5 %
      (at all points where one direction was tabulated).

    Writes to the page cache cannot be put right. Sweeps that are not closed are returned unchanged.
    """
    if not sweep.load_type.is_closed:
        return sweep
    verdict, found = diagnoses(sweep)
    points = sweep.points.copy()
    notes: list[Finding] = []
    if verdict is not None:
        notes.append(_use_block(points, verdict))
    for diagnosis in found:
        note = _apply(points, diagnosis)
        if note is not None:
            notes.append(note)
    if not notes:
        return sweep
    details = {**sweep.provenance.details, "corrected": list(dict.fromkeys(n.message for n in notes))}
    if verdict is not None:
        points["series"] = [_file_name(row) for row in points.to_dict("records")]
        # The audit of the corrected sweep still has to know how many blocks there were to keep in flight.
        details["file_bytes"] = dict(zip(points["series"], points.pop("claimed_bytes"), strict=True))
    return replace(
        sweep, points=points, findings=(*sweep.findings, *notes), provenance=replace(sweep.provenance, details=details)
    )


def _apply(points: pd.DataFrame, diagnosis: Diagnosis) -> Finding | None:
    """Change the rows of one curve in place; the Finding that says so, or None."""
    curve = diagnosis.curve
    rows = points["series"] == curve.series
    if diagnosis.cause == "unit":
        points.loc[rows, "latency_s"] /= diagnosis.factor
        return _note(curve.series, f"the latency was divided by {diagnosis.factor:g}", diagnosis)
    if diagnosis.cause == "jobs-not-counted":
        points.loc[rows, "load"] *= diagnosis.factor
        return _note(curve.series, f"the load was multiplied by {diagnosis.factor:g} jobs", diagnosis)
    # Where the file was too small for its depth, N itself is wrong, and N / X would be no latency of anything.
    if diagnosis.cause not in _BY_LITTLE or diagnosis.severity == "info" or curve.file_bytes is not None:
        return None
    implied = points["load"] / points["throughput_per_s"]
    off = (points["latency_s"] / implied - 1).abs() > (0 if diagnosis.cause == "one-direction" else _WORTH)
    changed = rows & off & (points["load"] > 0)
    # The submission gap at depth 1 is a truth of its own and no misprint.
    if diagnosis.cause != "one-direction":
        changed &= (points["latency_s"] / implied - 1).abs().gt(0.1) | points["load"].gt(1)
    points.loc[changed, "latency_s"] = implied[changed]
    at = curve.load_type.at(*sorted(points.loc[changed, "load"].unique()))
    words = f"the latency was replaced by N / X at {at}"
    if diagnosis.cause == "one-direction":
        words += ", which is the time of a read and a write together, as the throughput counts one of the two"
    return _note(curve.series, words, diagnosis)


def _use_block(points: pd.DataFrame, verdict: BlockVerdict) -> Finding:
    points["claimed_bytes"] = points["block_bytes"]
    points["throughput_per_s"] *= points["block_bytes"] / verdict.block_bytes
    points["block_bytes"] = verdict.block_bytes
    block = format_bytes(verdict.block_bytes)
    return Finding(
        "corrected",
        "info",
        f"the throughput was computed with blocks of {block} instead of the size in the table.",
        "the size in the table is that of the file.",
    )


def _file_name(row: Mapping[Any, Any]) -> str:
    part = f"in a file of {format_bytes(row['claimed_bytes'])}"
    pattern = row["pattern"]
    return describe_series(row["block_bytes"], row["read_fraction"], str(pattern) if pattern else None, [part])


def _note(series: str, what: str, diagnosis: Diagnosis) -> Finding:
    return Finding("corrected", "info", f"{what}.", diagnosis.hypothesis, series=series)
