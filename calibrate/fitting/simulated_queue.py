"""Simulates the queue of a calibrated device with a fixed seed.

In the loop of ``fit.queue(n)`` all n requests are always at the station, which gives each an nth of the rate X(n): its
responses are draws of the law of service, with the mean n / X(n), which numpy draws at once.

Under arrivals, or users who think, a mean does not tell the percentiles. ``with_p99`` simulates servers that work as
the device does alone and at its peak, X(1) and X_peak, in order of arrival with its law of service: on one queue, or
with a queue each, whichever mean is nearer to the curve at its knee, where these differ most, as near saturation they
do not. Their ratio of p99 to the mean is that of the device.
Stations in series have the means of servers with a queue each, and a shorter tail, so they are tried too where a p99
was measured: what is chosen then is near both to the mean and to each p99 over its mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrate.fitting.device_station import LEAST_SCV, gamma_law, law_of
from calibrate.fitting.fit import TAILS, Fit
from calibrate.fitting.other_loads import PossibleDevices, knows_spread, lone_scv, possible_devices
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array
from measure.loads import ArrivalRate, ClosedLoad, Depth
from qsim import Arrivals, Delay, Deterministic, Distribution, Gamma, Network, Station, simulate

CUSTOMERS = 60_000
"""Requests simulated at each load."""
SHARES = (0.5, 0.99)
DRAWN, FEWER, MORE = 16, 20_000, 300_000
"""Possible devices that are simulated for a band, the requests of each, and those of the device in the middle."""
SERIES_BY = 0.1
"""Stations in series must be nearer than one station by this relative error."""
MOST_SCV, MOST_STATIONS, MOST_CLIENTS = 4.0, 16, 1000
"""The largest scv that a p99 tells, and the most stations in series, and clients of a measured p99, to simulate."""
BUSIEST = 0.9
"""The highest rate whose measured p99 is compared, over that of the simulated device: beyond, a run is too short."""
Z95 = 1.96
"""Half the width of a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class SimulatedQueue:
    """At each load (m,): the rate on the curve, the simulated one with its interval (3, m), the mean response and its
    percentiles (2, m); ``law`` says where the service is from.
    """

    load: Array
    predicted_per_s: Array
    throughput_per_s: Array
    response_s: Array
    percentiles_s: Array
    law: str


def simulated_queue(fit: Fit, curve: Prediction, seed: int = 0) -> SimulatedQueue:
    """The simulated queue of ``fit`` at the whole loads from 1 on of its predicted ``curve``; there may be none.
    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> found = simulated_queue(drive, drive.predict([1, 16, 16.5]))
    >>> found.load.tolist(), bool(found.throughput_per_s[1, 1] < found.throughput_per_s[0, 1])
    ([1.0, 16.0], True)
    """
    whole = (curve.load == np.floor(curve.load)) & (curve.load >= 1)
    load, predicted = curve.load[whole], curve.throughput_per_s[whole]
    law, origin = law_of(fit, 1.0)
    rng = np.random.default_rng(seed)
    shape = np.array([law.sample(rng, CUSTOMERS) for _ in load]).reshape(len(load), CUSTOMERS)
    mean, half = shape.mean(axis=1), Z95 * shape.std(axis=1) / math.sqrt(CUSTOMERS)
    return SimulatedQueue(
        load,
        predicted,
        predicted / np.array([mean, mean + half, mean - half]),
        mean * load / predicted,
        np.quantile(shape, SHARES, axis=1) * load / predicted,
        origin,
    )


@dataclass(frozen=True)
class _Servers:
    """A device as ``servers`` with a law of service, ``in_series`` with that scv, and a ``rest`` of each response."""

    servers: int
    rest: float
    law: Distribution
    in_series: float

    @classmethod
    def of(cls, fit: Fit, lone: float, peak: float, scv: float) -> _Servers:
        """Those of a response ``lone`` to a lone request and of a ``peak``."""
        servers = max(round(lone * peak), 1)
        mean = min(servers / peak, lone)
        law = gamma_law(mean, scv) if fit.law is None else law_of(fit, mean)[0]
        in_series = scv if fit.is_under_any_load else law.scv * servers  # fitted where they wait, or of all together
        return cls(servers, lone - mean, law, max(in_series, LEAST_SCV))

    def mean_and_p99(self, load: ArrivalRate | ClosedLoad, value: float, queues: Queues, count: int) -> Array:
        """Mean and p99 (2,) of the response under a ``value`` of the load."""
        if queues == "series":
            each = Gamma(self.law.mean / self.servers, self.in_series)
            device = {f"station {i + 1}": Station(each) for i in range(self.servers)}
        else:
            device = {"device": Station(self.law, servers=self.servers, queues=queues)}
        if isinstance(load, ArrivalRate):
            law = Deterministic(1 / value) if load.gap_scv == 0 else value
            network = Network(device, Arrivals(law))
        else:
            away = load.thinking_s + self.rest
            network = Network({**({"away": Delay(away)} if away else {}), **device}, max(round(value), 1))
        found = simulate(network, customers=count, seed=1, engine="compiled", allow_short=True)
        return self.rest + np.array([float(found.W), found.quantile(SHARES[1])])


Queues = Literal["shared", "random", "series"]
IN_WORDS: Mapping[Queues, str] = {
    "shared": "one queue",
    "random": "a queue each",
    "series": "stations one after another",
}


def with_p99(fit: Fit, curve: Prediction) -> Prediction:
    """``curve``, a prediction under arrivals or users who think, with the simulated p99 and its band at each load.

    >>> from calibrate import from_datasheet
    >>> from measure import ArrivalRate
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> found = with_p99(drive, drive.predict(ArrivalRate([300e3])))
    >>> bool(found.p99_low_s <= found.p99_s <= found.p99_high_s)
    True
    """
    load = curve.load_type
    if not isinstance(load, ArrivalRate | ClosedLoad) or not (isinstance(load, ArrivalRate) or load.thinking_s):
        return curve
    found, shares, lone = possible_devices(fit, DRAWN), fit.shares, _scv_by_p99(fit)
    whole = lone_scv(fit) if lone is None else lone  # that of a whole response, not of a station in series
    served = found if whole is None else replace(found, scv=np.full(len(found.scv), whole))
    devices = _devices(fit, served.curves.log_rate, served.scv)
    middle = _devices(fit, served.middle.log_rate, np.array([served.middle_scv]))[0]
    queues, missed = _way_to_queue(fit, found, middle)
    each = [_p99_at(load, n, found, middle, devices, queues) for n in curve.load.tolist()]
    p99 = curve.response_time_s * np.array([ratio for ratio, _ in each])
    low, high = np.quantile([drawn for _, drawn in each], shares, axis=1, method="inverted_cdf")
    if fit.hides_its_peak:  # all that is known of it is that it is no less than a mean
        low = np.minimum(low, curve.response_time_low_s)
    law = f"of a gamma law, with {'that scv' if knows_spread(fit) else 'an scv near 1 assumed'}"
    law = law if lone is None else f"of a gamma law, with an scv of {lone:.2g}, by the p99 at depth 1"
    law = "as the histogram of depth 1" if fit.law is not None else law
    note = f"p99 is simulated: first come, first served, service {law}"
    if missed is not None:
        note += f"; {IN_WORDS[queues]}, by the measured p99, which it misses by {100 * math.expm1(missed):.0f} %"
    ends = np.minimum(low, p99), np.maximum(high, p99)
    return replace(curve, p99_s=p99, p99_low_s=ends[0], p99_high_s=ends[1], notes=(*curve.notes, note))


def _scv_by_p99(fit: Fit) -> float | None:
    """The scv of a gamma law with the p99 over mean of lone requests; None where that is not, or an scv is, known."""
    tails = dict(fit.details.get(TAILS, ()))
    closed = isinstance(fit.load_type, ClosedLoad) and not fit.load_type.thinking_s
    if knows_spread(fit) or not closed or 1.0 not in tails:
        return None
    from scipy.special import gammaincinv

    scv = np.geomspace(LEAST_SCV, MOST_SCV, 100)
    return float(np.interp(tails[1.0], scv * gammaincinv(1 / scv, SHARES[1]), scv))


def _way_to_queue(fit: Fit, found: PossibleDevices, device: _Servers) -> tuple[Queues, float | None]:
    """The way to queue nearest to the curve at its knee and to each p99 over its mean; the log error of the latter."""
    load = fit.load_type if isinstance(fit.load_type, ClosedLoad | ArrivalRate) else Depth()
    most = BUSIEST * device.servers / device.law.mean if isinstance(load, ArrivalRate) else MOST_CLIENTS
    tails = [(n, ratio) for n, ratio in fit.details.get(TAILS, ()) if n <= most]
    knee = min(float(device.servers), float(found.middle.n[-1]))
    wanted = float(found.middle.closed(knee).response[0])
    ways: list[Queues] = ["shared", "random"] if device.servers > 1 else ["shared"]
    if tails and 1 < device.servers <= MOST_STATIONS:
        ways.append("series")
    errors: dict[Queues, tuple[float, float]] = {}
    for queues in ways:
        at_knee = abs(math.log(device.mean_and_p99(Depth(), knee, queues, FEWER)[0] / wanted))
        missed = 0.0
        if tails:
            runs = np.array([device.mean_and_p99(load, n, queues, FEWER) for n, _ in tails])
            missed = float(np.abs(np.log(runs[:, 1] / runs[:, 0] / [ratio for _, ratio in tails])).mean())
        errors[queues] = at_knee, missed
    best = min(ways, key=lambda queues: sum(errors[queues]) + (SERIES_BY if queues == "series" else 0.0))
    return best, errors[best][1] if tails else None


def _p99_at(
    load: ArrivalRate | ClosedLoad,
    value: float,
    found: PossibleDevices,
    middle: _Servers,
    devices: Sequence[_Servers],
    queues: Queues,
) -> tuple[float, Array]:
    """The ratio of p99 to the mean of the ``middle`` device, and the p99 (n,) of the drawn ``devices``."""
    (mean, p99), (few, p99_of_few) = (middle.mean_and_p99(load, value, queues, count) for count in (MORE, FEWER))
    ratio = float(p99 / mean)
    off = ratio / (p99_of_few / few)  # of a short run, from the same random numbers
    means = load.present(found.curves, value, found.scv).response
    drawn = np.full(len(means), np.inf)
    for i, device in enumerate(devices):
        stable = not isinstance(load, ArrivalRate) or value < device.servers / device.law.mean
        if stable and np.isfinite(means[i]):
            mean, p99 = device.mean_and_p99(load, value, queues, FEWER)
            drawn[i] = means[i] * p99 / mean * off
    return ratio, drawn


def _devices(fit: Fit, log_rate: Array, scv: Array) -> list[_Servers]:
    rates = np.exp(log_rate)
    return [_Servers.of(fit, 1 / row[0], row.max(), float(v)) for row, v in zip(rates, scv, strict=True)]
