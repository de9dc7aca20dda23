"""Detects which load generator wrote a text, and reads its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from measure.errors import DataError
from measure.formats.k6 import K6_LINE, is_k6, k6, k6_metrics
from measure.formats.load_tools import Tool, fields_of_document, run_of, runs_of_text, tool_of, tools
from measure.formats.sample_logs import from_header, locust, looks_like_locust, looks_like_samples, samples
from measure.formats.server_reports import ServerRun, servers_sweep
from measure.formats.vllm import is_vllm, vllm
from measure.sweep import Sweep
from measure.text_files import HEAD_BYTES


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
        reads = [next((read for known, read in _documents() if known(one)), None) for one in found]
        return (
            None
            if None in reads
            else lambda _, name: [read(one, name) for read, one in zip(reads, found, strict=True) if read]
        )
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
        if isinstance(one, dict):
            names = [name for name, (known, _) in JSON.items() if known(one)]
            yield from names[:1] or [tool.name for tool in tools() if tool.wrote(one)][:1]


def several_tools(name: str, written: Sequence[str]) -> DataError:
    """The DataError for a text that several tools wrote."""
    return DataError(f"{name} holds outputs of {' and '.join(written)}; give each a file of its own")


def _documents() -> Iterator[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], str], ServerRun]]]:
    """The detector and the reader of each tool's document."""
    yield from JSON.values()
    for tool in tools():
        yield tool.wrote, lambda one, name, tool=tool: run_of(tool, fields_of_document(tool, one, name), name)  # type: ignore[misc]


def _by_table(tool: Tool, text: str, name: str) -> list[ServerRun]:
    """The runs of a text that the table of tools reads, or whose fields are those of a document."""
    if tool.document:
        _, read = JSON[tool.document]
        backend = re.search(r"^Backend:\s+(\S+)", text, re.MULTILINE)
        named = {"backend": backend[1] if backend else ""}
        return runs_of_text(
            tool, _lines(text), name, lambda found, where: read(named | {k: v[0] for k, v in found.items()}, where)
        )
    return runs_of_text(tool, _lines(text), name, lambda found, where: run_of(tool, found, where))


def _lines(text: str) -> str:
    """The text with each line ended by a newline, also those that a progress bar ended by a carriage return."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def server_runs_sweep(texts: Mapping[str, str], columns: Mapping[str, str] | None = None) -> Sweep:
    """The sweep in a load generator's output, {file: text}: one curve over clients, or over rates.

    ``columns`` may say how many requests each client keeps outstanding, {"pipeline": "16"}, and how many clients there
    were where the tool prints none, {"load": "8"}; DataError for other roles.
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
