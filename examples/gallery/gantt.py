"""Each customer's wait and service.

Two servers and ten customers: the grey part of a strip is the wait, the rest the service, coloured by the server.
`qsim trace mmc --servers 2 --arrival-rate 1.6 --service-rate 1 --report strip.html` draws it for any queue.
"""

import plotly.graph_objects as go

from calibrate.report.gantt import gantt_view
from qsim import MMc, trace
from qsim.engines.trace import draw


def figure() -> go.Figure:
    """A strip for each of the first ten customers."""
    queue = MMc(arrival_rate=1.6, service_rate=1.0, servers=2)
    drawn = gantt_view(trace(queue, *draw(queue, 10, seed=1))).figure
    return go.Figure() if drawn is None else drawn.to_plotly()


if __name__ == "__main__":
    figure().show()
