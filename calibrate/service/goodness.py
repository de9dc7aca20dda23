"""Does a family describe the times? A parametric bootstrap with refitting.

Tables of the KS distance hold for a law that was known beforehand. Here it was fitted, so counts are drawn from the
fitted law, the family is refitted to each draw, and the distances of the draws are what the observed one is held
against (Stute, Gonzáles Manteiga and Presedo Quindimil 1993, Metrika 40). With a million requests every family is
rejected, as none is the truth; how large the distance is matters then more than whether it is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.service.fitted import FamilyFit
from calibrate.service.ladder import refit
from qsim.errors import InvalidParameterError

REPLICATES = 99


@dataclass(frozen=True)
class GoodnessOfFit:
    """``p_value``: the share of draws that are as far from their refitted law, itself known to ± ``p_error``.

    >>> from calibrate import of_samples, fit_service, goodness
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> goodness(fit_service(times).families[0], replicates=19).p_value > 0.05
    True
    """

    family: str
    ks: float
    p_value: float
    p_error: float
    replicates: int
    ks_of_draws_95: float

    def sentence(self) -> str:
        """The outcome in words."""
        most = f"at no time is the law off by more than {100 * self.ks:.2g} % of the requests"
        return f"{self.family}: {most}. {self.outcome()}."

    @property
    def passed(self) -> bool:
        """Whether the observed distance is no surprise (p above 5 %)."""
        return self.p_value > 0.05

    def outcome(self) -> str:
        """The test in a line, first what follows from it."""
        verdict = "The law passes" if self.passed else "The law is not quite theirs"
        return f"{verdict}: {self}"

    def __str__(self) -> str:
        return (
            f"draws from the law reach {100 * self.ks_of_draws_95:.2g} % once in twenty, p = {self.p_value:.2g} "
            f"± {self.p_error:.1g} ({self.replicates} draws)"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


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
