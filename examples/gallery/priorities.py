"""Who goes first: the same work, another order.

Mean response time in M/G/1 with exponential service when the shortest job goes first, when it may interrupt, when the
one with the least work left does, and in order of arrival.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MM1, Exponential, Open, solve

RULES = {
    "SJF": ("shortest job first", "#E69F00"),
    "PSJF": ("shortest job first, may interrupt", "#009E73"),
    "SRPT": ("least work left first", "#0072B2"),
}


def figure() -> go.Figure:
    """W over the utilization for each order."""
    rho = np.linspace(0.05, 0.95, 37)
    drawn = go.Figure()
    in_order = [solve(MM1(arrival_rate=r, service_rate=1)).W for r in rho]
    drawn.add_scatter(x=rho, y=in_order, name="in order of arrival", line_color="#D55E00")
    for rule, (name, colour) in RULES.items():
        times = [solve(Open(Exponential(rate=r), Exponential(mean=1), discipline=rule)).W for r in rho]
        drawn.add_scatter(x=rho, y=times, name=name, line_color=colour)
    return drawn.update_layout(xaxis_title="utilization", yaxis_title="mean response time, service times")


if __name__ == "__main__":
    figure().show()
