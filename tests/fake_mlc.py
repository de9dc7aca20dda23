"""A program in the place of MLC: it takes MLC's options and prints in its format, with our own numbers.

The latencies and bandwidths obey a delay law, so that what is read can be held against what was made. It proves what
qsim starts and reads, and how it bears faults; it proves nothing of a real MLC.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

MLC_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
SHARE_OF_PEAK = {"R": 1.0, "W2": 0.9, "W3": 0.92, "W5": 0.85, "W6": 0.6, "W11": 0.91}


def latency_and_bandwidth(delay: int, mix: str = "R") -> tuple[float, float]:
    """(ns, MB/s) at an injected delay: the loading threads' share of a peak, and a queue's latency at that share."""
    peak = 120_000.0 * SHARE_OF_PEAK.get(mix, 0.8)
    share = 0.97 / (1.0 + delay / 150.0)
    return 80.0 + 9.0 * share / (1.0 - share), peak * share + 700.0


def main(arguments: list[str], version: str, behaviour: str) -> int:
    """Print what MLC would, or misbehave as told; the exit code."""
    flags = {a[:2]: a[2:] for a in arguments if not a.startswith("--")}
    unit = {"3.5": "MB", "3.11b": "MiB"}[version]
    out = [f"Intel(R) Memory Latency Checker - v{version}", f"Command line parameters: {' '.join(arguments)} ", ""]
    if behaviour == "refuses":
        sys.stdout.write("\n".join([*out, "*** Hugepages need to be set up for this CPU: Exiting...", ""]))
        return 22
    if behaviour == "says nothing":
        return 0
    if behaviour == "fails on stderr":
        sys.stderr.write("mlc: cannot open shared object file\n")
        return 127
    if behaviour == "not root":
        out += [
            "*** Unable to modify prefetchers (try executing 'modprobe msr')",
            "*** So, enabling random access for latency measurements",
        ]
    kib = int(flags.get("-b", "102400"))
    out += _loaded(flags, kib, unit, behaviour)
    sys.stdout.write("\n".join([*out, "" if behaviour == "half a row" else "\n"]))
    sys.stdout.flush()
    if behaviour == "hangs":
        _hang()
    if behaviour.startswith("signal "):
        os.kill(os.getpid(), int(behaviour.split()[1]))
    return 0


def _loaded(flags: dict[str, str], kib: int, unit: str, behaviour: str) -> list[str]:
    given = Path(flags["-g"]).read_text().split() if "-g" in flags else MLC_DELAYS
    mix = next((f"W{flags['-W']}" for _ in "1" if "-W" in flags), "R")
    rows = []
    for delay in map(int, given):
        ns, mb = latency_and_bandwidth(delay, mix)
        rows.append(f" {delay:05d}\t{ns:.2f}\t{mb:9.1f}")
    if behaviour == "half a table":
        rows = [*rows[: len(rows) // 2], "", "Exiting..."]
    if behaviour == "half a row":
        rows = [*rows[:2], f" {int(given[2]):05d}\t12"]
    return [
        f"Using buffer size of {kib / 1024:.3f}{unit}/thread for reads and an additional "
        f"{kib / 1024:.3f}{unit}/thread for writes",
        "",
        "Measuring Loaded Latencies for the system",
        "Using all the threads from each core if Hyper-threading is enabled",
        *(["Using Read-only traffic type"] if mix == "R" else []),
        "Inject\tLatency\tBandwidth",
        "Delay\t(ns)\tMB/sec",
        "==========================",
        *rows,
    ]


def _hang() -> None:
    import signal
    import time

    def leave(_number: int, _frame: object) -> None:
        log(["prefetchers", "on", "again"])
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
    while True:
        time.sleep(0.1)


def log(arguments: list[str]) -> None:
    """Append the command to the file that the test reads."""
    with Path(os.environ["FAKE_MLC_LOG"]).open("a") as file:
        file.write(" ".join(arguments) + "\n")


def behaviour_for(arguments: list[str]) -> str:
    """What the test asks of a command: FAKE_MLC is lines of "words of the command: behaviour"."""
    for line in os.environ.get("FAKE_MLC", "").splitlines():
        words, _, behaviour = line.partition(": ")
        if words in " ".join(arguments):
            return behaviour
    return ""


if __name__ == "__main__":
    log(sys.argv[1:])
    sys.exit(main(sys.argv[1:], os.environ.get("FAKE_MLC_VERSION", "3.11b"), behaviour_for(sys.argv[1:])))
