"""Several sweeps as one: their curves side by side, each under the name of where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.sweep import Provenance, Sweep


def join(parts: Iterable[tuple[str, Sweep]], name: str) -> Sweep:
    """Several sweeps as one, each curve under the name of where it comes from."""
    labelled = list(parts)
    kinds = {s.load_kind for _, s in labelled}
    if len(kinds) > 1:
        raise DataError(f"{name}: curves over {' and over '.join(sorted(kinds))} cannot be one sweep; load one of them")
    load_units = {s.load_unit for _, s in labelled}
    if len(load_units) > 1:
        raise DataError(f"{name}: loads in {' and in '.join(sorted(load_units))} cannot be one sweep; load one of them")
    tables, findings = [], []
    details: dict[str, Any] = {label or s.name: dict(s.provenance.details) for label, s in labelled}
    buffers: dict[str, float] = {}
    for label, sweep in labelled:
        prefix = f"{label}: " if label else ""
        tables.append(sweep.points.assign(series=prefix + sweep.points["series"]))
        given = sweep.provenance.details.get("buffer_bytes")
        if isinstance(given, int | float):
            given = dict.fromkeys(sweep.series, given)
        buffers.update({prefix + series: float(size) for series, size in (given or {}).items()})
        findings += [replace(f, series=prefix + f.series) if f.series else f for f in sweep.findings]
    first = labelled[0][1]
    provenances = [s.provenance for _, s in labelled]
    provenance = Provenance(
        tool=_common(p.tool for p in provenances),
        tool_version=_common(p.tool_version for p in provenances),
        commands=tuple(c for p in provenances for c in p.commands),
        host=_common(p.host for p in provenances), kernel=_common(p.kernel for p in provenances),
        cpu=_common(p.cpu for p in provenances), device=_common(p.device for p in provenances),
        source=name, details=details,
    )  # fmt: skip
    if buffers:
        details["buffer_bytes"] = buffers
    raw = tuple(r for _, s in labelled for r in s.raw)
    with_rows = [t.dropna(axis="columns", how="all") for t in tables]
    return Sweep(pd.concat(with_rows, ignore_index=True), first.load_kind, first.load_unit, provenance,
                 tuple(findings), raw, name, {k: v for _, s in labelled for k, v in s.latencies.items()})  # fmt: skip


def _common(values: Iterable[str]) -> str:
    """The values without repetition, for a field that may differ between the parts."""
    return ", ".join(dict.fromkeys(v for v in values if v))
