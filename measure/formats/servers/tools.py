"""Which load generator a text is of, and its runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from measure.errors import DataError
from measure.formats.servers import json_reports, text_reports
from measure.formats.servers.locust import locust, looks_like_locust
from measure.formats.servers.run import ServerRun, servers_sweep
from measure.sweep import Sweep

Reader = Callable[[str, str], list[ServerRun]]

TEXTS: Mapping[str, tuple[str, Reader]] = {
    "wrk": (r"^Running .* test @ ", text_reports.wrk),
    "ab": (r"^This is ApacheBench|^Concurrency Level:", text_reports.ab),
    "hey": (r"^Summary:\n\s+Total:\s+[\d.]+ secs", text_reports.hey),
    "oha": (r"^Summary:\n\s+Success rate:", text_reports.hey),
    "pgbench": (r"^number of transactions actually processed:|^pgbench \(", text_reports.pgbench),
    "sysbench": (r"^sysbench \d", text_reports.sysbench),
    "redis-benchmark": (r"^\s*\d+ parallel clients", text_reports.redis_benchmark),
    "memtier_benchmark": (r"^\s*\d+\s+Connections per thread|^Totals .*\n", text_reports.memtier),
}
"""A line that only this tool prints, and what reads its text."""

JSON = {
    json_reports.is_oha: json_reports.oha,
    json_reports.is_k6: json_reports.k6,
    json_reports.is_vllm: json_reports.vllm,
}
"""How a document is known, and what reads it."""


def reader_of(text: str) -> Reader | None:
    """What reads the text; None where no load generator wrote it."""
    if text.lstrip().startswith("{"):
        found = json_reports.document(text)
        read = next((read for known, read in JSON.items() if known(found)), None)
        return None if read is None else lambda _, name: read(found, name)
    if looks_like_locust(text):
        return locust
    head = text[:65536].replace("\r", "\n")
    return next((read for mark, read in TEXTS.values() if re.search(mark, head, re.MULTILINE)), None)


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
