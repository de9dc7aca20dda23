"""fio's json+ output of a device that was simulated: closed, at several depths, with the histogram of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from measure.formats.fio.latency_bins import bin_edges, bin_of
from qsim import Closed, Distribution, Station, simulate

TEMPLATE = Path(__file__).parent / "golden" / "data" / "fio" / "json-plus.json"
REQUESTS, ALIKE = 20_000, 10  # of which so many take the same time


def write_simulated(
    folder: Path,
    law: Distribution,
    servers: int,
    depths: Sequence[int],
    *,
    seed: int = 1,
    started_s: int = 1_700_000_000,
) -> Path:
    """One file of json+ a depth in ``folder``, which is made: c servers before one queue, times in seconds."""
    folder.mkdir()
    for number, depth in enumerate(depths):
        run = simulate(Closed(depth, [Station(law, servers=servers)]), customers=100_000, seed=seed + depth)
        shares = (np.arange(0, REQUESTS, ALIKE) + ALIKE / 2) / REQUESTS
        times_ns = np.floor(1e9 * np.array([run.quantile(float(q)) for q in shares]))
        numbers, counts = np.unique(bin_of(times_ns), return_counts=True)
        lower, upper = bin_edges(numbers)
        bins = {str(int((a + b) // 2)): ALIKE * int(n) for a, b, n in zip(lower, upper, counts, strict=True)}
        document = json.loads(TEMPLATE.read_text())
        document["timestamp"] = started_s + 10 * number
        document["timestamp_ms"] = 1000 * document["timestamp"]
        job = document["jobs"][0]
        job["jobname"] = job["job options"]["name"] = f"depth-{depth}"
        job["job options"]["iodepth"] = str(depth)
        mean_s = float(run.W)
        iops = depth / mean_s
        read = job["read"]
        read.update(iops=iops, bw_bytes=round(4096 * iops), bw=round(4 * iops), total_ios=REQUESTS)
        read["lat_ns"].update(mean=1e9 * mean_s, N=REQUESTS, bins=bins)
        read["clat_ns"].update(mean=1e9 * mean_s, N=REQUESTS)
        for kind in ("lat_ns", "clat_ns"):
            told = read[kind]["percentile"]
            read[kind]["percentile"] = {q: round(1e9 * run.quantile(float(q) / 100)) for q in told}
        (folder / f"depth-{depth}.json").write_text(json.dumps(document))
    return folder
