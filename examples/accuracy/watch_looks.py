"""Whether the looks of ``qsim watch`` agree with Little's law while other programs keep the processors: reliability.md.

    python watch_looks.py DIRECTORY [--busy 4] [--seconds 10]     the drive of DIRECTORY, with fio at each depth

``--busy`` is how many processes compute meanwhile. X R is by the kernel's counters, which count every request. "Plain
looks" are the mean number in flight that the looks saw, "weighted looks" what watch prints of the same; then the
seconds in which each agrees with X R within a 99 % interval and 10 %.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from measure.formats.block_device_counts import DeviceInterval, pooled
from measure.watching import Counters, counted_device, counters_now, watch

DEPTHS = (1, 4, 16, 64)
FIO = ("--name=load", "--size=256m", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio", "--time_based")
HEAD = "| depth | late looks | X R | plain looks | weighted looks | plain agree | weighted agree |\n|---:|{}\n"


def compute() -> None:
    """Keep a processor."""
    while True:
        pass


def watched(device: str, seconds: int) -> tuple[list[DeviceInterval], list[DeviceInterval]]:
    """The intervals as watch has them, and with the plain mean of the same looks."""
    looks: list[int] = []

    def look() -> dict[str, Counters]:
        counters = counters_now()
        looks.append(counters[device].in_flight)
        return counters

    weighted, plain = [], []
    for (found,) in islice(watch([device], look=look), seconds):
        if isinstance(found, DeviceInterval) and found.requests:
            weighted.append(found)
            plain.append(replace(found, in_flight=np.mean(looks), in_flight_variance=np.var(looks)))
        looks.clear()
    return weighted, plain


def row(depth: int, device: str, file: Path, seconds: int) -> str:
    """The device under one depth of fio."""
    load = subprocess.Popen(
        ["fio", *FIO, f"--filename={file}", f"--iodepth={depth}", f"--runtime={seconds + 3}", "--output=/dev/null"]
    )
    try:
        weighted, plain = watched(device, seconds)
    finally:
        load.wait()
    both = [pooled(part) for part in (plain, weighted)]
    agree = [f"{sum(one.agrees for one in part)} of {len(part)}" for part in (plain, weighted)]
    cells = [f"{100 * both[0].late_looks_share:.0f} %", f"{both[0].outstanding:.2f}"]
    cells += [f"{whole.in_flight:.2f}" for whole in both]
    return f"| {depth} | {' | '.join([*cells, *agree])} |"


def main() -> None:
    """Load the processors, then the drive, and print a row for each depth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10)
    asked = parser.parse_args()
    device = counted_device(asked.directory)
    if not device:
        raise SystemExit(f"{asked.directory} is on no block device of this machine")
    others = [multiprocessing.Process(target=compute, daemon=True) for _ in range(asked.busy)]
    for other in others:
        other.start()
    print(HEAD.format("---:|" * 6), end="")
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        for depth in DEPTHS:
            print(row(depth, device, Path(folder, "file"), asked.seconds), flush=True)
    for other in others:
        other.terminate()


if __name__ == "__main__":
    main()
