"""Damaged inputs: a JSON document changed where it stands, or bytes cut, doubled, moved and exchanged."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

from fuzz_targets import BETWEEN_FILES, MAX_BYTES

VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 0.5, 1e308, 2**70, float("nan"), float("inf"), "", "x", "1e999", "-1", "8", "4k", "\n",
    "../x", "99:99:99", [], [0], [[]], {}, {"": 0},
)  # fmt: skip
TOKENS: tuple[bytes, ...] = (
    b"", b"0", b"-1", b"1e999", b"nan", b"9" * 400, b"null", b"true", b"{}", b"[]", b'""', b"{", b"]", b'"', b",", b";",
    b"\n", b"\r", b"\0", b"\xff", b"\x0c", b"\xef\xbb\xbf", b"%", b"us", b"=", b"../x", b" " * 200, b"[" * 2000, b".",
    b"99:99:99", b"x" * 4000, b"\t", b"k", b"-",
)  # fmt: skip
MOST_CHANGES = 5


def mutated(seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the seeds, damaged."""
    content = rng.choice(seeds)
    parts = content.split(BETWEEN_FILES)
    chosen = rng.randrange(len(parts))
    if rng.random() < 0.5:
        try:
            document = json.loads(parts[chosen])
            for _ in range(rng.randint(1, 2)):
                document = change_json(document, rng)
            parts[chosen] = json.dumps(document).encode()
            return BETWEEN_FILES.join(parts)[:MAX_BYTES]
        except (ValueError, RecursionError):
            pass
    for _ in range(rng.randint(1, MOST_CHANGES)):
        content = change_bytes(content, rng)[:MAX_BYTES]
    return content


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """The bytes with one place changed."""
    begin = rng.randint(0, len(content))
    end = min(len(content), begin + int(rng.expovariate(1 / 20)))
    head, part, tail = content[:begin], content[begin:end], content[end:]
    kind = rng.randrange(6)
    if kind == 0:
        return head + tail
    if kind == 1:
        return head + part * 2 + tail
    if kind == 2:
        return head + tail + part
    if kind == 3:
        return head + rng.choice(TOKENS) + tail
    if kind == 4:
        return head + rng.randbytes(rng.randint(1, 8)) + tail
    lines = content.splitlines(keepends=True)
    if lines:
        place = rng.randrange(len(lines))
        lines[place:place] = [lines.pop(rng.randrange(len(lines)))]
    return b"".join(lines)


def change_json(document: object, rng: random.Random) -> object:
    """The document with one place changed: a value exchanged, dropped, doubled or moved, a key renamed."""
    places: list[tuple[Any, Any]] = []
    open_ends = [document]
    while open_ends:
        node = open_ends.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        places += [(node, key) for key in keys]
        open_ends += [node[key] for key in keys]  # type: ignore[index]
    if not places:
        return copy.deepcopy(rng.choice(VALUES))
    parent, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        parent[key] = copy.deepcopy(rng.choice(VALUES))  # the next change may be inside it
    elif kind == 1:
        del parent[key]
    elif kind == 2:
        other, where = rng.choice(places)
        parent[key] = copy.deepcopy(other[where])
    elif isinstance(parent, dict):
        _, other_key = rng.choice(places)
        name = other_key if isinstance(other_key, str) and kind == 3 else rng.choice(("", "x", "0", "\n"))
        parent[name] = parent.pop(key)
    else:
        parent.insert(key, parent[key])
    return document
