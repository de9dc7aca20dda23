"""What if: one more drive, or half the service time?.

The predicted curve of a drive from its data sheet, and what it would become. With a second drive each request goes to
one of the two at random: the peak and the knee double, and a lone request gains nothing. Half the service time moves
the whole curve. `qsim predict --what-if drives=1:2` and `--what-if service=0.5` print the same.
"""

import numpy as np
import plotly.graph_objects as go

from calibrate import WhatIf, from_datasheet, predict, what_if

DRIVE = from_datasheet(idle_latency=80e-6, peak_iops=400e3)
DRIVES = {
    "as it is": (DRIVE, "#0072B2"),
    "one more drive": (what_if(DRIVE, WhatIf(copies=(1, 2))).fit, "#009E73"),
    "half the service time": (what_if(DRIVE, WhatIf(service=0.5)).fit, "#D55E00"),
}


def figure() -> go.Figure:
    """Latency over throughput, a line for each case, the knees as stars."""
    drawn = go.Figure()
    loads = np.geomspace(1, 256, 60)
    for name, (device, colour) in DRIVES.items():
        curve, knee = predict(device, loads), device.knee
        drawn.add_scatter(
            x=curve.throughput_per_s / 1e3,
            y=1e6 * curve.response_time_s,
            name=name,
            line_color=colour,
            legendgroup=name,
        )
        drawn.add_scatter(
            x=[knee.throughput_per_s / 1e3],
            y=[1e6 * knee.response_time_s],
            mode="markers",
            legendgroup=name,
            marker={"symbol": "star", "size": 14, "color": colour},
            name=f"knee, {name}",
            showlegend=False,
        )
    return drawn.update_layout(
        xaxis_title="throughput, thousand requests/s", yaxis_title="response time, us", yaxis_type="log"
    )


if __name__ == "__main__":
    figure().show()
