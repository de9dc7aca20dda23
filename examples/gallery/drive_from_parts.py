"""From a drive's parts to its curve.

A Samsung PM981a (4 KiB random reads) built of a host, thirteen dies and a link, and simulated at every depth. Three of
its measured points set the three numbers; the others lie on the curve. Then the same drive with a part changed: dies
that sleep, completions that wait for each other, reads striped over four dies, a host that lets 16 in.
"""

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from qsim import Delay, Deterministic, Exponential, Gather, Network, Node, Region, simulate

MEASURED = Path(__file__).parents[2] / "docs" / "data" / "drives-later" / "samsung-pm981a-mzvlb256-randread.csv"
USED = (1, 16, 128)
HOST, DIE, LINK, DIES = 3e-6, 69.5e-6, 6.73e-6, 13
"""The host is assumed; a lone request takes HOST + DIE + LINK; the deepest point is 1 / LINK; depth 16 counts dies."""
CUSTOMERS = 40_000


def drive(depth: int, gather: tuple[int, float] | None = None, region: int | None = None, **dies: object) -> Network:
    """The drive with so many requests in flight, and what is changed of its dies or behind them."""
    parts: dict[str, Node | Delay] = {
        "host": Delay(HOST),
        "dies": Node(**{"service": Exponential(DIE), "servers": DIES, "queues": "random", **dies}),  # type: ignore[arg-type]
        "link": Node(Deterministic(LINK)),
    }
    if gather:
        parts["interrupt"] = Gather(count=gather[0], after=gather[1])
    inside = [Region(["dies", "link"], region, name="tags")] if region else []
    return Network(parts, populations={"host": depth}, regions=inside)


CHANGED: dict[str, dict[str, object]] = {
    "of its parts": {},
    "dies sleep after 1 ms, 200 µs to wake": {"setup": Deterministic(200e-6), "off_after": 1e-3},
    "8 completions or 100 µs": {"gather": (8, 100e-6)},
    "striped over 4 of 4 dies": {"servers": 4, "queues": "split", "service": Exponential(DIE / 4)},
    "at most 16 inside": {"region": 16},
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def throughput(depth: int, changed: dict[str, object]) -> float:
    """Requests a second, simulated."""
    model = drive(depth, **changed)  # type: ignore[arg-type]
    return simulate(model, customers=CUSTOMERS, seed=1, allow_short=True).throughput


def figure() -> go.Figure:
    """Latency over throughput: measured points, the drive of parts, and with each part changed."""
    measured = pd.read_csv(MEASURED)
    drawn = go.Figure()
    for (name, changed), colour in zip(CHANGED.items(), COLOURS, strict=True):
        depths = sorted({*measured["iodepth"], *(3, 6, 12, 24, 48, 96)})
        rates = [throughput(int(n), changed) for n in depths]
        drawn.add_scatter(
            x=[x / 1e3 for x in rates],
            y=[1e6 * n / x for n, x in zip(depths, rates, strict=True)],
            name=name,
            text=[f"N = {n}" for n in depths],
            line={"color": colour, "dash": "solid" if not changed else "dot"},
        )
    for used, name, symbol in ((True, "measured, used", "circle"), (False, "measured, held out", "circle-open")):
        rows = measured[measured["iodepth"].isin(USED) == used]
        drawn.add_scatter(
            x=rows["iops"] / 1e3,
            y=rows["latency_us"],
            name=name,
            mode="markers",
            text=[f"N = {n}" for n in rows["iodepth"]],
            marker={"color": "black", "size": 10, "symbol": symbol},
        )
    return drawn.update_layout(
        xaxis_title="throughput, k requests/s",
        yaxis_title="latency, µs",
        yaxis_type="log",
        legend_x=0.02,
        legend_y=0.98,
    )


if __name__ == "__main__":
    figure().show()
