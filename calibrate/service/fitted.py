"""The fit to service times: each family at its maximum likelihood with its criteria, ranked, and checked.

In words: the law, a table, and what to do next. One curve has a row for each family, several have a row each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calibrate.inference.parameters import Array, Estimate
from calibrate.service.families import Candidate
from calibrate.service.likelihood import Precision
from calibrate.service.observed_times import Times
from measure.findings import Finding
from measure.units import counted, format_duration, format_percent, with_interval
from qsim import Distribution
from qsim.result import Result, labelled, table

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

QUANTILES = (0.5, 0.95, 0.99, 0.999)
"""The percentiles of a law that are shown."""
MOST_FAMILIES = 7
"""The families that are shown."""
LEAST = 1e-4
"""Smaller shares of the requests are ignored."""


@dataclass(frozen=True)
class FamilyFit:
    """One family at its maximum likelihood: the law (seconds), its criteria, and ``ks``, the largest difference of its
    distribution function from the observed one at any edge of a bin. Times in ``theta`` are in ``unit_s``."""

    candidate: Candidate
    theta: Array
    unit_s: float
    times: Times
    log_likelihood: float

    @property
    def name(self) -> str:
        """The family, with the number of its parts."""
        return self.candidate.name

    @cached_property
    def law(self) -> Distribution:
        """The law as a qsim Distribution, in seconds."""
        values = self.candidate.natural(self.theta)
        return self.candidate.law(self.candidate.in_units(values, self.unit_s))

    @cached_property
    def precision(self) -> Precision:
        """How well the times determine the law."""
        return Precision(self.candidate, self.theta, self.unit_s, self.times)

    @property
    def bic(self) -> float:
        """Schwarz's criterion; less is better."""
        return self.candidate.free * math.log(self.times.total) - 2 * self.log_likelihood

    @cached_property
    def below_edges(self) -> Array:
        """P(T <= edge) at every edge of the bins (e,)."""
        with np.errstate(all="ignore"):
            return self.candidate.tails(self.candidate.natural(self.theta), self.times.edges_s / self.unit_s)[0]

    @cached_property
    def ks(self) -> float:
        """The distance of Kolmogorov and Smirnov, at the edges of the bins."""
        return float(np.max(np.abs(self.below_edges - self.times.shares_below)))

    @cached_property
    def ks_by_chance(self) -> float | None:
        """What 19 in 20 samples of a true law stay below; None where it is not known how many requests there were."""
        return self.precision.true_law_misses() if self.times.requests_known else None

    def missed(self) -> str:
        """``ks`` in words."""
        return _in_words(self.ks)

    def by_chance(self) -> str:
        """``ks_by_chance`` in words; "" where it is not known."""
        return "" if self.ks_by_chance is None else _in_words(self.ks_by_chance)

    @property
    def parameters(self) -> dict[str, float]:
        """Every parameter by its name; times in seconds."""
        values = self.candidate.in_units(self.candidate.natural(self.theta), self.unit_s)
        return {name: float(value) for (name, _), value in zip(self.candidate.values, values, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {
            "name": self.name,
            "free_parameters": self.candidate.free,
            "log_likelihood": self.log_likelihood,
            "bic": self.bic,
            "ks": self.ks,
            "ks_by_chance": self.ks_by_chance,
            "mean_s": self.law.mean,
            "scv": self.law.scv,
            "quantiles_s": {f"p{100 * q:g}": self.law.quantile(q) for q in QUANTILES},
        }

    def intervals(self) -> dict[str, Estimate]:
        """The mean, the p99 and every parameter with its 90 % interval; times in seconds."""
        return {"mean_s": self.precision.mean(), "p99_s": self.precision.quantile(0.99), **self.precision.parameters()}


def _in_words(share: float) -> str:
    return f"< {100 * LEAST:g} %" if share < LEAST else format_percent(100 * share)


@dataclass(frozen=True, repr=False)
class ServiceFit(Result):
    """All families, the best first by BIC, with ``findings``; ``left_out`` has the others, each with its reason.

    >>> from calibrate import of_samples, fit_service
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> fit_service(times).families[0].name
    'gamma'
    """

    times: Times
    families: tuple[FamilyFit, ...]
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def best(self) -> FamilyFit:
        """The family that BIC prefers."""
        return self.families[0]

    @property
    def law(self) -> Distribution:
        """The law of the best family, seconds, for ``simulate`` and ``solve``."""
        return self.best.law

    def to_frame(self) -> pd.DataFrame:
        """A row for each family, the best first, SI units."""
        import pandas as pd

        rows = [family.to_dict() for family in self.families]
        quantiles = [{f"{name}_s": value for name, value in row.pop("quantiles_s").items()} for row in rows]
        return pd.DataFrame([{**row, **more} for row, more in zip(rows, quantiles, strict=True)])

    def plot(self) -> Figure:
        """The share done by each time, with the best law."""
        from calibrate.report.plots import service_figure

        return service_figure(self)

    def __repr__(self) -> str:
        return "\n".join(answer([(self.times.source or "Service times", self)]))

    def ranking(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The header and the rows of a table: the observed values, then every family, the best first."""
        seen = map(format_duration, (self.times.mean_s, *map(self.times.quantile, QUANTILES)))
        mean, *ends = seen
        rows = [("observed", "", "", "", "", mean, "", *ends)]
        for f in self.families:
            quantiles = (format_duration(f.law.quantile(q)) for q in QUANTILES)
            bic, mean = f"{f.bic - self.best.bic:,.1f}", format_duration(f.law.mean)
            missed = (f.missed(), f.by_chance())
            rows.append((f.name, str(f.candidate.free), *missed, bic, mean, f"{f.law.scv:.3g}", *quantiles))
        header = ("", "PARAMETERS", "MISSED", "BY CHANCE", "ΔBIC", "MEAN", "SCV", *(f"P{100 * q:g}" for q in QUANTILES))
        return header, rows

    def __str__(self) -> str:
        """Every family, then the parameters of the best with their 90 % intervals."""
        values = [(name, str(value)) for name, value in self.best.precision.parameters().items()]
        return f"{table(*self.ranking())}\n\n{table((f'{self.best.name}:', '90 % interval'), values)}"


Fitted: TypeAlias = tuple[str, ServiceFit]
"""The name of a curve, and its fit."""


def answer(done: Sequence[Fitted]) -> list[str]:
    """The first lines: the source of the times, the law, and its error."""
    if len(done) == 1:
        ((name, fit),) = done
        times, law, known = fit.times, fit.best, fit.best.intervals()
        mean, p99 = (
            with_interval(format_duration, of.estimate, of.low, of.high)
            for of in (known["mean_s"], known["p99_s"])
            if of.estimate is not None
        )
        missed = f"at most {law.missed()} of the requests at any time"
        if law.ks_by_chance is not None:
            more = ", more than by chance ({})" if law.ks > law.ks_by_chance else "; by chance up to {}"
            missed += more.format(law.by_chance())
        missed += "".join(f"; the next, {one.name}, {one.missed()}" for one in fit.families[1:2])
        seen = f"{format_duration(times.quantile(0.99), 2)} observed"
        return [
            f"{name}: {times.total:,.0f} requests in {counted(len(times.counts), 'bin')} ({times.kind})",
            labelled("LAW", f"{law.name}: mean {mean}, scv {fit.law.scv:.3g}, p99 {p99}; {seen}"),
            labelled("MISSED", missed),
        ]
    best = Counter(fit.best.name for _, fit in done)
    name, worst = max(done, key=lambda one: one[1].best.ks)
    return [
        f"{counted(len(done), 'curve')}, a law of service times for each",
        labelled("LAW", ", ".join(f"{law} ({n} of {len(done)})" for law, n in best.most_common())),
        labelled("MISSED", f"at most {worst.best.missed()} of the requests at any time ({name}, {worst.best.name})"),
    ]


def answer_table(done: Sequence[Fitted]) -> str:
    """The families of one curve, the best first; or a row for each of several curves."""
    if len(done) == 1:
        header, rows = done[0][1].ranking()
        left = len(rows) - 1 - MOST_FAMILIES
        more = f"\n... and {left} more {'family' if left == 1 else 'families'} (--details)" if left > 0 else ""
        return table(header, rows[: MOST_FAMILIES + 1]) + more
    rows = []
    for name, f in done:
        mean, *ends = map(format_duration, (f.law.mean, f.times.quantile(0.99), f.law.quantile(0.99)))
        rows.append((name, f.best.name, f.best.missed(), mean, f"{f.law.scv:.3g}", *ends))
    header = ("", "LAW", "MISSED", "MEAN", "SCV", "P99 OBSERVED", "P99 OF THE LAW")
    return table(header, rows, left=2)


def next_line(done: Sequence[Fitted]) -> list[str]:
    """What to do about the most frequent warning."""
    remedies = Counter(f.remedy for _, fit in done for f in fit.findings if f.remedy)
    return [labelled("NEXT", f"{remedy[0].upper()}{remedy[1:]}") for remedy, _ in remedies.most_common(1)]
