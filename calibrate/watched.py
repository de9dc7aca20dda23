"""Where a device at work lies on its curve: one that is known, or what it has shown itself so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from calibrate.fitting.fit_answer import at_load, knee_figure, never_approached
from measure.errors import DataError
from measure.formats.block_device_counts import (
    LEAST_S,
    DeviceInterval,
    like,
    pooled,
    series_of,
    stretches,
    watched_sweep,
)
from measure.units import format_duration, format_rate, plain_number

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit

REMEMBERED = 3600  # the number of intervals of each device that are kept to learn from
LEARN_EVERY = 5
VARYING_S = 10.0  # after so long without a steady stretch the watch says what is missing
SERIAL = 1.5  # below this knee a device serves one request at a time, and %util means what it says


@dataclass
class WatchedCurves:
    """The curve of each device: ``known`` for all of them, or learnt from the intervals that are added.

    What is learnt holds for one kind of requests (mean size, share of reads).

    >>> from calibrate import from_datasheet
    >>> curves = WatchedCurves(from_datasheet(idle_latency=80e-6, peak_iops=600e3))
    >>> print(curves.sentence(DeviceInterval("nvme0n1", "", 1, reads=180e3, read_s=18, busy_s=0.9)))
    180 k/s at 100 µs with 18 outstanding: 30 % of the peak, knee at 48 (36 to 65); %util says 90 and means nothing here
    """

    known: Fit | None = None
    _seen: dict[str, deque[DeviceInterval]] = field(default_factory=dict)
    _learnt: dict[str, list[tuple[DeviceInterval, Fit]]] = field(default_factory=dict)

    def add(self, interval: DeviceInterval) -> None:
        """One more interval to learn from."""
        seen = self._seen.setdefault(interval.device, deque(maxlen=REMEMBERED))
        seen.append(interval)
        if self.known is None and len(seen) % LEARN_EVERY == 0:
            self._learnt[interval.device] = learnt(seen)

    def curve(self, interval: DeviceInterval) -> Fit | None:
        """The curve for an interval of a device; None where nothing is known of its kind of requests yet."""
        if self.known is not None:
            return self.known
        return next((fit for kind, fit in self._learnt.get(interval.device, ()) if like(interval, kind)), None)

    def sentence(self, interval: DeviceInterval) -> str:
        """What the device does, and where that is on its curve."""
        if not interval.requests:
            return "idle"
        now = (
            f"{format_rate(interval.throughput_per_s)} at {response_text(interval)} with "
            f"{plain_number(interval.outstanding, 2)} outstanding"
        )
        return f"{now}: {place(interval, self.curve(interval), self.most(interval))}"

    def most(self, like_this: DeviceInterval) -> float:
        """The highest throughput that was seen of requests of this kind."""
        seen = (i.throughput_per_s for i in self._seen.get(like_this.device, ()) if i.requests and like(i, like_this))
        return max(seen, default=like_this.throughput_per_s)

    def facts(self, interval: DeviceInterval) -> Mapping[str, float | None]:
        """The place on the curve as numbers: ``peak_share`` and ``knee``; None where they are not known."""
        fit = self.curve(interval)
        approached = fit is not None and not never_approached(fit)
        peak = _peak(fit) if fit is not None and approached else None
        return {
            "peak_share": interval.throughput_per_s / peak if peak else None,
            "knee": fit.knee.load if fit is not None and approached else None,
        }

    def missing(self, device: str) -> str:
        """What a curve needs, where a load has varied for ``VARYING_S``; empty where there is one, or too early."""
        seen = [i for i in self._seen.get(device, ()) if i.requests]
        if self.known is not None or self._learnt.get(device) or sum(i.seconds for i in seen) < VARYING_S:
            return ""
        rates = [i.throughput_per_s for i in seen]
        return (
            f"{device}: no curve yet: it takes {LEAST_S:g} s of one load, and the load varies from "
            f"{format_rate(min(rates), 2)} to {format_rate(max(rates), 2)}; hold it still, or give --fit"
        )


def learnt(intervals: Iterable[DeviceInterval]) -> list[tuple[DeviceInterval, Fit]]:
    """The curve of each kind of requests that the steady stretches of one device show, with a sample of the kind."""
    from calibrate.fitting.calibrating import fit

    own = list(intervals)
    parts = list(stretches(own))
    if not parts:
        return []
    sweep, found = watched_sweep(own, "qsim watch"), []
    for series, of_kind in series_of(own[0].device, parts):
        try:
            found.append((pooled([i for part in of_kind for i in part]), fit(sweep, series=series)))
        except DataError:  # no model for these stretches yet: their kind has no curve, and the watch says so
            continue
    return found


def response_text(interval: DeviceInterval) -> str:
    """The kernel counts whole milliseconds, so that a few quick requests can have a sum of none."""
    if interval.response_time_s:
        return format_duration(interval.response_time_s)
    return f"less than {format_duration(1e-3 / interval.requests)}"


def place(interval: DeviceInterval, fit: Fit | None, most: float = 0.0) -> str:
    """Where an interval is on the curve, in words; ``most`` is the highest throughput seen of its kind."""
    busy = f"%util says {100 * min(interval.busy_share, 1):.0f}"
    if fit is None:
        return f"no curve yet, which takes {LEAST_S:g} steady seconds; {busy}"
    if never_approached(fit):
        least = format_rate(max(*fit.used_throughput_per_s, most, interval.throughput_per_s))
        return f"the peak was not approached yet, it is at least {least}; {busy}"
    peak, knee = _peak(fit), fit.knee.load
    share = f"{100 * interval.throughput_per_s / peak:.0f} % of the peak" if peak else "peak unknown"
    if knee is None:
        return f"{share}; {busy}"
    means = " and means nothing here" if knee > SERIAL else ""
    return f"{share}, knee at {at_load(fit.load_type, knee_figure(fit)).removeprefix('depth ')}; {busy}{means}"


def _peak(fit: Fit) -> float | None:
    found = fit.curve_parameters.get("Xmax")
    return None if found is None else found.estimate
