"""One run of a load generator, and several runs as a sweep over clients, or over rates where they were asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.sweep import Provenance, Sweep
from measure.units import plain_number

NEAR_WHOLE = 0.1
"""X R of a tool that prints no number of clients is taken for a whole number that it is so near to (relative)."""


@dataclass(frozen=True)
class ServerRun:
    """What one run of ``tool`` printed.

    ``clients`` is how many circulate, ``rate_per_s`` what arrived by itself (open loop); both None: not printed.
    ``response_s`` None: not printed, and then ``clients`` / throughput stands for it. ``percentiles`` are seconds by
    percent, ``sd_s`` is the standard deviation of the response time; ``failed`` are answers that are errors or
    time-outs among ``requests``.
    """

    tool: str
    throughput_per_s: float
    response_s: float | None
    clients: float | None = None
    unit: str = "clients"
    rate_per_s: float | None = None
    percentiles: Mapping[float, float] = field(default_factory=dict)
    sd_s: float = math.nan
    requests: float | None = None
    failed: float = 0.0
    seconds: float | None = None
    series: str = ""
    notes: tuple[str, ...] = ()
    """What a reader should know, in sentences without a stop."""


THINKING = 0.8
"""Below this share of the users outstanding, the others think between two requests."""


def circulating(users: float, outstanding: float) -> tuple[float, tuple[str, ...]]:
    """The load of ``users`` of whom ``outstanding`` = X R wait for an answer, and what to say of it.

    >>> circulating(20, 2.36)[0], circulating(8, 7.9)[0]
    (2.36, 8)
    """
    if outstanding >= THINKING * users:
        return users, ()
    load = float(f"{outstanding:.3g}")
    return load, (f"the users think: the load is the {load:g} that wait for an answer, not {users:g} users",)


_COLUMNS = {50.0: "latency_p50_s", 95.0: "latency_p95_s", 99.0: "latency_p99_s", 99.9: "latency_p999_s"}


def servers_sweep(runs: Mapping[str, Sequence[ServerRun]], name: str) -> Sweep:
    """The runs of several files, {file: runs}, as one sweep. DataError where loads or tools do not go together."""
    listed = [(file, run) for file, found in runs.items() for run in found]
    tools = {run.tool for _, run in listed}
    if len(tools) > 1:
        raise DataError(f"{name}: runs of {' and '.join(sorted(tools))} cannot be one sweep; load one tool's at a time")
    for file, run in listed:
        if run.response_s is None and run.requests and run.failed >= run.requests:
            raise DataError(f"{file}: none of {run.requests:,.0f} requests was answered; check the address, run again")
    opened = {run.rate_per_s is not None for _, run in listed}
    if len(opened) > 1:
        raise DataError(
            f"{name}: runs at a rate and runs with a fixed number of clients cannot be one sweep; load one kind"
        )
    loaded = [(*_load(run, file), file, run) for file, run in listed]
    loaded.sort(key=lambda each: (each[3].series or each[3].tool, each[0]))
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for load, said, file, run in loaded:
        rows.append(
            {
                "series": run.series or run.tool,
                "load": load,
                "throughput_per_s": run.throughput_per_s,
                "latency_s": run.response_s or load / run.throughput_per_s,
                "source": file,
                "pattern": None,
                "latency_sd_s": run.sd_s,
                **{_COLUMNS[p]: t for p, t in run.percentiles.items() if p in _COLUMNS},
            }
        )
        findings += [*said, *_doubts(run, file, load)]
    table = pd.DataFrame(rows)
    table["repeat"] = table.groupby(["series", "load"]).cumcount()
    kind, unit = ("arrival_rate", "requests/s") if opened.pop() else ("queue_depth", listed[0][1].unit)
    return Sweep(table, kind, unit, Provenance(tool=tools.pop(), source=name), _alike(findings), name=name)  # type: ignore[arg-type]


def _load(run: ServerRun, file: str) -> tuple[float, list[Finding]]:
    """What was varied; where no load was printed, Little's law tells the number of clients."""
    if run.rate_per_s is not None:
        return run.rate_per_s, []
    if run.clients is not None:
        return run.clients, []
    outstanding = run.throughput_per_s * (run.response_s or 0.0)
    whole = max(1, round(outstanding))
    if abs(outstanding / whole - 1) > NEAR_WHOLE:
        raise DataError(
            f"{file}: {run.tool} prints no number of clients, and X R = {outstanding:.3g} is no whole one; give a "
            "table with the columns clients, requests_per_s and latency_ms"
        )
    message = f"{run.tool} prints no number of clients; X R tells it ({file}: {outstanding:.3g})"
    return float(whole), [Finding("clients-by-littles-law", "info", message)]


def _doubts(run: ServerRun, file: str, load: float) -> Iterator[Finding]:
    if run.failed:
        share = f"{run.failed:g} answers"
        if run.requests:
            share = f"{plain_number(100 * run.failed / run.requests, 2)} % of the answers"
        yield Finding(
            "failed-answers",
            "warning",
            f"{file}: {share} are errors or time-outs, and they count as answers",
            "an error is often quicker than an answer, a time-out slower",
            "mend the errors and run again",
            load=load,
        )
    for note in run.notes:
        yield Finding("load-generator", "info", note, load=load)


def _alike(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each finding once, whatever load it is of."""
    first: dict[Any, Finding] = {}
    for finding in findings:
        key = (finding.check, finding.message) if finding.severity != "info" else (finding.check, finding.message[:20])
        first.setdefault(key, finding)
    return tuple(first.values())
