"""A system in a few lines, and its table."""

from __future__ import annotations

import math

import numpy as np

from calibrate.application.arrivals import UnderArrivals
from calibrate.application.system import System
from calibrate.inference.parameters import Array, Estimate
from measure.units import around, format_duration, format_rate, plain_number, with_interval
from qsim.result import table

LABEL = 12
SHOWN = 12
"""Rows of a table."""
WHOLE_FROM = 10
"""Clients from which a place on the curve is printed as a whole number; they are simulated at whole numbers alone."""
DOUBLE = 2.0
"""A gain beyond this is a factor, and a smaller one a percentage."""


def system_answer(found: System) -> str:
    """Bottleneck, knee and the gain from a second station, and warnings."""
    parts = [*answer_parts(found).items(), *(("warning", doubt) for doubt in found.doubts)]
    return "\n".join(f"{label.upper():<{LABEL}}{text}" for label, text in parts)


def answer_parts(found: System) -> dict[str, str]:
    """The lines of ``system_answer``, by label."""
    now, (peak, then) = float(found.peak.estimate or np.nan), found.peak_with_two(found.bottleneck)
    with_two = f"{format_rate(peak)}, {_times(peak / now)}"
    with_two += "" if then == found.bottleneck else f", then {then} limits"
    gains = sorted((found.gain(name), name) for name in found.doubled)
    if not isinstance(found, UnderArrivals):
        there = ", ".join(f"{name} {_times(gain)}" for gain, name in reversed(gains))
        most = f"{found.clients[-1]:g} client{'s' if found.clients[-1] > 1 else ''}"
        return {
            "bottleneck": f"{_bottleneck(found)}: at most {_rate(found.peak)}",
            "knee": knee_text(found),
            "doubled": f"{found.bottleneck}: peak {with_two}; with {most} {there}",
        }
    rate, falls = found.rates[-1], (f"{name} by {max(100 * (1 - gain), 0):.0f} %" for gain, name in gains)
    below = f"{found.bottleneck}: stable below {with_two}"
    return {
        "bottleneck": f"{_bottleneck(found)}: stable below {_rate(found.peak)}",
        "response": f"{_time(found.response()[:, -1])} at {format_rate(rate)}, {100 * rate / now:.0f} % of that",
        "doubled": f"{below}; at {format_rate(rate)} the response falls with {', '.join(falls)}",
    }


def _bottleneck(found: System) -> str:
    """The bottleneck and, where its peak or another's is uncertain, in how many of the draws it is that."""
    share = found.bottleneck_share
    if found.is_certain:
        return found.bottleneck
    return f"{found.bottleneck} in {'all' if share == 1 else f'{math.floor(100 * share)} % of the'} draws"


def _time(band: Array) -> str:
    """A response time with its band, whose end may be open."""
    middle, low, high = (float(v) for v in band)
    return with_interval(format_duration, middle, low, high if np.isfinite(high) else None)


def knee_text(found: System) -> str:
    """The knee, the throughput with the clients printed, and their number at 90 % of the peak."""
    knee, ninety = found.knee, found.ninety
    load = max(knee.estimate or 1.0, 1.0)
    if load >= WHOLE_FROM or not np.isin([np.floor(load), np.ceil(load)], found.known_at).all():
        load = round(load)
    there = f"beyond the {found.clients[-1]:g} asked for"
    if load <= found.known_at[-1]:
        x, r = float(found.throughput([load])[0, 0]), float(found.response([load])[0, 0])
        there = f"{format_rate(x)} at {format_duration(r)}"
    reached = ninety.note if ninety.estimate is None else f"at {_interval(ninety)}"
    return f"{_clients(knee)}: {there}; 90 % of the peak {reached}"


def within_text(found: System, response_s: float, share: float | None = None) -> str:
    """The number of clients within an objective for the mean response time or a percentile."""
    most, what = found.within(response_s, share), "mean" if share is None else f"p{100 * share:g}"
    if isinstance(found, UnderArrivals):
        return f"up to {_rate(most)} the {what} response is within {format_duration(response_s)}"
    if most.estimate == 0:
        least = found.response() if share is None else found.percentile(share)
        few = plain_number(float(found.clients[0]))
        some = f"{few} client{'' if few == '1' else 's'}"
        return f"none: with {some} the {what} response is {format_duration(float(least[0, 0]))}"
    return f"{_clients(most)} have a {what} response within {format_duration(response_s)}"


def system_table(found: System) -> str:
    """Throughput, response and the utilisation of each station over the clients, or over the rates, with bands."""
    if isinstance(found, UnderArrivals):
        return _rates_table(found)
    count = len(found.clients)
    spread = np.arange(count) if count <= SHOWN else np.rint(np.geomspace(1, count, SHOWN)).astype(int) - 1
    asked = found.clients[np.unique(spread)]
    marks = {**_marked(found, found.ninety, "N90"), **_marked(found, found.knee, "N*")}
    at = np.unique([*asked, *marks])
    x, r = found.throughput(at), found.response(at)
    tails = [found.percentile(q, at) for q in found.percentiles]
    busy = [found.utilization(name, at)[0] for name in found.stations]
    lines = [
        (
            f"{marks.get(n, '')} {n:g}".strip(),
            with_interval(format_rate, *x[:, i]),
            *(with_interval(format_duration, *times[:, i]) for times in (r, *tails)),
            *(f"{100 * share[i]:.0f} %" for share in busy),
        )
        for i, n in enumerate(at)
    ]
    band = _band(found, x, r)
    shares = (f"P{100 * q:g}" for q in found.percentiles)
    header = ("CLIENTS", f"THROUGHPUT{band}", f"RESPONSE{band}", *shares, *(n.upper() for n in found.stations))
    return table(header, lines, left=0)


def _rates_table(found: UnderArrivals) -> str:
    times = [found.response(), *(found.percentile(q) for q in found.percentiles)]
    busy = [found.utilization(name)[0] for name in found.stations]
    lines = [
        (format_rate(rate), *(_time(each[:, i]) for each in times), *(f"{100 * share[i]:.0f} %" for share in busy))
        for i, rate in enumerate(found.rates)
    ]
    shares = (f"P{100 * q:g}" for q in found.percentiles)
    return table(
        ("ARRIVALS", f"RESPONSE{_band(found, times[0])}", *shares, *(n.upper() for n in found.stations)), lines, left=0
    )


def _band(found: System, *figures: Array) -> str:
    """What stands beside a heading where any of the ``figures`` (3, m) has a band."""
    known = all(np.allclose(one, one[0], equal_nan=True) for one in figures)
    return "" if known else f" ({100 * found.level:g} % band)"


def _marked(found: System, place: Estimate, mark: str) -> dict[float, str]:
    """The whole number of clients nearest to a place on the curve, if it is among those asked for and known."""
    if place.estimate is None:
        return {}
    n = float(max(round(place.estimate), 1))
    known = found.clients[0] <= n <= found.clients[-1] and n in found.known_at
    return {n: mark} if known else {}


def _times(gain: float) -> str:
    return f"{gain:.2g} times" if gain > DOUBLE else f"{round(100 * (gain - 1)):+d} %"


def _clients(estimate: Estimate) -> str:
    return f"{_interval(estimate)} client{'' if estimate.estimate == estimate.high == 1 else 's'}"


def _interval(estimate: Estimate) -> str:
    """``23 (20 to 27)``; the note where the estimate is unknown."""

    def show(number: float) -> str:
        return plain_number(number, 2)

    if estimate.estimate is None:
        least = f" ({show(estimate.low)} at least)" if estimate.low else ""
        return f"{estimate.note}{least}"
    return around(show, estimate.estimate, estimate.low, estimate.high)


def _rate(estimate: Estimate) -> str:
    """``5.36 k/s (4.64 to 5.55)``, of which 90 % and products with times can be checked; the note where unknown."""
    if estimate.estimate is None:
        return estimate.note
    return with_interval(format_rate, estimate.estimate, estimate.low, estimate.high, digits=3)
