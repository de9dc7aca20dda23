"""Pooling: the same load over one, two, four, eight servers.

Mean waiting time in units of the service time (Erlang C). With more servers behind one queue, the same utilization
costs far less waiting.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MMc, solve


def figure() -> go.Figure:
    """Wq over the utilization for several numbers of servers."""
    rho = np.linspace(0.05, 0.97, 93)
    drawn = go.Figure()
    for servers, colour in zip((1, 2, 4, 8), ("#D55E00", "#E69F00", "#009E73", "#0072B2"), strict=True):
        waits = [solve(MMc(arrival_rate=r * servers, service_rate=1, servers=servers)).Wq for r in rho]
        drawn.add_scatter(x=rho, y=waits, name=f"{servers} servers" if servers > 1 else "1 server", line_color=colour)
    return drawn.update_layout(xaxis_title="utilization", yaxis_title="mean wait, service times", yaxis_type="log")


if __name__ == "__main__":
    figure().show()
