"""Mean latency with its spread.

Course report 002 at depth 1: a whisker is one standard deviation of single requests, and *both* is as many reads as
writes, pooled by the law of total variance. `qsim show --dataset 002-ssd-baseline --report page.html` draws it.
"""

import plotly.graph_objects as go

from calibrate.report.measured import latency_section
from measure.datasets import dataset_latencies


def figure() -> go.Figure:
    """Bars of reads, writes and both together."""
    views = latency_section(dataset_latencies("002-ssd-baseline")).views
    return next(view.figure.to_plotly() for view in views if view.name == "spread")


if __name__ == "__main__":
    figure().show()
