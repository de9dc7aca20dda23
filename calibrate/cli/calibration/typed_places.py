"""Places of a surface as they are typed: block=4KiB,64KiB read=0,100 depth=1..32 jobs=1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage

if TYPE_CHECKING:
    from calibrate.surface import Places


KEYS: Mapping[str, Callable[[Any], parsing.Numbers]] = {
    "block": parsing.sizes,
    "read": parsing.percents,
    "depth": parsing.depths,
    "jobs": parsing.depths,
}


@dataclass(frozen=True)
class TypedPlaces:
    """What was typed for each key: sizes in bytes, reads in percent, depths of one job, numbers of jobs."""

    typed: Mapping[str, tuple[float, ...]]

    def columns(self) -> dict[str, tuple[float, ...]]:
        """The same by the columns of a surface, shares of reads from 0 to 1."""
        names = {"block": "block_bytes", "read": "read_fraction", "depth": "depth", "jobs": "jobs"}
        return {names[k]: tuple(v / 100 for v in values) if k == "read" else values for k, values in self.typed.items()}


@parsing.parser
def places(text: str) -> TypedPlaces:
    """Keys with their values, spaces or semicolons between them; ``all`` names no key."""
    if text.strip().lower() == "all":
        return TypedPlaces({})
    typed: dict[str, tuple[float, ...]] = {}
    for word in text.replace(";", " ").split():
        key, equals, values = word.partition("=")
        if key not in KEYS or not equals:
            raise ValueError(f"{word!r}: write places like block=4KiB,64KiB read=0,100 depth=1..32 jobs=1")
        if key in typed:
            raise ValueError(f"{key!r} is named twice; write its values with commas between them")
        typed[key] = tuple(KEYS[key](values))
    if not typed:
        raise ValueError("no place is named; write places like block=4KiB,64KiB read=0,100 depth=1..32 jobs=1")
    return TypedPlaces(typed)


def at_places(typed: TypedPlaces, measured: Places) -> Places:
    """Every combination of the typed values; other keys take the measured values, jobs the least."""
    import numpy as np

    from calibrate.surface import Places

    named = typed.columns()
    jobs = named.get("jobs", (float(measured.jobs.min()),))
    depths = named.get("depth", tuple(np.unique(measured.outstanding / jobs[0])))
    blocks = named.get("block_bytes", tuple(measured.values("block_bytes")))
    shares = named.get("read_fraction", tuple(measured.values("read_fraction")))
    block, share, depth, job = np.array(list(product(blocks, shares, depths, jobs))).T
    return Places(block, share, depth * job, job)


def read_shares(typed: TypedPlaces, option: str, measured: Sequence[float]) -> list[float]:
    """The shares of reads of a memory's places, from 0 to 1; those ``measured`` where all are."""
    if not typed.typed:
        return list(measured)
    if set(typed.typed) != {"read"}:
        raise wrong_usage(f"{option}: a memory's places are shares of reads; write them like read=50,100")
    return list(typed.columns()["read_fraction"])
