"""Measure this machine's memory: its latency while other cores load it more and more.

One thread chases pointers, one cache line after the other, and times them; the other cores read and write as fast as
they can, idling for a while (the injected delay) between bursts. The less they idle, the more traffic, and the longer
the chaser waits: a queue, seen from the inside. Takes about a quarter of a minute; nothing has to be installed.

    python examples/measure_memory.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure.errors import MeasureError
from measure.memory.probe import plan_memory, run_memory
from measure.units import format_bandwidth, format_duration

BAR = 40  # characters


def main(directory: Path) -> int:
    """Measure into ``directory`` (going on with what is there) and print the curve; 0, or 1 where it cannot be done."""
    try:
        plan = plan_memory(traffic="mix", seconds_per_repeat=0.15)
        print(plan.describe(), end="\n\n")
        sweep = run_memory(plan, directory)
    except (ValueError, MeasureError) as error:
        print(error, file=sys.stderr)
        return 1

    table = sweep.mean_points()
    longest = table["latency_s"].max()
    print(f"{'delay':>8}  {'bandwidth':>10}  {'latency':>8}")
    for _, row in table.iterrows():
        bar = "#" * round(BAR * row["latency_s"] / longest)
        bandwidth, latency = format_bandwidth(row["bandwidth_bytes_per_s"]), format_duration(row["latency_s"])
        print(f"{row['load']:8.0f}  {bandwidth:>10}  {latency:>8}  {bar}")

    details = sweep.provenance.details
    print(f"\nidle latency {format_duration(details['idle_latency_s'])}", end=", ")
    print(f"peak of all cores {format_bandwidth(details['peak_bandwidth_bytes_per_s'])}")
    print(f"one iteration of the idle loop lasts {details['spin_ns_per_iteration']:.2f} ns")
    for finding in sweep.findings:
        print(finding)
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(Path(folder) / "memory"))
