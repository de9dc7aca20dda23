"""A queue that fills at 9 in the morning, and is longest when the rush is over.

Two clerks serve 12 customers an hour each; 5 an hour come, and 40 an hour from 9 to 10. The line is the formula
(uniformisation), the shade the 95 % interval of the mean over 300 simulated mornings.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import MMc, simulate_over_time, transient

OFFICE = MMc(arrival_rate=5, service_rate=12, servers=2)
RUSH = {0: 5, 9: 40, 10: 5}


def figure() -> go.Figure:
    """L over the morning."""
    times = np.linspace(8, 13, 101)
    exact = transient(OFFICE, times, arrival_rate=RUSH)
    runs = simulate_over_time(OFFICE, times, arrival_rate=RUSH, replications=300, seed=1)
    drawn = go.Figure()
    drawn.add_scatter(x=times, y=runs.low, line_width=0, showlegend=False)
    drawn.add_scatter(x=times, y=runs.high, line_width=0, fill="tonexty", name="300 simulated mornings")
    drawn.add_scatter(x=times, y=exact.L, name="L, present", line_color="#0072B2")
    drawn.add_scatter(x=times, y=exact.arrival_rate, name="arrivals an hour", line_color="gray", line_dash="dot")
    return drawn.update_layout(xaxis_title="hour of the day", yaxis_title="customers")


if __name__ == "__main__":
    figure().show()
