"""How far the figures of qsim's JSON documents move where only rounding differs.

python examples/accuracy/rounding.py [SEEDS]      a table in Markdown: a row for each command

Every figure measured or given is changed by one part in 1e14 (1000 times less than anyone prints), SEEDS times; the
same documents are computed without the processor's newer instructions, and as on another processor by the library of
linear algebra.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rounding_documents import documents, figures

SEEDS = 1
EXACT, SEARCHED = 1e-9, 1e-6
OTHER_CORE = "Nehalem"
"""The oldest processor that OpenBLAS has code for: that of no other is further from a new one's."""

SEARCHES = {
    "fit: a memory": "Gauss-Newton steps on numerical derivatives end by a tolerance",
    "compare: a memory": "the same",
    "surface": "the same",
    "/baselines/": "places in compare: the other methods are fitted by a search of scipy's",
    "fit-service": "each law's likelihood is climbed to a tolerance",
}
"""Documents by how their names begin, and places in them, whose search ends by a tolerance: ``SEARCHED`` is allowed."""

FLAT = {
    "fit-service: percentiles": "five percentiles fix the product of the Burr law's c and k and hardly either, so "
    "that its likelihood is flat along a line"
}
"""Documents of which a search ends on a ridge: ten times ``SEARCHED`` is allowed."""

CHAOTIC = {
    "network: closed PS, simulated": "a customer's rest of work is a difference of many sums, and customers circle: "
    "rounding grows until two of them finish in another order; from there on it is another run of the same system"
}
"""Documents whose runs are the same in distribution only: their intervals are compared instead."""


def allowed(document: str, place: str = "") -> float:
    """How far a figure of a document may move, as a share."""
    if document in FLAT:
        return 10 * SEARCHED
    return SEARCHED if document.startswith(tuple(SEARCHES)) or "/baselines/" in place else EXACT


def moved(before: Any, after: Any) -> dict[str, float]:
    """How far each figure of a document moved, by its place: infinite where a word differs or a figure is missing."""
    one, other = dict(figures(before)), dict(figures(after))
    return {place: _apart(place, one.get(place), other.get(place)) for place in one.keys() | other.keys()}


def _apart(place: str, one: Any, other: Any) -> float:
    """Of two figures as a share of the larger; percentages as a share of all, as they are ratios near 1."""
    if isinstance(one, bool) or not isinstance(one, int | float) or not isinstance(other, int | float):
        return 0.0 if one == other else float("inf")
    if one == other:
        return 0.0
    return abs(one - other) / (100.0 if "_pct" in place else max(abs(one), abs(other)))


def overlapping(before: Any, after: Any) -> bool:
    """Whether each interval of two simulations' documents meets the other's."""
    one, other = dict(figures(before)), dict(figures(after))
    lows = [place for place in one if "/intervals/" in place and place.endswith("/0")]
    ends = [(place, f"{place[:-1]}1") for place in lows]
    return bool(ends) and all(one[low] <= other[high] and other[low] <= one[high] for low, high in ends)


def elsewhere(**environment: str) -> dict[str, Any]:
    """The documents of another process, with this in its environment. Raises where it fails."""
    here = Path(__file__).parent
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parents[1]), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(here / "rounding_documents.py")]
    done = subprocess.run(command, env={**known, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plain_processor() -> dict[str, str]:
    """The environment in which numpy and the C library use no instructions beyond those that every processor has."""
    import numpy as np

    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[index, call-overload]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(found), "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA"}


def other_core() -> dict[str, str]:
    """The environment in which OpenBLAS computes as on another processor."""
    return {"OPENBLAS_CORETYPE": OTHER_CORE}


def rows(seeds: int) -> Iterator[tuple[str, ...]]:
    """Command, documents, figures, and how far these moved at most: inputs changed, other instructions, other core."""
    given = documents()
    changed = [documents(seed) for seed in range(1, seeds + 1)]
    others = [[elsewhere(**plain_processor())], [elsewhere(**other_core())]]
    by_command: dict[str, list[str]] = {}
    for name in given:
        by_command.setdefault(name if name in CHAOTIC else name.partition(":")[0], []).append(name)
    for command, names in by_command.items():
        count = sum(sum(1 for _ in figures(given[name])) for name in names)
        most = (_most(given, of, names) for of in (changed, *others))
        yield (f"`{command}`" if ":" not in command else command, str(len(names)), f"{count:,}", *most)


def _most(given: Mapping[str, Any], others: list[dict[str, Any]], names: list[str]) -> str:
    most = max(max(moved(given[name], other[name]).values()) for other in others for name in names)
    return "the words" if most == float("inf") else f"{most:.0e}" if most else "0"


def table(seeds: int = SEEDS) -> str:
    """The rows as a table in Markdown."""
    head = ("documents of", "number", "figures", "inputs changed by 1e-14", "other instructions", "other core")
    lines = [head, ("---", "---:", "---:", "---:", "---:", "---:"), *rows(seeds)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(table(*map(int, sys.argv[1:])) + "\n")
