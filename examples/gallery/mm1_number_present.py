"""M/M/1: why the last tenth of utilization is dear.

The mean number present L and the mean number waiting Lq = rho^2 / (1 - rho) against the utilization. At half load
one customer is there; at 90 % there are nine.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MM1, solve


def figure() -> go.Figure:
    """L and Lq over the utilization."""
    rho = np.linspace(0.01, 0.95, 95)
    solved = [solve(MM1(arrival_rate=r, service_rate=1)) for r in rho]
    drawn = go.Figure()
    drawn.add_scatter(x=rho, y=[s.L for s in solved], name="L, present", line_color="#0072B2")
    drawn.add_scatter(x=rho, y=[s.Lq for s in solved], name="Lq, waiting", line_color="#D55E00")
    return drawn.update_layout(xaxis_title="utilization", yaxis_title="customers")


if __name__ == "__main__":
    figure().show()
