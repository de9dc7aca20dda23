"""Detects which load generator wrote a text, and reads its runs.

Most tools are tables of ``load_tools.toml``. Read here are k6's summary (documents, and the text that it prints at its
end), the serving benchmark of vLLM and SGLang, and logs over time of users who may pause, so that N = X (R + Z): each
number of users that lasted is a run of JMeter or Locust.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from measure.errors import DataError
from measure.findings import MOST_NAMED
from measure.formats.load_tools import (
    Fields,
    Tool,
    fields_of_document,
    parse_seconds,
    run_of,
    runs_of_text,
    tool_of,
    tools,
)
from measure.formats.server_reports import CLOSED_LOOP, ServerRun, load_of_a_count, number_at, servers_sweep
from measure.formats.tables.cells import check_rows
from measure.sweep import Sweep
from measure.text_files import HEAD_BYTES
from measure.units import first_of, plain_number

LEAST_S = 2
"""Seconds: a number of users that lasted less is left out, as the tool was still starting or stopping them."""

_START, _TOOK, _THREADS, _FINE = "timeStamp", "elapsed", "allThreads", "success"


def looks_like_samples(text: str) -> bool:
    """Whether the first line is the header of JMeter's results."""
    header = from_header(text).partition("\n")[0].strip().split(",")
    return {_START, _TOOK} <= set(header)


def from_header(text: str) -> str:
    """The text from its first line that is no command behind a prompt, and not empty."""
    return re.sub(r"\A\ufeff?(?:[ \t]*\r?\n|[$#>] [^\n]{0,400}\n)*", "", text)


def samples(text: str, name: str) -> list[ServerRun]:
    """A run for each number of threads that lasted. DataError where none did."""
    rows = list(csv.DictReader(from_header(text).splitlines()))
    check_rows(len(rows), name)
    try:
        started = [(float(r[_START]) / 1e3, float(r[_TOOK]) / 1e3, r) for r in rows]
        listed = [(start + took, took, int(r.get(_THREADS) or 0), r.get(_FINE)) for start, took, r in started]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name}: a row has no start or no duration in ms ({error}); it was cut off: remove it"
        ) from error
    listed.sort(key=lambda sample: sample[0])
    runs: list[ServerRun] = []
    short = []
    for threads, group in groupby(listed, key=lambda sample: sample[2]):
        (begin, *_), *counted = group
        short.append(threads)
        if counted and (seconds := counted[-1][0] - begin) >= LEAST_S:
            mean = sum(took for _, took, _, _ in counted) / len(counted)
            failed = sum(fine == "false" for *_, fine in counted)
            runs.append(_run_of_users("jmeter", short.pop(), len(counted), seconds, mean, failed))
    return _held(runs, short, name)


def _run_of_users(tool: str, users: int, count: int, seconds: float, mean_s: float, failed: int) -> ServerRun:
    clients = float(users) or None
    return ServerRun(tool, count / seconds, mean_s, clients=clients, unit="users", requests=count, failed=failed)


_HISTORY = "Timestamp,User Count,Type,Name,"
_STATS = "Type,Name,Request Count,Failure Count,"


def looks_like_locust(text: str) -> bool:
    """Whether the text is Locust's stats_history.csv or stats.csv."""
    return from_header(text).startswith((_HISTORY, _STATS))


def locust(text: str, name: str) -> list[ServerRun]:
    """A run for each number of users that lasted. DataError for stats.csv, and where none lasted."""
    text = from_header(text)
    if text.startswith(_STATS):
        raise DataError(f"{name} has no number of users; give the other file: ..._stats_history.csv")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["Name"] == "Aggregated"]
    runs: list[ServerRun] = []
    short = []
    for users, group in groupby(rows, key=lambda row: int(row["User Count"])):
        held = list(group)
        first, last = held[0], held[-1]
        short.append(users)
        seconds = int(last["Timestamp"]) - int(first["Timestamp"])
        count = int(last["Total Request Count"]) - int(first["Total Request Count"])
        if users and seconds >= LEAST_S and count > 0:
            mean_s = (_sum_ms(last) - _sum_ms(first)) / count / 1e3
            failed = int(last["Total Failure Count"]) - int(first["Total Failure Count"])
            runs.append(_run_of_users("locust", short.pop(), count, seconds, mean_s, failed))
    return _held(runs, short, name)


def _sum_ms(row: dict[str, str]) -> float:
    return float(row["Total Average Response Time"]) * int(row["Total Request Count"])


def _held(runs: list[ServerRun], short: Sequence[int], name: str) -> list[ServerRun]:
    """The runs; the first one says which numbers of users, but for none, lasted too short a time."""
    if not runs:
        raise DataError(f"{name}: no number of users held for {LEAST_S} s with answers; run longer steps")
    if passed := sorted({*short} - {0, *(run.clients for run in runs)}):
        named = first_of(passed, MOST_NAMED)
        note = f"numbers of users that lasted less than {LEAST_S} s, or without answers, are left out: {named}"
        runs[0] = replace(runs[0], notes=(note,))
    return runs


K6_LINE = r"^[ \t]*http_req_duration\.{3,}: avg="
_METRIC = re.compile(r"^\s*(\w+)\.{3,}: (.*)$", re.MULTILINE)
_FIGURE = re.compile(r"(avg|min|med|max|p\([\d.]+\))=([\d.]+(?:[a-zµμ]+[\d.]*)*)")

ALL_BUSY = 0.8
"""k6's users iterate without a pause: where fewer than this share are busy, an executor of rates starts them."""


def is_k6(found: Mapping[str, Any]) -> bool:
    """Whether the document is k6's summary."""
    return isinstance(found.get("metrics"), dict) and "http_reqs" in found["metrics"]


def k6(found: Mapping[str, Any], name: str) -> ServerRun:
    """Read k6's summary: of virtual users who loop, and may pause in each iteration, or of iterations at a rate."""
    metrics = {key: value.get("values", value) for key, value in found["metrics"].items() if isinstance(value, Mapping)}
    times = metrics.get("http_req_duration", {})
    rate, mean = number_at(metrics.get("http_reqs", {}), "rate", name), number_at(times, "avg", name) / 1e3
    users = float(metrics.get("vus_max", metrics.get("vus", {})).get("max", 0)) or None
    arrivals = _rate_of_iterations(metrics, users)
    percents = {50.0: times["med"] / 1e3} if "med" in times else {}
    percents |= {float(k[2:-1]): float(v) / 1e3 for k, v in times.items() if k.startswith("p(")}
    failed = metrics.get("http_req_failed", {})
    count = float(metrics["http_reqs"].get("count", 0)) or None
    share = float(failed.get("rate", failed.get("value", 0)) or 0)
    due = _dropped(metrics)
    asked = load_of_a_count(rate, mean, rate, count / rate, percents) if count and due == 1 else rate * due
    return ServerRun(
        "k6",
        rate,
        mean,
        clients=None if arrivals else users,
        unit="users",
        rate_per_s=asked if arrivals else None,
        rate_is_inferred=bool(arrivals) and due == 1 and asked > rate,
        gaps="paced",
        cycles="iteration_duration" in metrics,
        percentiles=percents,
        requests=count,
        failed=share * (count or 0),
        notes=(arrivals or CLOSED_LOOP,),
        doubt=_users_ramp(metrics) if arrivals else "",
    )


def _users_ramp(metrics: Mapping[str, Any]) -> str:
    """What speaks for users who ramp: all active at times, and not always; iterations at a rate alone are dropped."""
    active, most = metrics.get("vus", {}), metrics.get("vus_max", {}).get("max")
    varied = most is not None and active.get("min", most) < active.get("max", 0) >= most
    if not varied or metrics.get("dropped_iterations", {}).get("count"):
        return ""
    return f"the users varied from {active['min']:g} to {active['max']:g} within the run"


def _dropped(metrics: Mapping[str, Any]) -> float:
    """Iterations that were due over those that were started: k6 drops what finds no user free."""
    dropped, done = (metrics.get(name, {}).get("count") or 0 for name in ("dropped_iterations", "iterations"))
    return 1 + float(dropped) / float(done) if done else 1.0


def _rate_of_iterations(metrics: Mapping[str, Any], users: float | None) -> str:
    """What says that iterations were started at a rate: they were dropped, or left users idle; empty for a loop."""
    rate = metrics.get("iterations", {}).get("rate")
    mean = metrics.get("iteration_duration", {}).get("avg")
    if users is None or rate is None or mean is None:
        return ""
    busy, due = rate * mean / 1e3, _dropped(metrics)
    if busy >= ALL_BUSY * users and due == 1:
        return ""
    kept = f"they kept {plain_number(busy, 2)} of {users:g} users busy"
    dropped = "" if due == 1 else f", and {plain_number(100 * (1 - 1 / due), 2)} % were dropped"
    return f"k6 started iterations at a rate, in even gaps: {kept}{dropped}"


def k6_metrics(text: str) -> dict[str, Any]:
    """The summary that k6 prints at its end as the document that it writes, times in milliseconds."""
    metrics: dict[str, Any] = {}
    for name, rest in _METRIC.findall(text):
        values: dict[str, float] = {}
        for key, value in _FIGURE.findall(rest):
            values[key] = parse_seconds(value) * 1e3 if re.search("[a-zµμ]", value) else float(value)
        if counted := re.match(r"(\d+)\s+([\d.]+)/s", rest):
            values |= {"count": float(counted[1]), "rate": float(counted[2])}
        elif share := re.match(r"([\d.]+)%", rest):
            values["value"] = float(share[1]) / 100
        metrics.setdefault(name, values)
    return {"metrics": metrics}


FEW_ROUNDS = 10.0  # fewer requests than these for each client are mostly the beginning and the end of a run
_E2E = {50.0: "median", 95.0: "p95", 99.0: "p99"}


def is_vllm(found: Mapping[str, Any]) -> bool:
    """Whether the document is that of a benchmark of a language-model server."""
    return "request_throughput" in found and "output_throughput" in found


def vllm(found: Mapping[str, Any], name: str) -> ServerRun:
    """Read the serving benchmark of vLLM or SGLang: whole requests and their end-to-end time, without tokens.

    Where it holds no end-to-end times, as by default, the response time of a number at once is N / X.
    """
    mean = float(found.get("mean_e2el_ms") or found.get("mean_e2e_latency_ms") or 0) / 1e3
    rate, asked = number_at(found, "request_throughput", name), found.get("request_rate")
    at_once, completed = found.get("max_concurrency"), float(found.get("completed") or 0)
    opened = asked is not None and float(asked) < math.inf and at_once is None
    if opened and not mean:
        raise DataError(
            f"{name} has times of tokens and none of whole requests (mean_e2el_ms); run the benchmark with "
            "--percentile-metrics ttft,tpot,itl,e2el"
        )
    seconds = float(found.get("duration") or completed / rate)
    percents = {p: _time_ms(found, key, mean) for p, key in _E2E.items() if _time_ms(found, key, mean)}
    load = load_of_a_count(rate, mean, float(asked), seconds, percents) if opened and asked is not None else None
    if not opened and at_once is None:
        raise DataError(
            f"{name}: all requests were sent at once (request_rate inf, no max_concurrency), so that no load held; run "
            "the benchmark with --max-concurrency N or --request-rate R"
        )
    notes = [f"{found['failed']:g} requests failed and are left out"] if found.get("failed") else []
    rounds = completed / float(at_once or math.inf)
    if not mean and 0 < rounds < FEW_ROUNDS:
        few = f"{completed:g} requests at {float(at_once or 0):g} at once are {rounds:.2g} rounds"
        notes.append(f"{few}, too few for N / X, as not all clients are busy in the first and the last; send more")
    return ServerRun(
        "sglang" if "sglang" in str(found.get("backend")) else "vllm",
        rate,
        mean or None,
        clients=None if opened else float(at_once),  # type: ignore[arg-type]
        rate_per_s=load,
        percentiles=percents,
        sd_s=_time_ms(found, "std", mean) or math.nan,
        requests=completed or None,
        notes=tuple(notes),
    )


def _time_ms(found: Mapping[str, Any], which: str, mean: float) -> float:
    """A figure of the time of whole requests, seconds, by either name; 0 where there is none."""
    return float(found.get(f"{which}_e2el_ms") or found.get(f"{which}_e2e_latency_ms") or 0) / 1e3 if mean else 0.0


def documents(text: str) -> list[Mapping[str, Any]]:
    """The JSON objects in the text, one after another or in one list; none where it holds anything else."""
    found: list[Any] = []
    text = from_header(text)
    try:
        while text := text.lstrip(" \t\r\n,"):
            value, end = json.JSONDecoder().raw_decode(text)
            found += value if isinstance(value, list) else [value]
            text = text[end:]
    except (json.JSONDecodeError, RecursionError):
        return []
    return found if all(isinstance(value, dict) for value in found) else []


JSON = {"k6": (is_k6, k6), "vLLM": (is_vllm, vllm)}
"""Tool that writes JSON -> (detector of its document, reader)."""

JSON_TOOLS = sorted({"fio", *JSON, *(tool.name for tool in tools() if tool.keys)}, key=str.casefold)
_READ = {tool.name for tool in tools() if not tool.instead}
TOOLS = ", ".join(sorted({*JSON, *_READ, "JMeter", "Locust"}, key=str.casefold))


def runs_in(text: str, name: str) -> list[ServerRun]:
    """The runs that a load generator printed, each with its kind of load. DataError where none did, or none is whole.

    Of a run, ``clients`` circulate, or requests came at ``rate_per_s``; where the tool prints neither, both are None.
    """
    written = writers_in(text)
    if len(written) > 1:
        raise several_tools(name, written)
    read = reader_of(text)
    if read is None:
        raise DataError(f"{name} is of no load generator that is read ({TOOLS})")
    return read(text, name)


def reader_of(text: str) -> Callable[[str, str], list[ServerRun]] | None:
    """The reader of the text; None where no load generator wrote it."""
    if from_header(text).lstrip().startswith(("{", "[")) and (found := documents(text)):
        reads = [known[1] for one in found if (known := _reader_of_document(one))]
        whole = len(reads) == len(found)
        return (lambda _, name: [read(one, name) for read, one in zip(reads, found, strict=True)]) if whole else None
    if looks_like_samples(text):
        return samples
    if looks_like_locust(text):
        return locust
    head = _lines(text[:HEAD_BYTES])
    if (tool := tool_of(head)) is not None and not (tool.instead or tool.columns):
        return partial(_by_table, tool)
    if re.search(K6_LINE, head, re.MULTILINE):
        return lambda text, name: [k6(k6_metrics(_lines(text)), name)]
    return None


_EACH_END = 2**15
"""Characters of the beginning and of the end of a text in which the marks of a second tool are looked for."""
_DOCUMENT = re.compile(r"^(?=[{\[])", re.MULTILINE)
_MOST_DOCUMENTS = 20


def writers_in(text: str) -> list[str]:
    """The load generators whose outputs are in the text, which should be one."""
    ends = text if len(text) <= 2 * _EACH_END else f"{text[:_EACH_END]}\n{text[-_EACH_END:]}"
    found = {tool.name for tool in tools() if not tool.instead and tool.is_in(_lines(ends))}
    if re.search(K6_LINE, ends, re.MULTILINE):
        found.add("k6")
    if "wrk2" in found:  # prints all that wrk does
        found.discard("wrk")
    return sorted(found | set(_writers_of_documents(text)), key=str.casefold)


def _writers_of_documents(text: str) -> Iterator[str]:
    """The tools of the JSON documents at the beginnings of lines."""
    at = 0
    for _ in range(_MOST_DOCUMENTS):
        if (begins := _DOCUMENT.search(text, at)) is None:
            return
        try:
            one, at = json.JSONDecoder().raw_decode(text, begins.start())
        except (json.JSONDecodeError, RecursionError):
            at = begins.start() + 1
            continue
        if isinstance(one, dict) and (found := _reader_of_document(one)):
            yield found[0]


def several_tools(name: str, written: Sequence[str]) -> DataError:
    """The DataError for a text that several tools wrote."""
    return DataError(f"{name} holds outputs of {' and '.join(written)}; give each a file of its own")


_Document = Mapping[str, Any]


def _reader_of_document(one: _Document) -> tuple[str, Callable[[_Document, str], ServerRun]] | None:
    """The tool that wrote a JSON document, and what reads it; None where no load generator did."""
    for name, (known, read) in JSON.items():
        if known(one):
            return name, read
    tool = next((tool for tool in tools() if tool.wrote(one)), None)
    return None if tool is None else (tool.name, partial(_of_document, tool))


def _of_document(tool: Tool, one: _Document, name: str) -> ServerRun:
    return run_of(tool, fields_of_document(tool, one, name), name)


def _by_table(tool: Tool, text: str, name: str) -> list[ServerRun]:
    """The runs of a text that the table of tools reads, or whose fields are those of a document."""
    if not tool.document:
        return runs_of_text(tool, _lines(text), name, partial(run_of, tool))
    backend = re.search(r"^Backend:\s+(\S+)", text, re.MULTILINE)
    named, of_document = {"backend": backend[1] if backend else ""}, JSON[tool.document][1]

    def read(found: Fields, where: str) -> ServerRun:
        return of_document(named | {key: values[0] for key, values in found.items()}, where)

    return runs_of_text(tool, _lines(text), name, read)


def _lines(text: str) -> str:
    """The text with each line ended by a newline, also those that a progress bar ended by a carriage return."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def server_runs_sweep(texts: Mapping[str, str], columns: Mapping[str, str] | None = None) -> Sweep:
    """The sweep in a load generator's output, {file: text}: one curve over clients, or over rates.

    ``columns`` may say the requests of each client, {"pipeline": "16"}, and clients that the tool does not print,
    {"load": "8"}; DataError for other roles.
    """
    said = dict(columns or {})
    if not said.keys() <= {"pipeline", "load"} or not all(re.fullmatch(r"[1-9]\d{0,8}", n) for n in said.values()):
        raise DataError(
            f"{next(iter(texts))} is the output of a load generator, which has no columns; --columns can only say how "
            "many requests each client keeps outstanding (--columns pipeline=16), or how many clients there were where "
            "the tool does not print it (--columns load=8)"
        )
    runs = {name: runs_in(text, name) for name, text in texts.items()}
    return servers_sweep(runs, **{role: int(number) for role, number in said.items()})
