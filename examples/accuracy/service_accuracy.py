"""What the bands of services hold beyond the deepest load that was measured: a table of accuracy.md.

python service_accuracy.py DIR...      directories of what a load generator of a server printed, a run each

Each sweep is calibrated on every pair of its smallest number of clients and a deeper one, and judged by the others:
inside the measured range, up to four times beyond, and further. With the hazard of a collapse, and without it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibrate import fit, predict
from measure import load
from measure.errors import DataError
from measure.sweep import Sweep

RANGES = (("inside", 0.0, 1.0), ("to 4 times", 1.0, 4.0), ("beyond", 4.0, np.inf))
PAIRS_FROM, PAIRS_TO = 16.0, 64.0
"""The deeper load of a pair."""


def judged(sweep: Sweep) -> list[tuple[float, float, bool, bool]]:
    """For each held-out point of each pair: its load over the deepest used, the ratio of prediction to measurement,
    and whether it is in its band with the hazard and without."""
    found = []
    points = sweep.mean_points()
    loads, x = points["load"].to_numpy(float), points["throughput_per_s"].to_numpy(float)
    for deep in loads[(loads >= PAIRS_FROM) & (loads <= PAIRS_TO)]:
        used = [float(loads.min()), float(deep)]
        made = fit(sweep, used)
        rest = ~np.isin(loads, used)
        curve = predict(made, loads[rest])
        plain = made.measurements(loads[rest]).quantiles((0.05, 0.95))
        for i, (n, seen) in enumerate(zip(loads[rest], x[rest], strict=True)):
            holds = curve.throughput_low_per_s[i] <= seen <= curve.throughput_high_per_s[i]
            held = plain[0, i] <= seen <= plain[1, i]
            found.append((float(n / deep), float(curve.throughput_per_s[i] / seen), bool(holds), bool(held)))
    return found


def services(folder: Path) -> list[Sweep]:
    """Every curve over a number of clients, threads or connections in ``folder``."""
    try:
        sweep = load(folder)
    except DataError as error:
        raise SystemExit(f"{folder} holds no sweep: {error}") from error
    return [sweep.select(name) for name in sweep.series] if sweep.load_type.is_counted else []


def table(sweeps: Sequence[Sweep]) -> str:
    """A row for each range of loads."""
    points = np.array([one for sweep in sweeps for one in judged(sweep)])
    lines = [
        "| held-out loads | points | median / p90 error | in band | without the hazard |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, low, high in RANGES:
        rows = points[(points[:, 0] > low) & (points[:, 0] <= high)]
        if len(rows):
            missed = 100 * np.abs(rows[:, 1] - 1)
            lines.append(
                f"| {name} | {len(rows)} | {np.median(missed):.0f} / {np.percentile(missed, 90):.0f} % "
                f"| {100 * rows[:, 2].mean():.0f} % | {100 * rows[:, 3].mean():.0f} % |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table([s for folder in sys.argv[1:] for s in services(Path(folder))]))
