"""Erlang B: how many lines are enough.

The share of calls that find every line busy, over the offered load, for several numbers of lines.
"""

import numpy as np
import plotly.graph_objects as go

from qsim import erlang_b

COLOURS = ("#D55E00", "#E69F00", "#009E73", "#56B4E9", "#0072B2")


def figure() -> go.Figure:
    """Blocking over the offered load."""
    offered = np.linspace(0.2, 40, 200)
    drawn = go.Figure()
    for lines, colour in zip((2, 5, 10, 20, 40), COLOURS, strict=True):
        drawn.add_scatter(
            x=offered, y=[erlang_b(lines, float(a)) for a in offered], name=f"{lines} lines", line_color=colour
        )
    return drawn.update_layout(
        xaxis_title="offered load, erlang", yaxis_title="share of calls lost", yaxis_type="log", yaxis_range=[-4, 0]
    )


if __name__ == "__main__":
    figure().show()
