"""A depth: N requests outstanding, as with fio's iodepth."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from measure.loads.base import ClosedLoad
from measure.loads.clients import Clients
from measure.loads.outstanding import Outstanding
from qsim.errors import InvalidParameterError


@dataclass(frozen=True, repr=False)
class Depth(ClosedLoad):
    """N requests are outstanding, in ``jobs`` jobs that share them (None where points differ in their jobs).

    >>> Depth([1, 8, 64]).listed([1, 8, 64]), Depth().at(8), Depth(jobs=4).at(9.5)
    ('depths 1, 8 and 64', 'depth 8', 'outstanding 9.5 (iodepth 2.4 × 4 jobs)')
    """

    jobs: int | None = 1

    name = "outstanding requests N"
    unit = "requests"
    knee_unit = ""
    option = "--depths"
    more = "depths 1 and 32; with three, 1, 8 and 64: qsim measure fio TARGET --depths 1,32 --out DIR"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs is not None and self.jobs < 1:
            raise InvalidParameterError("jobs", f"must be 1 or more, not {self.jobs!r}", value=self.jobs)

    @property
    def singular(self) -> str:
        return "depth" if self.jobs == 1 else "outstanding"

    @property
    def plural(self) -> str:
        return "depths" if self.jobs == 1 else "outstanding"

    @property
    def step(self) -> int:
        return self.jobs or 1

    def at(self, *values: float) -> str:
        shared = len(values) == 1 and 1 < self.step <= values[0]
        share = f" (iodepth {values[0] / self.step:.2g} × {self.step} jobs)" if shared else ""
        return f"{super().at(*values)}{share}"

    def shared_by(self, jobs: Iterable[float]) -> Depth:
        """The load of points whose numbers of jobs are ``jobs``, NaN where unknown.

        >>> Depth().shared_by([4, 4]), Depth().shared_by([1, 4]), Depth(jobs=4).shared_by([1])
        (Depth(jobs=4), Depth(jobs=None), Depth())
        """
        numbers = {int(number) for number in jobs if not math.isnan(number)}
        if max(numbers, default=1) <= 1:
            return replace(self, jobs=1)
        return replace(self, jobs=numbers.pop() if len(numbers) == 1 else None)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.jobs == 1 else {"load_jobs": self.jobs})


def counted_in(noun: str) -> ClosedLoad:
    """The load of a table that calls its outstanding requests ``noun``: requests, clients, users, threads.

    >>> counted_in("requests"), counted_in("users"), counted_in("outstanding")
    (Depth(), Clients(noun='users'), Outstanding())
    """
    if noun == Depth.unit:
        return Depth()
    return Outstanding() if noun == Outstanding.plural else Clients(noun=noun)
