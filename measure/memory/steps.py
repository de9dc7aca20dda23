"""Where the latency of a sweep over buffer sizes stands still, and where it steps up: the caches, as measured.

The logarithm of the latency is cut into pieces of constant height so that the squared misfit, in units of the noise,
plus PENALTY ln(n) a piece is least (optimal partitioning by dynamic programming; Jackson et al. (2005), IEEE Signal
Processing Letters 12(2)). The noise is what repeats of a point differ by, and at least LEAST_NOISE, so that steps of
some 20 % and more count. A piece of two sizes and more is a plateau, and so are the first and the last; a single size
between them lies on a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.sweep import Sweep, recorded_caches

LEAST_NOISE = 0.05
PENALTY = 3.0


@dataclass(frozen=True)
class Plateau:
    """Buffer sizes of about one latency.

    ``first_bytes`` to ``last_bytes`` were measured so; ``latency_s`` is the mean over them, ``bandwidths`` that of each
    series (bytes/s). ``cache`` is the smallest cache that the machine reports to hold them ("level-2"), "memory" where
    none does, "" where the machine does not tell.
    """

    first_bytes: int
    last_bytes: int
    latency_s: float
    bandwidths: dict[str, float]
    cache: str = ""


@dataclass(frozen=True)
class LatencyStep:
    """A rise between two plateaus: somewhere between two sizes, by a factor.

    ``caches`` are those of a reported size in that range, {name: bytes}.
    """

    after_bytes: int
    upto_bytes: int
    factor: float
    caches: dict[str, float]


def plateaus(sweep: Sweep) -> tuple[Plateau, ...]:
    """The plateaus of a sweep over buffer sizes, smallest buffers first. ValueError for any other sweep."""
    if not sweep.load_type.is_size:
        raise ValueError(f"{sweep.name or 'the sweep'} is over {sweep.load_kind}, and only buffer sizes have plateaus")
    means = sweep.mean_points()
    first = means[means["series"] == sweep.series[0]]
    sizes = first["load"].to_numpy(float)
    latency = first["latency_s"].to_numpy(float)
    spread = first["latency_spread"].to_numpy(float)
    noise = float(np.nanmedian(spread)) if np.isfinite(spread).any() else 0.0
    caches = recorded_caches(sweep.provenance.details)
    found: list[Plateau] = []
    pieces = segments(np.log(latency), noise)
    for number, (begin, end) in enumerate(pieces):
        if end - begin < 2 and 0 < number < len(pieces) - 1:
            continue
        low, high = sizes[begin], sizes[end - 1]
        inside = means[(means["load"] >= low) & (means["load"] <= high)]
        bandwidths = {str(s): float(g.mean()) for s, g in inside.groupby("series", sort=False)["bandwidth_bytes_per_s"]}
        holder = next((name for name, size in caches.items() if high <= size), "memory" if caches else "")
        found.append(Plateau(int(low), int(high), float(np.exp(np.log(latency[begin:end]).mean())), bandwidths, holder))
    return tuple(found)


def steps(found: Sequence[Plateau], caches: dict[str, float]) -> tuple[LatencyStep, ...]:
    """The steps between ``found``, beside the reported ``caches`` {name: bytes}."""
    return tuple(
        LatencyStep(
            low.last_bytes,
            high.first_bytes,
            high.latency_s / low.latency_s,
            {name: size for name, size in caches.items() if low.last_bytes <= size < high.first_bytes},
        )
        for low, high in pairwise(found)
    )


def segments(values: NDArray[Any], noise: float) -> list[tuple[int, int]]:
    """The pieces [begin, end) of ``values`` (n,) of about constant height; ``noise`` is their standard deviation."""
    count = len(values)
    variance = max(noise, LEAST_NOISE) ** 2
    sums, squares = np.r_[0.0, np.cumsum(values)], np.r_[0.0, np.cumsum(values**2)]

    def misfit(begin: int, end: int) -> float:
        total = sums[end] - sums[begin]
        return max(0.0, float(squares[end] - squares[begin] - total**2 / (end - begin))) / variance

    best, cut = [0.0], [0]
    for end in range(1, count + 1):
        costs = [best[begin] + misfit(begin, end) + PENALTY * np.log(count) for begin in range(end)]
        cut.append(int(np.argmin(costs)))
        best.append(float(min(costs)))
    pieces: list[tuple[int, int]] = []
    end = count
    while end > 0:
        pieces.append((cut[end], end))
        end = cut[end]
    return pieces[::-1]
