"""The next input of a fuzzer: a JSON document changed where it stands, so that it stays one, or bytes changed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from fuzz_targets import BETWEEN_FILES

_VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    1e308,
    2**70,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1e999",
    "-1",
    "8",
    "4k",
    "\n",
    "../x",
    [],
    [0],
    [[]],
    {},
    {"": 0},
)


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
        return rng.choice(_VALUES)
    parent, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        parent[key] = rng.choice(_VALUES)
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


def mutate(content: bytes, largest: int, seed: int) -> bytes:
    """The next input: every other time a JSON document in it is changed where it stands, else its bytes are."""
    import atheris

    rng = random.Random(seed)
    parts = content.split(BETWEEN_FILES)
    chosen = rng.randrange(len(parts))
    if rng.random() < 0.6:
        try:
            parts[chosen] = json.dumps(change_json(json.loads(parts[chosen]), rng)).encode()
        except (ValueError, RecursionError):
            return bytes(atheris.Mutate(content, largest))
        return BETWEEN_FILES.join(parts)[:largest]
    return bytes(atheris.Mutate(content, largest))
