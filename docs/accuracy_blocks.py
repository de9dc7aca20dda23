"""The table of explanation-block-sizes.md: throughput at unseen block sizes, from two sizes and from three.

python docs/accuracy_blocks.py          prints the row of the datasets that come with the package
python docs/accuracy_blocks.py DIR...   prints a row for each directory, as those of docs/data/blocks, and one for all:
                                        one CSV file a device, with the columns series, pattern, read_percent,
                                        block_size_bytes, iodepth and iops
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate.block_sizes import BlockLine, block_lines
from measure import load_dataset
from measure.dataset import Sweep

UNSEEN = Path(__file__).resolve().parent / "data" / "blocks"
"""Sweeps of others; those in ``unseen-*`` had no part in setting the misses of the model."""

PACKAGED = ("003-ssd-read", "004-ssd-block-size")
DRAWS = 10_000
"""Of the bootstrap over devices."""

HEAD = """\
| | devices | sweeps | unseen sizes | from two | interval | of the median device | inside | from three | inside |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


@dataclass(frozen=True)
class Held:
    """The absolute errors in percent at sizes that were not calibrated on, and whether they are inside the bands."""

    error_pct: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, lines: list[BlockLine]) -> Held:
        """Over the ``lines`` of one device."""
        errors, inside = [np.zeros(0)], [np.zeros(0, bool)]
        for line in lines:
            held = ~line.calibrated
            errors.append(np.abs(line.error_pct[held]))
            inside.append(((line.low_per_s <= line.observed_per_s) & (line.observed_per_s <= line.high_per_s))[held])
        return cls(np.concatenate(errors), np.concatenate(inside))


def from_two(sweep: Sweep) -> list[BlockLine]:
    """A line for each sweep of a device, from its smallest and its largest size."""
    return [line for line in block_lines(sweep) if len(line.block_bytes) > 2]


def from_three(sweep: Sweep, lines: list[BlockLine]) -> list[BlockLine]:
    """The same with the size between that is nearest to b*, where a fourth is left to predict."""
    found = []
    for line in lines:
        sizes = line.block_bytes
        if len(sizes) < 4:
            continue
        third = sizes[1:-1][np.argmin(np.abs(np.log(sizes[1:-1] / line.crossing_bytes)))]
        again = block_lines(sweep, [sizes[0], third, sizes[-1]])
        found += [one for one in again if (one.series, one.outstanding) == (line.series, line.outstanding)]
    return found


def read(directory: Path) -> list[Sweep]:
    """The sweeps of each device in a directory, each series on its own."""
    return [one for path in sorted(directory.glob("*.csv")) for one in _series(path)]


def _series(path: Path) -> list[Sweep]:
    """One sweep for each series and depth of a device, named after the device."""
    table = pd.read_csv(path)
    sweeps = []
    for _, group in table.groupby(["series", "iodepth"], sort=False):
        points = pd.DataFrame({
            "series": group["block_size_bytes"].map("{:g} B".format), "load": group["iodepth"].astype(float),
            "throughput_per_s": group["iops"], "latency_s": group["iodepth"] / group["iops"],
            "block_bytes": group["block_size_bytes"].astype(float), "read_fraction": group["read_percent"] / 100,
            "pattern": group["pattern"],
        })  # fmt: skip
        sweeps.append(Sweep(points, name=path.stem))
    return sweeps


def row(label: str, sweeps: list[Sweep]) -> str:
    """A row of the table; the interval is that of the median error over a bootstrap of devices."""
    two: dict[str, list[BlockLine]] = {}
    three: dict[str, list[BlockLine]] = {}
    for sweep in sweeps:
        lines = from_two(sweep)
        two.setdefault(sweep.name, []).extend(lines)
        three.setdefault(sweep.name, []).extend(from_three(sweep, lines))
    by_device = [Held.of(lines) for lines in two.values()]
    first, second = (Held.of(list(chain.from_iterable(found.values()))) for found in (two, three))
    rng = np.random.default_rng(0)
    drawn = [
        np.median(np.concatenate([by_device[i].error_pct for i in rng.integers(len(by_device), size=len(by_device))]))
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(drawn, [5, 95])
    cells = [
        label, len(two), sum(map(len, two.values())), len(first.error_pct), f"{np.median(first.error_pct):.1f} %",
        f"{low:.1f} to {high:.1f} %", f"{np.median([np.median(one.error_pct) for one in by_device]):.1f} %",
        f"{100 * first.inside.mean():.0f} %", f"{np.median(second.error_pct):.1f} %",
        f"{100 * second.inside.mean():.0f} %",
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |\n"


def rows(found: dict[str, list[Sweep]], together: str = "all") -> str:
    """A row for each set of devices, and one for all."""
    each = "".join(row(name, sweeps) for name, sweeps in found.items())
    return each + (row(together, list(chain.from_iterable(found.values()))) if len(found) > 1 else "")


def packaged() -> str:
    """The row of the datasets that come with the package."""
    return row("published tables", [load_dataset(name, corrected=True) for name in PACKAGED])


def table() -> str:
    """The table of the page: the published tables, and the unseen devices by their class."""
    classes = {"nvme": "NVMe drives", "sata": "SATA drives", "emmc": "eMMC", "sd": "SD cards", "vm": "virtual disks"}
    unseen = {label: read(UNSEEN / f"unseen-{name}") for name, label in classes.items()}
    return HEAD + packaged() + rows(unseen, "all but the first row")


if __name__ == "__main__":
    given = {Path(name).name: read(Path(name)) for name in sys.argv[1:]}
    sys.stdout.write(HEAD + (rows(given) if given else packaged()))
