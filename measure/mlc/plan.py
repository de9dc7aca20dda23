"""Planning runs of Intel's Memory Latency Checker: every setting is checked, every command written down; nothing runs.

One process of ``--loaded_latency`` for each traffic mix and buffer, so that what one of them breaks costs no other. The
option names are those of Intel's readme for versions 3 (``mlc --help`` lists them):

- ``-t`` seconds of each point, ``-b`` KiB of buffer per thread
- ``-R`` or ``-W2`` to ``-W12``: the mix of the loading threads (``MIXES``)
- ``-g`` a file with one injected delay a line, in core cycles; without it MLC takes a list of its own (19 delays)

MLC switches the hardware prefetchers off while it measures latency and on again at its end, for which it must run as
root with the msr driver loaded; otherwise it says so and chases at random.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from measure.errors import ToolMissingError
from measure.formats.mlc import W_FLAGS
from measure.machine.host import host_facts
from measure.machine.process import WITHOUT_MLC, find_tool
from measure.sweep import describe_series
from measure.units import Mix, counted, format_bytes, format_duration
from qsim.errors import InvalidParameterError, must_be

MIXES: Mapping[str, Mix] = {"R": Mix(1.0), **{f"W{number}": mix for number, mix in W_FLAGS.items()}}
DELAYS_FILE = "delays.txt"  # in the private folder that MLC is started in

SECONDS_PER_POINT = 2
OWN_DELAYS = 19  # how many delays MLC's own list has
START_S = 3.0  # what MLC takes to allocate and fill its buffers; for the estimate only
MARGIN_S = 60.0  # a run of this much more than four times its estimate counts as hung
NOT_ROOT = "not root: MLC cannot switch the hardware prefetchers off and will chase at random instead"


@dataclass(frozen=True)
class MlcRun:
    """One process: its key in the store, what it measures (None: MLC's own choice), and the exact command."""

    key: str
    mix: str
    buffer_bytes: int | None
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
        return {name: getattr(self, name) for name in ("mix", "buffer_bytes", "delays", "repeat")}


@dataclass(frozen=True)
class MlcPlan:
    """What will be done, before anything is done; ``notes`` are what the user should know first."""

    runs: tuple[MlcRun, ...]
    delays: tuple[int, ...] | None
    notes: tuple[str, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order."""
        return tuple(run.command for run in self.runs)

    def seconds(self) -> float:
        """How long all of it will about take."""
        return sum(run.seconds for run in self.runs)

    def settings(self) -> dict[str, Any]:
        """What is fixed over a directory; mixes and buffers may be added to it."""
        return {"delays": self.delays, "seconds_per_point": SECONDS_PER_POINT}

    def describe(self) -> str:
        """The plan in words."""
        delays = f"the delays {', '.join(map(str, self.delays))}" if self.delays else "MLC's own delays"
        lines = [
            f"{counted(len(self.runs), 'run')} of MLC, {SECONDS_PER_POINT} s a point, {delays} (core cycles)",
            f"about {format_duration(self.seconds())} in all",
            *self.notes,
        ]
        if self.delays:
            lines.append(f"{DELAYS_FILE} holds the delays, one a line, in a private folder that MLC is started in")
        return "\n".join(lines)


def plan_mlc(
    *,
    delays: Sequence[float] | None = None,
    buffers: Sequence[int] | None = None,
    mixes: Sequence[str] = ("R",),
    repeats: int = 1,
) -> MlcPlan:
    """Loaded latency with every mix and buffer, ``repeats`` rounds of all.

    ``delays`` are core cycles, ``buffers`` bytes per thread (None: MLC's own).

    Raises ToolMissingError, with what else can be done, where MLC is not installed; ValueError naming a setting.
    """
    try:
        find_tool("mlc")
    except ToolMissingError as error:
        raise ToolMissingError(f"{error}; without it, {WITHOUT_MLC}") from error
    flags = [mix.strip().removeprefix("-").upper() for mix in mixes]
    wanted = _checked("mixes", flags, "R,W3", MIXES.__contains__, f"MLC's own flags are taken: {', '.join(MIXES)}")
    whole = "a delay is a whole number of core cycles from 0 to 100000000"
    cycles: tuple[int, ...] | None = None
    if delays is not None:
        found = _checked("delays", delays, "0,100,1000", lambda d: d == int(d) and 0 <= d <= 10**8, whole)
        cycles = tuple(map(int, found))
    sizes: list[int | None] = [None]
    if buffers is not None:
        sizes = _checked("buffers", buffers, "200MiB", lambda b: b >= 1024 and b % 1024 == 0, "MLC takes whole KiB")
    must_be(1 <= repeats <= 1000, "repeats", repeats, "from 1 to 1000")
    _refuse_more_than_memory(wanted, sizes)
    runs = tuple(_run(mix, size, cycles, repeat) for repeat, mix, size in product(range(repeats), wanted, sizes))
    root = getattr(os, "geteuid", lambda: 0)() == 0
    return MlcPlan(runs, cycles, () if root else (NOT_ROOT,))


def curve_name(request: Mapping[str, Any]) -> str:
    """A curve's name from what was asked: "75/25 mix buffer 200 MiB"."""
    mix, buffer = MIXES[request["mix"]], request["buffer_bytes"]
    twins = [flag for flag, other in MIXES.items() if other == mix]
    parts = [mix.note] if mix.note else []
    if request["mix"] != twins[0]:  # alike in words, not in the streams
        parts.append(f"-{request['mix']}")
    parts += [f"buffer {format_bytes(buffer)}"] if buffer is not None else []
    return describe_series(None, mix.read_fraction, None, parts)


def _run(mix: str, size: int | None, delays: tuple[int, ...] | None, repeat: int) -> MlcRun:
    buffer = () if size is None else (f"-b{size // 1024}",)
    given = (f"-g{DELAYS_FILE}",) if delays else ()
    return MlcRun(
        f"{'-'.join([mix, *(b.removeprefix('-') for b in buffer)])}.r{repeat}",
        mix,
        size,
        delays,
        repeat,
        ("mlc", "--loaded_latency", *buffer, f"-t{SECONDS_PER_POINT}", f"-{mix}", *given),
        START_S + (len(delays) if delays else OWN_DELAYS) * SECONDS_PER_POINT,
    )


def _checked(name: str, values: Sequence[Any], example: str, holds: Callable[[Any], bool], remedy: str) -> list[Any]:
    """Each of the values once; InvalidParameterError naming one that MLC does not take."""
    if not values:
        raise InvalidParameterError(name, "is empty", f"give for example {example}")
    for value in values:
        if not holds(value):
            raise InvalidParameterError(name, f"holds {value!r}", remedy, value=value)
    return list(dict.fromkeys(values))


def _refuse_more_than_memory(mixes: Sequence[str], sizes: Sequence[int | None]) -> None:
    """ValueError where the buffers of all threads, for reads and for writes, do not fit the memory that is free."""
    free = host_facts().memory_available_bytes
    largest = max((size for size in sizes if size is not None), default=0)
    taken = largest * (os.cpu_count() or 1) * (1 if mixes == ["R"] else 2)
    if free is not None and taken > free:
        why = f"holds {format_bytes(largest)}, which takes {format_bytes(taken)} for all threads"
        raise InvalidParameterError(
            "buffers", f"{why}, and {format_bytes(free)} of memory are free", "take smaller buffers", largest
        )
