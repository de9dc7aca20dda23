"""Closed loads: N requests circulate, and each is sent when another completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from measure.loads.base import Load, LoadKind

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present

Figures = TypeVar("Figures", Any, float)


class ClosedLoad(Load):
    """N requests circulate: each is sent when another completes, at once or after a think time.

    So the queue is that of a machine repairman, not M/M/1: N = X (R + Z) (Denning and Buzen, ACM Computing Surveys
    1978, the interactive response time law).
    """

    kind: ClassVar[LoadKind] = "queue_depth"
    symbol = "N"
    knee_symbol = "N*"
    column = "load"
    most = 1e6
    may_be_zero = False
    least_points = 1
    default_points = (1.0, 8.0, 64.0)

    @property
    def law(self) -> str:
        return "N = X R"

    @property
    def named(self) -> str:
        return self.name

    @property
    def step(self) -> int:
        """The least load that can be set; the others are its multiples."""
        return 1

    def legend(self, value: float) -> str:
        return f"{self.symbol} = {self.text(value)}"

    def place_of(self, value: float) -> str:
        return self.at(value)

    def by_law(self, throughput_per_s: Figures, response_s: Figures) -> Figures | None:
        """The load that the law gives from a throughput and a response time; None where the think time is unknown."""
        return throughput_per_s * response_s

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        """What is present at stations of these ``curves`` under ``load``; ``scv`` (w,) is that of service times."""
        return curves.closed(load)

    def response_by_law(self, load: Figures, throughput_per_s: Figures) -> Figures | None:
        """The response time that the law gives, seconds; None where the think time is unknown."""
        return load / throughput_per_s


class CountedLoad(ClosedLoad):
    """Requests counted by another tool, as that of a table; qsim does not set them."""

    @property
    def name(self) -> str:
        return f"{self.plural} N"

    @property
    def unit(self) -> str:
        return self.plural

    @property
    def knee_unit(self) -> str:
        return self.plural

    @property
    def more(self) -> str:
        return f"1, about 64, and the most {self.plural} you will ever have"

    @property
    def heading(self) -> str:
        return self.plural

    def place(self, values: str) -> str:
        return f"{values} {self.singular if values == '1' else self.plural}"

    def places(self, values: str) -> str:
        return self.place(values)

    def measure(self, values: str, options: str = "") -> str:
        return f"measure {self.place(values)} with the tool that made the table"
