"""What if: one more drive, or half the service time?.

The predicted curve of a drive from its data sheet, and what it would become. A second drive moves the peak and the
knee; half the service time moves the whole curve.
"""

import numpy as np
import plotly.graph_objects as go

from calibrate import from_datasheet, predict

DRIVES = {
    "as it is": ((80e-6, 400e3), "#0072B2"),
    "one more drive": ((80e-6, 800e3), "#009E73"),
    "half the service time": ((40e-6, 800e3), "#D55E00"),
}


def figure() -> go.Figure:
    """Latency over throughput, a line for each case, the knees as stars."""
    drawn = go.Figure()
    loads = np.geomspace(1, 256, 60)
    for name, ((latency_s, iops), colour) in DRIVES.items():
        fitted = from_datasheet(idle_latency=latency_s, peak_iops=iops)
        curve, knee = predict(fitted, loads), fitted.knee
        drawn.add_scatter(
            x=curve.throughput_per_s / 1e3,
            y=1e6 * curve.response_time_s,
            name=name,
            line_color=colour,
            legendgroup=name,
        )
        drawn.add_scatter(
            x=[knee.throughput_per_s / 1e3], y=[1e6 * knee.response_time_s], mode="markers", legendgroup=name,
            marker={"symbol": "star", "size": 14, "color": colour}, name=f"knee, {name}", showlegend=False,
        )  # fmt: skip
    return drawn.update_layout(
        xaxis_title="throughput, thousand requests/s", yaxis_title="response time, us", yaxis_type="log"
    )


if __name__ == "__main__":
    figure().show()
