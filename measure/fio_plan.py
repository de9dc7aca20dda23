"""Planning a fio sweep: the target and the settings are checked and every command is written down; nothing runs.

iodepth is a closed population: N requests circle between fio and the device, each submitted when one completes.

Why the commands are as they are:

- ``direct=1``: the drive is measured, not the page cache. ``thread=1``: one process, which can be killed as a whole.
- ``norandommap=1``: addresses are drawn independently, as the models' random routing supposes; fio's map of visited
  blocks costs memory and time and makes the end of a pass unlike its beginning.
- ``randseed``: another sequence of addresses for each point and repeat, the same when a point is measured again, so
  that no point finds the blocks of the one before it in a cache of the drive.
- ``lat_percentiles=1``: percentiles of the total latency, the one that Little's law is about.
- The file is written once from end to end with incompressible data first: reads of blocks never written touch no
  medium, and writes to an empty drive are faster than any later ones.
"""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from measure.errors import UnsafeTargetError
from measure.fio_json import SYNC_ENGINES
from measure.host import io_uring_allowed, tool_version
from measure.process import find_tool, run_tool
from measure.safety import TEST_FILE, Target, check_target, is_ours
from measure.units import format_bytes, format_duration

Pattern = Literal["random", "sequential"]
Order = Literal["ascending", "descending", "random"]

DEFAULT_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
START_S = 0.6  # what fio takes to start and to stop, beside its run
FILL_BYTES_PER_S = 200e6  # for the estimate only
MARGIN_S = 15.0  # how much longer than asked a point may take before it counts as hung
DEFAULT_FILE_BYTES = 2**30
MAX_DEPTH = 65536


@dataclass(frozen=True)
class FioJob:
    """The workload of one point: what a row of a sweep asks for."""

    depth: int
    jobs: int
    block_bytes: int
    read_percent: int
    pattern: Pattern

    @property
    def rw(self) -> str:
        """fio's name of direction and pattern."""
        mixed = {100: "read", 0: "write"}.get(self.read_percent, "rw")
        return f"rand{mixed}" if self.pattern == "random" else mixed


@dataclass(frozen=True)
class FioPoint:
    """One point to be measured: its key in the store, what it asks for, and the exact command."""

    key: str
    job: FioJob
    repeat: int
    argv: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command as it could be typed into a shell."""
        return shlex.join(self.argv)


@dataclass(frozen=True)
class FioPlan:
    """What will be done, before anything is done. ``file`` is None for a network block device (``uri``).

    ``engine_reason`` says why the engine was chosen; ``fill`` is the command that writes the file first (None where
    it is written already or is not ours).
    """

    points: tuple[FioPoint, ...]
    file: Target | None
    uri: str
    label: str
    engine: str
    engine_reason: str
    runtime_s: float
    ramp_s: float
    seed: int
    keep: bool
    fill: tuple[str, ...] | None
    fio_version: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def point_limit_s(self) -> float:
        """The hard time limit of one point."""
        return self.ramp_s + self.runtime_s + max(MARGIN_S, 0.5 * self.runtime_s)

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order, as it could be typed into a shell."""
        return (*([shlex.join(self.fill)] if self.fill else []), *(p.command for p in self.points))

    def fill_seconds(self) -> float:
        """How long the filling of the file will about take."""
        return self.file.size_bytes / FILL_BYTES_PER_S if self.fill and self.file else 0.0

    def seconds(self) -> float:
        """How long the whole sweep will about take."""
        return self.fill_seconds() + len(self.points) * self.point_seconds

    @property
    def point_seconds(self) -> float:
        """How long one point takes."""
        return self.ramp_s + self.runtime_s + START_S

    def describe(self) -> str:
        """The plan in words."""
        what = self.label
        if self.file is not None:
            what += {
                "own file": f": a test file of {format_bytes(self.file.size_bytes)}, "
                + ("kept" if self.keep else "removed at the end"),
                "foreign file": ": only read",
                "block device": ": written" if self.file.writable else ": only read",
            }[self.file.kind]
        depths = ", ".join(dict.fromkeys(str(p.job.depth) for p in self.points))
        return (
            f"{what}\n{len(self.points)} points (depths {depths}), {format_duration(self.runtime_s)} each after "
            f"{format_duration(self.ramp_s)} of ramp\nengine {self.engine}: {self.engine_reason}\n"
            f"about {format_duration(self.seconds())} in all"
        )

    def settings(self) -> dict[str, Any]:
        """What is fixed over the sweep; a directory can be continued with the same settings only."""
        job = {k: v for k, v in asdict(self.points[0].job).items() if k != "depth"}
        size = self.file.size_bytes if self.file else None
        timing = {"runtime_s": self.runtime_s, "ramp_s": self.ramp_s}
        return {"target": self.label, "size_bytes": size, "engine": self.engine, "seed": self.seed, **timing, **job}


def plan_fio(
    target: str | Path,
    depths: Sequence[int] = DEFAULT_DEPTHS,
    *,
    block_bytes: int = 4096,
    read_percent: int = 100,
    pattern: Pattern = "random",
    runtime_s: float = 5.0,
    ramp_s: float = 1.0,
    size_bytes: int | None = None,
    repeats: int = 1,
    engine: str = "auto",
    jobs: int = 1,
    seed: int = 1,
    order: Order = "ascending",
    keep: bool = False,
    consent: Literal["read"] | None = None,
    write_device: str | None = None,
    label: str = "",
    details: Mapping[str, Any] | None = None,
) -> FioPlan:
    """A queue-depth sweep of ``target``: a file that does not exist yet, a directory, or see :mod:`measure.safety`.

    ``nbd+unix:///?socket=PATH`` names a network block device, which needs no file. ``size_bytes`` (default 1 GiB for
    a file of our own, all of what exists otherwise) is how much of it is used. Repeats go round all depths, so that
    drift shows as repeats that disagree; ``order`` is the order of the depths in each round.

    Nothing is written. Raises ToolMissingError (no fio), ValueError (a setting, named), UnsafeTargetError.
    """
    depths = _checked_depths(depths)
    _check_settings(
        depths, block_bytes=block_bytes, read_percent=read_percent, pattern=pattern, runtime_s=runtime_s, ramp_s=ramp_s,
        size_bytes=size_bytes, repeats=repeats, jobs=jobs, seed=seed, order=order,
    )  # fmt: skip
    find_tool("fio")
    version = tool_version("fio") or ""
    uri = str(target) if str(target).startswith(("nbd:", "nbd+unix:", "nbds:")) else ""
    if uri:
        chosen, reason = "nbd", "the target is a network block device"
        file = None
    else:
        _refuse_characters(str(target))
        file = check_target(
            Path(target), size_bytes or _default_size(Path(target)),
            writes=read_percent < 100, consent=consent, write_device=write_device,
        )  # fmt: skip
        file = replace(file, size_bytes=file.size_bytes // 4096 * 4096)
        _refuse_characters(str(file.path))
        if file.size_bytes < block_bytes * max(depths):
            raise ValueError(
                f"size {format_bytes(file.size_bytes)} holds fewer than {max(depths)} blocks of "
                f"{format_bytes(block_bytes)}; ask for a larger size or smaller depths"
            )
        chosen, reason = choose_engine(engine)
        if chosen in SYNC_ENGINES and max(depths) > 1:
            raise ValueError(
                f"engine {chosen} is synchronous and ignores the depth {max(depths)}; use io_uring, libaio or posixaio"
            )
    common = _common_options(file, uri, chosen, runtime_s, ramp_s)
    points = []
    for repeat in range(repeats):
        for depth in _ordered(depths, order, seed + repeat):
            job = FioJob(depth, jobs, block_bytes, read_percent, pattern)
            key = f"depth-{depth}.r{repeat}"
            points.append(FioPoint(key, job, repeat, _argv(key, job, common, file, _point_seed(seed, depth, repeat))))
    fill = _fill_argv(file, chosen) if file is not None and file.kind == "own file" and not file.filled else None
    return FioPlan(
        tuple(points), file, uri, label or (uri if file is None else str(file.path)), chosen, reason, runtime_s, ramp_s,
        seed, keep, fill, version, dict(details or {}),
    )  # fmt: skip


def choose_engine(asked: str = "auto") -> tuple[str, str]:
    """The I/O engine and the reason: what was asked for, else io_uring, libaio, posixaio, by what works here.

    io_uring costs the least CPU per request and submits without blocking; it is taken where this fio has it and the
    kernel lets this process set up a ring (containers often do not). Raises ValueError for an engine that this fio
    has not.
    """
    listing = run_tool(["fio", "--enghelp"], timeout_s=10).stdout.decode("utf-8", "replace")
    engines = {line.strip() for line in listing.splitlines()[1:]}
    if asked != "auto":
        if asked not in engines:
            here = ", ".join(e for e in ("io_uring", "libaio", "posixaio", "psync") if e in engines)
            raise ValueError(f"engine {asked!r} is unknown to the fio of this machine; it has {here}")
        return asked, "it was asked for"
    granted, why = io_uring_allowed()
    if "io_uring" in engines and granted:
        return "io_uring", "this fio has it and the kernel grants it"
    no_ring = "this fio lacks io_uring" if "io_uring" not in engines else f"no io_uring: {why}"
    if "libaio" in engines:
        return "libaio", no_ring
    return "posixaio", f"{no_ring}, and this fio lacks libaio"


def _checked_depths(depths: Sequence[int]) -> tuple[int, ...]:
    if not depths:
        raise ValueError("depths is empty; give queue depths such as 1,2,4,8,16,32")
    for depth in depths:
        if depth != int(depth) or not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"depths holds {depth!r}; a queue depth is a whole number from 1 to {MAX_DEPTH}")
    return tuple(dict.fromkeys(int(d) for d in depths))


def _check_settings(depths: Sequence[int], **settings: Any) -> None:
    """ValueError naming the first setting that cannot be measured."""
    s = settings
    rules: tuple[tuple[str, bool, str], ...] = (
        ("block_bytes", s["block_bytes"] >= 512 and s["block_bytes"] % 512 == 0, "a multiple of 512 bytes, as 4096"),
        ("read_percent", 0 <= s["read_percent"] <= 100, "from 0 (writes) to 100 (reads)"),
        ("pattern", s["pattern"] in get_args(Pattern), "random or sequential"),
        ("order", s["order"] in get_args(Order), "ascending, descending or random"),
        ("runtime_s", 0.1 <= s["runtime_s"] <= 86400, "from 0.1 s to a day"),
        ("ramp_s", 0 <= s["ramp_s"] <= 86400, "from 0 s to a day"),
        ("repeats", 1 <= s["repeats"] <= 1000, "from 1 to 1000"),
        ("jobs", 1 <= s["jobs"] <= 1024, "from 1 to 1024"),
        ("seed", 0 <= s["seed"] < 2**32, "a whole number from 0 to 4294967295"),
        ("size_bytes", s["size_bytes"] is None or s["size_bytes"] > 0, "a size such as 1 GiB"),
    )
    for name, holds, wanted in rules:
        if not holds:
            raise ValueError(f"{name} is {s[name]!r}; it must be {wanted}")


def _default_size(target: Path) -> int | None:
    """1 GiB for a file of our own that is to be created; what is there already is used whole."""
    path = target / TEST_FILE if os.path.isdir(target) else target
    if not os.path.exists(path) or (is_ours(path) and path.stat().st_size == 0):
        return DEFAULT_FILE_BYTES
    return None


def _refuse_characters(path: str) -> None:
    """fio takes a colon for the end of a file name and replaces $words, so such a name could mean another file."""
    for character in ":\\$\"'\n\r":
        if character in path:
            raise UnsafeTargetError(
                f"target {path!r} contains {character!r}, which fio reads as something else; name a path without it"
            )
    if path != path.strip():
        raise UnsafeTargetError(f"target {path!r} begins or ends with a space, which fio drops; name a path without it")


def _ordered(depths: Sequence[int], order: Order, seed: int) -> list[int]:
    if order == "random":
        return random.Random(seed).sample(list(depths), len(depths))
    return sorted(depths, reverse=order == "descending")


def _common_options(file: Target | None, uri: str, engine: str, runtime_s: float, ramp_s: float) -> list[str]:
    """The options that every point of a sweep shares. fio takes whole numbers with a unit, so times are in ms."""
    options = [f"--ioengine={engine}"]
    options += [f"--uri={uri}"] if file is None else [f"--filename={file.path}", f"--size={file.size_bytes}"]
    options += ["--direct=1"] if file is not None else []
    options += ["--thread=1", "--time_based=1", f"--runtime={round(runtime_s * 1e3)}ms"]
    options += [f"--ramp_time={round(ramp_s * 1e3)}ms"] if ramp_s > 0 else []
    return [*options, "--norandommap=1", "--group_reporting=1", "--lat_percentiles=1"]


def _argv(name: str, job: FioJob, common: Sequence[str], file: Target | None, seed: int) -> tuple[str, ...]:
    general = ["fio", "--output-format=json+", "--eta=never"]
    if job.read_percent == 100:
        general.append("--readonly")
    own = [f"--name={name}", f"--rw={job.rw}", f"--bs={job.block_bytes}"]
    own += [f"--iodepth={job.depth}", f"--numjobs={job.jobs}", f"--randseed={seed}"]
    own += [f"--rwmixread={job.read_percent}"] if 0 < job.read_percent < 100 else []
    # Our file has its full size; fio must never make another one longer.
    own += ["--allow_file_create=0"] if file is not None else []
    return (*general, *own, *common)


def _point_seed(seed: int, depth: int, repeat: int) -> int:
    return (seed * 1_000_003 + depth * 1009 + repeat) % 2**32


def _fill_argv(file: Target, engine: str) -> tuple[str, ...]:
    """The command that writes our file once, from end to end, with data that no drive can compress."""
    block = next(b for b in (2**20, 2**16, 4096) if file.size_bytes % b == 0)
    return (
        "fio", "--output-format=json", "--eta=never", "--name=fill", f"--filename={file.path}",
        f"--size={file.size_bytes}", "--rw=write", f"--bs={block}", f"--ioengine={engine}", "--iodepth=8", "--direct=1",
        "--thread=1", "--refill_buffers=1", "--end_fsync=1",
    )  # fmt: skip
