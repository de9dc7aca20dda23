"""Facts about this machine, from /proc and /sys, for the provenance of a measurement.

Facts that cannot be found stay empty (or None): a container hides some of them, and none is worth a failure.
``doctor`` checks for everything that a measurement may need.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from measure.errors import ToolMissingError
from measure.machine.process import HOW_TO_GET, WITHOUT_MLC, run_tool
from measure.units import format_bytes

_SYS_CPU = Path("/sys/devices/system/cpu")

_SYS_IO_URING_SETUP = 425  # the same number on every architecture (Linux 5.1)


@dataclass(frozen=True)
class Cache:
    """One cache as CPU 0 sees it: level, kind (Data, Instruction, Unified), bytes, and number of CPUs sharing it."""

    level: int
    kind: str
    size_bytes: int
    shared_by_cpus: int


@dataclass(frozen=True)
class HostFacts:
    """The machine: names, CPUs, caches, memory, page mode. ``cores`` counts the CPUs this process may use."""

    hostname: str
    kernel: str
    machine: str
    cpu_model: str
    cores: int
    cpus_online: int
    caches: tuple[Cache, ...]
    memory_bytes: int
    memory_available_bytes: int
    huge_pages: str
    virtual: bool

    @property
    def memory_text(self) -> str:
        """The memory in words, as a sweep's device: "memory of 24 GiB"."""
        return f"memory of {format_bytes(self.memory_bytes, 3)}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True)
class Storage:
    """The storage behind a path: filesystem type, the device's name and model, free space in bytes."""

    filesystem: str
    device: str
    model: str
    free_bytes: int

    def __str__(self) -> str:
        if not self.filesystem:
            return "the drive of this folder"
        model = f" ({self.model})" if self.model else ""
        return f"{self.device or 'no block device'}{model}, {self.filesystem}"


def host_facts() -> HostFacts:
    """The facts about this machine for a provenance."""
    cpuinfo, memory = text_of(Path("/proc/cpuinfo")), psutil.virtual_memory()
    model = re.search(r"^(?:model name|Model|Hardware|cpu)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return HostFacts(
        hostname=platform.node(),
        kernel=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cpu_model=model.group(1).strip() if model else platform.processor() or platform.machine(),
        cores=len(allowed_cpus()),
        cpus_online=os.cpu_count() or 1,
        caches=tuple(_caches()),
        memory_bytes=memory.total,
        memory_available_bytes=memory.available,
        huge_pages="".join(re.findall(r"\[(\w+)\]", text_of(Path("/sys/kernel/mm/transparent_hugepage/enabled")))),
        virtual=bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE)),
    )


def allowed_cpus() -> tuple[int, ...]:
    """The CPUs that this process may use: its affinity mask, which a container or taskset may have narrowed."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def storage_behind(path: Path) -> Storage:
    """The filesystem and device behind ``path`` or its nearest existing parent; a device stands for itself."""
    place = path.resolve()
    while not place.exists():
        place = place.parent
    status = place.stat()
    if stat.S_ISBLK(status.st_mode):  # the device itself, not the folder of its device file
        filesystem, source, number = "raw device", str(place), status.st_rdev
    else:
        (filesystem, source), number = _mount_of(place), status.st_dev
    block = block_folder(number)
    if block is None and source.startswith("/dev/") and Path(source).exists():  # btrfs: an anonymous device number
        block = block_folder(Path(source).stat().st_rdev)
    disk = block.parent if block and (block / "partition").exists() else block
    return Storage(
        filesystem=filesystem,
        device=f"/dev/{block.name}" if block else source if source.startswith("/dev/") else "",
        model=text_of(disk / "device" / "model").strip() if disk else "",
        free_bytes=shutil.disk_usage(place).free,
    )


def tool_version(name: str) -> str | None:
    """The first line that ``name --version`` prints; None where the program is missing or prints nothing."""
    try:
        done = run_tool([name, "--version"], timeout_s=10)
    except ToolMissingError:
        return None
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "")


def io_uring_allowed() -> tuple[bool, str]:
    """Whether the kernel lets this process set up an io_uring; else the reason."""
    if platform.system() != "Linux":
        return False, "Linux alone has it"
    disabled = text_of(Path("/proc/sys/kernel/io_uring_disabled")).strip()
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(256)  # struct io_uring_params has 120 bytes; all zero is a plain ring
    descriptor = libc.syscall(_SYS_IO_URING_SETUP, 1, parameters)
    if descriptor >= 0:
        os.close(descriptor)
        return True, "the kernel grants it"
    reason = os.strerror(ctypes.get_errno())
    if disabled in ("1", "2"):
        reason += f"; kernel.io_uring_disabled is {disabled}"
    return False, f"the kernel refuses it ({reason})"


def _caches() -> Iterator[Cache]:
    for folder in sorted((_SYS_CPU / "cpu0" / "cache").glob("index*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", text_of(folder / "size").strip())
        level = text_of(folder / "level").strip()
        if size and level.isdigit():
            scale = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[size.group(2)]
            kind = text_of(folder / "type").strip()
            shared = len(parse_cpu_list(text_of(folder / "shared_cpu_list")))
            yield Cache(int(level), kind, int(size.group(1)) * scale, shared)


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The kernel's list format: ``"0-2,8"`` is 0, 1, 2, 8. ValueError for anything else.

    >>> parse_cpu_list("0-2,8")
    (0, 1, 2, 8)
    """
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise ValueError(f"invalid CPUs {text!r}: expected e.g. 0-2,8")
        cpus.extend(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(cpus)


def _mount_of(path: Path) -> tuple[str, str]:
    """(filesystem type, source) of the mount that holds ``path``: the longest matching mount point."""
    mounts = [m for m in psutil.disk_partitions(all=True) if path.is_relative_to(m.mountpoint)]
    if not mounts:
        return "", ""
    longest = max(enumerate(mounts), key=lambda pair: (len(pair[1].mountpoint), pair[0]))[1]  # later ones cover earlier
    return longest.fstype, longest.device


def block_folder(number: int) -> Path | None:
    """The folder in /sys of the block device with this number; None where there is none."""
    if not hasattr(os, "major"):
        return None
    link = Path("/sys/dev/block") / f"{os.major(number)}:{os.minor(number)}"
    return link.resolve() if link.exists() else None


def text_of(path: Path) -> str:
    """The text of a file of the system; empty where it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


@dataclass(frozen=True)
class DoctorPart:
    """A line of ``qsim doctor``: whether a part is present, its version, what is lost without it, how to get it."""

    name: str
    present: bool
    detail: str
    costs: str
    remedy: str


def doctor(folder: Path | None = None) -> list[DoctorPart]:
    """Everything that a measurement may need, present or not; free space is that of ``folder`` (default: here)."""
    facts, storage = host_facts(), storage_behind(folder or Path())
    linux = platform.system() == "Linux"
    mlc = shutil.which("mlc")  # not run: mlc --version starts to measure in some versions
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
