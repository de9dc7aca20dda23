"""Whether the 90 % intervals of laws of service hold: a table of explanation-service-times.md.

python service_intervals.py [--draws 200]

Samples of each law are counted in fio's bins and its own family is fitted to them. The columns are the share of
samples whose interval holds the true value: of the mean, of p99, of all parameters but a shift (each by itself) and,
last, the share that misses by no more than the figure "by chance", which 95 % of a true law's samples should.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from calibrate import of_samples
from calibrate.inference.parameters import Estimate
from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.fitted import FamilyFit
from calibrate.service.ladder import fit_family
from calibrate.service.likelihood import Binned
from qsim import Distribution

Array = NDArray[np.float64]
SIZES = (300, 3000)
PLAIN = {family.name: family for family in plain_families()}
TRUE: dict[str, tuple[Candidate, tuple[float, ...]]] = {
    "exponential": (PLAIN["exponential"], (100e-6,)),
    "gamma": (PLAIN["gamma"], (100e-6, 4.0)),
    "Weibull": (PLAIN["Weibull"], (100e-6, 0.7)),
    "lognormal": (PLAIN["lognormal"], (100e-6, 0.5)),
    "Burr XII": (PLAIN["Burr XII"], (100e-6, 4.0, 1.5)),
    "hyperexponential": (PLAIN["hyperexponential"], (0.7, 0.3, 50e-6, 500e-6)),
    "2 lognormals": (lognormals(2), (0.8, 0.2, 80e-6, 300e-6, 0.2, 0.3)),
    "shifted exponential": (PLAIN["exponential"], (60e-6, 40e-6)),
    "shifted gamma": (PLAIN["gamma"], (60e-6, 2.0, 40e-6)),
}
"""Nine laws: each family with its true values; a shift is the last of them."""


def law_of(name: str) -> Distribution:
    """The true law."""
    family, values = TRUE[name]
    return (shifted(family, np.inf) if name.startswith("shifted") else family).law(np.array(values))


def fit_of(name: str, requests: int, rng: np.random.Generator) -> FamilyFit | None:
    """The law's own family fitted to a sample of it; None where the sample does not determine it."""
    times = of_samples(law_of(name).sample(rng, requests))
    binned, family = Binned.of(times), TRUE[name][0]
    if name.startswith("shifted"):
        family = shifted(family, binned.latest_shift)
    fit = fit_family(times, binned, family)
    return fit if isinstance(fit, FamilyFit) else None


def holds(known: Estimate, true: float) -> bool:
    """Whether the interval contains the true value."""
    return known.low is not None and known.high is not None and known.low <= true <= known.high


def row(name: str, requests: int, draws: int) -> list[str]:
    """The shares of the samples, in percent."""
    rng = np.random.default_rng([len(name), requests])
    fits = [fit for _ in range(draws) if (fit := fit_of(name, requests, rng)) is not None]
    law, values = law_of(name), TRUE[name][1]
    means = [holds(fit.precision.mean(), law.mean) for fit in fits]
    tails = [holds(fit.precision.quantile(0.99), law.quantile(0.99)) for fit in fits]
    every = [
        [holds(k, v) for (n, k), v in zip(fit.precision.parameters().items(), values, strict=True) if n != "shift"]
        for fit in fits
    ]
    chance = [fit.ks <= fit.precision.true_law_misses() for fit in fits]
    return [name, f"{requests:,}", *(f"{100 * np.mean(share):.0f}" for share in (means, tails, every, chance))]


def table(draws: int) -> str:
    """A row for each law and size."""
    head = ["law", "requests", "mean held, %", "p99 held, %", "parameters held, %", "within chance, %"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    lines += [row(name, requests, draws) for name in TRUE for requests in SIZES]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=200)
    sys.stdout.write(table(options.parse_args().draws))
