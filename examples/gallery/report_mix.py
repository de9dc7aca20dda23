"""Latency of reads and writes over the mix.

Course report 004: reads, writes and both together at depth 1, 16 KiB. `qsim show --dataset 004-ssd-mix --report
page.html` draws it, with whiskers where the tool prints the spread of single requests.
"""

import plotly.graph_objects as go

from calibrate.report.measured import published, views_of


def figure() -> go.Figure:
    """Bars at each share of reads."""
    views = views_of(published("004-ssd-mix"), {})
    return next(view.figure.to_plotly() for view in views if view.name == "latency-by-direction-1")


if __name__ == "__main__":
    figure().show()
