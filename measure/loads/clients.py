"""Clients: users, threads or connections that each send a request, wait for its answer, and may think."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from measure.loads.base import CountedLoad, Figures
from measure.units import format_duration
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present

_SINGULAR = {"processes": "process"}


@dataclass(frozen=True, repr=False)
class Clients(CountedLoad):
    """N clients, each with one request or thinking; ``noun`` is what the table calls them.

    ``think`` is the mean think time Z between an answer and the next request, seconds: 0 where there is none, None
    where it is unknown and to be found from Z = N / X - R. Its law does not matter to the means (Baskett, Chandy,
    Muntz and Palacios, Journal of the ACM 1975). Raises ValueError for an impossible think time or noun.

    >>> users = Clients([10, 100], think=1.0, noun="users")
    >>> users, users.law, users.at(10), users.by_law(95.0, 0.05)
    (Clients([10, 100], think=1.0, noun='users'), 'N = X (R + Z)', '10 users', 99.75)
    >>> Clients(noun="processes").at(1), Clients().law
    ('1 process', 'N = X R')
    """

    think: float | None = 0.0
    noun: str = "clients"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.think is not None and not (isfinite(self.think) and self.think >= 0):
            raise InvalidParameterError("think", f"must be zero or more seconds, not {self.think!r}", value=self.think)
        if not self.noun or any(letter.isdigit() for letter in self.noun):
            raise InvalidParameterError("noun", f"must be a word such as users, not {self.noun!r}", value=self.noun)

    @property
    def thinking_s(self) -> float:
        return self.think or 0.0

    @property
    def law(self) -> str:
        return "N = X R" if self.think == 0 else "N = X (R + Z)"

    @property
    def singular(self) -> str:
        return _SINGULAR.get(self.noun, self.noun.removesuffix("s"))

    @property
    def plural(self) -> str:
        return self.noun

    def in_full(self, values: str) -> str:
        return self.place(values) + (f" who think for {format_duration(self.think)}" if self.think else "")

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        if not self.think:
            return curves.closed(load)
        return curves.under_thinking(max(round(load), 1), self.think, 0.5 * (1 + scv))

    def by_law(self, throughput_per_s: Figures, response_s: Figures) -> Figures | None:
        return None if self.think is None else throughput_per_s * (response_s + self.think)

    def response_by_law(self, load: Figures, throughput_per_s: Figures) -> Figures | None:
        return None if self.think is None else load / throughput_per_s - self.think

    def think_by_law(self, load: Figures, throughput_per_s: Figures, response_s: Figures) -> Figures:
        """The think time that the law gives, Z = N / X - R, seconds.

        >>> Clients(think=None).think_by_law(100.0, 80.0, 0.25)
        1.0
        """
        return load / throughput_per_s - response_s

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.think == 0 else {"load_think_s": self.think})
