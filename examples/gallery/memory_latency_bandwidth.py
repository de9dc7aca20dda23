"""Memory: latency against bandwidth over read mixes.

Curves that students measured with Intel MLC on DDR4: each point is one injected delay, each curve one mix. Writes
turn the bus around, so the curve of the mixes turns up earlier.
"""

import plotly.graph_objects as go

from measure import load_dataset

STRIDE = "64 B "
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7")


def figure() -> go.Figure:
    """One line a series, latency over bandwidth."""
    points = load_dataset("001-memory").points
    points = points[points["series"].str.contains(STRIDE)]
    drawn = go.Figure()
    for (name, found), colour in zip(points.groupby("series", sort=False), COLOURS, strict=True):
        rows = found.sort_values("load")
        drawn.add_scatter(
            x=rows["bandwidth_bytes_per_s"] / 1e9,
            y=1e9 * rows["latency_s"],
            name=str(name),
            mode="lines+markers",
            line_color=colour,
        )
    return drawn.update_layout(xaxis_title="bandwidth, GB/s", yaxis_title="latency, ns")


if __name__ == "__main__":
    figure().show()
