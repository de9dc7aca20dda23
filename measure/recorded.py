"""What a sweep recorded of how it was measured: fio's options, and the caches of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def is_direct(options: Mapping[str, str]) -> bool:
    """Whether fio's options go past the page cache."""
    return options.get("direct", "0") not in ("0", "") or options.get("buffered") == "0"


def recorded_options(details: Mapping[str, Any], key: str = "options") -> Iterator[Mapping[str, str]]:
    """fio's shared options, those of joined sweeps included."""
    for name, value in details.items():
        if isinstance(value, Mapping):
            if name == key:
                yield value
            else:
                yield from recorded_options(value, key)


def recorded_caches(details: Mapping[str, Any]) -> dict[str, float]:
    """The data caches that the machine of the measurement was seen to have, smallest first; {name: bytes}."""
    given = details.get("caches")
    if isinstance(given, Mapping):
        sizes = {str(k): float(v) for k, v in given.items() if isinstance(v, int | float)}
    else:
        facts = details.get("host_facts")
        listed = facts.get("caches", ()) if isinstance(facts, Mapping) else ()
        sizes = {
            f"level-{c['level']}": float(c["size_bytes"])
            for c in listed
            if isinstance(c, Mapping) and c.get("kind") != "Instruction" and {"level", "size_bytes"} <= c.keys()
        }
    return dict(sorted(sizes.items(), key=lambda item: item[1]))
