"""Throughput over block size, share of reads and queue depth: two classes of requests on shared servers.

A lone request of class c (reads, writes) takes a_c (1 + b / B1); a busy device spends s_c on it for the request and
t_c b for its bytes. A share m of reads makes all of these their means over the classes,

    R(b, m) = [m a_r + (1 - m) a_w] (1 + b / B1)
    D(b, m) = (S^q + (T b)^q)^(1/q),    S = m s_r + (1 - m) s_w,    T = m t_r + (1 - m) t_w

1 / s is the peak request rate, of host or controller, 1 / t the bandwidth of link or medium, and q says how the two
limits meet: added up (q = 1, one after the other) or the larger alone (q to infinity, both at once). Blocks below 4 KiB
cost R and D a fixed factor. N outstanding requests join both asymptotes as on one curve, and J jobs submit at most J
times what one can:

    X(b, m, N) = [(N / r)^-p + D^-p]^(-1/p),    r = R onset^(N^-2 - 1)

In place of s and t the parameters are the requests served at a time, a / s, and the block from which bandwidth limits
a busy device, s / t. Of the two classes the geometric mean and the ratio are parameters. Where all depths are one,
neither a knee nor a limit shows, and the model is the line N / X = R(b, m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.fitting.readings import ninety_of_p_norm
from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Parameter
from calibrate.surface.places import Places

SMALL_BYTES = 4096.0
WIDER = 1.2  # the priors were learned from 23 devices; their widths are multiplied by this

PRIORS = {
    "reads over writes, latency": ("", 1.4, 1.05),
    "served at a time": ("", 4.6, 1.5),
    "reads over writes, served": ("", 1.6, 0.9),
    "p": ("", 2.5, 0.7),
    "onset": ("", 1.0, 0.4),
    "block that doubles the latency": ("B", 40 * 1024.0, 1.1),
    "block that bandwidth limits": ("B", 8.8 * 1024, 1.2),
    "reads over writes, that block": ("", 1.0, 1.6),
    "q": ("", 2.6, 0.7),
    "one job over the most seen": ("", 3.5, 0.8),
    "cost of a block below 4 KiB": ("", 1.2, 0.4),
}
"""Unit, median and standard deviation of the logarithm of every parameter after the first, the latency a."""

LINE_PRIOR = (20 * 1024.0, 4.0)
"""The prior at one depth: the block whose bytes take as long as the rest of the request; median and log sd."""

REACH = 8.0  # bounds lie this many standard deviations of the prior from its median

LATENCY_REACH, LATENCY_LOG_SD = 1e5, 5.0


@dataclass(frozen=True)
class Near(MisfitProcess):
    """Correlation between places, rows (m, 4): ln b, share of reads, ln N and ln jobs, each over its own length.

    The correlation is exp(-d^2 / 2), d the Euclidean distance.
    """

    length: float = 1.0
    own: float = 0.1
    lengths: tuple[float, float, float, float] = (1.5, 0.5, 2.5, 2.0)

    def place(self, loads: Array) -> Array:
        block, share, outstanding, jobs = loads.T
        columns = [np.log(np.maximum(block, 1.0)), share, np.log(outstanding), np.log(jobs)]
        return np.asarray(np.column_stack(columns) / np.array(self.lengths))

    def between(self, some: Array, others: Array) -> Array:
        apart = self.place(some)[:, None, :] - self.place(others)[None, :, :]
        return np.asarray((1 - self.own) * np.exp(-0.5 * (apart**2).sum(axis=2)))


NEAR = Near()


@dataclass(frozen=True)
class SurfaceModel:
    """The model of places as rows (m, 4): block, share of reads, outstanding requests, jobs.

    ``latency_s`` is the starting value of a descent, ``per_job`` the highest measured throughput of a job; ``line`` is
    true where all depths are equal.
    """

    latency_s: float
    per_job: float
    line: bool = False

    @classmethod
    def of(cls, places: Places, throughput: Array, line: bool) -> SurfaceModel:
        """The model for these points (m,), with a starting latency that fits the median point."""
        first = cls(1.0, float((throughput / places.jobs).max()), line)
        usual = np.array([[p.prior_median for p in first.parameters()]], dtype=float)
        missed = np.log(throughput) - first.log_throughput(usual, places.as_rows())[0]
        return cls(float(np.exp(-np.median(missed))), first.per_job, line)

    @property
    def misfit(self) -> MisfitPrior:
        """The prior of the misfit's size for a surface, or a line: small on some drives, large on others."""
        return MisfitPrior(0.16, 0.9) if self.line else MisfitPrior(0.35, 1.0)

    def parameters(self) -> tuple[Parameter, ...]:
        """The latency, with a wide prior, and the others."""
        far, at = LATENCY_REACH, self.latency_s
        priors = PRIORS | ({"block that doubles the latency": ("B", *LINE_PRIOR)} if self.line else {})
        latency = Parameter("latency", "s", at / far, at * far, at, LATENCY_LOG_SD)
        return (latency, *(parameter(name, *prior) for name, prior in priors.items()))

    def log_throughput(self, values: Array, loads: Array) -> Array:
        """ln X (n, m) of parameters (n, 12) at rows of places (m, 4)."""
        outstanding, jobs = loads[:, 2], loads[:, 3]
        lone = np.log(self.lone_s(values, loads)) - np.log(outstanding)
        if self.line:
            return np.asarray(-lone)
        p, onset = values[:, 4, None], values[:, 5, None]
        waiting = lone + np.log(onset) * (outstanding**-2.0 - 1)
        peak = np.logaddexp(p * waiting, p * np.log(self.busy_s(values, loads)))
        submitted = np.log(values[:, 10, None] * self.per_job * jobs)
        return np.asarray(-np.logaddexp(peak, -p * submitted) / p)

    def throughput(self, values: Array, loads: Array) -> Array:
        """X (n, m)."""
        return np.exp(self.log_throughput(values, loads))

    def lone_s(self, values: Array, loads: Array) -> Array:
        """R (n, m): the response time of a lone request."""
        block, share = loads[:, 0], loads[:, 1]
        read, write = self.latencies_s(values)
        alone = share * read[:, None] + (1 - share) * write[:, None]
        return np.asarray(alone * (1 + block / values[:, 6, None]) * _small(values, block))

    def busy_s(self, values: Array, loads: Array) -> Array:
        """D (n, m): one over the peak throughput."""
        block, share = loads[:, 0], loads[:, 1]
        times, per_byte = self.limits_s(values)
        requests = share * times[0][:, None] + (1 - share) * times[1][:, None]
        transfers = (share * per_byte[0][:, None] + (1 - share) * per_byte[1][:, None]) * np.maximum(block, 1e-9)
        q = values[:, 9, None]
        together = np.exp(np.logaddexp(q * np.log(requests), q * np.log(transfers)) / q)
        return np.asarray(together * _small(values, block))

    def ninety(self, values: Array, loads: Array) -> Array:
        """The depth (n, m) at 90 % of the peak, with the latency without onset."""
        crossing = self.lone_s(values, loads) / values[:, 5, None] / self.busy_s(values, loads)
        return ninety_of_p_norm(crossing, values[:, 4, None])

    def latencies_s(self, values: Array) -> tuple[Array, Array]:
        """a of reads and of writes, (n,) each."""
        return _both(values[:, 0], values[:, 1])

    def limits_s(self, values: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """s of reads and of writes, and t of both, (n,) each."""
        latency, served = self.latencies_s(values), _both(values[:, 2], values[:, 3])
        blocks = _both(values[:, 7], values[:, 8])
        times = (latency[0] / served[0], latency[1] / served[1])
        return times, (times[0] / blocks[0], times[1] / blocks[1])

    def report(self, values: Array, places: Places) -> dict[str, tuple[str, Array]]:
        """The reported parameters that ``places`` determine, {name: (unit, values (n,))}, from parameters (n, 12)."""
        sized, share, found = len(places.values("block_bytes")) > 1, places.read_fraction, {}
        latency, (times, per_byte) = self.latencies_s(values), self.limits_s(values)
        for k, (name, occurs) in enumerate((("read", (share > 0).any()), ("write", (share < 1).any()))):
            if not occurs:
                continue
            found[f"{name}: latency alone"] = ("s", latency[k])
            if not self.line:
                found[f"{name}: peak rate"] = ("1/s", 1 / times[k])
            if sized:
                grown = latency[k] / values[:, 6]
                found[f"{name}: latency per byte"] = ("s per B", grown)
                limit = places.outstanding[0] / grown if self.line else 1 / per_byte[k]
                found[f"{name}: bandwidth"] = ("B/s", limit)
        if sized:
            found["block that doubles the latency"] = ("B", values[:, 6])
        if not self.line:
            found |= {"p": ("", values[:, 4]), "onset": ("", values[:, 5]), "q": ("", values[:, 9])}
        if len(places.values("jobs")) > 1:
            found["one job"] = ("1/s", values[:, 10] * self.per_job)
        return found


def parameter(name: str, unit: str, median: float, log_sd: float) -> Parameter:
    """A parameter of this prior, widened, bounded where it ends."""
    far = float(np.exp(REACH * WIDER * log_sd))
    return Parameter(name, unit, median / far, median * far, median, WIDER * log_sd)


def _both(mean: Array, ratio: Array) -> tuple[Array, Array]:
    """The values of reads and of writes, by their geometric mean and their ratio."""
    return mean * np.sqrt(ratio), mean / np.sqrt(ratio)


def _small(values: Array, block: Array) -> Array:
    """The cost factor of a block below 4 KiB; a block of 0 has an unknown size."""
    return np.where((block > 0) & (block < SMALL_BYTES), values[:, 11, None], 1.0)
