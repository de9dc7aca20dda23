"""Everything that a measurement may need, looked for on this machine: what ``qsim doctor`` prints."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from measure.machine.host import (
    HostFacts,
    host_facts,
    io_uring_allowed,
    nearest_existing,
    storage_behind,
    timer_resolution_s,
    tool_version,
)
from measure.machine.process import HOW_TO_GET, WITHOUT_MLC
from measure.machine.system import WORKS, named_system
from measure.units import format_bytes, format_duration


@dataclass(frozen=True)
class DoctorPart:
    """A line of ``qsim doctor``: is it here, in which version, what its lack costs, and how to get it."""

    name: str
    present: bool
    detail: str
    costs: str = ""
    remedy: str = ""


def doctor(folder: Path | None = None) -> list[DoctorPart]:
    """Everything that a measurement may need, present or not; free space is looked up in ``folder`` (default: here)."""
    facts, linux = host_facts(), platform.system() == "Linux"
    storage = storage_behind(folder or Path())
    parts = [
        _system_part(),
        _tool_part("fio", "drives cannot be measured; fio files of others can be read"),
        _tool_part("nbdkit", "no device of known truth to check the measuring with (tests only)"),
        _mlc_part(),
        _browser_part(),
    ]
    cache, where = _numba_cache()
    resolution = timer_resolution_s()
    parts += [
        DoctorPart(
            "cores",
            facts.cores > 1,
            f"{facts.cores} of {facts.cpus_online}, {facts.cpu_model}",
            "no memory curve under load: the probe and a loader need a core each",
            "give the process two or more CPUs",
        ),
        DoctorPart(
            "timer",
            resolution < 1e-6,
            f"steps of {format_duration(resolution)}"
            + (f", clock source {facts.clocksource}" if facts.clocksource else ""),
            "short latencies are rounded",
            "use the tsc clock source where the machine has it",
        ),
        *(_linux_parts(facts) if linux else []),
        DoctorPart(
            "numba cache",
            cache,
            where,
            "each start compiles the kernels again, which takes seconds",
            "set NUMBA_CACHE_DIR to a folder that can be written",
        ),
        DoctorPart(
            "free disk",
            storage.free_bytes > 2 * 2**30,
            f"{format_bytes(storage.free_bytes, 3)} on {storage}",
            "no room for a test file of 1 GiB",
            "free some space, or name a target on another disk",
        ),
    ]
    return [part if not part.present else DoctorPart(part.name, True, part.detail) for part in parts]


def _system_part() -> DoctorPart:
    system = platform.system()
    lacking = [work.what for work in WORKS if not work.on(system)]
    return DoctorPart(
        "Linux",
        not lacking,
        f"{named_system(system)} {platform.release()}",
        f"not here: {'; '.join(lacking)}",
        "measure on Linux and bring the directory here: qsim compare DIR",
    )


def _linux_parts(facts: HostFacts) -> list[DoctorPart]:
    ring, why = io_uring_allowed()
    return [
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


def _tool_part(name: str, costs: str) -> DoctorPart:
    version = tool_version(name)
    return DoctorPart(name, version is not None, version or "not on PATH", costs, HOW_TO_GET[name])


def _mlc_part() -> DoctorPart:
    # mlc --version starts to measure in some versions, so it is only looked for.
    path = shutil.which("mlc")
    return DoctorPart(
        "mlc", path is not None, path or "not on PATH", WITHOUT_MLC.removeprefix("without it, "), HOW_TO_GET["mlc"]
    )


def _browser_part() -> DoctorPart:
    names = ("chromium", "chromium-browser", "google-chrome", "firefox")
    name = next((n for n in names if shutil.which(n)), None)
    return DoctorPart(
        "browser",
        name is not None,
        (tool_version(name) or name) if name else f"none of {', '.join(names)}",
        "report.html cannot be opened here; it can be copied to another machine",
        "Debian: apt-get install chromium",
    )


def _numba_cache() -> tuple[bool, str]:
    """Whether compiled kernels can be kept, by numba's order: its setting, the source's folder, the cache."""
    from numba.core import config

    source = Path(__file__).resolve().parent
    user = Path.home() / ".cache"
    asked = str(getattr(config, "CACHE_DIR", ""))
    places = [Path(asked)] if asked else [source, user]
    for place in places:
        if os.access(nearest_existing(place), os.W_OK):
            return True, f"saved in {place}"
    return False, f"none of {', '.join(map(str, places))} can be written"
