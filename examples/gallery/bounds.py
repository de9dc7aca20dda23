"""Bounds: what can be said before anything is solved.

A closed network of a processor and two disks. Asymptotic bounds need nothing but the demands; balanced-job bounds
close in on the exact solution.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import Closed, Delay, Exponential, Station, asymptotic_bounds, balanced_bounds, solve

THINK, DEMANDS = 4.0, [1.0, 0.8, 0.5]


def figure() -> go.Figure:
    """Throughput over the population: exact, and two pairs of bounds."""
    loads = np.arange(1, 31)
    network = Closed(1, [Delay(THINK), *(Station(Exponential(mean=d)) for d in DEMANDS)])
    drawn = go.Figure()
    bounds = {"asymptotic": asymptotic_bounds, "balanced": balanced_bounds}
    for (name, of), colour in zip(bounds.items(), ("#999999", "#E69F00"), strict=True):
        found = of(loads, THINK, DEMANDS)
        for y, shown in ((found.throughput_high, True), (found.throughput_low, False)):
            drawn.add_scatter(x=loads, y=y, name=name, legendgroup=name, showlegend=shown, line_color=colour)
    exact = [solve(network.with_population(n)).throughput for n in loads.tolist()]
    drawn.add_scatter(x=loads, y=exact, name="exact", mode="markers", marker_color="#0072B2")
    return drawn.update_layout(xaxis_title="customers in the network", yaxis_title="throughput")


if __name__ == "__main__":
    figure().show()
