"""What is known of a queue at each of some times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qsim import _check
from qsim._types import FloatArray
from qsim.metrics import Kind
from qsim.models import Model
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class OverTime(Result):
    """The mean number present ``L`` and waiting ``Lq`` at each of ``times``, in the model's own unit.

    ``arrival_rate`` is the rate at these times.  ``states``, of a formula, has a row for each time and a column for
    each number present; ``low`` and ``high``, of a simulation, are the ends of the interval of L, each time by itself.

    >>> from qsim import MM1, transient
    >>> found = transient(MM1(arrival_rate=0.8, service_rate=1.0), times=[0, 1, 10, 100])
    >>> found.L.round(3).tolist()
    [0.0, 0.552, 2.03, 3.792]
    >>> found.p(0).round(3).tolist()
    [1.0, 0.597, 0.286, 0.204]
    """

    model: Model
    times: FloatArray
    L: FloatArray
    Lq: FloatArray
    arrival_rate: FloatArray
    kind: Kind
    method: str
    states: FloatArray | None = field(default=None)
    low: FloatArray | None = None
    high: FloatArray | None = None
    confidence: float | None = None
    seed: int | None = None

    def p(self, n: int) -> FloatArray:
        """The probability of ``n`` present, at each time."""
        n = _check.count("n", n, minimum=0)
        if self.states is None:
            raise ValueError("state probabilities are not known from a simulation over time: transient() gives them")
        return self.states[:, n] if n < self.states.shape[1] else 0.0 * self.times

    def to_frame(self) -> pd.DataFrame:
        """A row for each time: t, arrival_rate, L, Lq, and L_low, L_high or p0 (nobody present)."""
        import pandas as pd

        frame = pd.DataFrame({"t": self.times, "arrival_rate": self.arrival_rate, "L": self.L, "Lq": self.Lq})
        if self.low is not None:
            frame = frame.assign(L_low=self.low, L_high=self.high)
        return frame if self.states is None else frame.assign(p0=self.states[:, 0])

    def plot(self) -> Any:
        """A plotly Figure: the number present over time, with its interval; the arrival rate on its own axis."""
        figure = self.to_frame().plot(x="t", y="L", title=str(self).splitlines()[0], backend="plotly")
        if self.low is not None and self.high is not None:
            for ends, fill in ((self.low, None), (self.high, "tonexty")):
                figure.add_scatter(
                    x=self.times,
                    y=ends,
                    fill=fill,
                    line={"width": 0},
                    showlegend=False,
                    fillcolor="rgba(99,110,250,0.25)",
                )
        figure.add_scatter(
            x=self.times,
            y=self.arrival_rate,
            yaxis="y2",
            name="arrival rate",
            line={"dash": "dot", "color": "gray", "shape": "hv"},
        )
        figure.data[0].update(name="L, number present", showlegend=True)
        return figure.update_layout(
            yaxis={"title": "number present L", "rangemode": "tozero"},
            yaxis2={
                "title": "arrival rate",
                "overlaying": "y",
                "side": "right",
                "rangemode": "tozero",
                "tickmode": "auto",
                "showgrid": False,
            },
            legend={"orientation": "h", "title": None},
        )

    def __repr__(self) -> str:
        most = int(self.L.argmax())
        band = "" if self.low is None or self.high is None else f" ({self.low[most]:.4g} to {self.high[most]:.4g})"
        return (
            f"{self.model.kendall} over time: {self.kind}, {self.method}\n"
            f"L is highest at t = {self.times[most]:.4g}: {self.L[most]:.4g}{band} present, {self.Lq[most]:.4g} "
            f"waiting; at the end, t = {self.times[-1]:.4g}: {self.L[-1]:.4g} present"
        )
