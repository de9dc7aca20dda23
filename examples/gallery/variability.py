"""Variability: the same mean service time, another queue.

Mean wait in M/G/1 (Pollaczek and Khinchine) for service times that do not vary at all, that are exponential, and
that vary four times and sixteen times as much (squared coefficient of variation).
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MG1, Deterministic, Exponential, LogNormal, solve

LAWS = {
    "deterministic, scv 0": (Deterministic(1), "#0072B2"),
    "exponential, scv 1": (Exponential(mean=1), "#009E73"),
    "lognormal, scv 4": (LogNormal(mean=1, scv=4), "#E69F00"),
    "lognormal, scv 16": (LogNormal(mean=1, scv=16), "#D55E00"),
}


def figure() -> go.Figure:
    """Wq over the utilization, a line for each law."""
    rho = np.linspace(0.02, 0.95, 94)
    drawn = go.Figure()
    for name, (law, colour) in LAWS.items():
        drawn.add_scatter(x=rho, y=[solve(MG1(r, law)).Wq for r in rho], name=name, line_color=colour)
    return drawn.update_layout(xaxis_title="utilization", yaxis_title="mean wait, service times", yaxis_range=[0, 40])


if __name__ == "__main__":
    figure().show()
