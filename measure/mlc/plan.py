"""Planning runs of Intel's Memory Latency Checker: every setting is checked, every command written down; nothing runs.

One process for each mode, traffic mix, buffer and stride, so that what one of them breaks costs no other. The option
names are those of Intel's readme for versions 3 (``mlc --help`` lists them):

- ``-t`` seconds of each point, ``-b`` KiB of buffer per thread, ``-l`` bytes from one access to the next
- ``-R`` or ``-W2`` to ``-W12``: the mix of the loading threads (``MIXES``)
- ``-g`` a file with one injected delay a line, in core cycles; without it MLC takes a list of its own (19 delays)
- ``-k`` the CPUs of the loading threads, ``-c`` the CPU of the chasing one (0 by default, never one of ``-k``)
- ``-r`` chase at random, ``-e`` leave the hardware prefetchers as they are, ``-X`` one thread per core

A mode gets only the options that the readme lists for it. MLC switches the hardware prefetchers off while it measures
latency and on again at its end, for which it must run as root with the msr driver loaded; otherwise it says so and
chases at random.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from measure.errors import ToolMissingError
from measure.formats.mlc import W_FLAGS
from measure.machine.host import host_facts, parse_cpu_list
from measure.machine.process import WITHOUT_MLC, find_tool
from measure.memory.placement import read_nodes
from measure.sweep import describe_series
from measure.units import CACHE_LINE_BYTES, Mix, counted, format_bytes, format_duration
from qsim.errors import InvalidParameterError, must_be

Mode = Literal["loaded-latency", "idle-latency", "latency-matrix", "bandwidth-matrix", "peak"]

MIXES: Mapping[str, Mix] = {"R": Mix(1.0), **{f"W{number}": mix for number, mix in W_FLAGS.items()}}
DEFAULT_MODES: tuple[Mode, ...] = ("loaded-latency", "idle-latency")
DELAYS_FILE = "delays.txt"  # in the private folder that MLC is started in

OWN_DELAYS = 19  # how many delays MLC's own list has
PEAK_MIXES = 5
START_S = 3.0  # what MLC takes to allocate and fill its buffers; for the estimate only
MARGIN_S = 60.0  # a run of this much more than four times its estimate counts as hung

_LONG: Mapping[Mode, str] = {
    "loaded-latency": "--loaded_latency",
    "idle-latency": "--idle_latency",
    "latency-matrix": "--latency_matrix",
    "bandwidth-matrix": "--bandwidth_matrix",
    "peak": "--peak_injection_bandwidth",
}
_TAKES: Mapping[Mode, str] = {
    "loaded-latency": "btlWgkcreX",
    "idle-latency": "btlcre",
    "latency-matrix": "btlreX",
    "bandwidth-matrix": "btlWeX",
    "peak": "btlkeX",
}


@dataclass(frozen=True)
class MlcRun:
    """One process: its key in the store, what it measures (None: MLC's own choice), and the exact command."""

    key: str
    mode: Mode
    mix: str | None
    buffer_bytes: int | None
    stride_bytes: int | None
    delays: tuple[int, ...] | None
    repeat: int
    argv: tuple[str, ...]
    seconds: float

    @property
    def command(self) -> str:
        """The command as it could be typed into a shell."""
        return shlex.join(self.argv)

    def describe(self) -> str:
        """The run in a word, for a progress bar."""
        return self.key

    @property
    def limit_s(self) -> float:
        """The hard time limit."""
        return 4 * self.seconds + MARGIN_S

    def request(self) -> dict[str, Any]:
        """What was asked, JSON-ready."""
        return {
            "mode": self.mode,
            "mix": self.mix,
            "buffer_bytes": self.buffer_bytes,
            "stride_bytes": self.stride_bytes,
            "delays": self.delays,
            "repeat": self.repeat,
        }


@dataclass(frozen=True)
class MlcPlan:
    """What will be done, before anything is done; ``notes`` are what the user should know first."""

    runs: tuple[MlcRun, ...]
    delays: tuple[int, ...] | None
    seconds_per_point: int
    cores: str
    chaser: int | None
    random_chase: bool
    keep_prefetchers: bool
    one_thread_per_core: bool
    notes: tuple[str, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order."""
        return tuple(run.command for run in self.runs)

    def seconds(self) -> float:
        """How long all of it will about take."""
        return sum(run.seconds for run in self.runs)

    def settings(self) -> dict[str, Any]:
        """What is fixed over a directory; modes, mixes, buffers and strides may be added to it."""
        return {
            "delays": self.delays,
            "seconds_per_point": self.seconds_per_point,
            "cores": self.cores,
            "chaser": self.chaser,
            "random_chase": self.random_chase,
            "keep_prefetchers": self.keep_prefetchers,
            "one_thread_per_core": self.one_thread_per_core,
        }

    def describe(self) -> str:
        """The plan in words."""
        delays = f"the delays {', '.join(map(str, self.delays))}" if self.delays else "MLC's own delays"
        lines = [
            f"{counted(len(self.runs), 'run')} of MLC, {self.seconds_per_point} s a point, {delays} (core cycles)",
            f"about {format_duration(self.seconds())} in all",
            *self.notes,
        ]
        if self.delays:
            lines.append(f"{DELAYS_FILE} holds the delays, one a line, in a private folder that MLC is started in")
        return "\n".join(lines)


def plan_mlc(
    modes: Sequence[str] = DEFAULT_MODES,
    *,
    delays: Sequence[float] | None = None,
    buffers: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    mixes: Sequence[str] = ("R",),
    seconds_per_point: float = 2.0,
    repeats: int = 1,
    cores: str = "",
    chaser: int | None = None,
    random_chase: bool = False,
    keep_prefetchers: bool = False,
    one_thread_per_core: bool = False,
) -> MlcPlan:
    """Every mode with every mix, buffer and stride that it takes, ``repeats`` rounds of all.

    ``delays`` are core cycles, ``buffers`` bytes per thread (None: MLC's own), ``strides`` bytes (None: MLC's own),
    ``cores`` the CPUs of the loading threads as ``"1-7"``, ``chaser`` the CPU of the chasing thread.

    Raises ToolMissingError, with what else can be done, where MLC is not installed; ValueError naming a setting.
    """
    try:
        find_tool("mlc")
    except ToolMissingError as error:
        raise ToolMissingError(f"{error}; {WITHOUT_MLC}") from error
    asked = [_checked_mode(m) for m in _some("modes", modes, "loaded-latency")]
    wanted = [_checked_mix(m) for m in _some("mixes", mixes, "R,W3")]
    cycles = None if delays is None else _checked_delays(delays)
    sizes = [None] if buffers is None else [_checked_buffer(b) for b in _some("buffers", buffers, "200MiB")]
    steps = [None] if strides is None else [_checked_stride(s) for s in _some("strides", strides, "64,128")]
    if seconds_per_point != int(seconds_per_point) or not 1 <= seconds_per_point <= 3600:
        raise InvalidParameterError(
            "seconds_per_point",
            f"is {seconds_per_point:g}",
            "MLC takes whole seconds, from 1 s to an hour a point",
            seconds_per_point,
        )
    must_be(1 <= repeats <= 1000, "repeats", repeats, "from 1 to 1000")
    threads = _checked_cores(cores, chaser, asked)
    _refuse_more_than_memory(asked, wanted, sizes, threads)

    time_s = int(seconds_per_point)
    fixed = {
        "t": (f"-t{time_s}",),
        "g": (f"-g{DELAYS_FILE}",) if cycles else (),
        "k": (f"-k{cores}",) if cores else (),
        "c": () if chaser is None else (f"-c{chaser}",),
        "r": ("-r",) if random_chase else (),
        "e": ("-e",) if keep_prefetchers else (),
        "X": ("-X",) if one_thread_per_core else (),
    }
    runs: dict[str, MlcRun] = {}
    for repeat in range(repeats):
        for mode in asked:
            for mix in wanted if "W" in _TAKES[mode] else [None]:
                for size in sizes:
                    for stride in steps:
                        run = _run(mode, mix, size, stride, cycles, repeat, fixed, time_s)
                        runs[run.key] = run
    return MlcPlan(
        tuple(runs.values()),
        cycles,
        time_s,
        cores,
        chaser,
        random_chase,
        keep_prefetchers,
        one_thread_per_core,
        _notes(keep_prefetchers),
    )


def curve_name(request: Mapping[str, Any], random_chase: bool = False) -> str:
    """A curve's name from what was asked: "75/25 mix stride 128 B buffer 200 MiB"."""
    mix = MIXES[request["mix"] or "R"]
    twins = [flag for flag, other in MIXES.items() if other == mix]
    parts = [mix.note] if mix.note else []
    parts += (
        [f"-{request['mix']}"] if twins and request["mix"] != twins[0] else []
    )  # alike in words, not in the streams
    stride, buffer = request["stride_bytes"], request["buffer_bytes"]
    parts += [f"stride {format_bytes(stride)}"] if stride not in (None, CACHE_LINE_BYTES) else []
    parts += ["random"] if random_chase else []
    parts += [f"buffer {format_bytes(buffer)}"] if buffer is not None else []
    return describe_series(None, mix.read_fraction, None, parts)


def _run(
    mode: Mode,
    mix: str | None,
    size: int | None,
    stride: int | None,
    delays: tuple[int, ...] | None,
    repeat: int,
    fixed: Mapping[str, tuple[str, ...]],
    time_s: int,
) -> MlcRun:
    own = {
        **fixed,
        "W": (f"-{mix}",) if mix else (),
        "b": () if size is None else (f"-b{size // 1024}",),
        "l": () if stride is None else (f"-l{stride}",),
    }
    options = [option for letter in _TAKES[mode] for option in own[letter]]
    named = [mode, *(o.removeprefix("-") for letter in "Wbl" if letter in _TAKES[mode] for o in own[letter])]
    if mode != "loaded-latency":
        delays = None
    nodes = len(set(read_nodes().values())) or 1
    points = {
        "loaded-latency": len(delays) if delays else OWN_DELAYS,
        "idle-latency": 1,
        "latency-matrix": nodes**2,
        "bandwidth-matrix": nodes**2,
        "peak": PEAK_MIXES,
    }[mode]
    return MlcRun(
        f"{'-'.join(named)}.r{repeat}",
        mode,
        mix,
        size,
        stride,
        delays,
        repeat,
        ("mlc", _LONG[mode], *options),
        START_S + points * time_s,
    )


def _some(name: str, values: Sequence[Any], example: str) -> list[Any]:
    if not values:
        raise InvalidParameterError(name, "is empty", f"give for example {example}")
    return list(dict.fromkeys(values))


def _checked_mode(mode: str) -> Mode:
    for known in get_args(Mode):
        if mode == known:
            return known  # type: ignore[no-any-return]
    raise InvalidParameterError("modes", f"holds {mode!r}", f"there are {', '.join(get_args(Mode))}", value=mode)


def _checked_mix(mix: str) -> str:
    flag = mix.strip().removeprefix("-").upper()
    if flag not in MIXES:
        raise InvalidParameterError(
            "mixes", f"holds {mix!r}", f"MLC's own flags are taken: {', '.join(MIXES)}", value=mix
        )
    return flag


def _checked_delays(delays: Sequence[float]) -> tuple[int, ...]:
    for delay in _some("delays", delays, "0,100,1000"):
        if delay != int(delay) or not 0 <= delay <= 10**8:
            raise InvalidParameterError(
                "delays", f"holds {delay!r}", "a delay is a whole number of core cycles from 0 to 100000000", delay
            )
    return tuple(dict.fromkeys(int(d) for d in delays))


def _checked_buffer(size: int) -> int:
    if size < 1024 or size % 1024:
        raise InvalidParameterError("buffers", f"holds {size} B", "MLC takes whole KiB, for example 200MiB", value=size)
    return size


def _checked_stride(stride: int) -> int:
    if stride < CACHE_LINE_BYTES or stride % CACHE_LINE_BYTES:
        raise InvalidParameterError(
            "strides", f"holds {stride} B", f"a stride is a multiple of a cache line of {CACHE_LINE_BYTES} B", stride
        )
    return stride


def _checked_cores(cores: str, chaser: int | None, modes: Sequence[Mode]) -> int:
    """How many threads load the memory."""
    online = os.cpu_count() or 1
    if chaser is not None and not 0 <= chaser < online:
        raise InvalidParameterError(
            "chaser", f"is {chaser}", f"the CPUs of this machine are 0 to {online - 1}", value=chaser
        )
    if not cores:
        return online
    try:
        cpus = parse_cpu_list(cores)
    except ValueError as error:
        raise InvalidParameterError("cores", f": {error}") from error
    if not cpus or max(cpus) >= online:
        raise InvalidParameterError(
            "cores", f"is {cores!r}", f"the CPUs of this machine are 0 to {online - 1}", value=cores
        )
    if (chaser or 0) in cpus and "loaded-latency" in modes:
        raise InvalidParameterError(
            "cores",
            f"{cores!r} holds CPU {chaser or 0}, which chases pointers meanwhile",
            "leave it out or choose another chaser",
            cores,
        )
    return len(cpus)


def _refuse_more_than_memory(
    modes: Sequence[Mode], mixes: Sequence[str], sizes: Sequence[int | None], threads: int
) -> None:
    """ValueError where the buffers of all threads, for reads and for writes, do not fit the memory that is free."""
    free = host_facts().memory_available_bytes
    largest = max((size for size in sizes if size is not None), default=0)
    writing: Callable[[Mode], bool] = lambda m: m == "peak" or ("W" in _TAKES[m] and mixes != ["R"])  # noqa: E731
    needs = max(largest * (threads * (2 if writing(m) else 1) if set("Wk") & set(_TAKES[m]) else 1) for m in modes)
    if free is not None and needs > free:
        raise InvalidParameterError(
            "buffers",
            (
                f"holds {format_bytes(largest)}, which takes {format_bytes(needs)} for all threads, and "
                f"{format_bytes(free)} of memory are free"
            ),
            "take smaller buffers or fewer cores",
            value=format_bytes(largest),
        )


def _notes(keep_prefetchers: bool) -> tuple[str, ...]:
    if keep_prefetchers or getattr(os, "geteuid", lambda: 0)() == 0:
        return ()
    return ("not root: MLC cannot switch the hardware prefetchers off and will chase at random instead",)
