"""Memory does not grow with the number of customers: measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import pathlib
from qsim import MM1, simulate

def peak_mb():
    # Not ru_maxrss, which begins with the size of the program that started this one.
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024

simulate(MM1(0.8, 1.0), customers=100_000, seed=1).quantile(0.9)
before = peak_mb()
simulate(MM1(0.8, 1.0), customers=20_000_000, seed=1).quantile(0.9)
print(peak_mb() - before)
"""


def test_two_hundred_times_the_customers_take_no_more_memory() -> None:
    """Kept as numbers, twenty million waiting times alone would be 160 MB."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 8
