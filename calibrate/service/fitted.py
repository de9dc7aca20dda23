"""What a fit to service times is: each family at its likeliest with its criteria, and all of them ranked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.curve_fit import LEVEL, Estimate, quantity
from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate
from calibrate.service.likelihood import Binned, covariance, limits
from calibrate.service.times import Times
from measure.findings import Finding
from measure.units import format_duration
from qsim import Distribution
from qsim.result import Result, shown_by
from qsim.text_table import table

if TYPE_CHECKING:
    import pandas as pd

NOTICED = 1.358
"""The 5 % point of Kolmogorov's distribution: a distance D is noticed from (1.358 / D)^2 requests on."""


QUANTILES = (0.5, 0.95, 0.99, 0.999)
"""The percentiles of a law that are shown."""


@dataclass(frozen=True)
class FamilyFit:
    """One family at its likeliest: the law (seconds), its criteria, and ``ks``, the largest difference of its
    distribution function from the observed one at any edge of a bin. Times in ``theta`` are in ``unit_s``."""

    candidate: Candidate
    theta: Array
    unit_s: float
    times: Times
    log_likelihood: float
    level: float = LEVEL

    @property
    def name(self) -> str:
        """The family, with the number of its parts."""
        return self.candidate.name

    @cached_property
    def _binned(self) -> Binned:
        return Binned.of(self.times, self.unit_s)

    @cached_property
    def law(self) -> Distribution:
        """The law as qsim knows it, in seconds."""
        values = self.candidate.natural(self.theta)
        return self.candidate.law(self.candidate.in_units(values, self.unit_s))

    @property
    def aic(self) -> float:
        """Akaike's criterion; less is better."""
        return 2 * self.candidate.free - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion; less is better."""
        return self.candidate.free * math.log(self.times.total) - 2 * self.log_likelihood

    @cached_property
    def below_edges(self) -> Array:
        """P(T <= edge) at every edge of the bins (e,)."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.candidate.tails(self.candidate.natural(self.theta), self._binned.edges)[0]

    @cached_property
    def ks(self) -> float:
        """The distance of Kolmogorov and Smirnov, at the edges of the bins."""
        return float(np.max(np.abs(self.below_edges - self.times.shares_below)))

    @property
    def unnoticed_requests(self) -> float:
        """So many requests cannot be distinguished from the law: with more, a test at 5 % notices the difference."""
        return (NOTICED / max(self.ks, 1e-12)) ** 2

    @cached_property
    def parameters(self) -> dict[str, Estimate]:
        """Every parameter with its interval, which holds also where the family is not the true one.

        Stages of Erlang parts are whole numbers and have none.
        """
        values = self.candidate.in_units(self.candidate.natural(self.theta), self.unit_s)
        spread = covariance(self._binned, self.candidate, self.theta)
        found: dict[str, Estimate] = {}
        if spread is None:
            low = high = np.full(len(values), np.nan)
        else:
            ends = limits(self.candidate, self.theta, spread, self.level)
            low, high = (self.candidate.in_units(end, self.unit_s) for end in ends)
        for (name, sort), value, a, b in zip(self.candidate.values, values, low, high, strict=True):
            known = bool(np.isfinite(a) and np.isfinite(b) and a > 0 and b / a < 1e3)
            note = "" if known else "the likelihood is flat: fewer parts or parameters would do"
            found[name] = Estimate(
                float(value),
                float(a) if known else None,
                float(b) if known else None,
                known,
                "s" if sort == "time" else "",
                note,
            )
        for i, k in enumerate(self.candidate.stages, 1):
            name = "stages" if len(self.candidate.stages) == 1 else f"stages {i}"
            found[name] = Estimate(float(k), None, None, True, "", "a whole number, the likeliest")
        return found

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units; without the parameters, whose intervals cost time."""
        return {
            "name": self.name,
            "free_parameters": self.candidate.free,
            "log_likelihood": self.log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
            "ks": self.ks,
            "unnoticed_requests": self.unnoticed_requests,
            "mean_s": self.law.mean,
            "scv": self.law.scv,
            "quantiles_s": {f"p{100 * q:g}": self.law.quantile(q) for q in QUANTILES},
        }


@dataclass(frozen=True)
class ServiceSummary:
    """The best law in a few figures, times in seconds; ``ks`` is the share of requests that it is wrong about."""

    law: str
    requests: float
    mean_s: float
    scv: float
    p99_s: float
    observed_p99_s: float
    ks: float


@dataclass(frozen=True, repr=False)
class ServiceFit(Result):
    """All families, the best first by BIC; ``findings`` say what to mind.

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
        """The law of the best family, seconds: what ``simulate`` and ``solve`` take."""
        return self.best.law

    def family(self, name: str) -> FamilyFit:
        """The family of this name. Raises ValueError listing the names where there is none."""
        for one in self.families:
            if one.name == name:
                return one
        raise ValueError(f"no family {name!r} was fitted; there are {', '.join(f.name for f in self.families)}")

    def summary(self) -> ServiceSummary:
        """The figures of the best law."""
        law, seen = self.law, self.times.quantile(0.99)
        return ServiceSummary(
            self.best.name, self.times.total, law.mean, law.scv, law.quantile(0.99), seen, self.best.ks
        )

    def to_frame(self) -> pd.DataFrame:
        """A row for each family, the best first, SI units."""
        import pandas as pd

        told = [family.to_dict() for family in self.families]
        quantiles = [{f"{name}_s": value for name, value in row.pop("quantiles_s").items()} for row in told]
        return pd.DataFrame([{**row, **more} for row, more in zip(told, quantiles, strict=True)])

    plot = shown_by("calibrate.report.plots:service_figure", "The histogram of the times with the best law.")
    __repr__ = shown_by("calibrate.service.answer:short_text")

    def __str__(self) -> str:
        best, lowest = self.best, min(f.aic for f in self.families)
        ranked = [
            (
                f.name,
                str(f.candidate.free),
                f"{f.bic - best.bic:,.1f}",
                f"{f.aic - lowest:,.1f}",
                f"{f.ks:.2g}",
                format_duration(f.law.mean),
                f"{f.law.scv:.3g}",
            )
            for f in self.families
        ]
        values = [(name, quantity(e.estimate, e.unit), _ends(e)) for name, e in best.parameters.items()]
        tails = [
            (f"p{100 * q:g}", format_duration(self.times.quantile(q)), format_duration(best.law.quantile(q)))
            for q in QUANTILES
        ]
        return "\n\n".join(
            [
                table(("", "parameters", "ΔBIC", "ΔAIC", "KS", "mean", "scv"), ranked),
                table((f"{best.name}:", "", f"{100 * best.level:g} % interval"), values, left=(True, False, True)),
                table(("", "observed", "the law"), tails),
            ]
        )


def _ends(e: Estimate) -> str:
    if e.low is None or e.high is None:
        return e.note
    return f"[{quantity(e.low, e.unit)}, {quantity(e.high, e.unit)}]"
