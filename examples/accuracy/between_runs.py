"""Whether an interval of one run holds what other runs of the same device find: a table of accuracy-tables.md.

python between_runs.py FOLDER DIRECTORY    ten rounds of quick runs of the drive that DIRECTORY is on and of a known
                                           device (nbdkit, fio) that draws other times in each, in turns, stored in
                                           FOLDER; then the table
python between_runs.py FOLDER              the table of the runs that FOLDER holds
python between_runs.py                     the shares of :mod:`calibrate.points`, from public repeats

A run measures depths 1 to 64 for about 1.4 s each. Begin it with chrt -r 20 for a machine at rest. A cell counts the
runs whose 90 % interval holds the median of the other runs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibrate import Fit, fit
from measure import Sweep, load, load_dataset

ROUNDS = 10
KNOWN = ("--servers", "4", "--service", "exponential:3ms", "--depths", "1,2,4,8,16,32,64", "--runtime", "1.5s")
DEVICES = ("disk", "known")
DATA = Path(__file__).resolve().parents[2] / "docs" / "data"
LOCAL_SWEEPS = (("004-ssd-depth", "16 KiB"), ("004-ssd-block-size", "16 KiB"), ("004-ssd-mix", "16 KiB read"))
VIRTUAL_PAIRS = (("azure-lisa32-vm", "azure-lisa74-vm"), ("azure-lisa610-12disk-raid0", "azure-lisa1424-12disk-raid0"))


def measure(folder: Path, directory: Path) -> None:
    """The runs that ``folder`` lacks, the devices in turns."""
    for i in range(ROUNDS):
        known = ["measure", "device", *KNOWN, "--seed", str(i + 1)]
        for device, command in (("disk", ["knee", str(directory)]), ("known", known)):
            out = folder / f"{device}-{i}"
            if not out.exists():
                subprocess.run(["qsim", *command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)


def figures(made: Fit) -> dict[str, tuple[float, float, float]]:
    """Each figure of a fit with the ends of its interval."""
    found = {"N*": (made.knee.load, made.knee.low, made.knee.high)}
    for name, parameter in (("peak", "Xmax"), ("R1", "R1")):
        e = made.parameters[parameter]
        found[name] = (e.estimate, e.low, e.high)
    return {
        name: (float(value), 0.0 if low is None else float(low), np.inf if high is None else float(high))
        for name, (value, low, high) in found.items()
        if value is not None
    }


def row(device: str, fits: Sequence[Fit]) -> str:
    """How often the intervals hold, how wide they are, and how far the runs lie apart."""
    cells = []
    for name in ("N*", "peak", "R1"):
        values = np.array([figures(f)[name] for f in fits])
        others = [np.median(np.delete(values[:, 0], i)) for i in range(len(fits))]
        held = sum(low <= other <= high for other, (_, low, high) in zip(others, values, strict=True))
        apart = 100 * np.log(values[:, 0]).std(ddof=1)
        width = np.median(values[:, 2] / np.maximum(values[:, 1], 1e-300))
        middle = np.median(values[:, 0])
        cells.append(f"{held} of {len(fits)} | {middle:.3g} ± {apart:.0f} % | {width:.2f}")
    return f"| {device} | {' | '.join(cells)} |\n"


def table(folder: Path) -> str:
    """A row for each device of which ``folder`` holds three runs or more."""
    head = " | ".join(f"{name} held | runs, ± sd | ends apart, factor" for name in ("N*", "peak", "R1"))
    rows = []
    for device in DEVICES:
        fits = [fit(load(one)) for one in sorted(folder.glob(f"{device}-*"))]
        if len(fits) > 2:
            rows.append(row(device, fits))
    return f"| device | {head} |\n|---|{'---:|' * 9}\n{''.join(rows)}"


def rates(sweep: Sweep, series: str | None = None) -> dict[float, float]:
    """The throughput at each load."""
    points = (sweep if series is None else sweep.select(series)).mean_points()
    return dict(zip(points["load"], points["throughput_per_s"], strict=True))


def learned() -> dict[str, tuple[float, int]]:
    """The relative standard deviation between runs at one load, with its degrees of freedom, by kind of device.

    A local drive: one load of 004-ssd in its three sweeps. Virtual drives: two pairs of runs of one kind of machine.
    A service: three rounds of docs/data/llm-server, whose loads were measured in turn.
    """
    local = [{1.0: rates(load_dataset(name), series)[1.0]} for name, series in LOCAL_SWEEPS]
    pairs = [[rates(load(DATA / "drives-later" / f"{n}-randread.csv")) for n in pair] for pair in VIRTUAL_PAIRS]
    service = load(DATA / "llm-server").points.groupby("load")["throughput_per_s"].agg(list)
    rounds = [dict(zip(service.index, values, strict=True)) for values in zip(*service, strict=True)]
    found = {}
    for kind, groups in (("local drive", [local]), ("virtual drive", pairs), ("service", [rounds])):
        logs = [np.log([run[n] for run in runs]) for runs in groups for n in set.intersection(*map(set, runs))]
        freedom = sum(len(one) - 1 for one in logs)
        found[kind] = float(np.sqrt(sum(one.var() * len(one) for one in logs) / freedom)), freedom
    return found


if __name__ == "__main__":
    if len(sys.argv) == 1:
        for kind, (share, freedom) in learned().items():
            print(f"{kind}: {100 * share:.1f} % between runs ({freedom} degrees of freedom)")
        sys.exit()
    if len(sys.argv) > 2:
        measure(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.write(table(Path(sys.argv[1])))
