"""Are fifteen seconds enough for a knee? Quick sweeps against long ones of the same device, in turns.

    python quick_against_long.py disk FOLDER [--rounds 10] [--long 10]        the drive under FOLDER
    python quick_against_long.py devices FOLDER [--law constant]              known devices of 1, 3, 4, 8 servers, 3 ms
    python quick_against_long.py transients FOLDER                            how a job begins, without a ramp
    python quick_against_long.py table FOLDER                                 what was measured until now

Each round measures depths 1 to 64 (32 of known devices) as qsim knee does, and again with --long seconds a depth, in an
order that alternates; FOLDER/rounds.csv keeps N*, N90 and the peak of each. The table has the median of quick and long,
their difference, and the noise: the standard deviation between rounds of each. Run it on a quiet machine, or with
priority: chrt -r 20.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate import fit
from measure import Sweep
from measure.fio.fio_sweep import run_fio
from measure.fio.plan import FioPlan, plan_fio
from measure.known_device.device_sweep import measured_way
from measure.known_device.server import known_device, truth_of
from qsim import Deterministic, Exponential

QUICK_S, RAMP_S = 1.4, 0.3
SERVERS, SERVICE_S = (1, 3, 4, 8), 3e-3
LAWS = {"constant": Deterministic, "exponential": Exponential}
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
FIGURES = ("N*", "N90", "peak")

Measure = Callable[[float], Sweep]


def swept(plan: FioPlan) -> Sweep:
    """The points of a plan by one process, as qsim knee measures them."""
    with tempfile.TemporaryDirectory() as out:
        return run_fio(plan, Path(out) / "sweep", together=True)


def disk(folder: Path) -> Iterator[tuple[str, float | None, Measure]]:
    """The drive, in a file that is kept until the end."""
    file = folder / "qsim-test-file"

    def measure(seconds: float) -> Sweep:
        return swept(plan_fio(file, DEPTHS, runtime_s=seconds, ramp_s=RAMP_S, size_bytes=2**28, keep=True))

    yield "this disk", None, measure


def devices(law: str, seed: int) -> Iterator[tuple[str, float | None, Measure]]:
    """The known devices of a law, with their true N*; each seed draws other service times."""
    for servers in SERVERS:
        truth = truth_of(LAWS[law](SERVICE_S), servers)

        def measure(seconds: float, servers: int = servers) -> Sweep:
            way_s = measured_way()
            played = replace(truth_of(LAWS[law](SERVICE_S), servers, seed=seed), early_s=way_s)
            with known_device(played, threads=DEPTHS[-2]) as uri:
                return swept(plan_fio(uri, DEPTHS[:-1], runtime_s=seconds, ramp_s=RAMP_S))

        yield f"{servers} {law}", truth.crossing, measure


def figures(sweep: Sweep) -> list[float]:
    """N*, N90 and the peak, as the answer has them; NaN where one is not reached."""
    found = fit(sweep)
    places = (found.knee.load, found.ninety.load, found.curve_parameters["Xmax"].estimate)
    return [float("nan") if value is None else float(value) for value in places]


def rounds(asked: argparse.Namespace) -> None:
    """Measure in turns and keep each row at once."""
    path = asked.folder / "rounds.csv"
    for turn in range(asked.rounds):
        targets = disk(asked.folder) if asked.what == "disk" else devices(asked.law, turn + 1)
        for name, truth, measure in targets:
            both = [("quick", QUICK_S), ("long", asked.long)]
            for how, seconds in both if turn % 2 else both[::-1]:
                row = [name, truth, turn, how, seconds, *figures(measure(seconds))]
                columns = ["target", "truth", "round", "how", "seconds", *FIGURES]
                pd.DataFrame([row], columns=columns).to_csv(path, mode="a", header=not path.exists(), index=False)
    for left in asked.folder.glob("qsim-test-file*"):
        left.unlink()


def table(folder: Path) -> None:
    """What was measured until now."""
    kept = pd.read_csv(folder / "rounds.csv")
    print("target, rounds, figure: truth, quick, long, quick / long - 1, sd between rounds of quick and of long")
    for (target, name), own in [((t, f), g) for t, g in kept.groupby("target", sort=False) for f in FIGURES]:
        quick, long = (own[own["how"] == how][name].dropna().to_numpy(float) for how in ("quick", "long"))
        if not len(quick) or not len(long):
            continue
        truth = own["truth"].iloc[0] if name == "N*" else float("nan")
        apart = 100 * (np.median(quick) / np.median(long) - 1)
        noise = [
            100 * float(np.std(part, ddof=1) / np.mean(part)) if len(part) > 1 else np.nan for part in (quick, long)
        ]
        print(
            f"{target:14s} {len(quick):2d} {name:5s} {truth:6.2f} {np.median(quick):9.4g} {np.median(long):9.4g} "
            f"{apart:+6.1f} % {noise[0]:5.1f} % {noise[1]:5.1f} %"
        )


def transients(folder: Path, rounds: int) -> None:
    """The throughput of the first tenths of a second of a job, as shares of that of its last second and a half."""
    print("depth: throughput in 0-0.1, 0.1-0.2, 0.2-0.3, 0.3-0.4, 0.4-0.5, 0.5-1 s as a share of 1-2.5 s; median")
    for depth in DEPTHS:
        shares = []
        for turn in range(rounds):
            plan = plan_fio(
                folder / "qsim-test-file", (depth,), runtime_s=2.5, ramp_s=0.0, size_bytes=2**28, keep=True, seed=turn
            )
            with tempfile.TemporaryDirectory() as out:
                run_fio(plan, Path(out) / "sweep")
                notes = [json.loads(p.read_text()) for p in (Path(out) / "sweep" / "points").glob("*.json")]
                rates = np.array(next(n["intervals"]["throughput_per_s"] for n in notes if "intervals" in n))
            if len(rates) >= 20:
                shares.append(np.r_[rates[:5], rates[5:10].mean()] / rates[10:].mean())
        print(f"{depth:4d}  " + "  ".join(f"{share:5.2f}" for share in np.median(shares, axis=0)), flush=True)
    for left in folder.glob("qsim-test-file*"):
        left.unlink()


def main() -> None:
    """Parse what is asked for and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("disk", "devices", "transients", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--law", choices=tuple(LAWS), default="constant")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--long", type=float, default=10.0)
    asked = parser.parse_args()
    if asked.what == "transients":
        transients(asked.folder, asked.rounds)
        return
    if asked.what != "table":
        rounds(asked)
    table(asked.folder)


if __name__ == "__main__":
    main()
