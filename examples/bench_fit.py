"""How long a fit takes: medians of interleaved runs over 1 to 1000 points, and a process from its start.

Run with: python examples/bench_fit.py [runs]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from calibrate import Fit, fit, predict
from measure import Sweep

DEPTHS = {
    1: [1.0], 2: [1.0, 32], 3: [1.0, 8, 64], 12: [1.0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64],
    1000: [float(n) for n in range(1, 1001)],
}  # fmt: skip
AT = [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 400]
COLD = "from measure import load_dataset; from calibrate import fit; fit(load_dataset('004-ssd-depth'), [1, 32]).knee"


def sweep(depths: list[float]) -> Sweep:
    """A drive with a knee at 10 and sharpness 3, and 1 % of noise."""
    load = np.array(depths)
    noise = 0.01 * np.random.default_rng(1).standard_normal(len(load))
    x = ((load / 10) ** -3 + 1) ** (-1 / 3) * 1e5 * np.exp(noise)
    return Sweep(pd.DataFrame({"series": "drive", "load": load, "throughput_per_s": x, "latency_s": load / x}))


def timed(step: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - begun)


def one_run(of: Sweep) -> list[float]:
    """Milliseconds of fit, prediction at 10 loads, knee and parameters."""
    made: list[Fit] = []
    return [timed(lambda: made.append(fit(of))), timed(lambda: predict(made[0], AT)), timed(lambda: made[0].knee),
            timed(lambda: made[0].parameters)]  # fmt: skip


def main(runs: int) -> None:
    """Print the table."""
    sweeps = {count: sweep(depths) for count, depths in DEPTHS.items()}
    for of in sweeps.values():
        one_run(of)  # what is imported and tabulated once
    times: dict[int, list[list[float]]] = {count: [] for count in sweeps}
    for _ in range(runs):
        for count, of in sweeps.items():
            times[count].append(one_run(of))
    cold = [timed(lambda: subprocess.run([sys.executable, "-c", COLD], check=True)) for _ in range(max(3, runs // 3))]
    print(f"{'points':>6}  {'fit':>8}  {'predict':>8}  {'knee':>8}  {'parameters':>10}   median ms of {runs} runs")
    for count, rows in times.items():
        f, p, k, e = np.median(rows, axis=0)
        print(f"{count:>6}  {f:8.1f}  {p:8.1f}  {k:8.1f}  {e:10.1f}")
    print(f"a process that imports calibrate and fits once: {np.median(cold):.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
