"""The same mean, another p99.

Response times of M/G/1 at 70 % utilization by simulation, as the share of customers that take longer than t. The
four service laws have the same mean; what a user at the 99th percentile sees differs by a factor of ten.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MG1, Deterministic, Exponential, HyperExponential, LogNormal, simulate

LAWS = {
    "deterministic": (Deterministic(1), "#0072B2"),
    "exponential": (Exponential(mean=1), "#009E73"),
    "lognormal, scv 4": (LogNormal(mean=1, scv=4), "#E69F00"),
    "hyperexponential, scv 9": (HyperExponential.from_moments(mean=1, scv=9), "#D55E00"),
}
SHARES = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001])


def figure() -> go.Figure:
    """Share of customers that take longer, over the time."""
    drawn = go.Figure()
    for name, (law, colour) in LAWS.items():
        run = simulate(MG1(0.7, law), customers=300_000, seed=1, engine="compiled")
        times = [run.quantile(1 - share) for share in SHARES]
        drawn.add_scatter(x=times, y=SHARES, name=name, mode="lines+markers", line_color=colour)
    return drawn.update_layout(
        xaxis_title="response time, service times",
        yaxis_title="share that takes longer",
        xaxis_type="log",
        yaxis_type="log",
    )


if __name__ == "__main__":
    figure().show()
