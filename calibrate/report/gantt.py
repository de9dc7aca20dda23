"""A sample path as a strip for each customer: its wait, then its service, coloured by the server."""

from __future__ import annotations

import numpy as np

from calibrate.report.drawing import AXIS, INK, PALETTE, Drawing, faint
from calibrate.report.view import View
from qsim.engines.trace import SamplePath

MOST = 40  # the most customers of a strip
ROW, EDGE = 22, 150  # pixels of a customer, and of what is around them
WAITING = "#999999"


def gantt_view(path: SamplePath, factor: float = 1.0, unit: str = "") -> View:
    """The first customers of ``path`` from top to bottom, times divided by ``factor``, in ``unit``."""
    shown = min(len(path.arrival), MOST)
    arrival, start, finish = (v[:shown] / factor for v in (path.arrival, path.start, path.finish))
    numbers, server = np.arange(1, shown + 1), path.server[:shown]
    figure = Drawing(
        height=EDGE + ROW * max(shown, 5),
        barmode="overlay",
        bargap=0.25,
        xaxis={**AXIS, "title": {"text": f"time ({unit})" if unit else "time"}, "rangemode": "tozero"},
        yaxis={
            **AXIS,
            "title": {"text": "customer"},
            "autorange": "reversed",
            "showgrid": False,
            "dtick": 1 if shown <= 20 else 5,
        },
    )
    _add(
        figure,
        "waits",
        numbers,
        arrival,
        start,
        {"color": faint(WAITING, 0.45), "line": {"color": WAITING, "width": 1}},
    )
    for one in np.unique(server):
        mine = server == one
        several = len(np.unique(path.server)) > 1
        name = f"served by server {one + 1}" if several else "served"
        _add(figure, name, numbers[mine], start[mine], finish[mine], {"color": PALETTE[int(one) % len(PALETTE)]})
    figure.add_points(
        arrival,
        numbers,
        "arrives",
        {"symbol": "line-ns-open", "size": 12, "color": INK, "line": {"width": 2, "color": INK}},
    )
    return View("gantt", "Each customer's wait and service", _said(path, factor, unit, shown), path.to_frame(), figure)


def _add(
    figure: Drawing, name: str, y: np.ndarray, begin: np.ndarray, end: np.ndarray, look: dict[str, object]
) -> None:
    """Bars from ``begin`` to ``end`` (m,) in the rows ``y``."""
    figure.data.append(
        {
            "type": "bar",
            "orientation": "h",
            "y": y,
            "base": begin,
            "x": end - begin,
            "name": name,
            "marker": look,
            "hovertemplate": f"customer %{{y}} {name}: %{{x:.4g}}<extra></extra>",
        }
    )


def _said(path: SamplePath, factor: float, unit: str, shown: int) -> str:
    """Who waits, and who longest, in a sentence."""
    count, wait = len(path.arrival), path.wait / factor
    more = "" if shown == count else f" The first {shown} are drawn."
    if not (wait > 0).any():
        return f"None of {count} customers waits.{more}"
    longest = int(wait.argmax())
    time = f"{wait[longest]:.4g} {unit}".strip()
    return f"{int((wait > 0).sum())} of {count} customers wait; customer {longest + 1} waits longest, {time}.{more}"
