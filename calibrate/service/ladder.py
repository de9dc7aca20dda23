"""Every family fitted to the same times, and ranked, with warnings: tails beyond the data, too few percentiles.

Families are ranked by the information criterion of Schwarz (1978), BIC = p log n - 2 log L, which weighs the likelihood
of n requests against p parameters. The number of parts of a mixture is chosen by BIC as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.fitted import QUANTILES, Binned, FamilyFit, ServiceFit, climb
from calibrate.service.times import Times
from measure.errors import DataError
from measure.findings import Finding
from measure.units import format_duration, plain_number

BEYOND = 10
"""Number of requests that must lie above a quantile to determine it."""
FAR_MEAN = 0.03
POOR_KS = 0.05


def findings_of(times: Times, families: Sequence[FamilyFit]) -> Iterator[Finding]:
    """The warnings for these times and their families, the best first."""
    best = families[0]
    if not times.requests_known:
        yield Finding(
            "requests-unknown",
            "warning",
            f"it is not said how many requests the percentiles were taken from; {times.total:g} are assumed, the "
            "fewest that have one beyond the highest",
            "",
            "give the number of requests (--requests); it decides the ranking",
        )
    if times.kind == "percentiles" and len(times.counts) == 3:
        yield Finding(
            "too-few-percentiles",
            "warning",
            "two percentiles are met by several families, which differ in the tail",
            "",
            "give more percentiles, or a histogram (json+)",
        )
    yield from _beyond(times)
    if not math.isfinite(best.law.scv):
        yield Finding(
            "infinite-variance",
            "warning",
            f"the {best.name} has a tail without a variance, so that no queue fed by it has a mean waiting time",
            "the largest times are too few to say how the tail goes on",
            "measure longer, or play the histogram itself back (qsim.Empirical)",
        )
    elif times.kind != "percentiles" and abs(best.law.mean / times.mean_s - 1) > FAR_MEAN:
        yield Finding(
            "mean-by-the-tail",
            "warning",
            f"the {best.name} has a mean of {format_duration(best.law.mean)}, and the "
            f"requests one of {format_duration(times.mean_s)}",
            "a few very long times decide, of which more or less is made than was seen",
            "measure longer, or play the histogram itself back (qsim.Empirical)",
        )
    if best.ks > POOR_KS:
        yield Finding(
            "poor-fit",
            "warning",
            f"even the best family, {best.name}, is off by {100 * best.ks:.1f} % of the requests at some time",
            "",
            "get the histogram itself (json+)"
            if times.kind == "percentiles"
            else "play the histogram itself back (qsim.Empirical, or histogram:FILE on the command line)",
        )


def _beyond(times: Times) -> Iterator[Finding]:
    """Findings on quantiles with too few requests above, or in a bin without an end."""
    highest = 1 - BEYOND / times.total
    if times.kind == "percentiles":
        highest = 1 - float(times.counts[-1] / times.total)
    over = [q for q in QUANTILES if q > highest + 1e-9]
    if over:
        names = ", ".join(f"p{100 * q:g}" for q in over)
        reached = "p50" if highest < 0.5 else f"p{100 * highest:.6g}"
        yield Finding(
            "tail-beyond-data",
            "warning",
            f"{names} of the law is beyond the data, which reach to {reached} ({times.total:.0f} requests); what "
            "the families say of it differs",
            "",
            f"measure at least {plain_number(BEYOND / (1 - max(over)))} requests",
        )


PARTS = (2, 3, 4, 5)
"""Numbers of components of a mixture of lognormals."""
UNSEEN = 0.25
"""With a larger share of requests in the first bin the shortest times, and so a shift, are unknown."""
CLIMBS = 2
"""Number of starts, those of highest likelihood, that are optimised."""


def fit_service(times: Times, *, progress: Callable[[float], None] | None = None) -> ServiceFit:
    """Fit every family to ``times`` and rank them. Calls ``progress`` with the share done.

    Families with too many parameters for the number of bins are left out and named in ``left_out``. Raises
    DataError where no family can be fitted.

    >>> from calibrate import of_samples
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> fit_service(times).families[0].name
    'gamma'
    """
    binned = Binned.of(times)
    room = len(times.counts) - 1
    if times.kind == "percentiles" and room != 2:
        room -= 1  # one bin is left to distinguish families; but two percentiles must be enough for a law
    begins = binned.counts[0] <= UNSEEN * times.total
    plain = plain_families()
    found: list[FamilyFit] = []
    left_out = [] if begins else ["every shifted family"]
    for done, families in enumerate([*((one,) for one in plain), map(lognormals, PARTS)], 1):
        best = None
        for family in families:
            if family.free > room:
                left_out += [family.name] if best is None else []
                break
            following = _fitted(times, binned, family)
            if best is not None and following.bic >= best.bic:
                break
            best = following
        if best is not None:
            found.append(best)
            after_shift = shifted(best.candidate, binned.first_upper)
            if begins and after_shift.free <= room:
                found.append(_fitted(times, binned, after_shift))
            elif begins:
                left_out.append(after_shift.name)
        if progress is not None:
            progress(done / (len(plain) + 1))
    if not found:
        raise DataError(
            f"{times.source or 'the times'}: {len(times.counts)} bins are too few for any family; give more "
            "percentiles, or a histogram (fio --output-format=json+)"
        )
    ranked = tuple(sorted(found, key=lambda f: f.bic))
    return ServiceFit(times, ranked, tuple(left_out), tuple(findings_of(times, ranked)))


def _fitted(times: Times, binned: Binned, family: Candidate) -> FamilyFit:
    """The family at its maximum likelihood, from its best starts."""
    starts = sorted(family.start(binned.inside, binned.counts), key=lambda t: -binned.log_likelihood(family, t))
    ends = [climb(binned, family, start) for start in starts[:CLIMBS]]
    likelihood, theta = max(((binned.log_likelihood(family, end), end) for end in ends), key=lambda pair: pair[0])
    return FamilyFit(family, theta, binned.unit_s, times, likelihood)
