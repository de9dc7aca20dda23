"""Normalising constants of closed product-form networks, by convolution in logarithms.

In a product-form network the probability of finding n⃗ᵢ customers (n₁, ..., n_R of the R classes) at station i, for
all i, is the product of the stations' weights divided by G(N⃗), the sum of that product over all ways to place the
N⃗ customers.  With Dᵢᵣ the demand of class r and sᵢ(k) the speed of the station with k present (min(k, c) for c
servers),

    gᵢ(n⃗) = |n⃗|! / (n₁! ··· n_R!) · Dᵢ₁^n₁ ··· Dᵢ_R^n_R / (sᵢ(1)·sᵢ(2)···sᵢ(|n⃗|)),

and G is the convolution of the gᵢ over the lattice 0..N⃗ (Buzen 1973), for all populations at once.  Throughputs are
ratios, X_r(N⃗) = G(N⃗ - e_r)/G(N⃗), and probabilities at a station are gᵢ(n⃗)·Fᵢ(N⃗ - n⃗)/G(N⃗), where Fᵢ is the
constant of the network without that station.

Every term is positive, so nothing cancels; logarithms cannot overflow, and times are first divided by the unit that
keeps G near one.  Fᵢ is built from the other stations, halving the list, as dividing gᵢ out of G would subtract.

A station whose speed stays the same from the m-th customer on has gᵢ(n⃗) = Σᵣ Dᵢᵣ/sᵢ·gᵢ(n⃗ - e_r) for |n⃗| >= m, so
only its first m layers have to be convolved; the rest is a recursion along the lattice.

Source: Buzen (1973), Communications of the ACM 16, "Computational algorithms for closed queueing networks with
exponential servers"; Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; Reiser & Kobayashi (1975), IBM J. Res.
Dev. 19; tail recursion as in Bruell & Balbo (1980), Computational Algorithms for Closed Queueing Networks, ch. 3.

>>> G = np.exp(constant(empty_network([0.0], (3,)), [Centre((1.0,)), Centre((3.0,)), Centre((2.0,))]))
>>> G.round(9).tolist()
[1.0, 6.0, 25.0, 90.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray, IntArray

BLOCK = 64  # populations per step of the recursion: short enough that the logarithms it shifts stay small

FEW = 500  # customers up to whom no constant overflows: 4^500 is 1e301


@dataclass(frozen=True)
class Centre:
    """A station of a product-form network: the demand of each class, and its speed with 1, 2, ... present.

    ``queues`` is the number of queues over which its customers spread at random.
    """

    demands: tuple[float, ...]
    speeds: tuple[float, ...] = (1.0,)
    queues: int = 1

    def speed(self, present: IntArray) -> FloatArray:
        """The speed with ``present`` customers (at least 1); beyond the table it stays at the last value."""
        table = np.asarray(self.speeds)
        return np.asarray(table[np.minimum(present, table.size) - 1])

    @property
    def shares(self) -> tuple[float, ...]:
        """Each class's demand at the final speed: the time a full station takes per customer and cycle."""
        return tuple(d / self.speeds[-1] for d in self.demands)

    def p_wait(self, seen: FloatArray) -> float:
        """The probability that an arrival finds its server (or all servers) busy; ``seen[k]``: that it finds k."""
        k = np.arange(seen.size)
        if self.queues > 1:  # all arrangements of k over the queues are equally likely
            return float(seen @ (k / (k + self.queues - 1)))
        return min(float(seen[len(self.speeds) :].sum()), 1.0)


def servers(demands: Sequence[float], count: int, population: int) -> Centre:
    """``count`` servers, or ``population`` where that is fewer."""
    return Centre(tuple(demands), tuple(float(k) for k in range(1, min(count, population) + 1)))


def random_queues(demands: Sequence[float], count: int, population: int) -> Centre:
    """``count`` single servers picked at random: n customers keep n·k/(n + k - 1) of k busy.

    The servers' own weights add up to C(n+k-1, n)·(D/k)ⁿ: a load-dependent station with these speeds.
    """
    if count == 1:
        return Centre(tuple(demands))
    return Centre(tuple(demands), tuple(n * (count / (n + count - 1)) for n in range(1, population + 1)), count)


def time_unit(populations: Sequence[int], think_times: Sequence[float], centres: Sequence[Centre]) -> float:
    """About the time between two departures: G counted in this unit stays near one at the full population."""
    N = sum(populations)

    def mean(times: Sequence[float]) -> float:
        return math.fsum(n * t for n, t in zip(populations, times, strict=True)) / N

    thinking, demands = mean(think_times), [mean(c.demands) / max(c.speeds) for c in centres]
    return max((thinking + math.fsum(demands)) / N, *demands)


def empty_network(think_times: Sequence[float], populations: Sequence[int]) -> FloatArray:
    """log G of the delays alone, Π Zᵣ^nᵣ/nᵣ!, over the lattice 0..N⃗: where every convolution starts."""
    from scipy.special import gammaln, xlogy

    total = np.zeros(())
    for Z, N in zip(think_times, populations, strict=True):
        n = np.arange(N + 1)
        total = np.add.outer(total, xlogy(n, Z) - gammaln(n + 1))
    return total


def weights(centre: Centre, shape: tuple[int, ...]) -> FloatArray:
    """log g(n⃗) over the lattice."""
    from scipy.special import gammaln, xlogy

    axes = np.indices(shape)
    present = axes.sum(axis=0)
    log_speeds = np.log(centre.speed(np.arange(1, sum(shape))))
    result = gammaln(present + 1) - np.concatenate(([0.0], np.cumsum(log_speeds)))[present]
    for n, d in zip(axes, centre.demands, strict=True):
        result = result + xlogy(n, d) - gammaln(n + 1)
    return np.asarray(result)


def add(centre: Centre, log_g: FloatArray) -> FloatArray:
    """Convolve a station into log G."""
    flat = len(centre.speeds)  # the recursion holds from this many customers on
    head = weights(centre, tuple(min(flat, size) for size in log_g.shape))
    layer = np.indices(head.shape).sum(axis=0)
    tail = _recursion(convolve(np.where(layer == flat - 1, head, -np.inf), log_g), centre.shares)
    if flat == 1:
        return tail
    return np.logaddexp(convolve(np.where(layer < flat - 1, head, -np.inf), log_g), tail)


def convolve(log_a: FloatArray, log_b: FloatArray) -> FloatArray:
    """log of Σ a(m⃗)·b(n⃗ - m⃗) over the lattice of ``log_b``; each sum is taken relative to its largest term."""
    offsets = np.argwhere(np.isfinite(log_a))
    largest = np.full(log_b.shape, -np.inf)
    for offset in offsets:
        to, source = _windows(offset, log_b.shape)
        np.maximum(largest[to], log_a[tuple(offset)] + log_b[source], out=largest[to])
    floor = np.where(np.isfinite(largest), largest, 0.0)
    total = np.zeros(log_b.shape)
    for offset in offsets:
        to, source = _windows(offset, log_b.shape)
        total[to] += np.exp(log_a[tuple(offset)] + log_b[source] - floor[to])
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(total))


def constant(log_g: FloatArray, centres: Sequence[Centre]) -> FloatArray:
    """log G of all of them together, starting from ``log_g``."""
    for centre in centres:
        log_g = add(centre, log_g)
    return log_g


def without_each(log_g: FloatArray, centres: Sequence[Centre]) -> list[FloatArray]:
    """log Fᵢ (the network without station i) for each i.  Costs about M·log2(M) convolutions for M stations."""
    if len(centres) <= 1:
        return [log_g] * len(centres)
    middle = len(centres) // 2
    left, right = centres[:middle], centres[middle:]
    return without_each(constant(log_g, right), left) + without_each(constant(log_g, left), right)


def present(centre: Centre, log_rest: FloatArray, populations: Sequence[int]) -> FloatArray:
    """p(0), p(1), ... of the number (of all classes) at a station, ``log_rest`` being its log F.

    For any ``populations`` within the lattice of ``log_rest``; normalised by their own sum, which is G.
    """
    shape = tuple(n + 1 for n in populations)
    rest = log_rest[tuple(slice(0, size) for size in shape)]
    logs = weights(centre, shape) + np.flip(rest)
    terms = np.exp(logs - logs.max())
    if terms.ndim > 1:
        terms = np.bincount(np.indices(shape).sum(axis=0).ravel(), terms.ravel())
    return np.asarray(terms / terms.sum())


class Presence(NamedTuple):
    """p(0), p(1), ... of the number at each station, a row each: as an arrival sees it, and in time average."""

    seen: FloatArray
    present: FloatArray


def at_single_servers(thinking: float, demands: Sequence[float], population: int) -> Presence:
    """:func:`present` for one customer less, and for all; the terms as they are, not logarithms.

    Fᵢ is the convolution of the stations before i, with the delays, and those after it. In the unit of
    :func:`time_unit` no demand is above 1 and Z + ΣD at most N, so that 1 <= G(N) and G(n) <= 4ᴺ for n <= N.
    """
    delays = [1.0]
    for n in range(1, population + 1):
        delays.append(delays[-1] * thinking / n)
    before, after = [delays], [[1.0, *[0.0] * population]]
    for d in demands[:-1]:
        before.append(_with_single_server(d, before[-1]))
    for d in demands[:0:-1]:
        after.append(_with_single_server(d, after[-1]))
    powers = np.power.outer(np.array(demands), np.arange(population + 1))
    rests = np.array([np.convolve(a, b)[: population + 1] for a, b in zip(before, reversed(after), strict=True)])
    terms = [powers[:, : N + 1] * rests[:, N::-1] for N in (population - 1, population)]
    return Presence(*(each / each.sum(axis=1, keepdims=True) for each in terms))


class Found(NamedTuple):
    """What an arrival finds at each station: how many on average, and with which probability any."""

    present: list[float]
    busy: list[float]


def found_at_single_servers(thinking: float, demands: FloatArray, others: int) -> Found:
    """What one customer more than the ``others`` finds, in the unit of :func:`time_unit`: from G alone, without any Fᵢ.

    The theory is in :mod:`qsim.analytic.networks.product_form`.

    >>> found_at_single_servers(0.0, np.array([1.0, 0.5]), others=1)  # alone with one other, who is where its demand is
    Found(present=[0.6666666666666666, 0.3333333333333333], busy=[0.6666666666666666, 0.3333333333333333])
    """
    if not others:
        return Found([0.0] * demands.size, [0.0] * demands.size)
    powers = np.empty((others, demands.size))
    powers[:] = demands
    np.multiply.accumulate(powers, out=powers)
    sums = powers.sum(axis=1)
    sums[0] += thinking
    constants = np.ones(others + 1)  # G(others) first, G(0) = 1 last
    for n in range(1, others + 1):
        constants[-1 - n] = sums[:n].dot(constants[-n:]) / n
    shares = constants[1:] / constants[0]
    return Found((shares @ powers).tolist(), np.minimum(powers[0] * shares[0], 1.0).tolist())


def _with_single_server(demand: float, constants: Sequence[float]) -> list[float]:
    """The constants G(0), G(1), ... with one more station: G(n) + D·G'(n - 1)."""
    found, fewer = [], 0.0
    for here in constants:
        fewer = here + demand * fewer
        found.append(fewer)
    return found


def convolution_terms(centre: Centre, shape: tuple[int, ...]) -> int:
    """The number of products that :func:`add` computes."""
    flat = min(len(centre.speeds), sum(shape))
    if len(shape) == 1:
        return min(flat, shape[0]) * shape[0]
    inside = np.indices(tuple(min(flat, size) for size in shape)).sum(axis=0) < flat
    return int(inside.sum()) * math.prod(shape)


def _windows(offset: IntArray, shape: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    to = tuple(slice(int(o), None) for o in offset)
    return to, tuple(slice(0, max(0, size - int(o))) for o, size in zip(offset, shape, strict=True))


def _recursion(log_source: FloatArray, shares: Sequence[float]) -> FloatArray:
    """log T for T(n⃗) = source(n⃗) + Σᵣ shareᵣ·T(n⃗ - e_r)."""
    log_shares = [math.log(s) if s > 0 else -math.inf for s in shares]
    result = np.empty_like(log_source)
    for index in np.ndindex(log_source.shape[:-1]):
        line = log_source[index]
        for r, i in enumerate(index):
            if i > 0:
                line = np.logaddexp(line, log_shares[r] + result[(*index[:r], i - 1, *index[r + 1 :])])
        result[index] = _geometric(line, log_shares[-1])
    return result


def _geometric(log_source: FloatArray, log_ratio: float) -> FloatArray:
    """log t for t(n) = source(n) + ratio·t(n-1)."""
    if log_ratio == -math.inf:
        return log_source
    result = np.empty_like(log_source)
    shift = log_ratio * np.arange(BLOCK)
    before = -np.inf
    for start in range(0, log_source.size, BLOCK):
        line = log_source[start : start + BLOCK].copy()
        line[0] = np.logaddexp(line[0], log_ratio + before)
        down = shift[: line.size]
        result[start : start + BLOCK] = np.logaddexp.accumulate(line - down) + down
        before = result[min(start + BLOCK, log_source.size) - 1]
    return result
