"""A drive from two points.

A laptop's SSD that students measured at five depths: the model calibrated on two of them, its 90 % band, and the points
that it had not seen. Deep queues beyond the last calibrated point are where two points leave most open.
"""

import numpy as np
import plotly.graph_objects as go

from calibrate import fit, predict
from measure import load_dataset

SERIES, USE = "4 KiB read", [4, 32]


def figure() -> go.Figure:
    """Predicted band and observed points."""
    sweep = load_dataset("003-ssd-read")
    points = sweep.points[sweep.points["series"] == SERIES].sort_values("load")
    loads = np.geomspace(1, points["load"].max(), 60)
    curve = predict(fit(sweep, USE, series=SERIES), loads)
    low, high = curve.throughput_low_per_s, curve.throughput_high_per_s
    drawn = go.Figure()
    drawn.add_scatter(x=loads, y=high, line_width=0, showlegend=False, hoverinfo="skip")
    drawn.add_scatter(x=loads, y=low, line_width=0, fill="tonexty", fillcolor="rgba(0,114,178,0.2)", name="90 % band")
    drawn.add_scatter(x=loads, y=curve.throughput_per_s, name="predicted", line_color="#0072B2")
    for held, name, symbol in ((False, "calibrated on", "circle"), (True, "held out", "circle-open")):
        chosen = points[~points["load"].isin(USE) if held else points["load"].isin(USE)]
        drawn.add_scatter(
            x=chosen["load"],
            y=chosen["throughput_per_s"],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 10, "color": "#D55E00"},
        )
    return drawn.update_layout(xaxis_title="queue depth", yaxis_title="throughput, requests/s", xaxis_type="log")


if __name__ == "__main__":
    figure().show()
