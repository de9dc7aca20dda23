"""Suites: the questions that people ask of a drive, by name, each as the workloads that answer it.

Together (``course``) they measure what the published course reports showed: baselines, block sizes, mixes, depths,
tails, and arrival rates. Only drives are measured here; the memory has its own probe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from measure.fio.workload import FioJob

KIB = 1024


@dataclass(frozen=True)
class Suite:
    """One question with its workloads, all closed.

    A point of a suite with ``patience`` 2 runs twice as long as the others. ``fractions`` make it an open one: its
    workloads only find the peak and the latency of a lone request, and then requests arrive at these shares of it.
    """

    name: str
    purpose: str
    workloads: tuple[FioJob, ...]
    patience: float = 1.0
    fractions: tuple[float, ...] = ()

    def reading(self) -> Suite:
        """The suite without what writes; it may be left with no workload."""
        return replace(self, workloads=tuple(w for w in self.workloads if w.read_percent == 100))


def _all(quick: bool) -> tuple[Suite, ...]:
    def reads_and_writes(depths: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[FioJob, ...]:
        shares = (100, 0)
        return tuple(FioJob(n, 1, size * KIB, read, "random") for read in shares for n in depths for size in sizes)

    sizes, shares = ((4, 64), (100, 50, 0)) if quick else ((4, 16, 64), (100, 70, 50, 30, 0))
    depths = (1, 4, 16, 64) if quick else (1, 2, 4, 8, 16, 32, 64, 256, 1024)
    curves = ((4, 100), (4, 0)) if quick else ((4, 100), (32, 100), (4, 50), (4, 0))
    return (
        Suite(
            "baseline",
            "What one request takes by itself: 4 KiB random and 128 KiB sequential, read and write.",
            (*reads_and_writes((1,), (4,)), *(FioJob(1, 1, 128 * KIB, read, "sequential") for read in (100, 0))),
        ),
        Suite(
            "block-size",
            "Where not the number of requests but their bytes become the limit: one request at a time.",
            reads_and_writes((1,), (4, 16, 64, 256) if quick else (4, 8, 16, 32, 64, 128, 256, 512)),
        ),
        Suite(
            "mix",
            "What reads and writes do to each other: every mix of several sizes, one request at a time.",
            tuple(FioJob(1, 1, size * KIB, read, "random") for size in sizes for read in shares),
        ),
        Suite(
            "depth",
            "What more requests at once bring, and from where on they only wait: the knee.",
            tuple(FioJob(depth, 1, size * KIB, read, "random") for size, read in curves for depth in depths),
        ),
        Suite(
            "tails",
            "How long the unlucky ones wait: p50 to p99.9 of 4 KiB reads and writes, in longer runs.",
            reads_and_writes((1, 4, 16) if quick else (1, 2, 4, 8, 16, 32), (4,)),
            patience=2.0,
        ),
        Suite(
            "rate",
            "What requests wait that arrive by themselves: 4 KiB reads at shares of the peak measured just before.",
            tuple(FioJob(depth, 1, 4 * KIB, 100, "random") for depth in (1, 32)),
            fractions=(0.3, 0.6, 0.8) if quick else (0.1, 0.3, 0.5, 0.7, 0.8),
        ),
    )


COURSE = "course"
SUITE_NAMES = (*(suite.name for suite in _all(quick=True)), COURSE)


def suites(name: str, *, quick: bool = False) -> tuple[Suite, ...]:
    """The suites that a name stands for: one, or all of them (``course``). ``quick`` takes fewer points.

    Raises ValueError listing the names.
    """
    if name not in SUITE_NAMES:
        raise ValueError(f"there is no suite {name!r}; there are {', '.join(SUITE_NAMES)}")
    return tuple(suite for suite in _all(quick) if name in (COURSE, suite.name))
