"""Reads what a command printed at each of several loads, where the load is known from the command itself.

An output is read by the readers of load generators and of fio, else by the line in which a script prints its own
result. A number of clients that the tool prints counts. A script's own line is JSON, or CSV under a header, with a
throughput and a latency::

    {"throughput": 812.4, "latency": 0.0049}
    iops,lat_us
    12000,83

The last such line of an output counts. Names of columns and units are those of tables
(:mod:`measure.formats.tables.column_names`); ``throughput`` alone is requests a second, ``latency`` alone is in
seconds, unless N = X R shows that it is in another unit. Without a latency, it is N / X.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from measure.errors import DataError
from measure.findings import LOAD_KIND, Finding
from measure.formats.by_format import Format, InputFile, sniff, sweep_of
from measure.formats.server_reports import ServerRun, servers_sweep
from measure.formats.servers import runs_in
from measure.formats.tables.cells import number
from measure.formats.tables.column_names import OPEN_UNIT, ColumnRole, recognise, weakly_recognised
from measure.formats.tables.table_in_text import separator_of
from measure.formats.which_kind import NO_PAUSE, ORIGIN_OF_KIND, PACES, of_its_kind
from measure.loads import ArrivalRate
from measure.origin import MEASURED, ORIGIN, told
from measure.sweep import Sweep
from measure.text_files import reading
from measure.units import format_rate, plain_number

if TYPE_CHECKING:
    import pandas as pd

_PERCENTILES = {"latency_p50": 50.0, "latency_p95": 95.0, "latency_p99": 99.0, "latency_p999": 99.9}
_LOADS = ("depth", "clients", "arrival_rate")
_USED = {"throughput", "latency", "latency_sd", *_PERCENTILES, *_LOADS}
IN_ENGLISH = "numbers have a decimal point: begin the command with env LC_ALL=C"


@dataclass(frozen=True)
class OwnLine:
    """The figures of one line, in SI units; ``latency_s`` None: not printed, ``is_open``: without a unit.

    ``load`` is the number of clients, or the rate, that the line itself says; None where it says none.
    """

    throughput_per_s: float
    latency_s: float | None = None
    is_open: bool = False
    load: float | None = None
    sd_s: float = math.nan
    percentiles: Mapping[float, float] = field(default_factory=dict)


def own_line(text: str, name: str) -> OwnLine | None:
    """The last line of figures in the text; None where there is none, DataError for one that cannot be read.

    >>> own_line("warming up\\niops,lat_us\\n12000,83\\n", "run")
    OwnLine(throughput_per_s=12000.0, latency_s=8.3e-05, is_open=False, load=None, sd_s=nan, percentiles={})
    """
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    cells = next(_json_lines(text, lines), None) or _csv_line(lines, name)
    return None if cells is None else _figures(cells, name)


def _json_lines(text: str, lines: list[str]) -> Iterator[dict[str, str]]:
    """The cells of objects with a throughput, the last first; also of one that spans several lines."""
    for part in (*reversed(lines), text):
        if not part.lstrip().startswith("{"):
            continue
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        cells = {str(key): str(value) for key, value in found.items() if isinstance(value, int | float | str)}
        if "throughput" in _roles(cells):
            yield cells


def _csv_line(lines: list[str], name: str) -> dict[str, str] | None:
    """The cells of the last line of numbers under the last header with a throughput; None without a header."""
    for place, line in reversed(list(enumerate(lines, 1))):
        separator = separator_of(line) or ","
        header = [cell.strip().strip('"') for cell in line.split(separator)]
        if "throughput" in _roles(header):
            return _row(header, lines[place:], separator, name)
    return None


def _row(header: list[str], below: list[str], separator: str, name: str) -> dict[str, str] | None:
    rows = [[cell.strip() for cell in line.split(separator)] for line in below if line[0] in "0123456789.+-"]
    if not rows:
        return None
    if len(rows[-1]) != len(header):
        raise DataError(
            f"{name}: its last line has {len(rows[-1])} cells under a header of {len(header)}; "
            f"if it writes 12,5 for 12.5, {IN_ENGLISH}"
        )
    return dict(zip(header, rows[-1], strict=True))


def _roles(header: Mapping[str, str] | list[str]) -> dict[str, ColumnRole]:
    """The columns that are used, by role."""
    found = {known.role: known for column in header if (known := recognise(column)) and known.role in _USED}
    for role in ("throughput", "latency"):
        if role not in found and (weak := weakly_recognised(header, role)):
            found[role] = weak[0]
    return found


def _figures(cells: Mapping[str, str], name: str) -> OwnLine:
    roles = _roles(cells)
    values = {role: _value(cells[known.column], known, name) for role, known in roles.items()}
    throughput, latency = values["throughput"], values.get("latency")
    for role, value in (("throughput", throughput), ("latency", latency)):
        if role in values and (value is None or not value > 0):
            raise DataError(f"{name}: its {role} is {cells[roles[role].column]!r}: no request was counted")
    return OwnLine(
        throughput or math.nan,
        latency,
        is_open=latency is not None and roles["latency"].unit == OPEN_UNIT,
        load=next((values[role] for role in _LOADS if role in values), None),
        sd_s=values.get("latency_sd") or math.nan,
        percentiles={_PERCENTILES[role]: v for role, v in values.items() if role in _PERCENTILES and v is not None},
    )


def _value(cell: str, role: ColumnRole, name: str) -> float | None:
    if "," in cell:
        raise DataError(f"{name}: its {role.column} is {cell[:40]!r}; {IN_ENGLISH}")
    try:
        return number(cell, role, 1, name)
    except DataError as error:
        raise DataError(f"{name}: its {role.column} is {cell[:40]!r}, which is not a number") from error


Placeholder = Literal["N", "rate"]
"""What stands in braces in a command: a number in flight, or arrivals a second."""

TIME_UNITS = (1.0, 1e-3, 1e-6, 1e-9)
FOLLOWS, GROWN, LEAST = 1.5, 4.0, 2
"""X R grows by the first factor at least where N grows by the second; else the command ignores N."""

SERVED, ERRORS = 0.9, 3.0
"""A service is overloaded where it answers less than the first share of the arrivals, and that by 3 standard errors."""


@dataclass(frozen=True)
class CommandOutput:
    """What one run printed, and the number that stood in place of the placeholder."""

    text: str
    asked: float


def command_sweep(outputs: Mapping[str, CommandOutput], placeholder: Placeholder, program: str) -> Sweep:
    """The outputs of one command, {name: output}, as a sweep over what was asked for.

    ``program`` names the curve of a script. Raises DataError for an output without a result, with several, of another
    kind than the others, and for one load whatever was asked for.
    """
    with reading(", ".join(list(outputs)[:3])):
        kinds = {name: _kind(output.text, name) for name, output in outputs.items()}
        first, kind = next(iter(kinds.items()))
        if others := [name for name in kinds if kinds[name] != kind]:
            raise DataError(f"{first} and {others[0]} are outputs of different kinds; run one tool at every load")
        if kind == "fio":
            sweep = _fio(outputs, placeholder)
        else:
            sweep = _of_runs(outputs, placeholder, program, has_own_lines=kind == "own line")
        _check_follows(sweep, outputs, placeholder)
        return sweep


def _kind(text: str, name: str) -> Format | Literal["own line"]:
    """Who wrote the output; DataError where nothing in it is read."""
    try:
        kind = sniff(text, name)
    except DataError:
        kind = "table"
    if kind in ("fio", "server"):
        return kind
    if own_line(text, name) is None:
        last = " ".join(text.split())[-60:]
        raise DataError(
            f"{name} holds no result that is read: neither that of a known tool, nor a last JSON or CSV line with "
            f"throughput and latency; it ends {last!r}"
        )
    return "own line"


def _fio(outputs: Mapping[str, CommandOutput], placeholder: Placeholder) -> Sweep:
    sweep = sweep_of("fio", [InputFile(name, Path(name), output.text) for name, output in outputs.items()])
    if len(sweep.points) > len(outputs) or len(sweep.series) > 1:
        curves = ", ".join(sweep.series)
        raise DataError(f"fio ran {len(sweep.points)} workloads in one run ({curves}); give the command one")
    if isinstance(sweep.load_type, ArrivalRate) != (placeholder == "rate"):
        raise DataError(
            f"fio's runs are over {sweep.load_type.plural}, and {{{placeholder}}} is not; measure arrivals with qsim "
            "measure fio --arrival-rates"
        )
    return sweep


def _of_runs(
    outputs: Mapping[str, CommandOutput], placeholder: Placeholder, program: str, *, has_own_lines: bool
) -> Sweep:
    """The sweep of load generators' outputs, or of own lines."""
    lines = {n: line for n, o in outputs.items() if has_own_lines and (line := own_line(o.text, n))}
    scale = _scale_of_latency(lines, outputs, placeholder)
    runs: dict[str, Sequence[ServerRun]] = {}
    not_printed = []
    for name, output in outputs.items():
        run = _as_run(lines[name], program, scale) if name in lines else _single(output.text, name)
        runs[name] = [_under_load(run, name, output.asked, placeholder)]
        if run.clients is None and placeholder == "N":
            not_printed.append(name)
    sweep = servers_sweep(runs)
    points = sweep.points
    points.loc[points["source"].isin(not_printed), ORIGIN["load"]] = told(f"{{{placeholder}}} of the command")
    details = dict(sweep.provenance.details)
    if lines:  # a script may pause between two requests, and send in any gaps
        details.pop(NO_PAUSE, None)
        if placeholder == "rate":
            details[ORIGIN_OF_KIND] = "Poisson arrivals: assumed"
    found = replace(
        sweep,
        points=points,
        provenance=replace(sweep.provenance, details=details),
        findings=(*_ignored(points, placeholder), *sweep.findings),
    )
    return _with_remedies(of_its_kind(found, {}))


def _with_remedies(sweep: Sweep) -> Sweep:
    """The sweep whose questions about the kind of load are answered by the command, and not by --columns."""
    details = sweep.provenance.details
    why, remedy = (
        "users may think, or fewer were in flight",
        "print the mean time from a request to its answer, or none.",
    )
    if option := details.get(PACES):
        why = f"{sweep.provenance.tool} was perhaps held at a rate ({option})"
        remedy = f"take {option} out of the command, or put {{rate}} there instead of {{N}}."
    elif NO_PAUSE in details:
        why, remedy = "the tool takes the rest of each cycle itself", "give it more threads, or a machine of its own."
    findings = (
        replace(f, hypothesis=why, remedy=remedy) if f.check == LOAD_KIND and "--columns" in f.remedy else f
        for f in sweep.findings
    )
    return replace(sweep, findings=tuple(findings))


def _single(text: str, name: str) -> ServerRun:
    """The one run of a load generator's output."""
    runs = runs_in(text, name)
    if len(runs) != 1:
        series = ", ".join(dict.fromkeys(run.series for run in runs if run.series))
        raise DataError(
            f"{name} holds {len(runs)} runs{f' ({series})' if series else ''}; let the command make one at each load"
        )
    return runs[0]


def _as_run(line: OwnLine, program: str, scale: float) -> ServerRun:
    latency = line.latency_s * scale if line.latency_s is not None and line.is_open else line.latency_s
    run = ServerRun(program, line.throughput_per_s, latency, line.load)
    return replace(run, percentiles=line.percentiles, sd_s=line.sd_s)


def _scale_of_latency(
    lines: Mapping[str, OwnLine], outputs: Mapping[str, CommandOutput], placeholder: Placeholder
) -> float:
    """The unit, in seconds, of a latency without one: that by which X R is nearest to N; seconds under a rate."""
    ratios = [
        outputs[name].asked / line.throughput_per_s / line.latency_s
        for name, line in lines.items()
        if line.is_open and line.latency_s
    ]
    if not ratios or placeholder == "rate":
        return 1.0
    middle = math.log(statistics.median(ratios))
    return min(TIME_UNITS, key=lambda unit: abs(math.log(unit) - middle))


def _under_load(run: ServerRun, name: str, asked: float, placeholder: Placeholder) -> ServerRun:
    """The run with its load: as its tool prints it, else the N asked for, or the rate that was reached."""
    if placeholder == "rate":
        if run.clients is not None and run.rate_per_s is None and run.clients != asked and not run.paces:
            raise DataError(
                f"{name}: {run.tool} keeps {run.clients:g} {run.unit} busy and sends at no rate; "
                "vary them with {N}, or give a tool that sends at a rate"
            )
        if _is_overloaded(run, asked):
            raise DataError(
                f"{name}: the service is overloaded: {format_rate(asked)} were asked for and "
                f"{format_rate(run.throughput_per_s)} answered; ask for less"
            )
        return replace(run, clients=None, rate_per_s=run.rate_per_s or run.throughput_per_s)
    if run.rate_per_s is not None:
        raise DataError(f"{name}: {run.tool} sent at a rate, {run.rate_per_s:.4g}/s; vary that with {{rate}}")
    return run if run.clients is not None else replace(run, clients=asked)


def _is_overloaded(run: ServerRun, asked: float) -> bool:
    """Whether fewer requests were answered than arrived, by more than the chance of Poisson arrivals explains."""
    expected = (run.requests or math.inf) * asked / run.throughput_per_s
    return run.throughput_per_s < SERVED * asked and 1 - run.throughput_per_s / asked > ERRORS / expected**0.5


def _check_follows(sweep: Sweep, outputs: Mapping[str, CommandOutput], placeholder: Placeholder) -> None:
    """DataError where the tool prints the same load whatever was asked for."""
    asked = sorted({output.asked for output in outputs.values()})
    loads = set(sweep.points["load"])
    if len(asked) > 1 and len(loads) == 1:
        numbers = " and ".join(f"{n:g}" for n in (asked[0], asked[-1]))
        raise DataError(
            f"the command does not follow {{{placeholder}}}: its tool says {sweep.load_type.at(loads.pop())} where "
            f"{{{placeholder}}} was {numbers}; put {{{placeholder}}} where the command takes its load"
        )


def _ignored(points: pd.DataFrame, placeholder: Placeholder) -> list[Finding]:
    """A finding where as many requests were in flight at every N, by X R: the load is unknown."""
    measured = points[(points[ORIGIN["latency_s"]] == MEASURED) & points[ORIGIN["load"]].str.startswith("told")]
    measured = measured.sort_values("load")
    if placeholder == "rate" or len(measured) < LEAST or measured["load"].iloc[-1] < GROWN * measured["load"].iloc[0]:
        return []
    in_flight = (measured["throughput_per_s"] * measured["latency_s"]).to_numpy()
    if in_flight[-1] > FOLLOWS * in_flight[0]:
        return []
    first, last = (plain_number(float(n), 2) for n in (in_flight[0], in_flight[-1]))
    least, most = measured["load"].iloc[0], measured["load"].iloc[-1]
    message = f"X R is {first} at {{N}} = {least:g} and {last} at {{N}} = {most:g}."
    remedy = "put {N} where the command takes its load, or print the mean latency of whole requests."
    return [Finding(LOAD_KIND, "error", message, "the command ignores {N}: as many requests were in flight.", remedy)]
