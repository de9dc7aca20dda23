"""The drive probe against fio: throughput and latency of the same file at the same depths, in turns.

    python examples/accuracy/probe_against_fio.py [FOLDER] [--rounds 10] [--seconds 1.5]

Each round measures every depth by both, in an order that alternates. The table gives the median over the rounds of
probe / fio, and the noise of fio itself: the median change from one round to the next.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from measure.fio.command import PROBE
from measure.fio.sweep import plan_fio, run_fio

DEPTHS = (1, 2, 4, 8, 16, 32)


def measured(folder: Path, engine: str, seconds: float) -> pd.DataFrame:
    """The points of one engine, by depth."""
    plan = plan_fio(
        folder / "qsim-test-file", DEPTHS, engine=engine, runtime_s=seconds, ramp_s=0.3, size_bytes=2**28, keep=True
    )
    with tempfile.TemporaryDirectory() as out:
        return run_fio(plan, Path(out) / "sweep", together=True).points.set_index("load")


def main() -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path.cwd())
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.5)
    asked = parser.parse_args()
    rounds: dict[str, list[pd.DataFrame]] = {PROBE: [], "auto": []}
    for turn in range(asked.rounds):
        for engine in sorted(rounds, reverse=bool(turn % 2)):
            rounds[engine].append(measured(asked.folder, engine, asked.seconds))
    for name in ("qsim-test-file", "qsim-test-file.qsim-target"):
        (asked.folder / name).unlink(missing_ok=True)
    probe, fio = ({c: np.array([t[c] for t in rounds[e]]) for c in ("throughput_per_s", "latency_s")} for e in rounds)
    ceiling = np.median([t["ceiling_per_s"] for t in rounds[PROBE]], axis=0)
    print(f"{asked.rounds} rounds; depth, fio k/s, probe / fio in throughput and latency, fio between rounds, ceiling")
    for k, depth in enumerate(DEPTHS):
        x, r = (np.median(probe[c][:, k]) / np.median(fio[c][:, k]) for c in ("throughput_per_s", "latency_s"))
        steps = np.abs(np.diff(fio["throughput_per_s"][:, k])) / np.median(fio["throughput_per_s"][:, k])
        rate = np.median(fio["throughput_per_s"][:, k]) / 1e3
        print(f"{depth:5d} {rate:8.1f} {x:6.3f} {r:6.3f} {100 * np.median(steps):5.0f} % {ceiling[k] / 1e3:7.0f} k/s")


if __name__ == "__main__":
    main()
