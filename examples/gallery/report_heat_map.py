"""Latency over size and read share.

Course report 000 varied the size of a file and the share of reads at depth 1. The writes went to the page cache: the
first column is not of the drive. `qsim show --dataset 000-ssd --report page.html` draws one map for each depth.
"""

import plotly.graph_objects as go

from calibrate.report.measured import published, views_of


def figure() -> go.Figure:
    """The mean latency in each cell, colours in logarithms."""
    views = views_of(published("000-ssd"), {})
    return next(view.figure.to_plotly() for view in views if view.name == "latency-map-1")


if __name__ == "__main__":
    figure().show()
