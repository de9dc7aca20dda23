"""Places of a surface as they are typed: block=4KiB,64KiB read=0,100 depth=1..32 jobs=1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from calibrate.cli import parsing

if TYPE_CHECKING:
    from calibrate.surface import Places

TypedPlaces: TypeAlias = Mapping[str, tuple[float, ...]]
"""The values of each column of a surface that was named: bytes, shares of reads, depths of one job, jobs."""

KEYS: Mapping[str, tuple[str, Callable[[Any], parsing.Numbers]]] = {
    "block": ("block_bytes", parsing.sizes),
    "read": ("read_fraction", parsing.percents),
    "depth": ("depth", parsing.depths),
    "jobs": ("jobs", parsing.depths),
}
LIKE = "write places like block=4KiB,64KiB read=0,100 depth=1..32 jobs=1"


@parsing.parser
def places(text: str) -> TypedPlaces:
    """Keys with their values, spaces or semicolons between them; ``all`` names no key."""
    if text.strip().lower() == "all":
        return {}
    typed: dict[str, tuple[float, ...]] = {}
    for word in text.replace(";", " ").split():
        key, equals, values = word.partition("=")
        if key not in KEYS or not equals:
            raise ValueError(f"{word!r}: {LIKE}")
        column, parse = KEYS[key]
        if column in typed:
            raise ValueError(f"{key!r} is named twice; write its values with commas between them")
        typed[column] = tuple(v / 100 for v in parse(values)) if key == "read" else tuple(parse(values))
    if not typed:
        raise ValueError(f"no place is named; {LIKE}")
    return typed


def at_places(typed: TypedPlaces, measured: Places) -> Places:
    """Every combination of the typed values; other keys take the measured values, jobs the least."""
    import numpy as np

    from calibrate.surface import Places

    jobs = typed.get("jobs", (float(measured.jobs.min()),))
    depths = typed.get("depth", tuple(np.unique(measured.outstanding / jobs[0])))
    blocks = typed.get("block_bytes", tuple(measured.values("block_bytes")))
    shares = typed.get("read_fraction", tuple(measured.values("read_fraction")))
    block, share, depth, job = np.array(list(product(blocks, shares, depths, jobs))).T
    return Places(block, share, depth * job, job)
