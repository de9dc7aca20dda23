"""What if: the fitted device with one more drive in the stripe, half the service time, a bigger block, no write cache.

A scenario is a fit with other parameters: every device that stands for the fit is changed alike, so that the band comes
along.
With R the latency of the busy device, Xmax its peak and N* = R Xmax:

- drives k to m: the peak becomes Xmax m / k, and a lone request takes as long as before;
- service times s: R = Z + (R - Z) becomes Z + s (R - Z), Xmax / s, where Z is the host's part, which does not change;
- block b to c: service is alpha + beta b. beta from fits at two sizes (R and 1 / Xmax on a straight line over the
  size), or from a link of bandwidth B: R + (c - b) / B, and Xmax at most B / c;
- no write cache: R becomes the latency of the medium; the peak, measured over longer than a cache takes, stays.

What a scenario assumes is said in words, and what it lacks is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.answer import fit_answer
from calibrate.fitting.fitted import Fit
from calibrate.inference.estimates import Estimate, middle, reported
from calibrate.inference.even import even
from calibrate.inference.parameters import Array
from calibrate.inference.weights import Weights
from calibrate.knees.knee import SHEET
from calibrate.models.curves import AsymptoticBounds, PNorm
from measure.errors import DataError
from measure.units import counted, format_bandwidth, format_bytes, format_duration
from qsim.errors import InvalidParameterError
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class WhatIf:
    """What is changed. ``drives``: how many now and how many then; ``service``: the factor on service times, of which
    ``host_s`` is not a part; ``block_bytes`` then, ``from_block_bytes`` now where the fit does not know it, over a link
    of ``bandwidth_bytes_per_s``; ``medium_s``: the latency of the medium behind the write cache that is turned off.
    ``called`` is what a drive is called in words: a replica of a server is as good.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> from calibrate import what_if
    >>> round(what_if(drive, WhatIf(drives=(1, 2))).fit.knee.load)
    94
    """

    drives: tuple[float, float] | None = None
    service: float | None = None
    host_s: float | None = None
    block_bytes: float | None = None
    from_block_bytes: float | None = None
    bandwidth_bytes_per_s: float | None = None
    write_cache_off: bool = False
    medium_s: float | None = None
    called: str = "drive"

    def __post_init__(self) -> None:
        for name in ("service", "block_bytes", "from_block_bytes", "bandwidth_bytes_per_s", "medium_s"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                what = name.removesuffix("_bytes_per_s").removesuffix("_bytes").removesuffix("_s").replace("_", " ")
                raise InvalidParameterError(what, f"must be a positive number, not {value:g}", value=value)
        if self.host_s is not None and not (np.isfinite(self.host_s) and self.host_s >= 0):
            raise InvalidParameterError("host", f"must be zero or more, not {self.host_s:g}", value=self.host_s)
        if self.drives is not None and not all(np.isfinite(n) and n == int(n) > 0 for n in self.drives):
            raise InvalidParameterError(
                f"{self.called}s",
                f"must be positive whole numbers, not {self.drives[0]:g} and {self.drives[1]:g}",
                value=self.drives[0],
            )
        if self.drives is None and self.service is None and self.block_bytes is None and not self.write_cache_off:
            raise ValueError("nothing is changed; give drives, service, block or write-cache=off")
        if self.write_cache_off and self.medium_s is None:
            raise ValueError(
                "write-cache=off needs the latency of the medium, as medium=3ms; measure it at depth 1 with "
                "the cache off, or take it from the data sheet"
            )


@dataclass(frozen=True, repr=False)
class Scenario(Result):
    """``fit`` predicts the changed device; ``changes`` and ``assumptions`` say in words what was changed and how.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> from calibrate import WhatIf, what_if
    >>> what_if(drive, WhatIf(drives=(1, 2))).changes
    ('2 drives for 1',)
    """

    fit: Fit
    changes: tuple[str, ...]
    assumptions: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter of the changed device."""
        return self.fit.to_frame()

    def plot(self) -> Figure:
        """Throughput and response time of the changed device with their bands, against the load."""
        return self.fit.plot()

    def __repr__(self) -> str:
        return "\n".join([f"What if: {', '.join(self.changes)}", *fit_answer(self.fit)])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the fit."""
        return {"changes": list(self.changes), "assumptions": list(self.assumptions)}


@dataclass(frozen=True)
class _Device:
    """Latency of the busy device and peak, of each row (n,)."""

    response: Array
    peak: Array

    @classmethod
    def of(cls, values: Array) -> _Device:
        return cls(values[:, 0] / values[:, 1], values[:, 1])

    def into(self, values: Array) -> Array:
        """The parameters (w, d) with this latency and this peak; N* is at least one."""
        changed = values.copy()
        changed[:, 0] = np.maximum(self.response * self.peak, 1.0)
        changed[:, 1] = self.peak
        return changed


def what_if(fit: Fit, change: WhatIf, others: Sequence[Fit] = ()) -> Scenario:
    """The scenario of ``change`` on ``fit``; ``others``: fits of the same device, which may tell of other block sizes.

    Raises DataError where the fit is of no closed sweep, or of a model that a scenario cannot change, and where it does
    not know what the change needs.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> from calibrate import WhatIf
    >>> what_if(drive, WhatIf(service=0.5)).changes
    ('service times x 0.5',)
    """
    model = fit.curve_model
    if not fit.load_type.is_closed or not isinstance(model, PNorm | AsymptoticBounds):
        raise DataError(
            f"{fit.series or 'the fit'} is of the model {fit.model}, which no what-if can change; fit queue depths "
            "with the p-norm (the default): qsim fit DATA --out fit.json"
        )
    changed, words, assumptions = fit, [], []
    for step in (_service, _block, _no_cache, _drives):  # drives last: what changes one of them changes all
        if (done := step(changed, change, others)) is not None:
            changed, said, assumed = done
            words.append(said)
            assumptions.append(assumed)
    changed = replace(
        changed,
        series=f"{fit.series}, {', '.join(words)}",
        notes=(*fit.notes, *assumptions),
        told=_parameters(changed, fit),
        points=None,
        details={name: value for name, value in fit.details.items() if name != SHEET},
    )
    return Scenario(changed, tuple(words), tuple(assumptions))


_Step = tuple[Fit, str, str] | None


def _drives(fit: Fit, change: WhatIf, _: Sequence[Fit]) -> _Step:
    if change.drives is None:
        return None
    now, then = (int(n) for n in change.drives)
    factor, most = then / now, fit.knee.high
    if most is not None and most * factor < 1:
        raise DataError(
            f"what-if: {fit.series or 'the device'} is busy with {most:.3g} requests at most, so it cannot be "
            f"{counted(now, change.called)}, which take one each; say how many it is, as drives=2:1"
        )
    said = f"{counted(then, change.called)} for {now}"
    return (
        _changed(fit, lambda d: _Device(d.response, factor * d.peak)),
        said,
        (
            f"{said}: the peak times {factor:.3g}, the latency of a lone request as it is; the load spreads evenly, "
            "and nothing that they share is in the way"
        ),
    )


def _service(fit: Fit, change: WhatIf, _: Sequence[Fit]) -> _Step:
    if change.service is None:
        return None
    factor, known = change.service, fit.parameters.get("Z")
    if change.host_s is not None:
        low = high = change.host_s
        host = f"the host's {format_duration(change.host_s)} of it stay"
    elif known is not None and known.identified and known.low is not None and known.high is not None:
        low, high = known.low, known.high
        host = f"the host's part Z of it, {format_duration(low)} to {format_duration(high)}, stays"
    else:
        low = high = 0.0
        host = "all of the latency is service (host=TIME says how much is the host's, which these points do not tell)"
    if low >= (now := _latency(fit)):
        raise DataError(
            f"what-if: host {format_duration(low)} is not below the latency of {fit.series or 'the device'} itself, "
            f"{format_duration(now)}"
        )

    def faster(d: _Device) -> _Device:
        shares = even(len(d.peak), 2)[:, 1]
        delay = np.minimum(low + shares * (high - low), d.response)
        return _Device(delay + factor * (d.response - delay), d.peak / factor)

    said = f"service times x {factor:g}"
    return _changed(fit, faster), said, f"{said}: the peak over {factor:g}, the latency too, but {host}"


def _block(fit: Fit, change: WhatIf, others: Sequence[Fit]) -> _Step:
    if change.block_bytes is None:
        return None
    now = change.from_block_bytes or _block_of(fit)
    if now is None:
        raise DataError(
            f"what-if: the block size of {fit.series or 'the fit'} is not known; write both, as block=4KiB:16KiB"
        )
    then, link = change.block_bytes, change.bandwidth_bytes_per_s
    if then == now:
        raise DataError(f"what-if: blocks of {format_bytes(then)} are what there is; name another size")
    said = f"blocks of {format_bytes(then)} for {format_bytes(now)}"
    if link is not None:

        def over_the_link(d: _Device) -> _Device:
            response = np.maximum(d.response + (then - now) / link, 1e-3 * d.response)
            return _Device(response, np.minimum(d.peak, link / then))

        return (
            _changed(fit, over_the_link),
            said,
            (
                f"{said}: the link of {format_bandwidth(link)} takes {format_duration(abs(then - now) / link)} "
                f"{'more' if then > now else 'less'} a request and bounds the peak; the device itself is as "
                "fast as before"
            ),
        )
    other = _at_another_size(fit, others, now, then)
    if other is None:
        raise DataError(
            f"what-if: what a bigger block costs {fit.series or 'the device'} does not follow from one size: give the "
            "link's bandwidth, as block=16KiB,bandwidth=3GB/s, or fit two sizes: qsim measure fio TARGET --block "
            f"{format_bytes(now).replace(' ', '')},{format_bytes(2 * max(now, then)).replace(' ', '')}"
        )
    size = _block_of(other) or now
    part = (then - now) / (size - now)

    def along(d: _Device, o: _Device) -> _Device:
        response = d.response + part * (o.response - d.response)
        interval = 1 / d.peak + part * (1 / o.peak - 1 / d.peak)
        return _Device(np.maximum(response, 1e-3 * d.response), 1 / np.maximum(interval, 1e-3 / d.peak))

    theirs = _Device.of(other.table.spread()[0])
    mixed = np.argsort(even(len(theirs.peak), 2)[:, 1])  # the two fits are independent
    beside = _Device(theirs.response[mixed], theirs.peak[mixed])
    return (
        _changed(fit, lambda d: along(d, beside)),
        said,
        (
            f"{said}: latency and time per request at the peak grow in proportion to the size, as from "
            f"{format_bytes(now)} "
            f"to {format_bytes(size)}"
        ),
    )


def _no_cache(fit: Fit, change: WhatIf, _: Sequence[Fit]) -> _Step:
    if not change.write_cache_off or change.medium_s is None:
        return None
    medium, now = change.medium_s, _latency(fit)
    if dict(fit.details.get("calibrated_on", {})).get("read_fraction") == 1.0:
        raise DataError(f"what-if: {fit.series} are reads, which a write cache does not serve; take a fit of writes")
    if medium < now:
        raise DataError(
            f"what-if: medium {format_duration(medium)} is less than the latency with the cache, "
            f"{format_duration(now)}; a cache does not slow a medium down: check the unit"
        )
    said = "write cache off"
    changed = _changed(fit, lambda d: _Device(np.full(len(d.peak), medium), d.peak))
    return (
        changed,
        said,
        (
            f"{said}: a write takes the medium's {format_duration(medium)} from the first on; the peak is the medium's "
            "already, since the sweep wrote for longer than the cache takes (true of a sweep in its steady state)"
        ),
    )


def _latency(fit: Fit) -> float:
    """The median latency of the busy device, in seconds."""
    return float(fit.table.quantiles(lambda values: values[:, 0] / values[:, 1], (0.5,))[0])


def _changed(fit: Fit, change: Callable[[_Device], _Device]) -> Fit:
    values, misfit = fit.table.spread()
    n, d = values.shape
    table = Weights(change(_Device.of(values)).into(values), misfit, np.full(n, 1 / n), np.zeros((n, d, 0)))
    return _with(fit, replace(fit, table=table), np.array(fit.used))


def _with(fit: Fit, changed: Fit, after: Array) -> Fit:
    """``changed`` with what the curve of ``fit`` missed at its points, now at the loads ``after`` (m,)."""
    if not fit.used:
        return changed
    old, new = (
        np.exp(f.table.weight @ np.log(f.curve_model.curve(f.table.values, n)[0]))
        for f, n in ((fit, np.array(fit.used)), (changed, after))
    )
    throughput = np.array(fit.used_throughput_per_s) * new / old
    return replace(
        changed,
        used=tuple(after.tolist()),
        used_throughput_per_s=tuple(throughput.tolist()),
        used_response_s=tuple((after / throughput).tolist()),
    )


def _parameters(changed: Fit, fit: Fit) -> dict[str, Estimate]:
    """The parameters of the changed device; what was not identifiable is not so now."""
    told = {}
    for name, (unit, _) in changed.curve_model.report(changed.table.values[:1]).items():
        estimate, low, high = middle(changed.table, reported(changed.curve_model, name), fit.level)
        before = fit.parameters.get(name)
        told[name] = Estimate(estimate, low, high, before is not None and before.identified, unit)
        if before is not None and before.estimate is not None and np.isclose(estimate, before.estimate):
            told[name] = replace(told[name], note=before.note)  # else it has numbers of the device as it was
    return told


def _block_of(fit: Fit) -> float | None:
    value = dict(fit.details.get("calibrated_on", {})).get("block_bytes")
    return None if value is None else float(value)


def _at_another_size(fit: Fit, others: Sequence[Fit], now: float, then: float) -> Fit | None:
    """The fit of the same model and mix whose block size is nearest to ``then``."""
    mix = dict(fit.details.get("calibrated_on", {})).get("read_fraction")
    alike = [
        (abs(np.log(size / then)), i)
        for i, o in enumerate(others)
        if (size := _block_of(o)) is not None
        and not np.isclose(size, now)
        and o.model == fit.model
        and dict(o.details.get("calibrated_on", {})).get("read_fraction") == mix
    ]
    return others[min(alike)[1]] if alike else None
