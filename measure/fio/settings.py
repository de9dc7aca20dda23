"""How a fio sweep is measured, whatever its loads: how long, how often, in which order, on what, by which engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from measure.fio.settling import Settling
from measure.fio.workload import FioJob
from measure.fio.workloads import Order, in_order
from measure.machine.target import Precondition
from qsim.errors import must_be


@dataclass(frozen=True)
class RunSettings:
    """What one machine and many hosts have in common. Raises ValueError naming the first that cannot be.

    ``runtime_s`` is how long each point runs after ``ramp_s`` that are not counted. ``size_bytes`` is how much of the
    target is used: by default 1 GiB for a file of our own, all of what exists otherwise, which is only read, and with
    ``consent="read"`` only. ``order`` is that of the loads of each curve in a round, or a random one of all workloads.
    """

    runtime_s: float = 5.0
    ramp_s: float = 1.0
    size_bytes: int | None = None
    repeats: int = 1
    engine: str = "auto"
    seed: int = 1
    order: Order = "ascending"
    consent: Literal["read"] | None = None

    def __post_init__(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("order", self.order in get_args(Order), "ascending, descending or random"),
            ("runtime_s", 0.1 <= self.runtime_s <= 86400, "from 0.1 s to a day"),
            ("ramp_s", 0 <= self.ramp_s <= 86400, "from 0 s to a day"),
            ("repeats", 1 <= self.repeats <= 1000, "from 1 to 1000"),
            ("seed", 0 <= self.seed < 2**32, "a whole number from 0 to 4294967295"),
            ("size_bytes", self.size_bytes is None or self.size_bytes > 0, "a size such as 1 GiB"),
        )
        for name, holds, wanted in rules:
            must_be(holds, name, getattr(self, name), wanted)

    def rounds(self, workloads: Sequence[FioJob]) -> Iterator[tuple[FioJob, int]]:
        """(workload, repeat) of each point. Repeats go round all workloads: drift shows as repeats that disagree."""
        for repeat in range(self.repeats):
            for job in in_order(workloads, self.order, self.seed + repeat):
                yield job, repeat


@dataclass(frozen=True)
class FioSettings(RunSettings):
    """The settings of a sweep on this machine.

    ``keep`` leaves the test file. ``write_device`` is the name of a block device that may be destroyed, see
    :mod:`measure.machine.safety`. ``label`` and ``details`` go into the provenance. With ``settling`` each point runs
    until it is steady before it is measured, with closed loads only. With ``log`` every request of every point is
    stored, for :func:`measure.samples`. ``precondition`` is what is written to the file before, see
    :mod:`measure.fio.preconditioning`.
    """

    keep: bool = False
    write_device: str | None = None
    label: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    settling: Settling | None = None
    log: bool = False
    precondition: Precondition = "auto"
