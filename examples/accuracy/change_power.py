"""How often ``qsim change`` sees a loss, and one where there is none: the tables of explanation-change.md.

python change_power.py                    synthetic sweeps: noise, repeats, one load or all slower
python change_power.py --disk DIR         a drive against itself, 20 pairs of short sweeps with fio (10 minutes), and
                                          against itself throttled to 95, 90 and 70 % of its peak, a third of the pairs
python change_power.py --device           a device of known truth against one whose service takes 5, 10, 30 % longer

Cells are shares of verdicts in percent.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from calibrate import Change, change
from calibrate.changes.change import Verdict, changed
from measure.fio.sweep import plan_fio, run_fio
from measure.known_device.server import truth_of
from measure.known_device.sweep import DeviceSweep
from measure.loads import Depth
from measure.sweep import Sweep

LOAD = np.array([1.0, 4, 8, 16, 32, 64])
HEALTHY = np.array([100.0, 380, 600, 640, 560, 420])
NOISE, REPEATS, LOSS = (0.01, 0.02, 0.05, 0.1, 0.2), (1, 3, 5), 0.3
DRAWS = 400
VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "undecided")
SERVICE_S = 2e-3
HEAD = "| noise, repeats, lost | slower | faster | same | undecided | would be seen, % |"


def drawn(rates: np.ndarray, noise: float, repeats: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """The runs of a sweep over ``LOAD``."""
    throughput = rates * np.exp(noise * random.standard_normal((repeats, len(rates))))
    return {"throughput": throughput, "response time": LOAD / throughput}


def synthetic(loss: float, where: slice, noise: float, repeats: int, draws: int = DRAWS) -> Iterator[Change]:
    """Comparisons of a device with itself, slower by ``loss`` at the loads ``where``."""
    random = np.random.default_rng(1)
    slower = HEALTHY.copy()
    slower[where] *= 1 - loss
    for _ in range(draws):
        old, new = (drawn(rates, noise, repeats, random) for rates in (HEALTHY, slower))
        yield changed("synthetic", Depth(), LOAD, old, new)  # type: ignore[arg-type]


def shares(changes: Iterable[Change]) -> dict[str, float]:
    """The share of each verdict in percent."""
    counts = Counter(c.verdict for c in changes)
    return {verdict: 100 * counts[verdict] / counts.total() for verdict in VERDICTS}


def row(name: str, changes: Iterable[Change]) -> str:
    """A row of a table."""
    found = list(changes)
    seen = np.median([c.detectable_pct if c.detectable_pct is not None else 100.0 for c in found])
    return f"| {name} | {' | '.join(f'{v:.0f}' for v in shares(found).values())} | {seen:.2g} |"


def synthetic_table(draws: int = DRAWS) -> Iterator[str]:
    """A row for each noise, number of repeats, and what is lost."""
    yield f"{HEAD}\n|---|---:|---:|---:|---:|---:|"
    cases = {"nothing": (0.0, slice(0)), "30 % at one load": (LOSS, slice(3, 4)), "30 % at all": (LOSS, slice(None))}
    for lost, (loss, where) in cases.items():
        for noise in NOISE:
            for repeats in REPEATS:
                yield row(f"{100 * noise:g} %, {repeats}, {lost}", synthetic(loss, where, noise, repeats, draws))


def disk_sweep(folder: Path, most_per_s: float | None = None) -> Sweep:
    """A sweep of a drive, four depths of 0.8 s, three times; fio sends at most so many requests a second."""
    plan = plan_fio(folder, (1, 4, 16, 64), runtime_s=0.8, ramp_s=0.2, repeats=3, size_bytes=2**28)
    if most_per_s is not None:
        limit = f"--rate_iops={round(most_per_s)}"
        plan = replace(plan, points=tuple(replace(p, argv=(*p.argv, limit)) for p in plan.points))
    with tempfile.TemporaryDirectory() as store:
        return run_fio(plan, Path(store, "sweep"), together=True)


def disk_table(folder: Path, pairs: int) -> Iterator[str]:
    """A row for the drive against itself, sweep after sweep, and one for each loss of its peak."""
    sweeps = [disk_sweep(folder) for _ in range(pairs + 1)]
    yield row("this drive against itself", [change(old, new) for old, new in pairwise(sweeps)])
    for loss in (0.05, 0.1, 0.3):
        found = []
        for _ in range(max(pairs // 3, 1)):
            healthy = disk_sweep(folder)
            peak = float(healthy.mean_points()["throughput_per_s"].max())
            found.append(change(healthy, disk_sweep(folder, (1 - loss) * peak)))
        yield row(f"this drive, throttled to {100 * (1 - loss):g} % of its peak", found)


def device_sweep(slower: float) -> Sweep:
    """A sweep of four servers of 2 ms, whose service takes longer by that share."""
    device = DeviceSweep(truth_of(SERVICE_S * (1 + slower), 4), (1, 2, 4, 8, 16), runtime_s=0.8, ramp_s=0.2, repeats=3)
    with tempfile.TemporaryDirectory() as store:
        return device.run(Path(store, "sweep"))


def device_table(pairs: int) -> Iterator[str]:
    """A row for each loss; every sweep is compared with one of the healthy device that was measured before it."""
    for slower in (0.0, 0.05, 0.1, 0.3):
        found = [change(device_sweep(0.0), device_sweep(slower)) for _ in range(pairs)]
        yield row(f"known device, service {100 * slower:g} % longer", found)


def main() -> None:
    """Print the tables that were asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--disk", type=Path)
    options.add_argument("--device", action="store_true")
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--draws", type=int, default=DRAWS)
    asked = options.parse_args()
    if asked.disk is not None:
        for line in disk_table(asked.disk, asked.pairs):
            print(line, flush=True)
    if asked.device:
        print("\n".join(device_table(asked.pairs)))
    if asked.disk is None and not asked.device:
        for line in synthetic_table(asked.draws):
            print(line, flush=True)


if __name__ == "__main__":
    main()
