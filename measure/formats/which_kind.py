"""Which load made these points: requests in flight, users who think, or arrivals, told or found.

Of a table with N, X and R the interactive response time law, N = X (R + Z), tells: Z = N / X - R is about zero at every
point where N requests are always in flight, and the same time at every point where N users think (bounds tried on 275
published tables). Else the finding ``load-kind`` is an error that asks, and no model is fitted before it is answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import LOAD_KIND, Finding
from measure.loads import ArrivalRate, Clients, ClosedLoad, Depth, Gaps, Load
from measure.origin import ORIGIN, computed, word_of
from measure.sweep import Sweep
from measure.units import format_duration, parse_duration, plain_number

Floats = NDArray[np.float64]

IN_FLIGHT, MOST_IN_FLIGHT = 0.9, 1.25
"""N is in flight where X R / N is above the first at the median, and nowhere above the second."""

OF_THINKING, OF_CYCLE = 0.10, 0.05
"""The think times of all points are one where they differ by at most these shares of Z and of N / X."""

TOLD = ("think", "gaps")  # what --columns tells of the load beside columns: ``think=1s``, ``gaps=poisson``

ORIGIN_OF_KIND = "load kind"  # the key in a sweep's details of how the kind of load is known, in words

FROM_TOOL = "closed by the tool"
"""The key in a sweep's details that says that N users circulate, who may think: one point tells their think time."""

NO_PAUSE = "no pause by the tool"
"""The key in a sweep's details that says that each client sends its next request at once."""

PACES = "may send at a rate"
"""The key in a sweep's details of the option by which the tool sends at a rate, where few of its clients were busy."""

FEW_BUSY = 0.5
"""Where fewer than this share of the clients wait for an answer, a tool that can send at a rate perhaps did."""

NEAR, THOUSAND = 0.02, 1000.0
"""A load is the throughput itself within the first; a unit of time wrong by the second is no other kind of load."""

_COUNTS_REQUESTS = re.compile(r"(?i)depth|qd|outstanding|flight|jobs")


def told_apart(
    columns: Mapping[str, str] | None, *, of_table: bool = False
) -> tuple[dict[str, str] | None, dict[str, str]]:
    """``columns`` without what they tell of the load, and that.

    Those of a table keep ``think``: it may name the column of think times, and a time takes its place.

    >>> told_apart({"latency": "ms", "think": "1s"}), told_apart({"think": "0"})
    (({'latency': 'ms'}, {'think': '1s'}), (None, {'think': '0'}))
    >>> told_apart({"think": "pause_ms"}, of_table=True)
    ({'think': 'pause_ms'}, {})
    """
    given = dict(columns or {})
    told = {role: given.pop(role) for role in TOLD if role in given}
    if of_table and "think" in told:
        given["think"] = told["think"]
        told = {role: text for role, text in told.items() if role != "think" or is_time(text)}
    return given or None, told


def is_time(text: str) -> bool:
    """Whether a text is a time, as that of a think time."""
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def of_its_kind(sweep: Sweep, told: Mapping[str, str]) -> Sweep:
    """The sweep with its kind of load as ``told``, or as its points tell; a Finding where they do not.

    Raises DataError for what cannot be: a think time of another load than clients, or beyond N / X.
    """
    if sweep.also:  # gaps are said of rates alone, a think time of clients alone
        parts = []
        for part in (replace(sweep, also=()), *sweep.also):
            known = ORIGIN_OF_KIND in part.provenance.details
            mine = {"gaps"} if isinstance(part.load_type, ArrivalRate) else set() if known else {"think"}
            parts.append(of_its_kind(part, {key: text for key, text in told.items() if key in mine}))
        return replace(parts[0], also=tuple(parts[1:]))
    if "gaps" in told:
        sweep = _with_gaps(sweep, told["gaps"])
    if "think" in told:
        return _told(sweep, told["think"])
    return _found(sweep) if _may_think(sweep) else sweep


def said(sweep: Sweep, kind: str) -> Sweep:
    """The sweep of the ``kind`` that a column of its table says: closed, thinking, poisson, paced, or a think time."""
    if kind == "closed":
        return _known(sweep, "no think time: told")
    if kind == "thinking":
        noun = sweep.load_type.plural if isinstance(sweep.load_type, Clients) else "users"
        return replace(sweep, load_type=Clients(think=None, noun=noun))
    if is_time(kind):
        return _told(sweep, kind)
    return _with_gaps(sweep, kind)


def _with_gaps(sweep: Sweep, gaps: str) -> Sweep:
    if PACES in sweep.provenance.details:
        points = sweep.points.assign(load=sweep.points["throughput_per_s"])
        unplaced = tuple(replace(f, load=None, place="") for f in sweep.findings)  # N is a place on the curve no more
        sweep = replace(sweep, points=points, load_type=ArrivalRate(), findings=unplaced)
    if not isinstance(sweep.load_type, ArrivalRate):
        raise DataError(f"{sweep.name}: gaps={gaps} is of arrivals at a rate, and these are {sweep.load_type.plural}")
    kinds: dict[str, Gaps] = {"poisson": "poisson", "paced": "paced"}
    if gaps not in kinds:
        raise DataError(f"--columns: gaps={gaps!r} is unknown; give poisson or paced")
    said = "evenly spaced" if gaps == "paced" else "Poisson"
    answered = tuple(f for f in sweep.findings if f.check != LOAD_KIND)
    of_rates = replace(sweep, load_type=ArrivalRate(gaps=kinds[gaps]), findings=answered)
    return _known(of_rates, f"{said} arrivals: told")


def _told(sweep: Sweep, text: str) -> Sweep:
    """The sweep whose clients think for a time that the user says."""
    load = sweep.load_type
    if not isinstance(load, ClosedLoad):
        raise DataError(f"{sweep.name}: think={text} is of clients, users or threads, and these are {load.plural}")
    try:
        think = 0.0 if text.strip() == "0" else parse_duration(text)
    except ValueError as error:
        raise DataError(f"--columns: the think time {text!r} is no time ({error}); write it like think=1s") from error
    if think < 0:
        raise DataError(f"--columns: the think time {text!r} is below zero; write it like think=1s, or think=0")
    if think == 0:
        answered = tuple(f for f in sweep.findings if f.check != LOAD_KIND)
        return _known(replace(sweep, findings=answered), "no think time: told")
    cycle = (sweep.points["load"] / sweep.points["throughput_per_s"]).to_numpy(float)
    of_cycles = np.array([o == computed("N / X") for o in sweep.points[ORIGIN["latency_s"]]])
    if (cycle <= think * np.where(of_cycles, 1, 1 - OF_CYCLE)).any():  # a measured X may be rounded
        at = load.at(float(sweep.points["load"].iloc[int(cycle.argmin())]))
        raise DataError(
            f"{sweep.name}: nobody thinks for {format_duration(think)} here: N / X, the time of a whole cycle, is "
            f"{format_duration(cycle.min())} at {at}"
        )
    made, points = _thinking(load, think), sweep.points.copy()
    points.loc[of_cycles, "latency_s"] -= think  # what was computed as N / X holds the think time
    points.loc[of_cycles, ORIGIN["latency_s"]] = computed("N / X - Z")
    return _known(replace(sweep, points=points, load_type=made), f"{made.plural}{made.who}: told")


def _may_think(sweep: Sweep) -> bool:
    """Whether the load may be users who think: a count of clients, or one whose column does not speak of requests."""
    load = sweep.load_type
    if ORIGIN_OF_KIND in sweep.provenance.details:
        return False
    if PACES in sweep.provenance.details:
        return True
    if isinstance(load, Clients):
        return not load.think
    column = sweep.provenance.details.get("columns", {}).get("depth", "")
    return isinstance(load, Depth) and bool(column) and not _COUNTS_REQUESTS.search(column)


@dataclass(frozen=True)
class _Curve:
    """N, X and R of one curve at the points where all three were measured."""

    load: Floats
    throughput: Floats
    response: Floats

    @property
    def cycle(self) -> Floats:
        """N / X, the mean time from one answer of a client to its next."""
        return self.load / self.throughput

    @property
    def think(self) -> Floats:
        """Z = N / X - R."""
        return self.cycle - self.response

    @property
    def share(self) -> Floats:
        """X R / N, the share of clients that wait for an answer."""
        return self.response / self.cycle


def _curves(sweep: Sweep) -> dict[str, _Curve]:
    columns = ["load", "throughput_per_s", "latency_s"]
    points = sweep.points
    for origin in ORIGIN.values():
        points = points[points[origin].map(word_of) != "computed"]
    means = points.groupby(["series", "load"])[columns[1:]].mean().reset_index()
    by_series = means.groupby("series", sort=False)
    return {str(series): _Curve(*group[columns].to_numpy(float).T) for series, group in by_series}


def _found(sweep: Sweep) -> Sweep:
    """The sweep of the kind that its points tell."""
    curves = _curves(sweep)
    if not curves or all(_is_in_flight(c) for c in curves.values()):
        told = sweep.load_type
        return replace(sweep, load_type=replace(told, think=0.0)) if isinstance(told, Clients) else sweep
    parts = [(c.load, c.throughput, c.response) for c in curves.values()]
    whole = _Curve(*map(np.concatenate, zip(*parts, strict=True)))
    think, load = whole.think, sweep.load_type
    middle = float(np.median(think))
    enough = len(set(whole.load)) > 1 or FROM_TOOL in sweep.provenance.details
    one = np.abs(think - middle) <= OF_THINKING * middle + OF_CYCLE * whole.cycle
    if enough and (think > 0).all() and one.all() and isinstance(load, ClosedLoad):
        made = _thinking(load, float(f"{middle:.4g}"))
        said = f"{made.plural}{made.who}: found"
        message = f"{said}: N / X - R is {_range(think, format_duration)} at every point."
        option = f"--columns think={format_duration(middle, 2).replace(' ', '')}"
        finding = Finding(LOAD_KIND, "info", message, remedy=f"if you know their think time, say it: {option}")
        return _known(replace(sweep, load_type=made, findings=(*sweep.findings, finding)), said)
    return replace(sweep, findings=(*sweep.findings, *_questions(sweep, curves, enough=enough)))


def _questions(sweep: Sweep, curves: Mapping[str, _Curve], *, enough: bool) -> list[Finding]:
    """The findings that ask which load it was, for each curve that may have fewer than N in flight, or more."""
    details = sweep.provenance.details
    of_tool = NO_PAUSE in details
    asked = [
        replace(_question(curve, sweep.load_type, enough=enough, of_tool=of_tool), series=series)
        for series, curve in curves.items()
        if not _is_in_flight(curve)
    ]
    if of_tool:  # the load is known; the points are odd
        return [replace(f, severity="warning") for f in asked]
    if option := details.get(PACES):
        why = f"{sweep.provenance.tool} was perhaps held at a rate ({option})."
        remedy = (
            "say which it was: --columns gaps=paced where it was, and the throughput is that rate; --columns think=0 "
            "where N were in flight."
        )
        if option == "thinktime":
            why = "fio paused between the requests of each job (thinktime)."
            remedy = (
                "say how long, where each job kept one request: --columns think=1ms for thinktime=1000; at greater "
                "depths run again without thinktime."
            )
        return [replace(f, severity="error", hypothesis=why, remedy=remedy) for f in asked]
    return asked


def _is_in_flight(curve: _Curve) -> bool:
    """Whether N requests were always in flight, though a latency may be in another unit."""
    thousands = THOUSAND ** round(float(np.median(np.log(curve.share))) / np.log(THOUSAND))
    share = curve.share / thousands
    return bool(np.median(share) > IN_FLIGHT and share.max() <= MOST_IN_FLIGHT)


def _question(curve: _Curve, load: Load, *, enough: bool, of_tool: bool) -> Finding:
    """The finding that asks which load it was: a warning where most points have N in flight, else an error."""
    usual = IN_FLIGHT < float(np.median(curve.share)) <= MOST_IN_FLIGHT
    remedy = "say which it was: --columns think=1s where they think for a second, think=0 where nobody thinks."
    rates = (np.abs(curve.load / curve.throughput - 1) <= NEAR) & (curve.share < IN_FLIGHT)
    others = curve.share[~rates]
    if rates.any() and len(others) and (others > IN_FLIGHT).all() and others.max() <= MOST_IN_FLIGHT:
        usual = False
        message = f"the load is the throughput at {load.texts(curve.load[rates])}, and in flight at the other points."
        why = "kinds of load are mixed in one table, and no column says which."
        remedy = "add a column kind, with closed, thinking, poisson or paced in each row."
    elif (curve.response > curve.cycle).any():
        at = int(curve.share.argmax())
        message = (
            f"R is above N / X at {load.at(curve.load[at])}: {format_duration(curve.response[at])} and "
            f"{format_duration(curve.cycle[at])}."
        )
        why = f"more requests were in flight than {load.plural}, or a column is another one."
        more = "name the columns, as --columns load=COLUMN,latency=COLUMN:ms"
        if of_tool:
            more = "say how many requests each keeps outstanding, as --columns pipeline=10"
        remedy = f"{more}, or take N as it is: --columns think=0."
    elif not enough:
        message = f"X R / N is {curve.share[0]:.2g} at {load.at(curve.load[0])}."
        why = f"{load.plural} may think, or fewer requests were in flight: one point does not tell."
    else:
        shares, thinks = _range(curve.share, lambda n: plain_number(n, 2)), _range(curve.think, format_duration)
        message = f"X R / N is {shares}, and N / X - R is no fixed time ({thinks})."
        why = "the kind of load is unknown."
    return Finding(LOAD_KIND, "warning" if usual else "error", message, hypothesis=why, remedy=remedy)


def _thinking(load: ClosedLoad, think: float) -> Clients:
    """Clients who think; requests do not."""
    named = isinstance(load, Clients) and "requests" not in load.noun
    return Clients(think=think, noun=load.plural) if named else Clients(think=think)


def _known(sweep: Sweep, how: str) -> Sweep:
    details = {**sweep.provenance.details, ORIGIN_OF_KIND: how}
    return replace(sweep, provenance=replace(sweep.provenance, details=details))


def _range(values: Floats, show: Callable[[float], str]) -> str:
    low, high = show(float(values.min())), show(float(values.max()))
    return low if low == high else f"{low} to {high}"
