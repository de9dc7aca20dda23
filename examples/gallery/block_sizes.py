"""IOPS and bandwidth over the block size.

Small blocks are limited by the requests that a drive takes per second, large ones by the bytes that it moves. Each axis
ends at the highest of its own, so the curves cross where both are at the same share of it. Course report 004, depth 1.
"""

import plotly.graph_objects as go

from calibrate.report.measured import published, views_of


def figure() -> go.Figure:
    """Two axes over the block size, and the crossover."""
    views = views_of(published("004-ssd-block-size"), {})
    return next(view.figure.to_plotly() for view in views if view.name == "iops-and-bandwidth-1")


if __name__ == "__main__":
    figure().show()
