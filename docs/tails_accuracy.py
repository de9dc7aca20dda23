"""How well tails are predicted from depths 1 and 32: four devices whose truth is known, and a disk; with real fio.

python docs/tails_accuracy.py FOLDER            measures into FOLDER (six minutes), or goes on where it was interrupted
python docs/tails_accuracy.py FOLDER RUNTIME    with another time per point, as 20s; the default is 8s

For a known device, "noise" is what its true queue misses: simulated with the law it was made with, without any fit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from calibrate import compare
from calibrate.tails import TailPoint, tails_of
from measure import load
from measure.device_truth import Truth
from qsim import Closed, Station, simulate

QSIM = str(Path(sys.executable).with_name("qsim"))
LAWS = {"lognormal": "lognormal:2ms:scv=2", "hyperexponential": "hyperexponential:2ms:scv=4"}
USE = (1, 32)
HEAD = ("| device | held-out depths | p99 missed by, median | noise | p50 | p99 inside its 90 % interval |",
        "|---|---|---|---|---|---|")  # fmt: skip


def measured(folder: Path, runtime: str) -> list[Path]:
    """The sweeps, each measured where it is not there yet."""
    pace = ["--runtime", runtime, "--ramp", "0.3s"]
    jobs = {
        f"{name}-{servers}": ["device", "--servers", str(servers), "--service", law, "--depths", "1,2,4,8,16,32", *pace]
        for name, law in LAWS.items()
        for servers in (1, 4)
    }
    jobs["disk"] = ["fio", str(folder / "disk.bin"), "--size", "1GiB", "--depths", "1..64", "--repeats", "3", *pace]
    for name, job in jobs.items():
        subprocess.run([QSIM, "measure", *job, "--out", str(folder / name)], check=True, stdout=subprocess.DEVNULL)
    return [folder / name for name in jobs]


def true_error_pct(truth: Truth, point: TailPoint) -> float:
    """How far the p99 seen at a point is from that of the device's true queue."""
    station = Station(truth.service, servers=truth.servers)
    p99 = simulate(Closed(round(point.load), [station]), customers=500_000, seed=1).quantile(0.99)
    return float(abs(100 * (p99 / point.observed["p99_s"] - 1)))


def row(directory: Path) -> str:
    """One line of the table."""
    sweep = load(directory)
    tails = tails_of(compare(sweep, USE), sweep)
    if tails is None:
        raise SystemExit(f"{directory} holds no histograms")
    held = [p for p in tails.points if p.held_out]
    details = sweep.provenance.details
    noise = ""
    if "truth" in details:
        truth = Truth.from_dict(details["truth"])
        noise = f"{np.median([true_error_pct(truth, p) for p in held]):.1f} %"
    inside = sum(p.low["p99_s"] <= p.observed["p99_s"] <= p.high["p99_s"] for p in held)
    errors = [f"{tails.median_error_pct(q):.1f} %" for q in ("p99_s", "p50_s")]
    return f"| {directory.name} | {len(held)} | {errors[0]} | {noise} | {errors[1]} | {inside} of {len(held)} |"


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit(__doc__)
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    directories = measured(place, sys.argv[2] if len(sys.argv) == 3 else "8s")
    sys.stdout.write("\n".join([*HEAD, *(row(d) for d in directories)]) + "\n")
