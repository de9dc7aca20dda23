"""The drive probe against fio: throughput and latency of the same file at the same depths, in turns.

    python examples/accuracy/probe_against_fio.py [FOLDER] [--rounds 10] [--seconds 1.5] [--engines psync,io_uring]

Each round measures every depth by the probe and by each engine of fio, in an order that alternates. The tables give the
median over the rounds of probe / fio, and the noise of fio itself: the median change from one round to the next.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from measure.fio.fio_command import PROBE
from measure.fio.fio_sweep import plan_fio, run_fio

DEPTHS = (1, 2, 4, 8, 16, 32)


def measured(folder: Path, engine: str, seconds: float) -> pd.DataFrame:
    """The points of one engine, by depth."""
    plan = plan_fio(
        folder / "qsim-test-file", DEPTHS, engine=engine, runtime_s=seconds, ramp_s=0.3, size_bytes=2**28, keep=True
    )
    with tempfile.TemporaryDirectory() as out:
        return run_fio(plan, Path(out) / "sweep", together=True).points.set_index("load")


def main() -> None:
    """Measure in turns and print a table for each engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path.cwd())
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["psync", "auto"])
    asked = parser.parse_args()
    rounds: dict[str, list[pd.DataFrame]] = {engine: [] for engine in (PROBE, *asked.engines)}
    for turn in range(asked.rounds):
        for engine in list(rounds)[:: -1 if turn % 2 else 1]:
            rounds[engine].append(measured(asked.folder, engine, asked.seconds))
    for name in ("qsim-test-file", "qsim-test-file.qsim-target"):
        (asked.folder / name).unlink(missing_ok=True)
    found = {
        engine: {c: np.array([t[c] for t in tables]) for c in ("throughput_per_s", "latency_s")}
        for engine, tables in rounds.items()
    }
    probe = found.pop(PROBE)
    ceiling = np.median([t["ceiling_per_s"] for t in rounds[PROBE]], axis=0)
    for engine, fio in found.items():
        print(f"{asked.rounds} rounds against fio by {engine}")
        print("depth, fio k/s, probe / fio in throughput and latency, fio between rounds, ceiling of the probe")
        for k, depth in enumerate(DEPTHS):
            x, r = (np.median(probe[c][:, k]) / np.median(fio[c][:, k]) for c in ("throughput_per_s", "latency_s"))
            middle = np.median(fio["throughput_per_s"][:, k])
            steps = 100 * np.median(np.abs(np.diff(fio["throughput_per_s"][:, k]))) / middle
            print(f"{depth:5d} {middle / 1e3:8.1f} {x:6.3f} {r:6.3f} {steps:5.0f} % {ceiling[k] / 1e3:7.0f} k/s")


if __name__ == "__main__":
    main()
