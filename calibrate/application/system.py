"""``system``: an application on calibrated devices over its number of clients, with bands.

The estimate is that of the network itself. The bands are those of ``draws`` networks in which each calibrated station
is replaced by a possible device of its fit; stations without a fit are assumed exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.application import many_networks
from calibrate.application.many_networks import as_simulated, at_rates, run_with, simulated, with_two
from calibrate.fitting.device_station import DeviceStation, drawn_throughputs, draws_of, station_of
from calibrate.fitting.other_loads import doubts_of_batches
from calibrate.inference.parameters import LEVEL, Array, Estimate
from measure.repeats import TIE, first_lowest
from qsim import Network, Station
from qsim.errors import InvalidParameterError
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

NINETY = 0.9
PAST_THE_KNEE, FOLLOWED = 2.0, 1000
"""The curve is computed up to this multiple of the knee, if that is at most this number of clients."""
SIMULATED = 100_000
"""The responses simulated with each number of clients, if nothing else is said."""
MOST_SIMULATED = 20
"""The most draws that are simulated."""
RARE = 0.01
"""The largest share of time with more requests at a device than its fit covers."""


@dataclass(frozen=True, repr=False)
class System(Result):
    """An application over its clients. The first row of an array (rows, m) is the estimate, the others are draws.

    ``known_at`` (m,) are the numbers of clients, from one on, at which ``throughputs`` and ``responses`` (rows, m) are
    known, and ``loads`` the requested ones; ``peaks`` (rows, stations) is the peak of each station, ``doubled``
    {station: throughput (m,)} the estimate with two of a station. ``percentiles`` {share: times (rows, m)} are those of
    the response time, where simulated; ``doubts`` are what speaks against the stations of these devices.

    >>> from calibrate import from_datasheet, system
    >>> from qsim import Delay, Exponential, Network, Station
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> stations = {"users": Delay(0.2), "cpu": Station(Exponential(1e-3), servers=4), "disk": drive.station(visits=3)}
    >>> system(Network(stations), clients=[1, 100, 1000])
    BOTTLENECK  cpu in all draws: at most 4.00 k/s
    KNEE        805 clients: 3.90 k/s at 6.60 ms; 90 % of the peak at 731
    DOUBLED     cpu: peak 8.00 k/s, +100 %; with 1000 clients cpu +24 %, disk +0 %
    """

    loads: Array
    stations: tuple[str, ...]
    known_at: Array
    throughputs: Array
    responses: Array
    peaks: Array
    doubled: Mapping[str, Array]
    level: float = LEVEL
    percentiles: Mapping[float, Array] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def clients(self) -> Array:
        """The numbers of clients (m,) that were asked for."""
        return self.loads

    @property
    def bottleneck(self) -> str:
        """The station that saturates first."""
        return self.stations[int(first_lowest(self.peaks[0]))]

    @property
    def bottleneck_share(self) -> float:
        """The share of draws with the same bottleneck."""
        return float(np.mean(first_lowest(self.peaks) == first_lowest(self.peaks[0])))

    @property
    def is_certain(self) -> bool:
        """Whether no station is a calibrated device, whose peak varies among the draws."""
        return bool((self.peaks == self.peaks[0]).all())

    @property
    def peak(self) -> Estimate:
        """The throughput that no number of clients exceeds, that of the bottleneck."""
        return self._estimate(self.peaks.min(axis=1), "1/s")

    @property
    def knee(self) -> Estimate:
        """The number of clients at which the two asymptotes cross and waiting begins."""
        return self._estimate(self.peaks.min(axis=1) / self.throughputs[:, 0], "")

    @property
    def ninety(self) -> Estimate:
        """The least number of clients with 90 % of the peak; None, or an end that is None, where it is beyond all."""
        wanted = NINETY * self.peaks.min(axis=1)
        reached = np.array(
            [
                np.inf if row.max() < x else np.interp(x, np.maximum.accumulate(row), self.known_at)
                for row, x in zip(self.throughputs, wanted, strict=True)
            ]
        )
        return self._estimate(reached, "", f"not reached with {self.known_at[-1]:g} clients")

    def throughput(self, at: Sequence[float] | Array | None = None) -> Array:
        """Throughput: estimate, low and high (3, k) at the requested clients, or ``at`` others that are known."""
        return self._band(self._at(self.throughputs, at))

    def response(self, at: Sequence[float] | Array | None = None) -> Array:
        """The time outside the delays, in seconds: estimate, low and high (3, k)."""
        return self._band(self._at(self.responses, at))

    def utilization(self, station: str, at: Sequence[float] | Array | None = None) -> Array:
        """Throughput as a share of the station's peak: estimate, low and high (3, k)."""
        busy = self._at(self.throughputs, at) / self.peaks[:, [self.stations.index(station)]]
        return self._band(np.minimum(busy, 1.0))  # a run may complete a little more than it serves

    def percentile(self, share: float, at: Sequence[float] | Array | None = None) -> Array:
        """The simulated quantile of the response time, seconds: estimate, low and high (3, k)."""
        return self._band(self._at(self._times(share), at))

    def _times(self, share: float | None) -> Array:
        """The simulated quantile in all rows, or the mean for None."""
        if share is not None and share not in self.percentiles:
            known = ", ".join(f"{q:g}" for q in self.percentiles) or "none: simulate it"
            raise InvalidParameterError("percentile", f"must be one that was simulated, not {share:g}", known, share)
        return self.responses if share is None else self.percentiles[share]

    def within(self, response_s: float, share: float | None = None) -> Estimate:
        """The most clients with a mean response, or a simulated percentile, within a time; None beyond all known."""
        most = [
            0.0 if t[0] > response_s else np.interp(response_s, np.maximum.accumulate(t), self.known_at, right=np.inf)
            for t in self._times(share)
        ]
        return self._estimate(np.floor(np.array(most) + 1e-9), "", f"{self.known_at[-1]:g} or more")

    def gain(self, station: str) -> float:
        """The factor on the throughput at the most clients with two of that station."""
        last = int(np.searchsorted(self.known_at, self.loads[-1]))
        return float(self.doubled[station][last] / self.throughputs[0, last])

    def peak_with_two(self, station: str) -> tuple[float, str]:
        """The peak with two of a station, and the station that then saturates first."""
        peaks = np.where(np.array(self.stations) == station, 2.0, 1.0) * self.peaks[0]
        return float(peaks.min()), self.stations[first_lowest(peaks)]

    def _at(self, rows: Array, at: Sequence[float] | Array | None = None) -> Array:
        loads = self.loads if at is None else np.asarray(at, dtype=float)
        if loads.min() < self.known_at[0] or loads.max() > self.known_at[-1]:
            raise InvalidParameterError(
                "at", f"must lie between {self.known_at[0]:g} and {self.known_at[-1]:g}", value=loads.tolist()
            )
        return np.array([np.interp(loads, self.known_at, row) for row in rows])

    def _band(self, rows: Array) -> Array:
        ends = np.quantile(rows, self._shares, axis=0)
        return np.stack([rows[0], np.minimum(ends[0], rows[0]), np.maximum(ends[1], rows[0])])

    @property
    def _shares(self) -> tuple[float, float]:
        return 0.5 * (1 - self.level), 0.5 * (1 + self.level)

    def _estimate(self, rows: Array, unit: str, note: str = "") -> Estimate:
        low, high = (float(v) for v in np.quantile(rows, self._shares, method="nearest"))
        middle = float(rows[0])
        ends = min(low, middle), middle, max(high, middle)
        low_end, estimate, high_end = (end if np.isfinite(end) else None for end in ends)
        if estimate is not None:
            note = f"in some draws {note}" if high_end is None else ""
        return Estimate(estimate, low_end, high_end, high_end is not None, unit, note)

    def to_frame(self) -> pd.DataFrame:
        """A row for each number of clients: throughput, response and utilisations with their bands, SI units."""
        import pandas as pd

        columns: dict[str, Any] = {"clients": self.clients}
        curves = {"throughput_per_s": self.throughput(), "response_time_s": self.response()}
        curves |= {f"utilization_{name}": self.utilization(name) for name in self.stations}
        curves |= {f"p{100 * q:g}_s": self.percentile(q) for q in self.percentiles}
        for name, (middle, low, high) in curves.items():
            columns |= {name: middle, f"{name}_low": low, f"{name}_high": high}
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        found = {name: vars(getattr(self, name)) for name in ("peak", "knee", "ninety")}
        return {
            "bottleneck": {"station": self.bottleneck, "share_of_draws": self.bottleneck_share},
            **found,
            "doubled": {name: self.gain(name) for name in self.doubled},
            "level": self.level,
            "points": self.to_frame().to_dict(orient="records"),
            **({"doubts": list(self.doubts)} if self.doubts else {}),
        }

    def plot(self) -> Figure:
        """Throughput, response and utilisations over the clients, with bands."""
        from calibrate.report.plots import system_figure

        return system_figure(self)

    def __repr__(self) -> str:
        from calibrate.application.system_answer import system_answer

        return system_answer(self)


def over_clients(
    network: Network, clients: Sequence[int], draws: int, *, simulate: bool, seed: int, customers: int, level: float
) -> System:
    """The application ``network`` with each number of ``clients`` in it, as ``calibrate.system``."""
    if network.routing is not None:
        raise InvalidParameterError("routing", "must be None", "say how often each station is passed, as visits=3")
    wanted = np.unique(np.asarray(clients, dtype=float))
    if wanted.size == 0 or (wanted < 1).any() or (wanted != np.rint(wanted)).any():
        raise InvalidParameterError("clients", f"must be whole numbers, 1 or more, not {list(clients)!r}")
    stations = dict(network.stations)
    queues = {name: s for name, s in stations.items() if not s.is_delay}
    top = _followed_to(stations, int(wanted[-1]))
    drawn = drawn_stations(stations, dict.fromkeys(stations, top), draws, seed)
    rows = {name: found[0] for name, found in drawn.items()}
    peaks = np.column_stack([np.broadcast_to(drawn[name][1], draws + 1) for name in queues])
    if not simulate and all(many_networks.has_product_form(s) for s in queues.values()):
        known_at = np.arange(1.0, top + 1)
        throughputs = np.broadcast_to(many_networks.together([*rows.values()]), (draws + 1, top))
        responses = known_at / throughputs - sum(s.demand for s in stations.values() if s.is_delay)
        first = {name: found[:1] for name, found in rows.items()}
        twice = {
            name: many_networks.together([*{**first, name: many_networks.doubled(first[name])}.values()])[0]
            for name in queues
        }
        exact = (wanted, (*queues,), known_at, throughputs, responses, peaks, twice, level)
        return System(*exact, doubts=doubts_of(queues))
    knee = round(float(peaks[0].min() * sum(1 / r[0, 0] for r in rows.values())))
    about = many_networks.together([r[:1] for r in rows.values()])[0]  # near enough to place 90 % of the peak
    ninety = int(np.argmax(about >= NINETY * peaks[0].min())) + 1
    known_at = np.unique([1.0, *wanted, *(float(n) for n in (knee, ninety) if 1 <= n < wanted[-1])])
    count = 1 + min(draws, MOST_SIMULATED) * bool(_seeds(stations, seed))
    made = [{name: found[2](i) for name, found in drawn.items()} for i in range(count)]
    run = run_with([int(n) for n in known_at])
    throughputs, responses, percentiles = simulated(made, run, seed, customers)
    twice = with_two(stations, queues, run, seed, customers, "throughput")
    peaks = as_simulated(peaks, count - 1)
    known = (wanted, (*queues,), known_at, throughputs, responses, peaks, twice, level, percentiles)
    return System(*known, doubts_of(queues))


def doubts_of(queues: many_networks.Places) -> tuple[str, ...]:
    """What speaks against devices as stations that know the number present alone."""
    fits = {n: s.fit for n, s in queues.items() if isinstance(s, DeviceStation) and s.fit is not None}
    return tuple(f"{name}: {doubt}" for name, fit in fits.items() for doubt in doubts_of_batches(fit))


def network_of(given: Network | Mapping[str, Station]) -> Network:
    """The network, which must have a queue."""
    if not isinstance(given, Network):
        if not isinstance(given, Mapping):
            raise InvalidParameterError("network", f"must be a Network of stations by name, not {given!r}")
        given = Network(given)
    if all(s.is_delay for s in given.stations.values()):
        raise InvalidParameterError(
            "network", "must hold a Station, not delays alone", "where nobody queues there is no bottleneck"
        )
    return given


def _seeds(stations: many_networks.Places, seed: int) -> dict[str, list[int]]:
    """A seed for each calibrated station: two drives are independent, two stations of one fit are not."""
    devices = {n: id(s.fit) for n, s in stations.items() if isinstance(s, DeviceStation) and s.fit is not None}
    known = [*dict.fromkeys(devices.values())]
    return {name: [seed, known.index(each)] for name, each in devices.items()}


def drawn_stations(
    stations: many_networks.Places, top: Mapping[str, int], draws: int, seed: int
) -> dict[str, tuple[Array, Array, Callable[[int], Station]]]:
    """Rates (rows, top), peaks (rows,) and the station of each draw, of each of ``stations``."""
    seeds = _seeds(stations, seed)
    return {name: _drawn(s, top[name], draws, seeds.get(name, [])) for name, s in stations.items()}


def _drawn(station: Station, top: int, draws: int, seed: list[int]) -> tuple[Array, Array, Callable[[int], Station]]:
    """Rates (rows, top), printed peaks and the station, of the estimate and of each draw of a calibrated station."""
    rates = many_networks.rates(station, top)[None, :]
    peak = np.array([np.inf if station.is_delay else many_networks.peak(station)])
    if not isinstance(station, DeviceStation) or (fit := station.fit) is None:
        return rates, peak, lambda _: station
    if not station.has_closed_fit:  # memories and open sweeps, which no closed curve gives
        made = [station, *(station_of(one, station.visit_count) for one in draws_of(fit, draws, seed))]
        peaks = np.array([many_networks.peak(s) for s in made])
        return np.array([many_networks.rates(s, top) for s in made]), peaks, made.__getitem__
    throughputs, peaks = drawn_throughputs(fit, top, draws, seed)
    rates = np.vstack([rates, throughputs / station.visit_count])
    every = np.append(peak, peaks / station.visit_count)
    return rates, every, lambda i: at_rates(station, rates[i]) if i else station


def _followed_to(stations: many_networks.Places, most: int) -> int:
    """The clients up to which the curve is drawn, past a near knee; InvalidParameterError where no fit covers them."""
    if (name := _overtaxed(stations, most)) is not None:
        raise InvalidParameterError(
            "clients",
            f"must be fewer than {most}: more than {stations[name].most} requests are often at "
            f"{name}, up to which it is known",
            "measure it deeper, or make the station with extrapolate=True",
            value=most,
        )
    alone = 1 / sum(1 / many_networks.rates(s, 1)[0] for s in stations.values())
    knee = min(many_networks.peak(s) for s in stations.values() if not s.is_delay) / alone
    further = min(math.ceil(PAST_THE_KNEE * knee * (1 - TIE)), FOLLOWED)
    return most if further <= most or _overtaxed(stations, further) else further


def _overtaxed(stations: many_networks.Places, clients: int) -> str | None:
    """The device that has more requests than its fit covers for more than ``RARE`` of the time; None: none."""
    alone = [many_networks.rates(s, clients)[None, :] for s in stations.values()]
    for i, (name, station) in enumerate(stations.items()):
        most = station.most
        if most is not None and clients > most and many_networks.beyond(alone, i, most) > RARE:
            return name
    return None
