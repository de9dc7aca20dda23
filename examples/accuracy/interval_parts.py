"""What makes the 90 % intervals of noisy sweeps as wide as they are: each part of a fit left out in turn.

python interval_parts.py            3 devices of each kind, number of loads and noise; writes the tables of
                                    accuracy-tables.md, in a quarter of an hour
python interval_parts.py DEVICES    as many, printed only

The devices are those of knee_coverage.py. The second table holds the prior of what devices miss of their curve against
the public drives of docs/data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType

import numpy as np
import pandas as pd
from accuracy import collected
from knee_coverage import COUNTED, FEW_REQUESTS, KINDS, LOADS, Case, judged
from on_page import write_table

from calibrate import Fit, fit
from calibrate.fitting.calibrating import fit_points
from calibrate.inference.parameters import MisfitPrior, MisfitProcess
from calibrate.models.curves import CLOSED_MISFIT, CLOSED_PROCESS, DECLINE_FROM, OnsetPNorm
from calibrate.points import points_of
from measure import Sweep

PAGE = "accuracy-tables.md"
DEVICES = 3
FEW, MANY, MANY_FROM = "2 to 4 loads", "5 to 9", 5
NOISES = MappingProxyType({"5 %": 0.05, "10 %": 0.1, FEW_REQUESTS: COUNTED**-0.5})
"""The noise of a point by column."""

Fitting = Callable[[Sweep, float], Fit]


class OfTheModel(OnsetPNorm):
    """The default model of a device that is known to miss none of it."""

    misfit = MisfitPrior(1e-3, 1e-6)


class NoShape(OnsetPNorm):
    """The default model of a device of which what one point misses says nothing of the next."""

    process = MisfitProcess(CLOSED_PROCESS.length, 1.0)


@lru_cache(maxsize=1)
def printed(sweep: Sweep, _: float) -> Fit:
    """The fit as it is."""
    return fit(sweep)


def one_run(sweep: Sweep, noise: float) -> Fit:
    """Without what moves between sweeps."""
    return replace(printed(sweep, noise), between_runs=0.0)


def by_noise(sweep: Sweep, _: float) -> Fit:
    """What points miss is taken for noise, of unknown size."""
    return fit_points(points_of(sweep), NoShape())


def told(sweep: Sweep, noise: float) -> Fit:
    """With the noise of a point given, and nothing else allowed for."""
    points = points_of(sweep)
    return fit_points(replace(points, throughput_spread=np.full(len(points), noise)), OfTheModel())


PARTS: Mapping[str, Fitting] = MappingProxyType(
    {
        "as printed": printed,
        "without what moves between sweeps": one_run,
        "what points miss is noise alone": by_noise,
        "noise told, nothing else missed": told,
    }
)
MISSES = "as printed, of devices that miss their curve"


def of_parts(case: Case, devices: int) -> pd.DataFrame:
    """The rows of so many devices of a case, for each of ``PARTS``."""
    random = case.random()
    noise = NOISES[FEW_REQUESTS] if case.counted else case.noise
    rows = []
    for _ in range(devices):
        device, sweep = case.measured(random)
        for name, fitting in ({MISSES: printed} if case.misses else PARTS).items():
            rows += [{**row, "part": name} for row in judged(case, device, fitting(sweep, noise))]
    column = FEW_REQUESTS if case.counted else f"{100 * case.noise:g} %"
    return pd.DataFrame(rows).assign(noise=column, group=MANY if case.loads >= MANY_FROM else FEW)


def study(devices: int) -> pd.DataFrame:
    """``of_parts`` for all kinds, loads and noises."""
    cases = [
        Case(kind, loads, 0.0 if column == FEW_REQUESTS else noise, column == FEW_REQUESTS, misses)
        for misses in (False, True)
        for column, noise in NOISES.items()
        for kind in KINDS
        for loads in LOADS
    ]
    with ProcessPoolExecutor() as pool:
        return pd.concat(pool.map(partial(of_parts, devices=devices), cases, chunksize=4), ignore_index=True)


def rows_of_parts(found: pd.DataFrame) -> Iterator[str]:
    """A row for each part: the percent of all intervals that hold, and how wide that of N* is, by noise and loads."""
    columns = [(noise, group) for noise in NOISES for group in (FEW, MANY)]
    yield f"| held, %; high / low of N\\* | {' | '.join(f'{noise}, {group}' for noise, group in columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for name in (*PARTS, MISSES):
        cells = []
        for noise, group in columns:
            own = found[(found["part"] == name) & (found["noise"] == noise) & (found["group"] == group)]
            width = own[own["what"] == "N*"]["width"].median()
            cells.append(f"{own['inside'].mean():.0f}; {width:.2f}")
        yield f"| {name} | {' | '.join(cells)} |"


MEDIANS, LOG_SDS, OWN = (0.03, 0.045, 0.06, 0.09), (0.5, 0.7, 1.0, 1.3), 0.5
"""What the drives of docs/data are asked about: sizes of the misfit, how uncertain they are, each point's own share."""


def rows_of_prior() -> Iterator[str]:
    """A row for each uncertainty of the misfit's size, and one of a larger own share: ln odds against those of fits."""
    points = [device.points for device in collected()]
    points = [p.at(p.load < DECLINE_FROM) for p in points]

    def evidence(misfit: MisfitPrior, own: float = CLOSED_PROCESS.own) -> float:
        model = OnsetPNorm()
        model.misfit, model.process = misfit, replace(CLOSED_PROCESS, own=own)
        return sum(model.weights(p).log_evidence for p in points)

    fitted = evidence(CLOSED_MISFIT)
    yield f"| ln of the odds | {' | '.join(f'{100 * median:g} %' for median in MEDIANS)} |"
    yield f"|---|{'---:|' * len(MEDIANS)}"
    for log_sd in LOG_SDS:
        odds = [evidence(MisfitPrior(median, log_sd)) - fitted for median in MEDIANS]
        yield f"| a factor of {np.exp(log_sd):.2g} | {' | '.join(f'{one:+.0f}' for one in odds)} |"
    odds = [evidence(replace(CLOSED_MISFIT, median=median), OWN) - fitted for median in MEDIANS]
    yield f"| the same as fits, {100 * OWN:g} % each point's own | {' | '.join(f'{one:+.0f}' for one in odds)} |"


def main(arguments: Sequence[str]) -> None:
    """Print the tables, and write them to the page where nothing else was asked for."""
    tables = {
        "prior of the misfit": "\n".join(rows_of_prior()),
        "parts of the intervals": "\n".join(rows_of_parts(study(int(arguments[0]) if arguments else DEVICES))),
    }
    for name, table in tables.items():
        sys.stdout.write(f"{table}\n\n")
        if not arguments:
            write_table(PAGE, name, table)


if __name__ == "__main__":
    main(sys.argv[1:])
