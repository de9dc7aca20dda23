"""How well tails are predicted: known devices from depths 1 and 32, this disk from 1, 8 and 64; with real fio.

python tails_accuracy.py FOLDER            measures into FOLDER (17 minutes), or goes on where it was interrupted,
                                                and writes the table of explanation-service-times.md
python tails_accuracy.py FOLDER RUNTIME    with another time per point than 28s (2s for the disk), printed only

The disk's time goes into repeats, not into long runs: what disturbs a virtual disk lasts for seconds, and the median of
seven repeats leaves out three of them.

Other work on the machine makes tails of its own: run it where there is none, or with priority (chrt -r 20).

"Noise" is, for a known device, what its true queue misses: simulated with the law it was made with, without any fit;
for the disk, by how much one repeat's p99 differs from another's (standard deviation, median over depths).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np

from calibrate import compare
from calibrate.tails.percentiles import fitted_tails
from calibrate.tails.results import TailPoint
from measure import load
from measure.known_device.server import Truth
from qsim import Closed, Station, simulate

QSIM = str(Path(sys.executable).with_name("qsim"))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation-service-times.md"
LAWS = {"lognormal": "lognormal:2ms:scv=2", "hyperexponential": "hyperexponential:2ms:scv=4"}
USE, USE_OF_DISK = (1, 32), (1, 8, 64)
HEAD = (
    "| device | held-out depths | p99 missed by, median | noise | p50 | p99 inside its 90 % interval | taken for |",
    "|---|---|---|---|---|---|---|",
)
WORDS = {
    "lognormal-1": "one server, lognormal",
    "lognormal-4": "4 servers, lognormal",
    "lognormal-4-each": "4 servers with a queue each, lognormal",
    "hyperexponential-1": "one server, hyperexponential",
    "hyperexponential-4": "4 servers, hyperexponential",
    "disk": "virtual disk, 7 repeats",
}


def measured(folder: Path, runtime: str | None) -> list[Path]:
    """The sweeps, each measured where it is not there yet."""
    pace = ["--depths", "1..32", "--runtime", runtime or "28s"]
    jobs = {
        f"{name}-{servers}": ["device", "--servers", str(servers), "--service", law, *pace]
        for name, law in LAWS.items()
        for servers in (1, 4)
    }
    jobs["lognormal-4-each"] = [*jobs["lognormal-4"], "--queues", "per-server"]
    jobs["disk"] = [
        "fio",
        str(folder / "disk.bin"),
        "--size",
        "1GiB",
        "--depths",
        "1..64",
        "--repeats",
        "7",
        "--runtime",
        runtime or "2s",
    ]
    for name, job in jobs.items():
        subprocess.run([QSIM, "measure", *job, "--out", str(folder / name)], check=True, stdout=subprocess.DEVNULL)
    return [folder / name for name in jobs]


def true_error_pct(truth: Truth, point: TailPoint) -> float:
    """How far the p99 seen at a point is from that of the device's true queue."""
    queues: Literal["shared", "random"] = "shared" if truth.queueing == "central" else "random"
    station = Station(truth.service, servers=truth.servers, queues=queues)
    p99 = simulate(Closed(round(point.load), [station]), customers=500_000, seed=1).quantile(0.99)
    return float(abs(100 * (p99 / point.observed["p99_s"] - 1)))


def row(directory: Path) -> str:
    """One line of the table."""
    sweep = load(directory)
    known = "truth" in sweep.provenance.details
    tails = fitted_tails(compare(sweep, USE if known else USE_OF_DISK).fit, sweep, sweep.series[0])
    if tails is None:
        raise SystemExit(f"{directory} holds no histograms")
    held = [p for p in tails.points if p.held_out]
    if known:
        truth = Truth.from_dict(sweep.provenance.details["truth"])
        noise = float(np.median([true_error_pct(truth, p) for p in held]))
    else:
        p99 = sweep.points.assign(log=np.log(sweep.points["latency_p99_s"])).groupby("load")["log"]
        noise = float(100 * p99.std(ddof=1).median())
    inside = sum(p.low["p99_s"] <= p.observed["p99_s"] <= p.high["p99_s"] for p in held)
    errors = [f"{tails.median_error_pct(q):.1f} %" for q in ("p99_s", "p50_s")]
    cells = (
        WORDS[directory.name],
        len(held),
        errors[0],
        f"{noise:.1f} %",
        errors[1],
        f"{inside} of {len(held)}",
        tails.structure.label,
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit(__doc__)
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    directories = measured(place, sys.argv[2] if len(sys.argv) == 3 else None)
    table = "\n".join([*HEAD, *(row(d) for d in directories)]) + "\n"
    sys.stdout.write(table)
    if len(sys.argv) == 2:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(re.sub(re.escape(HEAD[0]) + r"\n(\|.*\n)+", lambda _: table, page), "utf-8")
