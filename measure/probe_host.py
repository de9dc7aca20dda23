"""The facts about this machine that a memory measurement needs: its data caches and its free memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from measure.units import parse_bytes

CPUS = Path("/sys/devices/system/cpu")
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Cache:
    """One data or unified cache: ``name`` such as "L3", its size in bytes."""

    name: str
    size_bytes: int


def caches(root: Path = CPUS) -> tuple[Cache, ...]:
    """The data caches seen from CPU 0, smallest level first; empty where the system does not tell."""
    found: list[Cache] = []
    for index in sorted(root.glob("cpu0/cache/index[0-9]*")):
        try:
            level, kind, size = ((index / name).read_text("utf-8").strip() for name in ("level", "type", "size"))
            if kind != "Instruction":
                found.append(Cache(f"L{level}{'d' if kind == 'Data' else ''}", parse_bytes(size, "cache size")))
        except (OSError, ValueError):
            continue  # a cache without its size tells nothing
    return tuple(sorted(found, key=lambda cache: cache.name))


def free_memory_bytes(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """What may still be allocated without swapping: MemAvailable, or what the control group leaves; None if unknown."""
    free: list[int] = []
    try:
        for line in meminfo.read_text("utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                free.append(int(line.split()[1]) * 1024)
    except OSError:
        return None
    try:
        limit = (cgroup / "memory.max").read_text("utf-8").strip()
        if limit != "max":
            free.append(max(0, int(limit) - int((cgroup / "memory.current").read_text("utf-8"))))
    except (OSError, ValueError):
        return min(free, default=None)
    return min(free, default=None)
