"""Everything that a measurement may need, looked for on this machine: what ``qsim doctor`` prints."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from measure.machine.host import host_facts, io_uring_allowed, storage_behind, tool_version
from measure.machine.process import HOW_TO_GET, WITHOUT_MLC
from measure.units import format_bytes


@dataclass(frozen=True)
class DoctorPart:
    """A line of ``qsim doctor``: is it here, in which version, what its lack costs, and how to get it."""

    name: str
    present: bool
    detail: str
    costs: str
    remedy: str


def doctor(folder: Path | None = None) -> list[DoctorPart]:
    """Everything that a measurement may need, present or not; free space is looked up in ``folder`` (default: here)."""
    facts, storage = host_facts(), storage_behind(folder or Path())
    linux = platform.system() == "Linux"
    mlc = shutil.which("mlc")  # mlc --version starts to measure in some versions, so it is only looked for
    parts = [
        DoctorPart(
            "Linux",
            linux,
            facts.kernel,
            "fio and MLC are not driven here; qsim's own probe measures drives on macOS too",
            "measure on Linux and bring the directory here: qsim compare DIR",
        ),
        _tool("fio", "drives are measured by qsim's own probe alone; fio files of others can be read"),
        _tool("nbdkit", "devices of known truth are played by threads of Python, over depths alone"),
        DoctorPart("mlc", mlc is not None, mlc or "not on PATH", WITHOUT_MLC, HOW_TO_GET["mlc"]),
        DoctorPart(
            "cores",
            facts.cores > 1,
            f"{facts.cores} of {facts.cpus_online}, {facts.cpu_model}",
            "no memory curve under load: the probe and a loader need a core each",
            "give the process two or more CPUs",
        ),
        DoctorPart(
            "free disk",
            storage.free_bytes > 2 * 2**30,
            f"{format_bytes(storage.free_bytes, 3)} on {storage}",
            "no room for a test file of 1 GiB",
            "free some space, or name a target on another disk",
        ),
    ]
    if not linux:
        return parts
    ring, why = io_uring_allowed()
    return [
        *parts,
        DoctorPart(
            "huge pages",
            facts.huge_pages in ("always", "madvise"),
            f"transparent huge pages: {facts.huge_pages or 'not known'}",
            "memory latency includes page-table walks",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        DoctorPart(
            "io_uring",
            ring,
            why,
            "fio sweeps use libaio, which costs more CPU per request",
            "as root: sysctl kernel.io_uring_disabled=0; in a container: allow it in the seccomp profile",
        ),
    ]


def _tool(name: str, costs: str) -> DoctorPart:
    version = tool_version(name)
    return DoctorPart(name, version is not None, version or "not on PATH", costs, HOW_TO_GET[name])
