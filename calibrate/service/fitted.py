"""The fit to service times: each family at its maximum likelihood with its criteria, ranked, and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import Array, Estimate
from calibrate.service.families import Candidate
from calibrate.service.precision import Precision
from calibrate.service.times import Times
from measure.findings import Finding
from measure.units import format_duration, format_percent
from qsim import Distribution
from qsim.result import Result
from qsim.text_table import table

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

QUANTILES = (0.5, 0.95, 0.99, 0.999)
"""The percentiles of a law that are shown."""
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
    return format_percent(100 * share) if share > LEAST else f"< {100 * LEAST:g} %"


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
        from calibrate.service.service_answer import short_text

        return short_text(self)

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
