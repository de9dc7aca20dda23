"""IOPS and bandwidth over the block size.

Small blocks are limited by the requests that a drive takes per second, large ones by the bytes that it moves:
S(b) = alpha + beta b. Both lines come from the same published sweep at depth 1.
"""

import plotly.graph_objects as go

from measure import load_dataset


def figure() -> go.Figure:
    """Two axes over the block size."""
    points = load_dataset("004-ssd-block-size").points
    rows = points.sort_values("block_bytes")
    sizes = rows["block_bytes"] / 1024
    drawn = go.Figure()
    drawn.add_scatter(
        x=sizes, y=rows["throughput_per_s"], name="requests/s", mode="lines+markers", line_color="#0072B2"
    )
    drawn.add_scatter(
        x=sizes,
        y=rows["throughput_per_s"] * rows["block_bytes"] / 1e6,
        name="MB/s",
        mode="lines+markers",
        line_color="#D55E00",
        yaxis="y2",
    )
    return drawn.update_layout(
        xaxis_title="block size, KiB",
        xaxis_type="log",
        yaxis_title="requests/s",
        yaxis2={"title": "MB/s", "overlaying": "y", "side": "right", "tickmode": "auto", "showgrid": False},
    )


if __name__ == "__main__":
    figure().show()
