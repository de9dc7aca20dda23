"""An application that is real, predicted from its drive and its processors, each calibrated apart.

1 to 64 processes think, compute checksums and read random blocks of a file past the page cache. The drive is measured
by qsim's own probe, the processor time of a transaction by one process alone, and ``calibrate.system`` predicts what
many processes then do. The last lines say what the processors did live: interrupts of the drive, and what the host of a
virtual machine takes, are in no calibration of a program.

python examples/real_application.py [--block 4096] [--reads 4] [--think 0.005] [--folder .] [--quick]
On a busy machine, as root: chrt -f 1 python examples/real_application.py
"""

import argparse
import hashlib
import mmap
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from calibrate import fit, system
from measure import load
from measure.units import format_duration, format_rate, with_interval
from qsim import Delay, Exponential, Network, Station

QSIM = [sys.executable, "-c", "from calibrate.cli.entry import main; main()"]
WORK = bytes(384 * 1024)
USES = {"programs": (0, 1, 2), "interrupts": (5, 6), "the host of the virtual machine": (7,), "nobody": (3, 4)}
"""Columns of the first line of /proc/stat."""


class Program:
    """One process of the application."""

    def __init__(self, seed: int, path: str, options: argparse.Namespace) -> None:
        self.rng, self.options = random.Random(seed), options
        self.fd, self.buffer = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, options.block)
        self.blocks = os.path.getsize(path) // options.block

    def think(self) -> None:
        time.sleep(self.rng.expovariate(1 / self.options.think))

    def transaction(self) -> None:
        hashlib.sha256(WORK).digest()
        for _ in range(self.options.reads):
            os.preadv(self.fd, [self.buffer], self.rng.randrange(self.blocks) * self.options.block)


def processor_time(path: str, options: argparse.Namespace) -> float:
    """Of a transaction and its thinking, in one process alone."""
    program, count = Program(0, path, options), 300
    begun = time.process_time()
    for _ in range(count):
        program.think()
        program.transaction()
    return (time.process_time() - begun) / count


def client(seed: int, path: str, options: argparse.Namespace, begin: float) -> tuple[int, float]:
    """Transactions finished from ``begin`` on, and the time they took without thinking."""
    program, finished, spent = Program(seed, path, options), 0, 0.0
    while True:
        program.think()
        started = time.monotonic()
        program.transaction()
        now = time.monotonic()
        if now > begin + options.runtime:
            return finished, spent
        if now > begin:
            finished, spent = finished + 1, spent + now - started


def ticks() -> list[int]:
    """What the processors did since the start."""
    return [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]


def run(clients: int, path: str, options: argparse.Namespace) -> tuple[float, ...]:
    """Throughput and mean response time of so many processes, and the processors' shares in ``USES``."""
    before = ticks()
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        begin = time.monotonic() + 0.2
        tasks = [(seed, path, options, begin) for seed in range(clients)]
        done = pool.starmap(client, tasks, chunksize=1)
    after = ticks()
    spent = [sum(after[i] - before[i] for i in columns) for columns in USES.values()]
    finished = sum(n for n, _ in done)
    return finished / options.runtime, sum(s for _, s in done) / finished, *(s / sum(spent) for s in spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--block", type=int, default=4096)
    parser.add_argument("--reads", type=int, default=4, help="blocks that a transaction reads")
    parser.add_argument("--think", type=float, default=0.005, help="mean time between transactions, seconds")
    parser.add_argument("--folder", default=".", help="where the drive is")
    parser.add_argument("--quick", action="store_true", help="one round of short runs")
    options = parser.parse_args()
    options.runtime, rounds = (0.4, 1) if options.quick else (2.0, 3)
    clients = (1, 8, 64) if options.quick else (1, 2, 4, 8, 16, 24, 32, 48, 64)

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = str(Path(folder, "blocks"))
        with open(path, "wb") as file:
            for _ in range(8 if options.quick else 64):
                file.write(os.urandom(4 << 20))
            os.fsync(file.fileno())
        settings = ["--runtime", f"{options.runtime / 2}s", "--block", f"{options.block}", "--size", "64MiB"]
        probe = [*QSIM, "measure", "drive", folder, "--depths", "1..64", "--repeats", f"{rounds}", *settings, "--out"]
        subprocess.run([*probe, f"{folder}/before"], check=True, capture_output=True)
        processor_s = median(processor_time(path, options) for _ in range(rounds))
        runs: dict[int, list[tuple[float, ...]]] = {}
        for _ in range(rounds):
            for n in clients:
                runs.setdefault(n, []).append(run(n, path, options))
        subprocess.run([*probe, f"{folder}/after"], check=True, capture_output=True)
        sweep, again = load(f"{folder}/before"), load(f"{folder}/after")

    drive = fit(sweep)
    cores = len(os.sched_getaffinity(0))
    stations = {
        "think": Delay(options.think),
        "cpu": Station(Exponential(processor_s), servers=cores, discipline="PS"),
        "drive": drive.station(visits=options.reads),
    }
    found = system(Network(stations), clients=clients)
    print(repr(drive))
    print(f"A transaction takes {format_duration(processor_s)} of a processor; there are {cores}.\n")
    print(found, "\n")
    print("CLIENTS  MEASURED   PREDICTED (90 % band)     ERROR  RESPONSE  PREDICTED")
    x, r = found.throughput(), found.response()
    errors = []
    for i, n in enumerate(clients):
        seen, response, *used = (median(column) for column in zip(*runs[n], strict=True))
        errors.append(100 * (x[0, i] / seen - 1))
        band = with_interval(format_rate, *x[:, i], digits=3)
        times = f"{format_duration(response):>8}  {format_duration(r[0, i]):>9}"
        print(f"{n:7}  {format_rate(seen):>8}   {band:<24}  {errors[-1]:+3.0f} %  {times}")
    worst = max(errors, key=abs)
    print(f"\nThroughput is missed by {worst:+.0f} % at most, by {median(abs(e) for e in errors):.0f} % in the median.")
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(USES, used, strict=True))
    peaks = [float(one.points["throughput_per_s"].max()) for one in (sweep, again)]
    print(f"The drive's peak was {format_rate(peaks[0])} before and {format_rate(peaks[1])} after.")
    print(f"With {clients[-1]} clients the processors worked for: {shares}.")
    live_s = cores * used[0] / (seen * processor_s)
    print(f"A transaction then took at most {live_s:.2f} of the processor time that one takes alone.")


if __name__ == "__main__":
    main()
