"""Throughput over block size, share of reads and queue depth: two classes of requests on shared servers.

A read of b bytes alone takes R_r(b), and a busy device spends D_r(b) of its time on it; a write likewise. A share m of
reads makes all of these their means,

    R(b, m) = m R_r(b) + (1 - m) R_w(b),      R_r(b) = a_r + g_r B (b / B)^e
    D(b, m) = (S(m)^q + (i(m) T(m) b)^q)^(1/q),   S(m) = m s_r + (1 - m) s_w,   T(m) = m t_r + (1 - m) t_w

B is the largest block; e below 1 is a lone large block that is spread over several channels.
1 / s is the peak request rate, of host or controller, 1 / t the bandwidth of link or medium, and q says how the two
limits meet: added up (q = 1, one after the other) or the larger alone (q to infinity, both at once). Where reads and
writes share the medium each change of direction costs, so that bytes take i(m) = 1 + 4 m (1 - m) (i - 1) times as
long. Outstanding requests N
join both asymptotes as in :mod:`calibrate.curve_models`,

    X(b, m, N) = [(N / r)^-p + D^-p]^(-1/p),       r = R onset^(N^-2 - 1)

and J jobs submit at most J times what one can, where the number of jobs varies. No server is more than busy: s <= a
and t <= g, by n = a / s >= 1 requests and h = g / t >= 1 transfers at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from calibrate.discrepancy import Discrepancy
from calibrate.posterior import Array, ErrorPrior, Parameter
from calibrate.surface.places import Places

ERROR = ErrorPrior(median=0.12)
ONSET_POWER = 2.0
MOST = 4096.0
"""More requests at a time than any device serves."""

PRIORS = {
    "g": (1.0, 2.0), "n": (8.0, 1.5), "h": (4.0, 1.2), "q": (1.3, 0.4), "e": (1.0, 0.3), "i": (1.05, 0.25),
    "p": (2.6, 1.0), "onset": (1.0, 0.35), "one job": (3.0, 1.0),
}  # fmt: skip
"""Median and sd of the logarithm, before any data; ``one job`` in units of the highest throughput of a job, ``g`` in
those of the median time of a request over the largest block."""


@dataclass(frozen=True)
class Apart(Discrepancy):
    """Nearness of places (m, 4) in ln b, the share of reads and ln N, each over its own length."""

    lengths: tuple[float, float, float] = (1.0, 0.6, 2.0)

    def place(self, loads: Array) -> Array:
        block, mix, outstanding = np.log(np.maximum(loads[:, 0], 1.0)), loads[:, 1], np.log(loads[:, 2])
        return np.asarray(np.column_stack([block, mix, outstanding]) / np.array(self.lengths))

    def between(self, some: Array, others: Array) -> Array:
        apart = self.place(some)[:, None, :] - self.place(others)[None, :, :]
        return np.asarray((1 - self.own) * np.exp(-0.5 * (apart**2).sum(axis=-1)))


MISSES = Apart(length=1.0, own=0.1)


def as_loads(places: Places) -> Array:
    """Places as rows (m, 4), as a discrepancy takes them."""
    return np.column_stack([places.block_bytes, places.read_fraction, places.outstanding, places.jobs])


@dataclass(frozen=True)
class SurfaceModel:
    """The model for points that vary in ``varying``; parameters that these cannot tell are left out of it.

    ``classes`` are those of reads and writes that occur.
    """

    varying: tuple[str, ...]
    classes: tuple[str, ...]
    largest_bytes: float = 1.0
    per_job: float = 1.0
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        deep, sized = "outstanding" in self.varying, "block_bytes" in self.varying
        names: list[str] = []
        for c in self.classes:
            names += [f"a {c}", *([f"g {c}"] if sized else []), *([f"n {c}"] if deep else [])]
            names += [f"h {c}"] if sized and deep else []
        names += ["e"] if sized else []
        names += ["q"] if sized and deep else []
        names += ["i"] if len(self.classes) > 1 else []
        names += ["p", "onset"] if deep else []
        names += ["one job"] if "jobs" in self.varying else []
        object.__setattr__(self, "names", tuple(names))

    @classmethod
    def of(cls, places: Places, throughput: Array, others: Places) -> SurfaceModel:
        """The model that these places can tell; jobs matter where ``others`` differ in them."""
        mix = places.read_fraction
        classes = [c for c, there in (("read", (mix > 0).any()), ("write", (mix < 1).any())) if there]
        varying = {*places.varying(), *(("jobs",) if len(others.values("jobs")) > 1 else ())}
        return cls(
            tuple(sorted(varying)),
            tuple(classes),
            float(places.block_bytes.max()),
            float((throughput / places.jobs).max()),
        )

    def parameters(self, places: Places, throughput: Array) -> tuple[Parameter, ...]:
        """The parameters, with bounds wide around what these points (m,) can mean."""
        lone = places.outstanding / throughput
        shortest, longest, largest = float(lone.min()), float(lone.max()), max(float(places.block_bytes.max()), 1.0)
        bounds = {
            "a": (1e-4 * shortest, longest * 10), "g": (1e-4 * shortest / largest, longest * 10 / largest),
            "n": (1.0, MOST), "h": (1.0, MOST), "q": (0.5, 20.0), "e": (0.2, 3.0), "i": (0.5, 5.0), "p": (0.5, 60.0),
            "onset": (0.05, 20.0), "one job": (1.0, 100.0),
        }  # fmt: skip
        scale = {"g": float(np.median(lone)) / largest}
        found = []
        for name in self.names:
            kind = name if name == "one job" else name.split()[0]
            median, width = PRIORS.get(kind, (None, None))
            centre = None if median is None else median * scale.get(kind, 1.0)
            found.append(Parameter(name, {"a": "s", "g": "s per B"}.get(kind, ""), *bounds[kind], centre, width))
        return tuple(found)

    def start(self, places: Places, throughput: Array) -> Array:
        """A starting point (d,): lone times by least squares at the least depth, peak times at the greatest."""
        deep = places.outstanding >= places.outstanding.max()
        lone, rates = self._times(
            places, places.outstanding / throughput, places.outstanding <= places.outstanding.min()
        )
        peak, peak_rates = self._times(places, 1 / throughput, deep)
        values = {"q": 1.3, "e": 1.0, "i": 1.05, "p": PRIORS["p"][0], "onset": 1.0, "one job": PRIORS["one job"][0]}
        for k, c in enumerate(self.classes):
            values |= {f"a {c}": lone[k], f"g {c}": rates[k]}
            values |= {f"n {c}": max(lone[k] / peak[k], 1.05), f"h {c}": max(rates[k] / peak_rates[k], 1.05)}
        return np.array([values[name] for name in self.names])

    def _times(self, places: Places, times: Array, chosen: Array) -> tuple[Array, Array]:
        """Seconds per request and per byte of each class, none negative and none quite zero."""
        from scipy.optimize import nnls

        block = places.block_bytes[chosen]
        shares = [
            places.read_fraction[chosen] if c == "read" else 1 - places.read_fraction[chosen] for c in self.classes
        ]
        seen = times[chosen]
        sized = "block_bytes" in self.varying
        columns = np.column_stack([*shares, *((s * block for s in shares) if sized else ())]) / seen[:, None]
        scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
        found = nnls(columns / scale, np.ones(len(seen)))[0] / scale
        k = len(self.classes)
        largest = float(places.block_bytes.max())
        typical = float(np.median(seen))
        per_byte = found[k:] if sized else np.zeros(k)
        return np.maximum(found[:k], typical / 50), np.maximum(per_byte, typical / 50 / max(largest, 1.0))

    def throughput(self, values: Array, places: Places) -> Array:
        """X (w, m) of parameter values (w, d)."""
        return np.asarray(np.exp(self.log_throughput(values, places)))

    def log_throughput(self, values: Array, places: Places) -> Array:
        """ln X (w, m)."""
        lone, peak = self.lone_s(values, places), self.peak_s(values, places)
        log_n = np.log(places.outstanding)[None, :]
        if peak is None:
            return np.asarray(log_n - np.log(lone))
        value, p = self._value(values), self._value(values)("p")
        log_r = np.log(lone) + np.log(value("onset")) * (places.outstanding[None, :] ** -ONSET_POWER - 1)
        log_x = -np.logaddexp(p * (log_r - log_n), p * np.log(peak)) / p
        if "one job" in self.names:
            limit = np.log(value("one job") * self._per_job(places))
            log_x = -np.logaddexp(-p * log_x, -p * limit) / p
        return np.asarray(log_x)

    def lone_s(self, values: Array, places: Places) -> Array:
        """R (w, m): the response time of a lone request."""
        value = self._value(values)
        spread = (places.block_bytes / self.largest_bytes) ** value("e") * self.largest_bytes
        return self._mean(places, [value(f"a {c}") + value(f"g {c}") * spread for c in self.classes])

    def peak_s(self, values: Array, places: Places) -> Array | None:
        """D (w, m): one over the peak throughput; None where only one depth is known."""
        if "outstanding" not in self.varying:
            return None
        value = self._value(values)
        requests = self._mean(places, [value(f"a {c}") / value(f"n {c}") for c in self.classes])
        if "block_bytes" not in self.varying:
            return requests * self._turnaround(value, places)
        per_byte = self._mean(places, [value(f"g {c}") / value(f"h {c}") for c in self.classes])
        q, transfers = value("q"), per_byte * places.block_bytes * self._turnaround(value, places)
        return np.asarray(np.exp(np.logaddexp(q * np.log(requests), q * np.log(transfers)) / q))

    def busy_s(self, values: Array, places: Places) -> Array:
        """R / onset (w, m): the response time before any waits, of a device that others keep awake."""
        onset = self._value(values)("onset") if "onset" in self.names else 1.0
        return np.asarray(self.lone_s(values, places) / onset)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        """The parameters as people name them, {name: (unit, values (w,))}, from the fitted ones (w, d)."""
        value, found = self._value(values), {}
        deep, sized = "outstanding" in self.varying, "block_bytes" in self.varying
        for c in self.classes:
            found[f"{c}: latency alone"] = ("s", value(f"a {c}"))
            if sized:
                found[f"{c}: latency per byte"] = ("s per B", value(f"g {c}"))
            if deep:
                found[f"{c}: peak rate"] = ("1/s", value(f"n {c}") / value(f"a {c}"))
            if sized and deep:
                found[f"{c}: bandwidth"] = ("B/s", value(f"h {c}") / value(f"g {c}"))
        shared = {name: ("", value(name)) for name in self.names if name in ("q", "e", "i", "p", "onset")}
        if "one job" in self.names:
            shared["one job"] = ("1/s", value("one job") * self.per_job)
        return {name: (unit, v[:, 0]) for name, (unit, v) in {**found, **shared}.items()}

    def _turnaround(self, value: Callable[[str], Array], places: Places) -> Array:
        share = places.read_fraction[None, :]
        return np.asarray(1 + 4 * share * (1 - share) * (value("i") - 1)) if "i" in self.names else np.ones_like(share)

    def _mean(self, places: Places, times: list[Array]) -> Array:
        """The mean (w, m) over the mix of each class's times, (w, 1) or (w, m)."""
        share = places.read_fraction[None, :]
        shares = [share if c == "read" else 1 - share for c in self.classes]
        return (
            np.asarray(sum(s * t for s, t in zip(shares, times, strict=True)))
            if len(times) > 1
            else times[0] * np.ones_like(share)
        )

    def _per_job(self, places: Places) -> Array:
        """What J jobs submit at most, in units of ``one job``."""
        return places.jobs[None, :] * self.per_job

    def _value(self, values: Array) -> Callable[[str], Array]:
        """The values (w, 1) of a parameter by name; 0 where the model has none such (1 for the exponent e)."""
        index = {name: i for i, name in enumerate(self.names)}
        missing = {"e": np.ones((len(values), 1))}
        zero = np.zeros((len(values), 1))
        return lambda name: values[:, index[name], None] if name in index else missing.get(name, zero)
