"""A surface from ten of its points.

A drive that others measured at two block sizes, two shares of reads and several depths. The surface is fitted to
the eight corners and to two places that it asked for; the open circles were held out. Lines are predicted.
"""

import plotly.graph_objects as go

from calibrate.surface import compare_surface, surface_points
from measure import load_dataset

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def figure() -> go.Figure:
    """Throughput over the depth, a line for each block size and share of reads."""
    table = compare_surface(surface_points(load_dataset("001-ssd")), ask=2).to_frame()
    curves = table.sort_values("outstanding").groupby(["block_bytes", "read_fraction"])
    drawn = go.Figure()
    for colour, ((block, reads), rows) in zip(COLOURS, curves, strict=True):
        depth, used = rows["outstanding"], rows["use"].isin(["calibrated on", "asked for"])
        drawn.add_scatter(
            x=depth,
            y=rows["predicted_throughput_per_s"],
            mode="lines",
            line_color=colour,
            name=f"{block / 1024:g} KiB {'reads' if reads else 'writes'}",
        )
        symbols = ["circle" if one else "circle-open" for one in used]
        drawn.add_scatter(
            x=depth,
            y=rows["throughput_per_s"],
            mode="markers",
            showlegend=False,
            marker={"symbol": symbols, "size": 9, "color": colour},
        )
    return drawn.update_layout(
        xaxis_title="queue depth", xaxis_type="log", yaxis_title="throughput, requests/s", yaxis_type="log"
    )


if __name__ == "__main__":
    figure().show()
