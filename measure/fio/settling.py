"""Letting a point settle before it is measured: its own workload, run until its throughput keeps within a tolerance.

fio's ``steadystate`` looks at the requests of each second over a sliding window, and ends the run when the criterion
holds: all of them within a share of their mean (``range``), or the line through them rises or falls by less than a
share of the mean a second (``slope``). What it measures until then is thrown away, and the point is measured in a run
of its own right behind it, so that its mean, percentiles and histogram are of the settled device alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from measure.formats.fio.documents import fio_documents, jobs_of, number_in, section_of
from measure.units import format_duration

Kind = Literal["range", "slope"]
_FIO_NAMES: dict[Kind, str] = {"range": "iops", "slope": "iops_slope"}
SHORTEST_WINDOW_S = 3


@dataclass(frozen=True)
class Settling:
    """When a point counts as settled: ``tolerance`` (a share) over ``window_s``; ``longest_s`` is what it may take.

    Raises ValueError naming what cannot be: fio counts in whole seconds, and a window needs three of them.
    """

    tolerance: float = 0.05
    window_s: float = 10.0
    longest_s: float = 120.0
    kind: Kind = "range"

    def __post_init__(self) -> None:
        rules = (
            ("tolerance", 0 < self.tolerance <= 1, "more than 0 % and at most 100 %"),
            ("window", self.window_s >= SHORTEST_WINDOW_S and self.window_s == int(self.window_s),
             f"whole seconds, {SHORTEST_WINDOW_S} at least, as 10s"),
            ("longest time", self.window_s < self.longest_s <= 86400, "longer than the window, and a day at most"),
            ("kind", self.kind in get_args(Kind), "range or slope"),
        )  # fmt: skip
        for name, holds, wanted in rules:
            if not holds:
                raise ValueError(f"the {name} of the steady state must be {wanted}")

    def __str__(self) -> str:
        over = f"over {format_duration(self.window_s)}, {format_duration(self.longest_s)} at most"
        if self.kind == "slope":
            return f"until its throughput changes by less than {100 * self.tolerance:g} % a second {over}"
        return f"until its throughput keeps within {100 * self.tolerance:g} % of its mean {over}"

    @property
    def limit_s(self) -> float:
        """The hard time limit of a run that settles."""
        return self.longest_s + max(15.0, 0.5 * self.longest_s)

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that lets the point of the fio command ``argv`` settle: the same workload, without its times."""
        rest = [option for option in argv[1:] if not option.startswith(("--runtime=", "--ramp_time=", "--write_"))]
        criterion = f"--steadystate={_FIO_NAMES[self.kind]}:{100 * self.tolerance:g}%"
        times = (f"--runtime={round(self.longest_s)}s", f"--ss_dur={round(self.window_s)}s")
        return (argv[0], criterion, *times, *rest)


@dataclass(frozen=True)
class Settled:
    """How the settling went: whether the criterion was met, after how long, what fio computed, the last seconds."""

    attained: bool
    seconds: float
    criterion: str
    throughput_per_s: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "attained": self.attained, "seconds": self.seconds, "criterion": self.criterion,
            "throughput_per_s": list(self.throughput_per_s),
        }  # fmt: skip


def read_settled(text: str) -> Settled | None:
    """What fio's JSON says of its steady state; None where it says nothing."""
    documents, _ = fio_documents(text)
    jobs = jobs_of(documents[0]) if documents else []
    told = [job["steadystate"] for job in jobs if isinstance(job.get("steadystate"), dict)]
    if not told:
        return None
    longest_ms = max(number_in(section_of(job, d), "runtime") for job in jobs for d in ("read", "write"))
    last = told[-1]
    rates = section_of(last, "data").get("iops")
    return Settled(
        all(bool(t.get("attained")) for t in told), longest_ms / 1e3, str(last.get("criterion", "")).strip(),
        tuple(number_in({"iops": n}, "iops") for n in rates) if isinstance(rates, list) else (),
    )  # fmt: skip
