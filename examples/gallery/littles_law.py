"""Little's law finds a wrong unit.

N = X R at every point of a closed loop. In these four published curves X R is a thousand times N: the latencies are
microseconds that were printed as milliseconds. With the latency divided by 1000 all points lie on the line.
"""

import plotly.graph_objects as go

from measure import load_dataset


def figure() -> go.Figure:
    """X R over N, as published and corrected, with the law as a line."""
    drawn = go.Figure()
    drawn.add_scatter(x=[4, 1024], y=[4, 1024], name="N = X R", mode="lines", line_color="#8a8f98")
    for name, corrected, colour in (("as published", False, "#D55E00"), ("latency / 1000", True, "#0072B2")):
        points = load_dataset("003-ssd-read", as_published=not corrected).points
        inside = points["throughput_per_s"] * points["latency_s"]
        drawn.add_scatter(x=points["load"], y=inside, name=name, mode="markers", marker={"color": colour, "size": 9})
    return drawn.update_layout(
        xaxis_title="queue depth N", xaxis_type="log", yaxis_title="throughput x latency", yaxis_type="log"
    )


if __name__ == "__main__":
    figure().show()
