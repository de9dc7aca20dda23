"""What-if questions: more workers, copies, faster service, added latency; and the number of devices for a rate.

The stations behind the curve are changed, and the changed stations are solved:

- workers k to m: the c = k servers become m, with the same service and delay;
- service times s: S becomes s S; the delay Z, the host's and the link's, stays;
- latency + t: Z becomes Z + t;
- copies k to m: m / k times the device, with the load spread evenly; a lone request takes as long as before.

Where the points do not separate the servers from the delay, every structure that they allow is changed, so that the
band shows the uncertainty. The misfit of the stations at the measured loads is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrate.fitting.calibrating import fit_points
from calibrate.fitting.device_station import points_again
from calibrate.fitting.fit import NOTHING_USED, Fit
from calibrate.fitting.fit_answer import figure_word, fit_answer
from calibrate.fitting.readings import SHEET
from calibrate.inference.parameters import Array, Estimate
from calibrate.inference.weights import middle
from calibrate.models.curves import ClosedModel, Copies
from calibrate.models.structure import LEAST_RATIO, UNLIKELY, ServersAndDelay
from measure.errors import DataError
from measure.loads import ClosedLoad
from measure.repeats import TIE
from measure.units import around, counted, format_duration, format_percent, format_rate
from qsim.errors import InvalidParameterError

RULED_OUT = 2.0
"""A number of workers is ruled out where its error is this multiple of that of free numbers, and above UNLIKELY."""


@dataclass(frozen=True)
class WhatIf:
    """The change: ``workers`` and ``copies``, (number now, number then); ``service``, a factor on service times;
    ``latency_s``, added to the delay. ``called`` is the word for a copy: a drive, a replica.

    >>> from calibrate import from_datasheet, what_if
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> round(what_if(drive, WhatIf(copies=(1, 2))).fit.knee.load)
    95
    """

    copies: tuple[float, float] | None = None
    workers: tuple[float, float] | None = None
    service: float | None = None
    latency_s: float | None = None
    called: str = "drive"

    def __post_init__(self) -> None:
        if self.service is not None and not 0 < self.service < math.inf:
            why = f"must be a positive number, not {self.service:g}"
            raise InvalidParameterError("service", why, value=self.service)
        if self.latency_s is not None and not np.isfinite(self.latency_s):
            raise InvalidParameterError("latency", f"must be a time, not {self.latency_s:g}", value=self.latency_s)
        for name, pair in ((f"{self.called}s", self.copies), ("workers", self.workers)):
            if pair is not None and not all(np.isfinite(n) and n == int(n) > 0 for n in pair):
                why = f"must be positive whole numbers, not {pair[0]:g} and {pair[1]:g}"
                raise InvalidParameterError(name, why, value=pair[0])
        if self.copies is None and not self.changes_stations:
            raise ValueError("nothing is changed; give workers, replicas, drives, service or latency")

    @property
    def changes_stations(self) -> bool:
        """Whether the device itself is changed, not only the number of copies."""
        return self.workers is not None or self.service is not None or self.latency_s is not None


@dataclass(frozen=True, repr=False)
class Scenario:
    """A changed device: its ``fit``; ``changes`` and ``assumptions`` in words.

    >>> from calibrate import WhatIf, from_datasheet, what_if
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> what_if(drive, WhatIf(copies=(1, 2))).changes
    ('2 drives for 1',)
    """

    fit: Fit
    changes: tuple[str, ...]
    assumptions: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join([f"What if: {', '.join(self.changes)}", *fit_answer(self.fit)])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the fit."""
        return {"changes": list(self.changes), "assumptions": list(self.assumptions)}


def what_if(fit: Fit, change: WhatIf) -> Scenario:
    """The scenario of ``change`` on ``fit``. Raises DataError where the fit is of no closed sweep or rules it out.

    >>> from calibrate import WhatIf, from_datasheet
    >>> what_if(from_datasheet(idle_latency=80e-6, peak_iops=600e3), WhatIf(service=0.5)).changes
    ('service times x 0.5',)
    """
    if not isinstance(fit.curve_model, ClosedModel):
        raise DataError(
            f"{fit.series or 'the fit'} is of the model {fit.model}, which no what-if can change; fit queue depths, "
            "clients or threads: qsim fit DATA --out fit.json"
        )
    fit = fit.device
    changed, words, assumptions = fit, list[str](), list[str]()
    if change.changes_stations:
        changed, words, assumptions = _stations(fit, change)
    if change.copies is not None:
        changed, said, assumed = _copies(changed, change.copies, change.called)
        words.append(said)
        assumptions.append(assumed)
    changed = replace(
        changed,
        series=f"{fit.series}, {', '.join(words)}",
        notes=(*fit.notes, *assumptions),
        given=_parameters(changed, fit),
        points=None,
        measured=0,
        law=None,
        details={name: value for name, value in fit.details.items() if name != SHEET},
    )
    return Scenario(changed, tuple(words), tuple(assumptions))


def structure_fit(fit: Fit, servers: int | None = None) -> Fit:
    """``fit`` refitted as ``servers`` (None: unknown) and a delay. DataError where it is not of a closed sweep."""
    made = fit_points(points_again(fit), ServersAndDelay(servers), level=fit.level)
    known = {name: getattr(fit, name) for name in ("details", "measured", "law", "contradicted", "doubted")}
    return replace(made, **known, **({} if fit.used else NOTHING_USED))


def _stations(fit: Fit, change: WhatIf) -> tuple[Fit, list[str], list[str]]:
    """The servers and the delay behind the curve, changed."""
    now, then = (None, None) if change.workers is None else (int(n) for n in change.workers)
    base = structure_fit(fit, now)
    missed = _missed(base)
    if now is not None and missed > max(UNLIKELY, RULED_OUT * _missed(structure_fit(fit))):
        raise DataError(
            f"what-if: {counted(now, 'worker')} do not explain these points, which they miss by about "
            f"{100 * missed:.2g} %; check how many there are now"
        )
    values, words, assumptions = base.table.values.copy(), list[str](), list[str]()
    if then is not None and now is not None:
        values[:, 0] = then
        words.append(f"{counted(then, 'worker')} for {now}")
        assumptions.append("each worker is as fast as now, and nothing that they share is in the way")
    if change.service is not None:
        values[:, 1] *= change.service
        values[:, 2] /= change.service
        words.append(f"service times x {change.service:g}")
        assumptions.append("the delay before the service stays as it is")
    if change.latency_s is not None:
        longer = values[:, 2] + change.latency_s / values[:, 1]
        if float(base.table.weight @ (longer < 0)) > 0.5:
            raise DataError(f"what-if: {format_duration(-change.latency_s)} less is more than the whole delay")
        values[:, 2] = np.maximum(longer, LEAST_RATIO)
        words.append(f"latency {'+' if change.latency_s >= 0 else '-'}{format_duration(abs(change.latency_s))}")
        assumptions.append("the delay is the same for every request, and keeps no server busy")
    if missed > UNLIKELY:
        off = f"{100 * missed:.2g} %"
        assumptions.append(f"servers behind a delay, although no number of them explains these points within {off}")
    elif now is None and (open_part := fit.parameters.get("c")) is not None and not open_part.identified:
        assumptions.append("the number of servers is not known, and the band holds what that leaves open")
    made = replace(base, table=replace(base.table, values=values))
    return _carried(base, made, np.array(base.used)), words, assumptions


def _copies(fit: Fit, copies: tuple[float, float], called: str) -> tuple[Fit, str, str]:
    """More or fewer copies of the device; each gets its share of the load."""
    now, then = (int(n) for n in copies)
    most = fit.knee.high
    if most is not None and most * then / now < 1:
        raise DataError(
            f"what-if: {fit.series or 'the device'} is busy with {most:.3g} requests at most, so it cannot be "
            f"{counted(now, called)}, which take one each; say how many it is, as {called}s=2:1"
        )
    factor, said = then / now, f"{counted(then, called)} for {now}"
    model = Copies(fit.closed_model, factor)
    made = replace(
        fit,
        model=model.name,
        assumption=model.assumption,
        used=tuple(factor * n for n in fit.used),
        used_throughput_per_s=tuple(factor * x for x in fit.used_throughput_per_s),
    )
    return made, said, f"{said}: the load spreads evenly, and nothing that they share is in the way"


def _log_curve(fit: Fit, loads: Array) -> Array:
    """The mean logarithm (m,) of the throughput at ``loads``, by the model alone."""
    return np.asarray(fit.table.weight @ np.log(fit.curve_model.curve(fit.table.values, loads)[0]))


def _missed(fit: Fit) -> float:
    """The relative error (root mean square) of the stations at the points."""
    if not fit.used:
        return 0.0
    missed = _log_curve(fit, np.array(fit.used)) - np.log(fit.used_throughput_per_s)
    return float(np.sqrt(np.mean(missed**2)))


def _carried(fit: Fit, changed: Fit, loads: Array) -> Fit:
    """``changed`` with the misfit of ``fit`` at its points."""
    if not len(loads):
        return changed
    old, new = (np.exp(_log_curve(one, loads)) for one in (fit, changed))
    x = np.array(fit.used_throughput_per_s) * new / old
    return replace(changed, used_throughput_per_s=tuple(x.tolist()), used_response_s=tuple((loads / x).tolist()))


def _parameters(changed: Fit, fit: Fit) -> dict[str, Estimate]:
    """The parameters of the changed device; those that were not identified stay so."""
    found, report = {}, changed.curve_model.report
    for name, (unit, _) in report(changed.table.values[:1]).items():
        estimate, low, high = middle(changed.table, lambda values, name=name: report(values)[name][1], fit.level)  # type: ignore[misc]
        before = fit.parameters.get(name)
        found[name] = Estimate(estimate, low, high, before is not None and before.identified, unit)
    return found


ROOM = 0.8
"""The largest share of its peak at which each device should work, so that waiting stays short."""


@dataclass(frozen=True)
class Capacity:
    """``needed`` of a ``kind`` serve ``rate_per_s``, and ``roomy`` stay below 80 % of their peak.

    The ends of their intervals follow from those of the peak, whose sureness is ``sure``.
    """

    rate_per_s: float
    peak_per_s: float
    needed: int
    needed_low: int | None
    needed_high: int | None
    roomy: int
    roomy_low: int | None
    roomy_high: int | None
    sure: str
    kind: str = "today's kind"

    def __str__(self) -> str:
        rate, share = format_rate(self.rate_per_s, 2), format_percent(100 * self.rate_per_s / self.peak_per_s)
        if self.roomy_high == 1:
            return f"{rate} is {share} of the peak of {self.kind}, {self.sure}: one is enough."
        needed = around(str, self.needed, self.needed_low, self.needed_high)
        roomy = around(str, self.roomy, self.roomy_low, self.roomy_high)
        return f"For {rate} you need {needed} of {self.kind}, {self.sure}; {roomy} to stay below {100 * ROOM:g} % busy."


def capacity_for(fit: Fit, rate_per_s: float, kind: str = "today's kind") -> Capacity:
    """The number of devices that serve a rate. Raises DataError for a fit over anything but requests or clients.

    >>> from calibrate import from_datasheet
    >>> print(capacity_for(from_datasheet(idle_latency=2e-3, peak_iops=1e3), 3000))
    For 3.0 k/s you need 3 (3 to 4) of today's kind, assumed; 4 (4 to 5) to stay below 80 % busy.
    """
    peak = fit.parameters.get("Xmax")
    known = isinstance(fit.load_type, ClosedLoad) or fit.is_seen_through_chain
    if not known or peak is None or peak.estimate is None:
        raise DataError(
            f"{fit.series or 'the fit'} has no peak throughput; fit a sweep over requests outstanding, clients or "
            "connections"
        )
    each, ends = peak.estimate, (peak.high, peak.low)

    def enough(share: float) -> tuple[int, int | None, int | None]:
        low, high = (None if end is None else math.ceil(rate_per_s / (share * end) * (1 - TIE)) for end in ends)
        return math.ceil(rate_per_s / (share * each) * (1 - TIE)), low, high

    sure = figure_word(fit, "Xmax", peak)
    return Capacity(rate_per_s, each, *enough(1.0), *enough(ROOM), sure, kind)
