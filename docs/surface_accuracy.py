"""How well surfaces are predicted from their corners: the figures of explanation-surface.md.

python docs/surface_accuracy.py [DATA ...]     prints the table

The datasets 001-ssd, 003-ssd-read and the three tables of 004 (one drive, so one surface) come with the package. DATA
are further sweeps with block sizes, mixes or jobs, as ``measure.load`` reads them; what has no surface is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from calibrate.surface import SurfaceComparison, SurfacePoints, compare_surface, surface_points
from measure import load, load_dataset
from measure.dataset import Sweep
from measure.errors import DataError

ASKED = (0, 1, 2, 3)


def sweeps(data: Sequence[str]) -> Iterator[tuple[str, Sweep]]:
    """(name, sweep) of the datasets and of DATA."""
    for name in ("001-ssd", "003-ssd-read"):
        yield name, load_dataset(name, corrected=True)
    parts = [load_dataset(f"004-ssd-{part}", corrected=True) for part in ("depth", "block-size", "mix")]
    points = pd.concat([p.points for p in parts], ignore_index=True)
    points["read_fraction"] = points["read_fraction"].fillna(1.0)  # at 16 KiB they agree with the reads of the third
    yield "004-ssd", replace(parts[0], points=points, name="004-ssd")
    for path in data:
        yield path.rstrip("/").rpartition("/")[2], load(path)


def surfaces(data: Sequence[str]) -> Iterator[tuple[str, SurfacePoints]]:
    """Those that are surfaces."""
    for name, sweep in sweeps(data):
        try:
            yield name, surface_points(sweep)
        except DataError as error:
            sys.stderr.write(f"left out: {error}\n")


def row(name: str, compared: Sequence[SurfaceComparison]) -> str:
    """A row of the table: the median error with none, one, two and three points asked for, and the share inside."""
    first = compared[0]
    errors = " | ".join(_percent(c.summary.held_out_mdape_throughput_pct) for c in compared)
    counts = f"{int(first.used.sum())} of {int((first.judged | first.used).sum())}"
    return f"| {name} | {counts} | {errors} | {_inside(compared):.0f} % |"


def table(found: Sequence[tuple[str, Sequence[SurfaceComparison]]]) -> str:
    """All rows, and the medians over the devices."""
    medians = [
        float(np.median([c[k].summary.held_out_mdape_throughput_pct or 0.0 for _, c in found]))
        for k in range(len(ASKED))
    ]
    everything = [c for _, compared in found for c in compared]
    head = "| device | corners | and 0 more | 1 | 2 | 3 | inside |\n|---|---:|---:|---:|---:|---:|---:|"
    last = f"| **median device** | | {' | '.join(map(_percent, medians))} | {_inside(everything):.0f} % |"
    return "\n".join([head, *(row(name, compared) for name, compared in found), last]) + "\n"


def _inside(compared: Sequence[SurfaceComparison]) -> float:
    return float(100 * np.concatenate([c.inside[c.judged] for c in compared]).mean())


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"


if __name__ == "__main__":
    sys.stdout.write(table([(name, [compare_surface(p, ask=k) for k in ASKED]) for name, p in surfaces(sys.argv[1:])]))
