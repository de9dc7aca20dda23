"""What is written to a test file before anything is measured, so that the drive is in the state that is asked about.

Reads of blocks never written touch no medium, so that a test file is written once from end to end in any case. The
first random writes after that are faster than any later ones: the drive's map is in order, and its write cache empty.
SNIA therefore writes twice the capacity in sequence, then the workload's own writes until they are steady (Solid State
Storage Performance Test Specification 2.0.2, 3.1, workload independent and dependent preconditioning). So here:

``none``        written once from end to end
``sequential``  twice
``random``      twice, then each block once more in random order, in blocks of the workload, for a minute at most

A test file into which random writes are to be measured gets the last, any other one the first.

A file is a part of its drive: what the rest of the drive holds is not touched, and a small file on a large drive stays
far from the state that a full drive is in. ``--runtime steady`` lets each point settle on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measure.fio.command import program
from measure.fio.workload import FioJob
from measure.machine.own_file import FILE_STATES, Target

SEQUENTIAL_BYTES_PER_S = 400e6  # for the estimates only
RANDOM_BYTES_PER_S = 50e6
SLOWEST_BYTES_PER_S = 2e6  # a drive slower than this counts as hung
LONGEST_RANDOM_S = 60.0


@dataclass(frozen=True)
class Pass:
    """One run of fio over the file: the words for it, the command, about how long it takes, and at most.

    ``leaves`` is what the file has got when the pass is done (of ``FILE_STATES``); ``job`` is the pass as a workload.
    """

    text: str
    argv: tuple[str, ...]
    seconds: float
    limit_s: float
    leaves: str
    job: FioJob


def chosen_state(file: Target | None, workloads: Sequence[FioJob]) -> str:
    """The state that the file is to have; "" of what is no test file."""
    if file is None or file.kind != "own file":
        return ""
    return "random" if any(w.read_percent < 100 and w.pattern == "random" for w in workloads) else "none"


def state_after(state: str, file: Target | None) -> str:
    """What the file has got when the passes for ``state`` are done: that, or more from before."""
    return max(state, file.preconditioned if file else "", key=FILE_STATES.index)


def passes(state: str, file: Target | None, engine: str, workloads: Sequence[FioJob]) -> tuple[Pass, ...]:
    """What is still to be written until the file has ``state``; nothing where that is ""."""
    if file is None or not state:
        return ()
    size = file.size_bytes
    whole = next(b for b in (2**20, 2**16, 4096) if size % b == 0)
    block = min((w.block_bytes for w in workloads if w.read_percent < 100), default=4096)
    stream, scatter = FioJob(8, 1, whole, 0, "sequential"), FioJob(32, 1, block, 0, "random")
    once = (pass_command(file, engine, stream), size / SEQUENTIAL_BYTES_PER_S, 60.0 + size / SLOWEST_BYTES_PER_S)
    until_the_end = (f"--runtime={LONGEST_RANDOM_S:.0f}s", "--allow_file_create=0")
    all_passes = (
        Pass("writing the test file", *once, "none", stream),
        Pass("writing it a second time", *once, "sequential", stream),
        Pass(
            "writing it at random",
            (*pass_command(file, engine, scatter), *until_the_end),
            min(LONGEST_RANDOM_S, size / RANDOM_BYTES_PER_S),
            LONGEST_RANDOM_S + 60.0,
            "random",
            scatter,
        ),
    )
    had, wanted = FILE_STATES.index(file.preconditioned), FILE_STATES.index(state)
    return tuple(p for p in all_passes if had < FILE_STATES.index(p.leaves) <= wanted)


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
