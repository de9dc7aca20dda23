"""A run of a load generator, and several runs as a sweep over clients, or over rates in an open loop."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from measure.errors import DataError
from measure.findings import LOAD_KIND, Finding
from measure.formats.tables.by_law import REQUESTS, pipeline_of, pipelined
from measure.formats.which_kind import FEW_BUSY, FROM_TOOL, NO_PAUSE, ORIGIN_OF_KIND, PACES
from measure.loads import ArrivalRate, CountedLoad, Gaps, Load, counted_in
from measure.origin import MEASURED, ORIGIN, PUBLISHED, Provenance, computed, told
from measure.sweep import Sweep
from measure.units import format_rate, plain_number

NEAR_WHOLE = 0.1
"""X R is rounded to a whole number of clients within this relative distance, where the tool prints no number."""


@dataclass(frozen=True)
class ServerRun:
    """The results of one run of ``tool``; sentences are without a full stop."""

    tool: str
    throughput_per_s: float
    response_s: float | None  # None: not printed, clients / throughput is used instead
    clients: float | None = None  # that circulate
    unit: str = "clients"
    rate_per_s: float | None = None  # of arrivals; without it and clients, the load was not printed
    percentiles: Mapping[float, float] = field(default_factory=dict)  # seconds by percent
    sd_s: float = math.nan
    requests: float | None = None
    failed: float = 0.0  # of the requests: errors and time-outs
    series: str = ""
    rate_is_inferred: bool = False  # the tool does not print the rate, which follows from how the queue grew
    gaps: Gaps = "poisson"  # between arrivals, of a run at a rate
    paces: str = ""  # the option by which the tool sends at a rate instead, which its output does not say
    cycles: bool = False  # the tool says that its users circulate, although they may pause between two requests
    notes: tuple[str, ...] = ()
    doubt: str = ""  # what speaks against a run at a rate, which is asked about
    left_out: tuple[str, ...] = ()  # runs beside it in the same text that were interrupted


_COLUMNS = {50.0: "latency_p50_s", 95.0: "latency_p95_s", 99.0: "latency_p99_s", 99.9: "latency_p999_s"}


GROWTH = computed("X T / (T - 2 R) of a run of T seconds in which the queue grew")
GREW = "the queue grew all along, so that answers took up to twice their mean"

PIPELINING = ("redis-benchmark", "wrk", "h2load", "memtier_benchmark")
"""Tools that can keep several requests of one client outstanding, and do not print how many."""


def servers_sweep(
    runs: Mapping[str, Sequence[ServerRun]], pipeline: int | None = None, load: int | None = None
) -> Sweep:
    """The runs of several files, {file: runs}, as one sweep. DataError where they mix kinds of load, or tools.

    ``load``: the number of clients of runs that print none; ``pipeline``: requests that each client keeps outstanding,
    where the user said so, else where X R / N tells it of a tool that can do so.
    """
    listed = [(file, run) for file, found in runs.items() for run in found]
    name = listed[0][0]
    tools = {run.tool for _, run in listed}
    if len(tools) > 1:
        raise DataError(f"{name}: runs of {' and '.join(sorted(tools))} cannot be one sweep; load one tool's at a time")
    opened = {run.rate_per_s is not None for _, run in listed}
    if len(opened) > 1:
        raise DataError(
            f"{name}: runs at a rate and runs with a fixed number of clients cannot be one sweep; load one kind"
        )
    loaded = [(*_load(run, file, load), file, run) for file, run in listed]
    loaded.sort(key=lambda each: (each[3].series or each[3].tool, each[0]))
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    told_by = computed("X R") if load is None else told(f"--columns load={load}")
    for n, said, file, run in loaded:
        rows.append(
            {
                "series": run.series or run.tool,
                "load": n,
                "throughput_per_s": run.throughput_per_s,
                "latency_s": run.response_s or n / run.throughput_per_s,
                ORIGIN["load"]: GROWTH if run.rate_is_inferred else told_by if _is_computed(run) else MEASURED,
                ORIGIN["latency_s"]: MEASURED if run.response_s else computed("N / X"),
                "source": file,
                "pattern": None,
                "latency_sd_s": run.sd_s,
                **{_COLUMNS[p]: t for p, t in run.percentiles.items() if p in _COLUMNS},
            }
        )
        findings += [*said, *_doubts(run, file, n)]
    table = pd.DataFrame(rows)
    table["repeat"] = table.groupby(["series", "load"]).cumcount()
    kind = ArrivalRate(gaps=listed[0][1].gaps) if opened.pop() else counted_in(listed[0][1].unit)
    details = _of_its_kind(table, kind, [run for _, run in listed])
    if isinstance(kind, CountedLoad):
        each, found = _count_pipelines(table, kind.plural, tools, pipeline, name)
        placed = [f if f.load is None else replace(f, load=f.load * each) for f in findings]
        findings, kind = [*placed, *found], kind if each == 1 else counted_in(REQUESTS)
    origin = Provenance(tool=tools.pop(), source=", ".join(runs), details=details)
    return Sweep(table, kind, origin, _distinct(findings), name=name)


def _of_its_kind(table: pd.DataFrame, kind: Load, runs: Sequence[ServerRun]) -> dict[str, Any]:
    """What the tool of these runs tells of the kind of their load, for the details of their sweep."""
    if isinstance(kind, ArrivalRate):
        gaps = "evenly spaced" if kind.gaps == "paced" else "Poisson"
        return {ORIGIN_OF_KIND: f"{gaps} arrivals, as its tool sends"}
    details: dict[str, Any] = {FROM_TOOL: True} if all(run.cycles for run in runs) else {}
    if runs[0].unit == "users":  # who may pause
        return details
    busy = (table["throughput_per_s"] * table["latency_s"] / table["load"]).median()
    may_pace = busy < FEW_BUSY or all(map(_is_computed, runs))
    return details | ({PACES: runs[0].paces} if runs[0].paces and may_pace else {NO_PAUSE: True})


def _is_computed(run: ServerRun) -> bool:
    return run.rate_per_s is None and run.clients is None


def _count_pipelines(
    table: pd.DataFrame, noun: str, tools: Collection[str], pipeline: int | None, name: str
) -> tuple[int, list[Finding]]:
    """Set the loads of ``table``, in place, to requests where clients keep several outstanding; how many, and why."""
    ratio = (table["throughput_per_s"] * table["latency_s"] / table["load"]).to_numpy(float)
    if pipeline is not None:
        table["load"] *= pipeline
        table[ORIGIN["load"]] = told(f"--columns pipeline={pipeline}")
        above = float(np.median(ratio)) / pipeline
        if above <= 1 + NEAR_WHOLE:
            return pipeline, []
        table[PUBLISHED["latency_s"]] = table["latency_s"]
        table["latency_s"] = table["load"] / table["throughput_per_s"]
        table[ORIGIN["latency_s"]] = computed("N / X, as the tool times whole batches")
        return pipeline, [_batch_times(above, name)]
    is_measured = (table[[ORIGIN["load"], ORIGIN["latency_s"]]] == MEASURED).all(axis=None)
    found = pipeline_of(ratio) if is_measured and set(tools) <= set(PIPELINING) else None
    if found is None:
        return 1, []
    origin, finding = pipelined(noun, found, name)
    table[PUBLISHED["load"]] = table["load"]
    table["load"] *= found
    table[ORIGIN["load"]] = origin
    return found, [finding]


def _batch_times(above: float, name: str) -> Finding:
    more = f"{above:.3g}, more than the clients and their pipelines can have outstanding."
    message = f"{name}: N / X stands beside the mean response time: by the printed one X R / N is {more}"
    because = "the tool times each request of a batch from when the batch was written."
    remedy = "its percentiles are those of batches: do not rely on them."
    return Finding("pipelining", "warning", message, because, remedy)


def _load(run: ServerRun, file: str, said: int | None) -> tuple[float, list[Finding]]:
    """The load of a run; where none was printed, what the user ``said``, else by Little's law, with a Finding."""
    printed = run.clients if run.rate_per_s is None else run.rate_per_s
    if printed is not None or said is not None:
        return float(said or 0) if printed is None else printed, []
    outstanding = run.throughput_per_s * run.response_s  # type: ignore[operator]  # a tool prints one of both
    whole = max(1, round(outstanding))
    if abs(outstanding / whole - 1) > NEAR_WHOLE:
        raise DataError(
            f"{file}: {run.tool} prints no number of clients, and X R = {outstanding:.3g} is no whole one; say "
            "it: --columns load=8"
        )
    message = f"{run.tool} prints no number of clients; X R tells it ({file}: {outstanding:.3g})"
    held = f"if it was held at a rate ({run.paces}), say so: --columns gaps=paced" if run.paces else ""
    return float(whole), [Finding("clients-by-littles-law", "info", message, remedy=held)]


def _doubts(run: ServerRun, file: str, load: float) -> Iterator[Finding]:
    if run.failed:
        percent = f"{plain_number(100 * run.failed / run.requests, 2)} % of the answers" if run.requests else ""
        counts = f"{percent or f'{run.failed:g} answers'} are errors or time-outs"
        message = f"{file}: {counts}, and its rate or its times may count them"
        because = "an error is often quicker than an answer, a time-out slower"
        yield Finding("failed-answers", "warning", message, because, "mend the errors and run again", load=load)
    for why in run.left_out:
        yield Finding("interrupted-run", "warning", why, "it was stopped", "run it again", load=load)
    inferred = f"{run.tool} does not print the rate it was asked for; about {format_rate(load)} is inferred: {GREW}"
    for note in (*run.notes, *([inferred] if run.rate_is_inferred else [])):
        yield Finding("load-generator", "info", note, load=load)
    if run.doubt:
        because = "users who ramp hold no load, and a rate of iterations was perhaps none."
        remedy = "run a constant number of users or a rate, or say that a rate it was: --columns gaps=paced."
        yield Finding(LOAD_KIND, "error", f"{file}: {run.doubt}.", because, remedy, load=load)


_BEGINNING = 20  # characters of a remark that tell its kind; behind them are the file and its numbers


def _distinct(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each finding once, at the first load that has it."""
    first: dict[Any, Finding] = {}
    for finding in findings:
        message = finding.message[:_BEGINNING] if finding.severity == "info" else finding.message
        first.setdefault((finding.check, message), finding)
    return tuple(first.values())


CLOSED_LOOP = (
    "percentiles are those of a closed loop: while the server stalls nothing is asked (coordinated omission), so that "
    "the tail under arrivals at a rate is longer"
)


def lacking(what: str, name: str) -> DataError:
    """The DataError for a text in which ``what`` is missing."""
    return DataError(f"{name} has no {what}: the run was interrupted or its text is cut off; run it again")


def number_at(values: Mapping[str, Any], key: str, name: str) -> float:
    """The number of a key in a document; DataError where there is none."""
    try:
        return float(values[key])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{name} has no number {key!r}: the run gave no answer, or the file was edited; run again"
        ) from error


_CAUSE = re.compile(
    r"^.*(?:\bFATAL\b|\berror:|\bError:|refused|not loadable|Caught signal|[Ii]nterrupted|terminating on signal|"
    r"[Nn]o such file|command not found|[Uu]nable to|[Cc]annot |[Ff]ailed to|"
    r"(?:[Bb]ad|[Ii]nvalid|[Uu]nrecognized) option).*$",
    re.MULTILINE,
)
_LONGEST_CAUSE = 160


def cause_in(text: str) -> str:
    """What a text says of why it has no result, for the end of a sentence; empty where it says nothing."""
    line = _CAUSE.search(text)
    return f"; it says {' '.join(line[0].split())[:_LONGEST_CAUSE]!r}" if line else ""


def parts_of(text: str, begins: Iterable[str]) -> list[str]:
    """The text above the first run, then that of each run, which the first pattern found begins; else all is one."""
    starts = next((at for line in begins if (at := [m.start() for m in re.finditer(line, text, re.MULTILINE)])), [0])
    return [text[start:end] for start, end in pairwise([0, *starts, len(text)])]


def each_run(parts: Sequence[str], name: str, read: Callable[[str, str], ServerRun]) -> list[ServerRun]:
    """The runs in the parts of one text. One that was interrupted is left out where another is whole, and said.

    DataError, the first, where none can be read.
    """
    runs: list[ServerRun] = []
    refusals: list[DataError] = []
    for number, part in enumerate(parts, 1):
        try:
            runs.append(read(part, name if len(parts) == 1 else f"{name}, run {number}"))
        except DataError as error:
            refusals.append(DataError(f"{error}{cause_in(part)}"))
    if not runs or any("has no " not in str(refusal) for refusal in refusals):
        raise refusals[0]
    left_out = tuple(str(refusal).replace("; run it again", "; it is left out") for refusal in refusals)
    return [replace(runs[0], left_out=left_out), *runs[1:]]


LAST_ANSWER = 3.0  # the last answer of a run is awaited for up to this many mean response times

EVENLY = 0.1
"""Percentiles of answers that take evenly long, from nothing to twice their mean, are this near to theirs."""

LONG = 0.025
"""A queue that grew all along has a mean response time of at least this share of the run; in less it explains 5 % of
what came, and times that are evenly long are those of the service."""

AS_ASKED = 0.2
"""A queue that grew explains the rate asked for, if it leaves no larger a part of what did not come."""


def load_of_a_count(
    rate: float, mean_s: float, asked: float, seconds: float, percentiles: Mapping[float, float]
) -> float:
    """The rate of a run that ends with its last answer: as it came, where the wait for that explains the rest.

    Not where a queue grew all along: then more was asked for than came.

    >>> round(load_of_a_count(100.0, 2.25, 130.0, 19.5, {50.0: 2.25, 99.0: 4.46}))
    130
    >>> round(load_of_a_count(100.0, 2.25, 100.0, 19.5, {50.0: 2.25, 99.0: 4.46}))
    130
    >>> [round(load_of_a_count(100.0, 1.8, asked, 19.5, {95.0: 3.4})) for asked in (115.0, 122.0)]
    [100, 122]
    """
    by_growth = rate_of_growth(rate, mean_s, seconds)
    if grew_all_along(mean_s, percentiles, seconds):
        return asked if asked > rate else by_growth
    explained = abs(by_growth - asked) < AS_ASKED * (asked - rate)
    if explained and percentiles and _even(mean_s, percentiles):
        return asked
    return rate if rate < asked <= rate * (1 + LAST_ANSWER * mean_s / max(seconds, 1e-9)) else asked


def grew_all_along(mean_s: float, percentiles: Mapping[float, float], seconds: float) -> bool:
    """Whether a queue grew as long as a run of so many ``seconds`` lasted.

    Its answers take evenly long, from nothing to twice their mean.
    """
    known = 50.0 in percentiles and any(90 <= p <= 99 for p in percentiles)
    return known and mean_s >= LONG * seconds and _even(mean_s, percentiles)


def _even(mean_s: float, percentiles: Mapping[float, float]) -> bool:
    known = {p: time for p, time in percentiles.items() if p <= 99}
    return mean_s > 0 and all(abs(time / (mean_s * p / 50) - 1) < EVENLY for p, time in known.items())


def rate_of_growth(rate: float, mean_s: float, seconds: float) -> float:
    """The rate asked for in a run of T ``seconds`` in which the queue grew all along, where the tool does not print it.

    The last of the answers, which came at the capacity X, took twice the mean R: X T = asked (T - 2 R).
    """
    sent_s = seconds - 2 * mean_s
    return rate * seconds / sent_s if sent_s > 0 else rate
