"""One device, three loads: open, thinking and closed.

Strangers who come at their own rate do not slow down when the device does, so their response time has no limit near
saturation. A benchmark at iodepth N has N requests in flight and waits for its answers: its response time grows by one
straight line. Users who think between an answer and the next request lie between the two. iodepth is no arrival rate.
"""

import plotly.graph_objects as go

from qsim import MMc, MMcN, solve

SERVICE_S, SERVERS, THINK_S = 80e-6, 4, 800e-6


def figure() -> go.Figure:
    """Response time over throughput under each load."""
    loads = range(1, 33)
    closed = [solve(MMcN(population=n, think_time=0, service_time=SERVICE_S, servers=SERVERS)) for n in loads]
    rates = [share * SERVERS / SERVICE_S for share in (i / 100 for i in range(1, 98))]
    opened = [solve(MMc(arrival_rate=rate, service_rate=1 / SERVICE_S, servers=SERVERS)) for rate in rates]
    users = range(1, 81)
    thinking = [solve(MMcN(population=n, think_time=THINK_S, service_time=SERVICE_S, servers=SERVERS)) for n in users]
    drawn = go.Figure()
    drawn.add_scatter(
        x=[s.throughput for s in opened], y=[1e6 * s.W for s in opened], name="open: Poisson", line_color="#D55E00"
    )
    drawn.add_scatter(
        x=[s.throughput for s in thinking],
        y=[1e6 * s.W for s in thinking],
        name="thinking: 1 to 80 users, 800 us",
        line_color="#CC79A7",
    )
    drawn.add_scatter(
        x=[s.throughput for s in closed],
        y=[1e6 * s.W for s in closed],
        name="closed: iodepth 1 to 32",
        mode="lines+markers",
        line_color="#0072B2",
    )
    return drawn.update_layout(xaxis_title="throughput, requests/s", yaxis_title="response time, us")


if __name__ == "__main__":
    figure().show()
