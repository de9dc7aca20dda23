"""What the bands of services hold beyond the deepest load that was measured: a table of accuracy-tables.md.

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
from calibrate.fitting.own_load import measurements
from measure import load
from measure.errors import DataError
from measure.loads import CountedLoad
from measure.sweep import Sweep

RANGES = (("inside", 0.0, 1.0), ("to 4 times", 1.0, 4.0), ("further", 4.0, np.inf), ("all beyond", 1.0, np.inf))
PAIRS_FROM, PAIRS_TO = 16.0, 64.0
"""The deeper load of a pair."""
DRAWS = 2000


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
        plain = measurements(made, loads[rest]).quantiles((0.05, 0.95))
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
    return [sweep.select(name) for name in sweep.series] if isinstance(sweep.load_type, CountedLoad) else []


def table(judged_services: Sequence[np.ndarray]) -> str:
    """A row for each range of loads, and one for all beyond the deepest used."""
    lines = [
        "| held-out loads | points | median / p90 error | in band [90 % over services] | without the hazard |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, low, high in RANGES:
        each = [one[(one[:, 0] > low) & (one[:, 0] <= high)] for one in judged_services]
        if len(rows := np.concatenate(each)):
            missed = 100 * np.abs(rows[:, 1] - 1)
            lines.append(
                f"| {name} | {len(rows)} | {np.median(missed):.0f} / {np.percentile(missed, 90):.0f} % "
                f"| {coverage(each, 2)} | {coverage(each, 3)} |"
            )
    return "\n".join(lines) + "\n"


def coverage(each: Sequence[np.ndarray], column: int) -> str:
    """The share of points in their bands, and where it lies for nine in ten draws of the services."""
    counts = np.array([(one[:, column].sum(), len(one)) for one in each])
    draws = counts[np.random.default_rng(1).integers(len(counts), size=(DRAWS, len(counts)))].sum(axis=1)
    low, high = np.nanpercentile(100 * draws[:, 0] / draws[:, 1], (5, 95))
    return f"{100 * counts[:, 0].sum() / counts[:, 1].sum():.0f} % [{low:.0f}, {high:.0f}]"


def by_service(named: Sequence[tuple[str, np.ndarray]]) -> str:
    """Of each service, how many points beyond the deepest used lie in their bands, and by how much the others miss."""
    lines = []
    for name, rows in named:
        beyond = rows[rows[:, 0] > 1]
        out = ", ".join(f"{ratio:.2g} at {deeper:g} times" for deeper, ratio, holds, _ in beyond if not holds)
        held = int(beyond[:, 2].sum())
        lines.append(f"{name:16s} {held:3d} of {len(beyond)}{f'; predicted over measured {out}' if out else ''}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    every = [(s.name, np.array(judged(s))) for folder in sys.argv[1:] for s in services(Path(folder))]
    sys.stdout.write(f"{table([rows for _, rows in every])}\nbeyond the deepest used\n{by_service(every)}")
