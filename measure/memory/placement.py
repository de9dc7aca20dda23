"""The CPUs of chaser and loaders, and their pages: one thread per physical core, on the chaser's memory node.

Two threads on one core share its ports and its buffers for outstanding misses, so the chaser's sibling would slow it
without loading the memory; and loaders on another node load another memory. Neither CPU is used.

With pages of 4 KiB a random walk through 128 MiB misses the TLB at nearly every step and measures page-table walks
on top of memory. Pages of 2 MiB are requested by madvise(2) MADV_HUGEPAGE; only /proc/self/smaps (AnonHugePages of
the mapping) shows whether they were granted.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure.machine.host import allowed_cpus, parse_cpu_list
from qsim.errors import InvalidParameterError

SYSTEM = Path("/sys/devices/system")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Placement:
    """The CPUs of the threads; None instead of a number means not pinned.

    ``notes`` say in words which CPUs are not used, and why.
    """

    chaser: int | None
    loaders: tuple[int | None, ...]
    notes: tuple[str, ...] = ()


def cpu_quota(root: Path = CGROUP) -> float | None:
    """This process's limit of CPU time, in CPUs (cgroup v2 ``cpu.max``); None without a limit."""
    try:
        quota, period = (root / "cpu.max").read_text("utf-8").split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)


def pin(cpu: int | None) -> bool:
    """Bind the calling thread (not the process) to ``cpu``; False where ``cpu`` is None or the system cannot."""
    if cpu is None or not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {cpu})  # 0 is the calling thread, not the process: sched_setaffinity(2)
    return True


def place(
    threads: int | None,
    cpus: tuple[int, ...] | None = None,
    siblings_of: Callable[[int], frozenset[int]] | None = None,
    node_of: Callable[[int], int] | None = None,
    quota: float | None = None,
    *,
    chases: bool = True,
) -> Placement:
    """Put the chaser on the last core (the first ones serve interrupts), the loaders on the others of its node.

    ``threads``: number of loaders (None: one per core); without ``chases`` one of them uses the chaser's CPU. The
    other parameters are facts about the machine, read from it by default. Raises ValueError where there are fewer
    cores than threads.
    """
    cpus = allowed_cpus() if cpus is None else cpus
    siblings_of = read_siblings if siblings_of is None else siblings_of
    nodes = read_nodes() if node_of is None else {}
    quota = cpu_quota() if quota is None else quota
    notes: list[str] = []

    chaser = cpus[-1]
    cores: list[int] = []
    taken = siblings_of(chaser)
    for cpu in cpus[:-1]:
        if cpu not in taken:
            cores.append(cpu)
            taken |= siblings_of(cpu)
    if len(cores) < len(cpus) - 1:
        notes.append(f"one thread per core: {len(cpus) - 1 - len(cores)} of {len(cpus)} CPUs are second threads")

    node = node_of if node_of is not None else (lambda cpu: nodes.get(cpu, 0))
    near = [cpu for cpu in cores if node(cpu) == node(chaser)]
    if len(near) < len(cores):
        notes.append(f"{len(cores) - len(near)} cores of other memory nodes than node {node(chaser)} stay idle")
    if quota is not None and quota < 1 + len(near):
        keep = max(0, int(quota) - 1)
        notes.append(f"the control group allows {quota:g} CPUs of time: {len(near) - keep} cores stay idle")
        near = near[:keep]

    own = 0 if chases else 1
    most = len(near) + own
    wanted = most if threads is None else threads
    if wanted > most:
        why = f" ({'; '.join(notes)})" if notes else ""
        remedy = f"ask for at most {most}" if most else "on one core only the idle latency can be measured"
        problem = f"={wanted} needs {wanted + 1 - own} cores{', as one chases' if chases else ''}"
        raise InvalidParameterError("loaders", problem, f"{len(near) + 1} can be used{why}; {remedy}", wanted)
    if not hasattr(os, "sched_setaffinity"):
        notes.append("threads are not pinned: this system has no sched_setaffinity")
        return Placement(None, (None,) * (wanted - own), tuple(notes))
    return Placement(chaser, tuple(near[: wanted - own]), tuple(notes))


def read_siblings(cpu: int, root: Path = SYSTEM) -> frozenset[int]:
    """The CPUs on the same core as ``cpu``, itself included."""
    try:
        return frozenset(parse_cpu_list((root / f"cpu/cpu{cpu}/topology/thread_siblings_list").read_text("utf-8")))
    except (OSError, ValueError):
        return frozenset({cpu})


def read_nodes(root: Path = SYSTEM) -> dict[int, int]:
    """The memory node of each CPU; empty where the system has none."""
    nodes: dict[int, int] = {}
    for path in sorted(root.glob("node/node[0-9]*/cpulist")):
        number = int(path.parent.name.removeprefix("node"))
        nodes.update(dict.fromkeys(parse_cpu_list(path.read_text("utf-8")), number))
    return nodes


HUGE_PAGE_BYTES = 2 * 2**20
Words = NDArray[np.uint64]


def allocate(size_bytes: int) -> Words:
    """``size_bytes`` of untouched memory (a multiple of 8): pages are placed near the thread that writes first.

    Raises ValueError with the remedy where the system does not give that much address space.
    """
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        # Whole huge pages, and one more to begin on a boundary; huge pages are for private mappings only.
        whole = -(-size_bytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        mapping = mmap.mmap(-1, whole + HUGE_PAGE_BYTES, **flags)
    except (OSError, OverflowError, ValueError) as error:
        raise ValueError(f"no memory for a buffer of {size_bytes} bytes ({error}); choose a smaller buffer") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without transparent huge pages; ``huge_share`` is then 0
            mapping.madvise(mmap.MADV_HUGEPAGE)
    words = np.frombuffer(mapping, dtype=np.uint64)
    skip = -words.ctypes.data % HUGE_PAGE_BYTES // 8
    return words[skip : skip + size_bytes // 8]


def huge_page_share(address: int, smaps: Path = Path("/proc/self/smaps")) -> float | None:
    """The share of the mapping around ``address`` that is on huge pages (AnonHugePages / Rss); None where unknown.

    The kernel may have merged neighbouring mappings into one: the share is theirs together.
    """
    try:
        text = smaps.read_text("utf-8")
    except OSError:
        return None
    for mapping in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", text, flags=re.MULTILINE):
        limits = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", mapping)
        if limits and int(limits[1], 16) <= address < int(limits[2], 16):
            sizes = dict(re.findall(r"^(Rss|AnonHugePages): +(\d+)", mapping, re.MULTILINE))
            resident, huge = int(sizes.get("Rss", 0)), sizes.get("AnonHugePages")
            return int(huge) / resident if resident and huge is not None else None
    return None
