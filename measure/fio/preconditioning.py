"""What is written to a test file before anything is measured, so that the drive is in the state that is asked about.

Reads of blocks never written touch no medium, so a test file is written once from end to end in any case. The first
random writes after that are faster than any later ones: the drive's map is in order, and its write cache empty. So
where random writes are measured, each block is written once more in random order before, in blocks of the workload,
for a minute at most (SNIA Solid State Storage Performance Test Specification 2.0.2, 3.1: the workload's own writes).

A file is a part of its drive: what the rest of the drive holds is not touched, and a small file on a large drive stays
far from the state that a full drive is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from measure.fio.command import program
from measure.fio.workload import FioJob
from measure.machine.own_file import Target

SEQUENTIAL_BYTES_PER_S = 400e6  # for the estimates only
RANDOM_BYTES_PER_S = 50e6
SLOWEST_BYTES_PER_S = 2e6  # a drive slower than this counts as hung
LONGEST_RANDOM_S = 60.0


@dataclass(frozen=True)
class Pass:
    """One run of fio over the file: the words for it, the workload, the command, about how long, and at most."""

    text: str
    job: FioJob
    argv: tuple[str, ...]
    seconds: float
    limit_s: float


def writes_at_random(workloads: Sequence[FioJob]) -> bool:
    """Whether any of them does, so that the file is written at random before."""
    return any(w.read_percent < 100 and w.pattern == "random" for w in workloads)


def passes(file: Target | None, engine: str, workloads: Sequence[FioJob]) -> Iterator[Pass]:
    """What is still to be written to a test file before the workloads; nothing where the target is something else."""
    if file is None or file.kind != "own file":
        return
    size = file.size_bytes
    if not file.filled:
        whole = FioJob(8, 1, next(b for b in (2**20, 2**16, 4096) if size % b == 0), 0, "sequential")
        limit_s = 60.0 + size / SLOWEST_BYTES_PER_S
        command = pass_command(file, engine, whole)
        yield Pass("writing the test file", whole, command, size / SEQUENTIAL_BYTES_PER_S, limit_s)
    if writes_at_random(workloads) and not file.scattered:
        block = min(w.block_bytes for w in workloads if w.read_percent < 100)
        scatter = FioJob(32, 1, block, 0, "random")
        until = (f"--runtime={LONGEST_RANDOM_S:.0f}s", "--allow_file_create=0")
        seconds = min(LONGEST_RANDOM_S, size / RANDOM_BYTES_PER_S)
        command = (*pass_command(file, engine, scatter), *until)
        yield Pass("writing it at random", scatter, command, seconds, LONGEST_RANDOM_S + 60.0)


def pass_command(file: Target, engine: str, job: FioJob) -> tuple[str, ...]:
    """The command that writes each block once, with data that no drive can compress."""
    return (
        *program(engine),
        "--output-format=json",
        "--eta=never",
        "--name=fill",
        f"--filename={file.path}",
        f"--size={file.size_bytes}",
        f"--rw={job.rw}",
        f"--bs={job.block_bytes}",
        f"--ioengine={engine}",
        f"--iodepth={job.depth}",
        "--direct=1",
        "--thread=1",
        "--refill_buffers=1",
        "--end_fsync=1",
    )
