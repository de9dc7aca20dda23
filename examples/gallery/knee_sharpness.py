"""What bends the knee: one queue or many.

Sixteen servers, N requests in a closed loop. One shared queue keeps every server busy and bends sharply at
N* = 16; a queue for each server, chosen at random, leaves some idle while others wait. The p-norm goes through both
with one number.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MMcN, asymptotic_bounds, solve

SERVERS, SERVICE_S = 16, 1e-3


def figure() -> go.Figure:
    """Throughput over N: the bounds, a shared queue, random routing, a p-norm."""
    loads = np.arange(1, 129)
    peak = SERVERS / SERVICE_S
    shared = [solve(MMcN(int(n), 0, SERVICE_S, SERVERS)).throughput for n in loads]
    curves = {
        "bounds": asymptotic_bounds(loads, 0, [SERVICE_S], [SERVERS]).throughput_high,
        "one shared queue": shared,
        "p-norm, p = 2.6": ((loads / SERVICE_S) ** -2.6 + peak**-2.6) ** (-1 / 2.6),
        "random routing": loads / (loads + SERVERS - 1) * peak,
    }
    drawn = go.Figure()
    for (name, y), colour in zip(curves.items(), ("#999999", "#0072B2", "#009E73", "#D55E00"), strict=True):
        drawn.add_scatter(x=loads, y=y, name=name, line_color=colour, line_dash="dot" if name == "bounds" else "solid")
    return drawn.update_layout(xaxis_title="requests in flight", yaxis_title="throughput, requests/s", xaxis_type="log")


if __name__ == "__main__":
    figure().show()
