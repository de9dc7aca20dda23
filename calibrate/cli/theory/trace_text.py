"""A trace as text and as rows: the table of customers, the list of events, the averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import described_table, table
from calibrate.cli.theory.metrics_text import value_text

if TYPE_CHECKING:
    from qsim import Metrics
    from qsim._types import FloatArray
    from qsim.engines.by_hand import Event, Totals
    from qsim.engines.trace import SamplePath

_DIGITS = 3  # of a mean service time
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COLUMNS = ("gap", "arrival", "found", "start", "wait", "service", "finish", "response")


@dataclass(frozen=True)
class TraceScale:
    """How times are written: divided by ``factor``, in ``unit`` ("" where the user has their own)."""

    factor: float
    unit: str
    decimals: int

    @property
    def step(self) -> float:
        """What the last decimal stands for, in the time unit of the model."""
        return float(self.factor * 10.0**-self.decimals)

    def text(self, value: float) -> str:
        """A time, without its unit."""
        return f"{value / self.factor:.{self.decimals}f}"

    def with_unit(self, value: float) -> str:
        """A time and its unit."""
        return f"{self.text(value)} {self.unit}".strip()

    def steps(self, times: Sequence[float] | FloatArray) -> FloatArray:
        """``times`` as whole numbers of last decimals, so that sums of them are exact."""
        import numpy as np

        whole: FloatArray = np.rint(np.asarray(times) / self.factor * 10.0**self.decimals)
        return whole

    def times(self, steps: FloatArray) -> FloatArray:
        """The times that so many steps are; equal ones stay equal."""
        return steps / 10.0**self.decimals * self.factor


def scale_for(mean: float, with_units: bool) -> TraceScale:
    """A scale on which ``mean`` has three digits or four."""
    factor, unit = _unit_for(mean) if with_units else (1.0, "")
    return TraceScale(factor, unit, max(0, _DIGITS - 1 - math.floor(math.log10(mean / factor))))


def scale_of(values: Sequence[float], with_units: bool) -> TraceScale:
    """A scale on which no digit of ``values`` is lost, six decimals at most."""
    factor, unit = _unit_for(min((v for v in values if v > 0), default=1.0)) if with_units else (1.0, "")
    scaled = [v / factor for v in values]
    exact = (d for d in range(6) if all(math.isclose(round(v, d), v, abs_tol=1e-9) for v in scaled))
    return TraceScale(factor, unit, next(exact, 6))


def _unit_for(value: float) -> tuple[float, str]:
    return next(((s, u) for s, u in _UNITS if value >= s * 0.9995), _UNITS[-1])


def customer_rows(path: SamplePath, gaps: FloatArray, services: FloatArray) -> list[dict[str, Any]]:
    """A row for each customer; customers and servers are counted from 1, as at the board."""
    import numpy as np

    columns = {
        "customer": np.arange(1, path.arrival.size + 1), "gap": gaps, "arrival": path.arrival, "found": path.present,
        "start": path.start, "wait": path.wait, "service": services, "finish": path.finish, "response": path.response,
        "server": path.server + 1,
    }  # fmt: skip
    listed = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*listed, strict=True)]


def event_rows(happened: Sequence[Event]) -> list[dict[str, Any]]:
    """A row for each event, customers counted from 1."""
    return [{**asdict(e), "customer": e.customer + 1} for e in happened]


def customers_table(rows: Sequence[dict[str, Any]], scale: TraceScale, *, servers: int) -> str:
    """The table that one fills in by hand; the server's number where there are several."""
    header = ["customer", *_COLUMNS, *(["server"] if servers > 1 else [])]
    cells = [[str(row[c]) if isinstance(row[c], int) else scale.text(row[c]) for c in header] for row in rows]
    return table(header, cells, left=0)


def events_table(happened: Sequence[Event], scale: TraceScale) -> str:
    """What happens, in order, and how many are present and waiting right after it."""
    rows = [(scale.text(e.time), str(e.customer + 1), e.what, str(e.present), str(e.waiting)) for e in happened]
    return table(("time", "customer", "event", "present", "waiting"), rows, left=0)


_AVERAGES = (
    ("throughput", "X", "customers per time unit"), ("utilization", "rho", "share of time that a server is busy"),
    ("L", "L", "mean number present; table: from the events"),
    ("W", "W", "mean response; table: from the customers"),
    ("Lq", "Lq", "mean number waiting"), ("Wq", "Wq", "mean wait"), ("p_wait", "P(wait)", "share of those who wait"),
)  # fmt: skip


def averages_table(found: Totals, steady: Metrics | None, scale: TraceScale, *, with_units: bool) -> str:
    """The averages, the long run beside them where a formula tells it, and Little's law on the table."""

    def cells(source: Totals | Metrics) -> list[str]:
        return [value_text(name, getattr(source, name), with_units) for name, *_ in _AVERAGES]

    columns = {"table": cells(found), **({} if steady is None else {"long run": cells(steady)})}
    rows = [(symbol, *(c[i] for c in columns.values()), meaning) for i, (_, symbol, meaning) in enumerate(_AVERAGES)]
    told = described_table(("", *columns), rows)
    x, w = value_text("throughput", found.throughput, with_units), value_text("W", found.W, with_units)
    law = (
        f"Little's law on this table, from zero to {scale.with_unit(found.span)}: X * W = {x} * {w} = "
        f"{found.throughput * found.W:.6g}, and L = {found.L:.6g}"
    )
    return f"{told}\n{law}"
