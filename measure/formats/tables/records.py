"""Lists of records, as programs write them: JSON, a document a line, YAML, and lines of key=value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from measure.formats.tables.column_names import recognise, worded_name

Record = tuple[int, dict[str, str]]
"""The line on which a record begins, and its values by their names."""

_LEAST_KNOWN = 2
_PAIR = r"""([^\W\d][\w./%-]*)=("[^"]*"|'[^']*'|[^\s,;"']+)"""
_PAIRS = re.compile(rf"{_PAIR}(?:[\s,;]+{_PAIR})+[\s,;]*")
_ENTRY = re.compile(r"(- +)?([^\W\d][^:=]{0,60}?) *: +(\S.*)")
_LIST, _VALUE = re.compile(r"\[\s*(?=\{)"), re.compile(r"[^\s,\]}]")


def records_in(text: str) -> list[Record]:
    """The records in a text, two of whose names are known as those of measurements; empty for any other text."""
    start = text.lstrip()[:1]
    found = _of_json(text) if start and start in "[{" else _of_pairs(text) or _of_yaml(text)
    names = {name for _, record in found for name in record}
    known = sum(recognise(name) is not None or worded_name(name) is not None for name in names)
    return found if known >= _LEAST_KNOWN else []


def _of_json(text: str) -> list[Record]:
    """The objects of a list, or one after another; or those of the one list in an object, with what stands beside it.

    Values of objects within have both names; lists within a record are left out. One object alone holds values only.
    """
    documents, _ = _decoded(text, 0)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if len(documents) == 1 and isinstance(whole := documents[0], dict):
        lists = [value for value in whole.values() if _is_list_of_objects(value)]
        if len(lists) == 1:
            documents = [{**{k: v for k, v in whole.items() if v is not lists[0]}, **each} for each in lists[0]]
    if not _is_list_of_objects(documents):
        return []
    if len(documents) == 1 and any(isinstance(value, dict | list) for value in documents[0].values()):
        return []  # a report of some program
    begin = _LIST.search(text)
    _, lines = _decoded(text, begin.end() if begin else 0)
    lines += [1] * (len(documents) - len(lines))
    return [(line, dict(_values(one))) for line, one in zip(lines, documents, strict=False)]


def _decoded(text: str, at: int) -> tuple[list[Any], list[int]]:
    """The JSON values from a place on, none where anything else is there, and the lines on which those before begin."""
    values: list[Any] = []
    lines: list[int] = []
    line, seen = 1, 0
    while (begin := _VALUE.search(text, at)) is not None:
        try:
            value, at = json.JSONDecoder().raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            return [], lines
        line, seen = line + text.count("\n", seen, begin.start()), begin.start()
        values.append(value)
        lines.append(line)
    return values, lines


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _values(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        name = " ".join(f"{before}_{key}".strip("_").split())
        if isinstance(value, dict) and not before:
            yield from _values(value, name)
        elif not isinstance(value, list | dict):
            yield name, "" if value is None else " ".join(str(value).split())


def _of_pairs(text: str) -> list[Record]:
    """The records of lines that are pairs of a key and a value alone, all with the same keys."""
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2 or not all(_PAIRS.fullmatch(line) for _, line in lines):
        return []
    found = [(n, {key: value.strip("\"'") for key, value in re.findall(_PAIR, line)}) for n, line in lines]
    return found if len({tuple(record) for _, record in found}) == 1 else []


def _of_yaml(text: str) -> list[Record]:
    """The records of lines "key: value", each begun by a dash."""
    found: list[Record] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith(("#", "---")):
            continue
        if (entry := _ENTRY.fullmatch(line)) is None or not (found or entry[1]):
            return []
        if entry[1]:
            found.append((number, {}))
        found[-1][1][entry[2]] = entry[3].strip("\"'")
    return found
