"""Every family fitted to the same times, and ranked.

Families are ranked by the information criterion of Schwarz (1978), BIC = p log n - 2 log L: what the fit gains must be
worth its p parameters among n requests. The number of parts of a mixture is chosen by BIC as well.

``goodness`` checks the best by a parametric bootstrap with refitting. Tables of the KS distance hold for a law that was
known beforehand. Here it was fitted, so counts are drawn from the fitted law, the family is refitted to each draw, and
the distances of the draws are what the observed one is held against (Stute, Gonzáles Manteiga and Presedo Quindimil
1993, Metrika 40). With a million requests every family is rejected; how large the distance is matters then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import special

from calibrate.inference.parameters import LEVEL, Array
from calibrate.service.families import Candidate, erlang, one_mode_families, shifted
from calibrate.service.fitted import QUANTILES, FamilyFit, GoodnessOfFit, ServiceFit
from calibrate.service.likelihood import Binned, climb
from calibrate.service.mixing import MOST_STAGES, fit_erlangs, fit_lognormals
from calibrate.service.times import Times
from calibrate.service.warnings import findings_of
from measure.errors import DataError
from qsim.errors import InvalidParameterError

REPLICATES = 99
PARTS = {"hyperexponential": (2, 3), "hyper-Erlang": (2, 3, 4), "lognormals": (2, 3, 4, 5)}
SHIFT_SHARES = (0.5, 0.85, 0.97)
"""Where a shift is begun with, as a share of the most that it can be."""
UNSEEN = 0.25
"""With a larger share of the requests in the first bin nothing is known of the shortest times, and so of no shift."""

Fitted = tuple[Candidate, Array]


def fit_service(
    times: Times,
    *,
    quantiles: Sequence[float] = QUANTILES,
    level: float = LEVEL,
    progress: Callable[[float], None] | None = None,
) -> ServiceFit:
    """Fit every family to ``times`` and rank them. Calls ``progress`` with the share done.

    Families with as many parameters as the bins can pin, or more, are left out and named in ``left_out``.
    ``quantiles`` are what will be asked of the law: a warning tells those beyond the data. Raises ValueError for a
    level or quantile that is no share, DataError where no family can be fitted.

    >>> from calibrate import of_samples
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> fit_service(times).families[0].name
    'gamma'
    """
    for what, share in (("level", level), *(("quantile", q) for q in quantiles)):
        if not 0 < share < 1:
            raise InvalidParameterError(what, f"{share:g} must lie between 0 and 1, like 0.99", value=share)
    binned = Binned.of(times)
    room = len(times.counts) - 1
    if times.kind == "percentiles" and room != 2:
        room -= 1  # one is left to tell families apart; but two percentiles must do for a law
    found: dict[str, FamilyFit] = {}
    left_out: list[str] = []
    tasks = list(_tasks(binned, room))
    if binned.counts[0] > UNSEEN * times.total:
        left_out.append("every shifted family")
    for done, task in enumerate(tasks):
        for candidate, theta in _one_of(binned, task(), room, left_out):
            fitted = FamilyFit(candidate, theta, binned.unit_s, times, binned.log_likelihood(candidate, theta), level)
            # Erlang parts of one stage each are a hyperexponential once more.
            if fitted.name not in found or fitted.log_likelihood > found[fitted.name].log_likelihood:
                found[fitted.name] = fitted
        if progress is not None:
            progress((done + 1) / len(tasks))
    if not found:
        raise DataError(
            f"{times.source or 'the times'}: {len(times.counts)} bins are too few for any family; give more "
            "percentiles, or a histogram (fio --output-format=json+)"
        )
    ranked = tuple(sorted(found.values(), key=lambda f: f.bic))
    return ServiceFit(times, ranked, tuple(left_out), tuple(findings_of(times, ranked, quantiles)))


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
    likelihood = binned.log_likelihood(family.candidate, theta)
    return FamilyFit(family.candidate, theta, family.unit_s, times, likelihood, family.level)


def _tasks(binned: Binned, room: int) -> Iterator[Callable[[], list[Fitted]]]:
    """What to fit; each task gives candidates; the best by BIC stays."""
    begins = binned.counts[0] <= UNSEEN * binned.counts.sum()
    for family in one_mode_families():
        yield lambda family=family: [_plain(binned, family)]  # type: ignore[misc]
        if begins:
            yield lambda family=family: [_after_shift(binned, family)]  # type: ignore[misc]
    yield lambda: _erlang(binned, after_shift=False)
    if begins:
        yield lambda: _erlang(binned, after_shift=True)
    for fit_one, parts in (
        (lambda j, s: fit_erlangs(binned, j, stages=False, shift=s), PARTS["hyperexponential"]),
        (lambda j, s: fit_erlangs(binned, j, stages=True, shift=s), PARTS["hyper-Erlang"]),
        (lambda j, s: fit_lognormals(binned, j, s), PARTS["lognormals"]),
    ):
        mixture = _Mixture(binned, fit_one, parts, room)
        yield mixture.plain
        if begins:
            yield mixture.after_shift


class _Mixture:
    """One kind of mixture: with as many parts as BIC wants, and the same after a shift."""

    def __init__(
        self, binned: Binned, fit_one: Callable[[int, float], Fitted], parts: Sequence[int], room: int
    ) -> None:
        self.binned, self.fit_one, self.room = binned, fit_one, room
        self.parts = parts
        self.chosen = parts[0]

    def plain(self) -> list[Fitted]:
        best: Fitted | None = None
        for j in self.parts:
            candidate, theta = self.fit_one(j, 0.0)
            if candidate.free > self.room:
                return [best or (candidate, theta)]
            found = candidate, climb(self.binned, candidate, theta)
            if best is not None and _bic(self.binned, found) >= _bic(self.binned, best):
                break
            best, self.chosen = found, j
        return [best] if best is not None else []

    def after_shift(self) -> list[Fitted]:
        most = self.binned.first_upper
        found = []
        for j in sorted({max(self.parts[0], self.chosen - 1), self.chosen}):
            tries = []
            for share in SHIFT_SHARES:
                candidate, theta = self.fit_one(j, share * most)
                tries.append((shifted(candidate, most), np.append(theta, special.logit(share))))
            candidate, theta = max(tries, key=lambda f: self.binned.log_likelihood(*f))
            if candidate.free <= self.room:
                theta = climb(self.binned, candidate, theta)
            found.append((candidate, theta))
        return found


def _one_of(binned: Binned, found: list[Fitted], room: int, left_out: list[str]) -> list[Fitted]:
    """The best of ``found`` by BIC that the bins can pin; a name goes to ``left_out`` where there is none."""
    fits = [f for f in found if f[0].free <= room]
    if not fits:
        left_out += [f[0].name for f in found[:1]]
        return []
    return [min(fits, key=lambda f: _bic(binned, f))]


def _bic(binned: Binned, fitted: Fitted) -> float:
    candidate, _ = fitted
    return candidate.free * math.log(float(binned.counts.sum())) - 2 * binned.log_likelihood(*fitted)


def _best(binned: Binned, candidate: Candidate, starts: Sequence[Array]) -> Fitted:
    ends = [climb(binned, candidate, start, simplex=True) for start in starts]
    return candidate, max(ends, key=lambda theta: binned.log_likelihood(candidate, theta))


def _plain(binned: Binned, family: Candidate) -> Fitted:
    return _best(binned, family, family.start(*_centre(binned, 0.0)))


def _after_shift(binned: Binned, family: Candidate) -> Fitted:
    most = binned.first_upper
    starts = [
        np.append(theta, special.logit(share))
        for share in (SHIFT_SHARES[0], SHIFT_SHARES[-1])
        for theta in family.start(*_centre(binned, share * most))
    ]
    return _best(binned, shifted(family, most), starts)


def _erlang(binned: Binned, *, after_shift: bool) -> list[Fitted]:
    """Whole shapes on either side of the likeliest gamma's."""
    gamma = next(f for f in one_mode_families() if f.name == "gamma")
    candidate, theta = _after_shift(binned, gamma) if after_shift else _plain(binned, gamma)
    shape = candidate.natural(theta)[1]
    start = theta[[0, 2]] if after_shift else theta[:1]
    whole = [erlang(k) for k in _whole_near(shape)]
    tried = [shifted(one, binned.first_upper) for one in whole] if after_shift else whole
    return [(one, climb(binned, one, np.clip(start, -20, 20), simplex=True)) for one in tried]


def _whole_near(shape: float) -> list[int]:
    low = int(min(max(math.floor(shape), 1), MOST_STAGES))
    return [low, low + 1]


def _centre(binned: Binned, shift: float) -> tuple[float, float]:
    """Mean and spread of the logarithm from the quartiles of the times after ``shift``."""
    edges = np.maximum(binned.edges - shift, 0.0)
    low, high = edges[binned.cells], edges[binned.cells + 1]
    middle = np.maximum(np.where(np.isfinite(high), (low + high) / 2, 1.5 * low), 1e-6)
    weight = binned.counts / binned.counts.sum()
    mu = float(weight @ np.log(middle))
    return mu, max(float(np.sqrt(weight @ (np.log(middle) - mu) ** 2)), 0.01)
