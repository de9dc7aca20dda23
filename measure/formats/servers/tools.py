"""Which load generator a text is of, and its runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from measure.errors import DataError
from measure.formats.servers import json_reports, text_reports
from measure.formats.servers.run import ServerRun, servers_sweep
from measure.sweep import Sweep

Reader = Callable[[str, str], ServerRun]

TEXTS: Mapping[str, tuple[str, str, Reader]] = {
    "wrk": (r"^Running .* test @ ", r"^Running .* test @ ", text_reports.wrk),
    "ab": (r"^This is ApacheBench|^Concurrency Level:", r"^Concurrency Level:", text_reports.ab),
    "hey": (r"^Summary:\n\s+Total:\s+[\d.]+ secs", r"^Summary:", text_reports.hey),
    "oha": (r"^Summary:\n\s+Success rate:", r"^Summary:", text_reports.hey),
    "pgbench": (
        r"^number of transactions actually processed:|^pgbench \(",
        r"^transaction type:",
        text_reports.pgbench,
    ),
    "sysbench": (r"^sysbench \d", r"^sysbench \d", text_reports.sysbench),
    "redis-benchmark": (r"^\s*\d+ parallel clients", r"^====== ", text_reports.redis_benchmark),
}
"""A line that only this tool prints, one at which each run begins, and what reads a run."""

JSON = {
    json_reports.is_oha: json_reports.oha,
    json_reports.is_k6: json_reports.k6,
    json_reports.is_vllm: json_reports.vllm,
}
"""How a document is known, and what reads it."""


def reader_of(text: str) -> Callable[[str, str], list[ServerRun]] | None:
    """What reads the text; None where no load generator wrote it."""
    if text.lstrip().startswith(("{", "[")):
        found = json_reports.documents(text)
        read = next((read for known, read in JSON.items() if found and all(map(known, found))), None)
        return None if read is None else lambda _, name: [read(one, name) for one in found]
    if text_reports.looks_like_locust(text):
        return text_reports.locust
    head = text[:65536].replace("\r", "\n")
    found_text = next((each for each in TEXTS.values() if re.search(each[0], head, re.MULTILINE)), None)
    return None if found_text is None else partial(_each_run, *found_text[1:])


def _each_run(begins: str, read: Reader, text: str, name: str) -> list[ServerRun]:
    """The runs in one text, one behind another as ``cat`` joins them; a broken one is named by its number."""
    text = text.replace("\r", "\n")
    at = [m.start() for m in re.finditer(begins, text, re.MULTILINE)]
    if len(at) < 2:
        return [read(text, name)]
    parts = [text[start:end] for start, end in pairwise([*at, len(text)])]
    return [read(part, f"{name}, run {number}") for number, part in enumerate(parts, 1)]


def looks_like_server_run(text: str) -> bool:
    """Whether a load generator wrote the text."""
    return reader_of(text) is not None


def server_runs_sweep(texts: Mapping[str, str]) -> Sweep:
    """The sweep in what a load generator wrote, {file: text}: one curve over clients, or over rates."""
    runs = {}
    for name, text in texts.items():
        read = reader_of(text)
        if read is None:
            raise DataError(f"{name} is of no load generator that is read")
        runs[name] = read(text, name)
    return servers_sweep(runs, next(iter(texts)) if len(texts) == 1 else "")
