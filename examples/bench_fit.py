"""How long a fit takes, and a command from its start: medians of interleaved runs.

Commands are given in processor time, as multiples of importing numpy, scipy, pandas and plotly in the same run.

Run with: python examples/bench_fit.py [runs]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate import Fit, fit, predict
from measure import Sweep

DEPTHS = {
    1: [1.0],
    2: [1.0, 32],
    3: [1.0, 8, 64],
    12: [1.0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64],
    1000: [float(n) for n in range(1, 1001)],
}
AT = [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 400]
COLD = "from measure import load_dataset; from calibrate import fit; fit(load_dataset('004-ssd-depth'), [1, 32]).knee"

IMPORTS = "import numpy, scipy, pandas, plotly, plotly.graph_objects"
QSIM = "from calibrate.cli.entry import main; main()"
COMMANDS = {
    "fit --dataset 004-ssd-depth": 1.5,
    "fit --dataset 003-ssd-read": 1.5,
    "predict --dataset 003-ssd-read": 1.5,
    "compare --dataset 003-ssd-read --report": 2.9,
    "compare --dataset 001-memory --report": 5.0,
}
"""Each with the most that is wanted."""


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
    return [
        timed(lambda: made.append(fit(of))),
        timed(lambda: predict(made[0], AT)),
        timed(lambda: made[0].knee),
        timed(lambda: made[0].parameters),
    ]


def processor_s(code: str, arguments: list[str], folder: Path) -> float:
    """Processor time of a process, all of whose modules are compiled already, as they are where qsim is installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        capture_output=True,
        env={**environment, "PYTHONPYCACHEPREFIX": str(folder / "compiled")},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(runs: int) -> None:
    """Print what each command takes."""
    times: dict[str, list[float]] = {name: [] for name in (IMPORTS, *COMMANDS)}
    with tempfile.TemporaryDirectory() as place:
        for run in range(runs + 1):
            for name, kept in times.items():
                arguments = [] if name == IMPORTS else name.split()
                if arguments[-1:] == ["--report"]:
                    arguments.append(str(Path(place) / "report.html"))
                taken = processor_s(IMPORTS if name == IMPORTS else QSIM, arguments, Path(place))
                if run:  # the first run compiles
                    kept.append(taken)
    base = float(np.median(times[IMPORTS]))
    print(f"{base:5.2f} s of processor time: {IMPORTS}")
    for name, most in COMMANDS.items():
        print(f"{np.median(times[name]) / base:5.2f} times that (wanted: {most:g}): qsim {name}")


def main(runs: int) -> None:
    """Print the table."""
    sweeps = {count: sweep(depths) for count, depths in DEPTHS.items()}
    for of in sweeps.values():
        one_run(of)  # what is imported and tabulated once
    times: dict[int, list[list[float]]] = {count: [] for count in sweeps}
    for _ in range(runs):
        for count, of in sweeps.items():
            times[count].append(one_run(of))
    cold = [timed(lambda: subprocess.run([sys.executable, "-c", COLD], check=True)) for _ in range((runs + 2) // 3)]
    print(f"{'points':>6}  {'fit':>8}  {'predict':>8}  {'knee':>8}  {'parameters':>10}   median ms of {runs} runs")
    for count, rows in times.items():
        f, p, k, e = np.median(rows, axis=0)
        print(f"{count:>6}  {f:8.1f}  {p:8.1f}  {k:8.1f}  {e:10.1f}")
    print(f"a process that imports calibrate and fits once: {np.median(cold):.0f} ms")
    commands(runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="?", type=int, default=9, help="of each fit and command")
    main(parser.parse_args().runs)
