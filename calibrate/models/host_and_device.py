"""Host and device distinguished: a closed network of two stations, each calibrated on the time measured at it.

N requests circle between the host, ``threads`` servers of mean S_h, and the device, c servers of mean S. The block
layer's counters give the time in the device, D; the tool's response time less D is the time in the host, H. With
exponential times the network has product form, so that D(N) and H(N) are exact (Buzen 1973, by the weights of
:mod:`qsim.analytic.closed.normalizing`). S_h, c and S are those whose H and D come nearest in logarithms, each counted
by its share of the response time; a number of servers is likely where the sum of squares is within F(1, n - 3) at 90 %
of the least (Seber & Wild 1989, chapter 5).
The knee is that of the station which serves less: threads / S_h or c / S a second. Requests that come back in bunches
wait in the host for each other, which the model takes for work; fio's processor time tells the two apart: threads with
time to spare are no bottleneck, and what they could hand over is the throughput over the share of time they work
(utilisation law). Where the host is the bottleneck and the time in the device never rose, the device was never full,
and what another thread gives has a bound alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array
from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.record import HOST_TIME
from measure.sweep import Sweep
from measure.units import counted, format_duration, format_rate
from measure.watching.device_counters import COLUMNS, NOTE

BUSY = 0.9
"""The share of its time that a submitting thread works from which on it is the bottleneck."""
OWN = 0.1
"""By so much the device's throughput may differ from the tool's; else others used it, or requests were split."""
FEWEST = 3
WRONG = 0.3
"""A misfit beyond which the two stations are held to be wrong."""
FULL = 0.2
"""A device whose time rises by less from its quickest load to its slowest was never full."""
ALIKE = 0.1
"""Two stations whose peaks differ by less are a bottleneck together."""


@dataclass(frozen=True)
class HostAndDevice:
    """What was measured at the loads (m,), and the two stations; ``likely_servers`` are the least and the most.

    ``misfit`` is the typical relative error of the model's times, ``busy`` the share of its time that a thread works at
    the deepest load, by fio's processor time (NaN where unknown).
    """

    series: str
    load: Array
    throughput_per_s: Array
    host_s: Array
    device_s: Array
    threads: int
    host_service_s: float
    servers: int
    likely_servers: tuple[int, int]
    service_s: float
    misfit: float
    busy: float

    @property
    def host_peak_per_s(self) -> float:
        """What the threads could hand over."""
        if self.busy > 0:
            return float(self.throughput_per_s[-1]) / self.busy
        return self.threads / self.host_service_s

    @property
    def device_peak_per_s(self) -> float:
        """What the device could serve: what it was seen to serve at least."""
        return max(self.servers / self.service_s, float(self.throughput_per_s.max()))

    @property
    def filled(self) -> bool:
        """Whether requests ever waited in the device for each other."""
        return bool(self.device_s.max() > (1 + FULL) * self.device_s.min())

    @property
    def explained(self) -> bool:
        """Whether this many servers serve what was measured."""
        return self.device_peak_per_s <= (1 + ALIKE) * self.servers / self.service_s

    @property
    def unfilled(self) -> bool:
        """Whether the host is the bottleneck of a device that nobody has seen full."""
        return self.bottleneck == "host" and not self.filled

    @property
    def bottleneck(self) -> str:
        """``host``, ``device`` or ``both``; "" where the model does not explain the times."""
        if self.misfit > WRONG:
            return ""
        if self.busy < BUSY:
            return "device"
        if self.busy >= BUSY and not self.filled:  # false where the processor time is not known
            return "host"
        ratio = self.host_peak_per_s / self.device_peak_per_s
        return "host" if ratio < 1 / (1 + ALIKE) else "device" if ratio > 1 + ALIKE else "both"

    def predicted(self, loads: Array, threads: int | None = None) -> tuple[Array, Array, Array]:
        """Throughput, time in the host and time in the device (m,) at ``loads``, also with other ``threads``."""
        return two_stations(loads, threads or self.threads, self.host_service_s, self.servers, self.service_s)

    def sentence(self) -> str:
        """Where the time goes, whose knee it is, and what another thread would give."""
        host, device, low, high = float(self.host_s[-1]), float(self.device_s[-1]), *self.likely_servers
        work = "" if np.isnan(self.busy) else f", where the threads work {100 * min(self.busy, 1):.0f} % of the time"
        spent = (
            f"at depth {self.load[-1]:g} a request spends {format_duration(host)} of {format_duration(host + device)} "
            f"in the host{work}"
        )
        if self.misfit > WRONG:
            return f"{spent}; two stations do not explain these times (missed by {100 * self.misfit:.0f} %)"
        whose = {"host": "the host's", "device": "the device's", "both": "of host and device together"}
        servers = f"{low} to {high}" if high > low else f"{low}"
        by = f"{servers} servers, {format_duration(self.service_s)} each with {self.servers}"
        by = by if self.explained else f"more than the {servers} servers that its times suggest"
        device_part = f", the device serve {format_rate(self.device_peak_per_s)} ({by})"
        if self.unfilled:
            device_part = f"; the device took {format_duration(device, 2)} at every load and was never full"
        return (
            f"the knee is {whose[self.bottleneck]}: {counted(self.threads, 'thread')} can hand over "
            f"{format_rate(self.host_peak_per_s)}{device_part}; {spent}. {self._with_another_thread()}; the model "
            f"misses the times by {100 * self.misfit:.0f} %"
        )

    def _with_another_thread(self) -> str:
        """What it would give at the deepest load, or at most, where nobody has seen the device full."""
        now, more = (float(self.predicted(self.load[-1:], self.threads + k)[0][0]) for k in (0, 1))
        times, about = more / now, "about"
        if self.unfilled:
            times, about = 1 + 1 / self.threads, "at most"
        which = "A second" if self.threads == 1 else "One more"
        rate = format_rate(float(self.throughput_per_s[-1]) * times)
        return f"{which} thread would give {about} {rate} there, {100 * (times - 1):.0f} % more"


def two_stations(
    loads: Array, threads: int, host_service_s: float, servers: int, service_s: float
) -> tuple[Array, Array, Array]:
    """Throughput and the times in host and device (m,) at whole ``loads``, exactly.

    >>> two_stations(np.array([1.0]), 1, 10e-6, 4, 90e-6)[0].round().tolist()
    [10000.0]
    """
    from scipy.special import logsumexp

    from qsim.analytic.closed.normalizing import servers as centre
    from qsim.analytic.closed.normalizing import weights

    top = int(loads.max())
    host, device = (
        weights(centre((demand,), count, top), (top + 1,))
        for demand, count in ((host_service_s / service_s, threads), (1.0, servers))
    )
    rows = []
    for n in loads.astype(int):
        log_p = host[: n + 1] + device[n::-1]
        log_g = logsumexp(log_p)
        x = np.exp(logsumexp(host[:n] + device[n - 1 :: -1] if n > 1 else host[:1] + device[:1]) - log_g) / service_s
        in_host = np.arange(n + 1) @ np.exp(log_p - log_g)
        rows.append((x, in_host / x, (n - in_host) / x))
    throughput, in_host_s, in_device_s = np.array(rows).T
    return throughput, in_host_s, in_device_s


def host_and_device(sweep: Sweep, series: str) -> HostAndDevice:
    """The two stations of a curve over depths whose points carry the block layer's counters.

    Raises DataError where they are unknown, or where fewer than three depths are left whose requests are the
    device's own.
    """
    load, throughput, host, device, threads, busy = _times(sweep, series)
    from scipy.optimize import least_squares
    from scipy.stats import f as law_of_f

    share = np.concatenate([host, device]) / np.tile(host + device, 2)

    def missed(logs: Array, servers: int) -> Array:
        _, h, d = two_stations(load, threads, float(np.exp(logs[0])), servers, float(np.exp(logs[1])))
        return np.asarray(np.sqrt(share) * np.log(np.concatenate([h / host, d / device])))

    free = 2 * len(load) - 3
    allowed = 1 + float(law_of_f.ppf(0.9, 1, free)) / free
    start = np.log([host[0], device[0]])
    squares: dict[int, tuple[float, Array]] = {}
    for servers in range(1, int(load[-1]) + 1):
        found = least_squares(missed, start, args=(servers,), ftol=1e-4)
        squares[servers], start = (2 * float(found.cost), found.x), found.x
        if servers > 4 and squares[servers][0] > 2 * allowed * min(s for s, _ in squares.values()):
            break
    best = min(squares, key=lambda c: squares[c][0])
    least, logs = squares[best]
    likely = [c for c, (s, _) in squares.items() if s <= allowed * least]
    return HostAndDevice(
        series,
        load,
        throughput,
        host,
        device,
        threads,
        float(np.exp(logs[0])),
        best,
        (likely[0], likely[-1]),
        float(np.exp(logs[1])),
        float(np.sqrt(least / len(load))),
        busy,
    )


def _times(sweep: Sweep, series: str) -> tuple[Array, Array, Array, Array, int, float]:
    """Load, throughput, time in host and in device, means over repeats (m,); the threads, and how busy they are."""
    note = str(sweep.provenance.details.get(NOTE, ""))
    rows = sweep.select(series).points
    if not sweep.load_type.is_closed or COLUMNS[0] not in rows:
        raise DataError(note or "these data hold no counters of the block layer; qsim measure fio stores them")
    own = (rows[COLUMNS[0]] / rows["throughput_per_s"] - 1).abs() <= OWN
    kept = rows[own & (rows["latency_s"] > rows[COLUMNS[1]])]
    if kept["load"].nunique() < FEWEST:
        raise DataError(
            f"at {len(rows) - len(kept)} of {counted(len(rows), 'run')} the device did not serve fio's requests one by "
            f"one (others used it, or the kernel split or merged them), and {FEWEST} depths are needed"
        )
    x = kept["throughput_per_s"]
    means = (
        kept[["load"]]
        .assign(
            x=x,
            host=(kept["latency_s"] - kept[COLUMNS[1]]) * x,
            device=kept[COLUMNS[1]] * x,
            work=x * kept.get(HOST_TIME, np.nan),
        )
        .groupby("load", sort=True)
        .mean()
    )
    load, jobs = means.index.to_numpy(float), kept["jobs"].unique()
    threads = int(jobs[0]) if len(jobs) == 1 else int(load[-1])
    rate, host, device = (means[c].to_numpy(float) for c in ("x", "host", "device"))
    return load, rate, host / rate, device / rate, threads, float(means["work"].iloc[-1]) / threads


def host_findings(sweep: Sweep) -> list[Finding]:
    """For the audit: of each curve that has counters of the block layer, whose knee it is."""
    found = []
    for series in sweep.series if sweep.load_type.is_closed and NOTE in sweep.provenance.details else ():
        try:
            parts = host_and_device(sweep, series)
        except DataError as error:
            found.append(
                Finding("host-and-device", "info", f"host and device cannot be distinguished: {error}", series=series)
            )
            continue
        is_host = parts.bottleneck == "host"
        found.append(
            Finding(
                "host-and-device",
                "warning" if is_host else "info",
                parts.sentence(),
                "the submitting threads are the bottleneck, so that this curve is the host's." if is_host else "",
                f"measure with --jobs {parts.threads + 1}." if is_host else "",
                series,
            )
        )
    return found
