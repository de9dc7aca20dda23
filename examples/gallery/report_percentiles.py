"""Percentiles over depth.

Course report 002: p50 to p99.9 of what it calls reads, which its baseline shows to be writes.
`qsim show --dataset 002-ssd-tails --report page.html` draws both directions.
"""

import plotly.graph_objects as go

from calibrate.report.measured import latency_section
from measure.datasets import dataset_latencies


def figure() -> go.Figure:
    """A line for each percentile."""
    views = latency_section(dataset_latencies("002-ssd-tails")).views
    return next(view.figure.to_plotly() for view in views if view.name == "tails-2")


if __name__ == "__main__":
    figure().show()
