"""Every family fitted to the same times, and ranked.

Families are ranked by the information criterion of Schwarz (1978), BIC = p log n - 2 log L: what the fit gains must be
worth its p parameters among n requests. The number of parts of a mixture is chosen by BIC as well.

``goodness`` checks the best by a parametric bootstrap with refitting. Tables of the KS distance hold for a law that was
known beforehand. Here it was fitted, so counts are drawn from the fitted law, the family is refitted to each draw, and
the distances of the draws are what the observed one is held against (Stute, Gonzáles Manteiga and Presedo Quindimil
1993, Metrika 40). With a million requests every family is rejected; how large the distance is matters then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.fitted import FamilyFit, GoodnessOfFit, ServiceFit
from calibrate.service.likelihood import Binned, climb
from calibrate.service.times import Times
from calibrate.service.warnings import findings_of
from measure.errors import DataError
from qsim.errors import InvalidParameterError

REPLICATES = 99
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


def goodness(
    family: FamilyFit, replicates: int = REPLICATES, seed: int = 0, progress: Callable[[float], None] | None = None
) -> GoodnessOfFit:
    """Draw ``replicates`` times as many requests as were observed, refit the family, compare the distances.

    Raises ValueError for fewer than 19 replicates, which cannot give a p-value of 5 %.

    >>> from calibrate import of_samples, fit_service
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> goodness(fit_service(times).families[0], replicates=19).replicates
    19
    """
    if replicates < 19:
        raise InvalidParameterError(
            "replicates", f"must be at least 19, not {replicates}", "fewer cannot give a p-value of 5 %", replicates
        )
    times = family.times
    rng = np.random.default_rng(seed)
    cells = np.clip(np.diff(family.below_edges), 0.0, None)
    requests = round(times.total)
    distances = []
    for done in range(replicates):
        drawn = times.with_counts(rng.multinomial(requests, cells / cells.sum()).astype(float))
        distances.append(refit(drawn, family).ks)
        if progress is not None:
            progress((done + 1) / replicates)
    beyond = sum(d >= family.ks for d in distances)
    p, middle = (1 + beyond) / (1 + replicates), (1 + beyond) / (2 + replicates)  # never 0 or 1, nor surely so
    return GoodnessOfFit(
        family.name,
        family.ks,
        p,
        float(np.sqrt(middle * (1 - middle) / replicates)),
        replicates,
        float(np.quantile(distances, 0.95)),
    )


def refit(times: Times, family: FamilyFit) -> FamilyFit:
    """The same family, with as many parts and stages, at its likeliest for other times; begun where it was."""
    binned = Binned.of(times, family.unit_s)
    theta = climb(binned, family.candidate, family.theta, steps=25)
    return FamilyFit(family.candidate, theta, family.unit_s, times, binned.log_likelihood(family.candidate, theta))
