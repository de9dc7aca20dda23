"""A sample path: the queue is seldom at its mean.

The number present in one simulated M/M/1 at 80 % utilization, customer by customer, and the mean that the formula
gives. Long quiet times and sudden hills belong together.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MM1, solve, trace

MODEL = MM1(arrival_rate=0.8, service_rate=1)
CUSTOMERS = 400


def figure() -> go.Figure:
    """The number present over time, and L."""
    chance = np.random.default_rng(7)
    run = trace(MODEL, chance.exponential(1 / 0.8, CUSTOMERS), chance.exponential(1, CUSTOMERS))
    times = np.concatenate([run.arrival, run.finish])
    steps = np.repeat([1, -1], CUSTOMERS)
    order = np.argsort(times, kind="stable")
    drawn = go.Figure()
    drawn.add_scatter(
        x=times[order], y=np.cumsum(steps[order]), name="present", line={"shape": "hv", "color": "#0072B2", "width": 1}
    )
    drawn.add_hline(y=solve(MODEL).L, line_dash="dot", line_color="#D55E00")
    return drawn.update_layout(xaxis_title="time, service times", yaxis_title="customers present")


if __name__ == "__main__":
    figure().show()
