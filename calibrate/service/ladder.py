"""Every family fitted to the same times, and ranked, with warnings: tails beyond the data, too few percentiles.

Families are ranked by the information criterion of Schwarz (1978), BIC = p log n - 2 log L, which weighs the likelihood
of n requests against p parameters. The number of parts of a mixture is chosen by BIC as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.fitted import QUANTILES, FamilyFit, ServiceFit
from calibrate.service.likelihood import Binned, Loss, log_mean_error, polish, search
from calibrate.service.observed_times import Times
from measure.errors import DataError
from measure.findings import Finding
from measure.units import format_duration

BEYOND = 10
"""Number of requests that must lie above a quantile to determine it."""
FAR_MEAN = 0.03
POOR_KS = 0.05


def findings_of(times: Times, families: Sequence[FamilyFit]) -> Iterator[Finding]:
    """The warnings for these times and their families, the best first."""
    best = families[0]
    if not times.requests_known:
        yield _warning(
            "requests-unknown",
            f"it is not said how many requests the percentiles were taken from; {times.total:g} are assumed, the "
            "fewest that have one beyond the highest",
            "give the number of requests (--requests); it decides the ranking",
        )
    if times.kind == "percentiles" and len(times.counts) == 3:
        few = "two percentiles are met by several families, which differ in the tail"
        yield _warning("too-few-percentiles", few, "give more percentiles, or a histogram (json+)")
    yield from _beyond(times)
    longer = "measure longer, or play the histogram itself back (qsim.Empirical)"
    if not math.isfinite(best.law.scv):
        yield _warning(
            "infinite-variance",
            f"the {best.name} has a tail without a variance, so that no queue fed by it has a mean waiting time",
            longer,
            "the largest times are too few to say how the tail goes on",
        )
    elif times.kind != "percentiles" and abs(best.law.mean / times.mean_s - 1) > FAR_MEAN:
        yield _warning(
            "mean-by-the-tail",
            f"the {best.name} has a mean of {format_duration(best.law.mean)}, and the "
            f"requests one of {format_duration(times.mean_s)}",
            longer,
            "a few very long times decide, of which more or less is made than was seen",
        )
    if best.ks > max(POOR_KS, best.ks_by_chance or 0.0):
        off = f"even the best family, {best.name}, is off by {100 * best.ks:.1f} % of the requests at some time"
        itself = "play the histogram itself back (qsim.Empirical, or histogram:FILE on the command line)"
        yield _warning("poor-fit", off, "get the histogram itself (json+)" if times.kind == "percentiles" else itself)


def _warning(check: str, message: str, remedy: str, hypothesis: str = "") -> Finding:
    return Finding(check, "warning", message, hypothesis, remedy)


def _beyond(times: Times) -> Iterator[Finding]:
    """Findings on quantiles with too few requests above, or in a bin without an end."""
    highest = 1 - BEYOND / times.total
    if times.kind == "percentiles":
        highest = 1 - float(times.counts[-1] / times.total)
    over = [q for q in QUANTILES if q > highest + 1e-9]
    if over:
        names = ", ".join(f"p{100 * q:g}" for q in over)
        reached = "no percentile" if highest < 0.05 else f"p{100 * highest:.{2 if highest < 0.9 else 6}g}"
        yield _warning(
            "tail-beyond-data",
            f"{names} of the law {'is' if len(over) == 1 else 'are'} beyond the data, which reach {reached} "
            f"({times.total:.0f} requests); the families differ there",
            f"measure at least {BEYOND / (1 - max(over)):,.0f} requests",
        )


PARTS = (2, 3, 4, 5)
"""Numbers of components of a mixture of lognormals."""
PLAIN, EACH = 2, 10
"""A family with more parameters than the first needs so many requests for each of them."""
UNSEEN = 0.25
"""With a larger share of requests in the first bin the shortest times, and so a shift, are unknown."""
PINNED = 0.7
"""Largest standard error of the logarithm of a mean that is shown: 90 % of it is within a factor of 10."""
FAR_BEYOND = 10
"""A mean this many times that of counted requests is of a tail that none of them has."""
EQUAL_BIC = 1e-6
"""Smaller differences of BIC are of rounding."""
CLIMBS = 2
"""Number of starts, those of highest likelihood, that are optimised."""


def fit_service(times: Times, *, progress: Callable[[float], None] | None = None) -> ServiceFit:
    """Fit every family to ``times`` and rank them. Calls ``progress`` with the share done.

    A family with too many parameters for the number of bins, or a mean that the times do not determine, is left out;
    ``left_out`` has its name and the reason. Raises DataError where no family can be fitted.

    >>> from calibrate import of_samples
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> fit_service(times).families[0].name
    'gamma'
    """
    binned = Binned.of(times)
    chains = [*((family,) for family in plain_families()), tuple(map(lognormals, PARTS))]
    begins = binned.counts[0] <= UNSEEN * times.total
    if begins:
        chains = [chain for plain in chains for chain in (plain, tuple(shifted(f, binned.latest_shift) for f in plain))]
    found: list[FamilyFit] = []
    left_out = [] if begins else ["every shifted family: the shortest times are unknown"]
    for done, chain in enumerate(chains, 1):
        best = _preferred(times, binned, chain)
        if isinstance(best, FamilyFit):
            found.append(best)
        else:
            left_out.append(best)
        if progress is not None:
            progress(done / len(chains))
    if not found:
        raise DataError(
            f"{times.source or 'the times'}: {len(times.counts)} bins are too few for any family; give more "
            "percentiles, or a histogram (fio --output-format=json+)"
        )
    ranked: list[FamilyFit] = []
    for fit in found:  # where rounding alone tells two apart, the first of ``found`` first
        ranked.insert(sum(other.bic <= fit.bic + EQUAL_BIC for other in ranked), fit)
    return ServiceFit(times, tuple(ranked), tuple(left_out), tuple(findings_of(times, ranked)))


def _preferred(times: Times, binned: Binned, families: Sequence[Candidate]) -> FamilyFit | str:
    """The fit that BIC prefers, of families with ever more parameters; or the first one's reason to be left out."""
    room = len(times.counts) - 1
    if times.kind == "percentiles" and room != 2:
        room -= 1  # one bin is left to distinguish families; but two percentiles must be enough for a law
    room = min(room, max(PLAIN, int(times.total / EACH)))
    best: FamilyFit | str = f"{families[0].name}: more parameters than the bins, or so few requests, can pin"
    for family in (f for f in families if f.free <= room):
        following = fit_family(times, binned, family)
        if isinstance(following, str):
            return best if isinstance(best, FamilyFit) else following
        if isinstance(best, FamilyFit) and following.bic >= best.bic - EQUAL_BIC:
            return best
        best = following
    return best


def fit_family(times: Times, binned: Binned, family: Candidate) -> FamilyFit | str:
    """The family at its maximum likelihood, from its best starts; or the reason to leave it out."""

    def height(theta: Array) -> float:
        return binned.log_likelihood(family, theta)

    loss = Loss(binned, family)
    starts = sorted(family.start(binned.inside, binned.counts), key=height, reverse=True)
    ends = sorted((search(loss, start) for start in starts[:CLIMBS]), key=height, reverse=True)
    theta = next((peak for end in ends if (peak := polish(loss, end)) is not None), None)
    if theta is None:
        return f"{family.name}: its likelihood has no maximum that a search finds"
    fit = FamilyFit(family, theta, binned.unit_s, times, height(theta))
    far = times.kind != "percentiles" and fit.law.mean > FAR_BEYOND * times.mean_s
    if far or not log_mean_error(loss, theta) < PINNED:
        mean, seen = format_duration(fit.law.mean, 2), format_duration(times.mean_s, 2)
        return f"{family.name}: the times do not determine its mean ({mean} at best, and {seen} by the bins)"
    return fit
