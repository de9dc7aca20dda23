"""Lists of records, as programs write them: JSON, a document a line, YAML, and lines of key=value."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from measure.formats.tables.column_names import meaning_of

Record = tuple[int, dict[str, str]]  # the line on which a record begins, and its values by their names

_LEAST_KNOWN = 2
_PAIR = r"""([^\W\d][\w./%-]*)=("[^"]*"|'[^']*'|[^\s,;"']+)"""
_PAIRS = re.compile(rf"{_PAIR}(?:[\s,;]+{_PAIR})+[\s,;]*")
_PART = re.compile(r"([^\W\d][^:=]{0,60}?)\s?[:=]\s?(\S.*)")
_ENTRY = re.compile(r"(- +)?([^\W\d][^:=]{0,60}?) *: +(\S.*)")
_LIST, _VALUE = re.compile(r"\[\s*(?=\{)"), re.compile(r"[^\s,\]}]")


def records_in(text: str) -> list[Record]:
    """The records in a text, two of whose names are known as those of measurements; empty for any other text."""
    start = text.lstrip()[:1]
    found = _of_json(text) if start and start in "[{" else _of_pairs(text) or _of_yaml(text)
    names = {name for _, record in found for name in record}
    return found if len([*filter(meaning_of, names)]) >= _LEAST_KNOWN else []


def _of_json(text: str) -> list[Record]:
    """The objects of a list, or one after another; or of the one list in an object, with what stands beside it."""
    documents, _ = _decoded(text, 0)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if len(documents) == 1 and isinstance(whole := documents[0], dict):
        lists = [value for value in whole.values() if _is_list_of_objects(value)]
        if len(lists) == 1:
            documents = [{**{k: v for k, v in whole.items() if v is not lists[0]}, **each} for each in lists[0]]
        elif not lists:
            documents = _of_columns(whole) or documents
    elif documents and all(isinstance(row, list) for row in documents):
        documents = _under(documents[0], documents[1:])
    if not _is_list_of_objects(documents):
        return []
    if len(documents) == 1 and any(isinstance(value, dict | list) for value in documents[0].values()):
        return []  # a report of some program
    begin = _LIST.search(text)
    _, lines = _decoded(text, begin.end() if begin else 0)
    lines += [1] * (len(documents) - len(lines))
    return [(line, _values(one)) for line, one in zip(lines, documents, strict=False)]


def _of_columns(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object of columns, of objects by their name, or of names beside rows, as pandas writes them."""
    values = [*whole.values()]
    if (
        values
        and all(isinstance(each, dict) and each for each in values)
        and len({tuple(each) for each in values}) == 1
    ):
        if any(map(meaning_of, values[0])):
            return [{"name": name, **each} for name, each in whole.items()]
        values = [[*each.values()] for each in values]
    if values and all(isinstance(each, list) for each in values) and len({*map(len, values)}) == 1:
        return _under([*whole], [*map(list, zip(*values, strict=True))])
    named = [each for each in values if isinstance(each, list) and any(isinstance(name, str) for name in each)]
    rows = [each for each in values if isinstance(each, list) and each and all(isinstance(row, list) for row in each)]
    return _under(named[0], rows[0]) if len(named) == len(rows) == 1 else []


def _under(names: list[Any], rows: list[list[Any]]) -> list[dict[str, Any]]:
    """The rows with their names; none where they are not names, or rows are of another length."""
    fits = all(isinstance(name, str) for name in names) and all(len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fits else []


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


def _values(record: Mapping[str, Any]) -> dict[str, str]:
    """The values by the end of their path that is known as a name, if it is the only one, or by the whole path."""
    whole = {path: "" if value is None else " ".join(str(value).split()) for path, value in _leaves(record, ())}
    ends = {path: ["_".join(path[k:]) for k in range(len(path))] for path in whole}
    short = {path: next(filter(meaning_of, names), names[0]) for path, names in ends.items()}
    times = Counter(short.values())
    return {name if times[name] == 1 else ends[path][0]: whole[path] for path, name in short.items()}


def _leaves(record: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in record.items():
        path = (*above, " ".join(key.split()))
        if isinstance(value, dict) and len(path) < _DEEPEST:
            yield from _leaves(value, path)
        elif not isinstance(value, list | dict):
            yield path, value


_DEEPEST = 3


def _of_pairs(text: str) -> list[Record]:
    """The records of lines that are pairs of a key and a value alone, all with the same keys."""
    found = []
    for number, line in enumerate(map(str.strip, io.StringIO(text)), 1):
        if not line:
            continue
        parts = [_PART.fullmatch(part.strip()) for part in re.split("[,;|\t]", line.strip(" ,;|"))]
        if _PAIRS.fullmatch(line):
            pairs = re.findall(_PAIR, line)
        elif len(parts) > 1 and all(parts):
            pairs = [(part[1], part[2]) for part in parts if part]
        else:
            return []
        found.append((number, {key: value.strip("\"'") for key, value in pairs}))
    return found if len(found) > 1 and len({tuple(record) for _, record in found}) == 1 else []


def _of_yaml(text: str) -> list[Record]:
    """The records of lines "key: value", each begun by a dash."""
    found: list[Record] = []
    for number, line in enumerate(map(str.strip, io.StringIO(text)), 1):
        if not line or line.startswith(("#", "---")):
            continue
        if (entry := _ENTRY.fullmatch(line)) is None or not (found or entry[1]):
            return []
        if entry[1]:
            found.append((number, {}))
        found[-1][1][entry[2]] = entry[3].strip("\"'")
    return found
