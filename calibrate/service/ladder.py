"""Every family fitted to the same times, and ranked.

Families are ranked by the information criterion of Schwarz (1978), BIC = p log n - 2 log L: what the fit gains must be
worth its p parameters among n requests. The number of parts of a mixture is chosen by BIC as well.
"""

from __future__ import annotations

from collections.abc import Callable

from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.fitted import FamilyFit, ServiceFit
from calibrate.service.likelihood import Binned, climb
from calibrate.service.times import Times
from calibrate.service.warnings import findings_of
from measure.errors import DataError

PARTS = (2, 3, 4, 5)
"""Of a mixture of lognormals."""
UNSEEN = 0.25
"""With a larger share of the requests in the first bin nothing is known of the shortest times, and so of no shift."""
CLIMBS = 2
"""The starts that are climbed from, the likeliest of all."""


def fit_service(times: Times, *, progress: Callable[[float], None] | None = None) -> ServiceFit:
    """Fit every family to ``times`` and rank them. Calls ``progress`` with the share done.

    Families with as many parameters as the bins can pin, or more, are left out and named in ``left_out``. Raises
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
        room -= 1  # one is left to tell families apart; but two percentiles must do for a law
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
    """The family at its likeliest, from the likeliest of its starts."""
    starts = sorted(family.start(binned.inside, binned.counts), key=lambda t: -binned.log_likelihood(family, t))
    ends = [climb(binned, family, start) for start in starts[:CLIMBS]]
    likelihood, theta = max(((binned.log_likelihood(family, end), end) for end in ends), key=lambda pair: pair[0])
    return FamilyFit(family, theta, binned.unit_s, times, likelihood)
