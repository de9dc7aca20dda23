"""How often 95 % intervals hold the exact value: the table of theory/output-analysis.md.

python interval_coverage.py            500 runs of each kind, on all cores: ten to thirty minutes; writes the table
python interval_coverage.py RUNS       as many runs, printed only
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from qsim import Metrics, MMc, Open, replicate, simulate, solve
from qsim.engines.repeated.parallel import spread

PAGE = Path(__file__).resolve().parents[2] / "docs" / "theory" / "output-analysis.md"
RUNS = 500
CONFIDENCE = 0.95
VALUES = ("W", "Lq")
MODELS = (MMc(0.5, 1.0, 1), MMc(0.8, 1.0, 1), MMc(0.95, 1.0, 1), MMc(0.95 * 3, 1.0, 3))

Method = Callable[[Open, int], Metrics]


def batch_means(model: Open, seed: int) -> Metrics:
    """What simulate does if told nothing: one million customers, a warm-up found by MSER-5, batch means."""
    return simulate(model, seed=seed, allow_short=True)


def short_run(model: Open, seed: int) -> Metrics:
    """A run as short as the advice of a refusal: twice fifty relaxation times."""
    from qsim.engines.run import shortest_run

    return simulate(model, customers=max(2000, 2 * shortest_run(model)), seed=seed, allow_short=True)


def regenerative(model: Open, seed: int) -> Metrics:
    """One million customers, intervals from regenerative cycles."""
    return simulate(model, seed=seed, intervals="regenerative", allow_short=True)


def replications(model: Open, seed: int) -> Metrics:
    """What replicate does if told nothing: twenty runs of 100,000 customers."""
    return replicate(model, seed=seed, allow_short=True)


def to_precision(model: Open, seed: int) -> Metrics:
    """As many customers as make the interval of W at most 5 % wide to each side, from 20,000 on."""
    return simulate(model, customers=20_000, precision=0.05, seed=seed, allow_short=True)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "`simulate(model)`": batch_means,
        '`simulate(model, intervals="regenerative")`': regenerative,
        "`replicate(model)`": replications,
        "`simulate(model, customers=20_000, precision=0.05)`": to_precision,
        "the shortest run advised": short_run,
    }
)


@dataclass(frozen=True)
class Coverage:
    """Runs of one model by one method: how often each interval held the exact value, and how wide it was.

    ``half_width`` is the mean half-length of the interval of W and ``needed`` half the length that would hold W in
    exactly 95 % of these runs (both as a share of W): 1.96 times the spread of the runs' estimates.
    """

    model: Open
    method: str
    runs: int
    held: Mapping[str, int]
    customers: float
    half_width: float
    needed: float

    def share(self, name: str) -> float:
        """Share of the runs whose interval of this value held the exact one."""
        return self.held[name] / self.runs


def coverage(model: Open, name: str, method: Method, runs: int = RUNS, workers: int = -1) -> Coverage:
    """Run ``method`` with the seeds 0, 1, ..., runs - 1 and hold every interval against the formula."""
    exact = solve(model)
    found = spread(partial(method, model), range(runs), workers=workers)
    held = {}
    for value in VALUES:
        intervals = (r.interval(value) for r in found)
        held[value] = sum(low <= getattr(exact, value) <= high for low, high in intervals)
    widths = [(high - low) / 2 for low, high in (r.interval("W") for r in found)]
    return Coverage(
        model=model,
        method=name,
        runs=runs,
        held=held,
        customers=float(np.mean([r.customers or 0 for r in found])),
        half_width=float(np.mean(widths)) / exact.W,
        needed=1.96 * float(np.std([r.W for r in found])) / exact.W,
    )


def rows(runs: int = RUNS) -> Iterator[Coverage]:
    """Every method on every model."""
    for name, method in METHODS.items():
        for model in MODELS:
            yield coverage(model, name, method, runs)


HEAD = (
    "| intervals of | model | rho | customers | half-width of W | holds W | holds Lq |",
    "|---|---|---:|---:|---:|---:|---:|",
)


def line(row: Coverage) -> str:
    """One row of the table."""
    shares = " | ".join(f"{100 * row.share(value):.1f} %" for value in VALUES)
    width = f"± {100 * row.half_width:.2g} %"
    return f"| {row.method} | {row.model.kendall} | {row.model.rho:.2f} | {row.customers:,.0f} | {width} | {shares} |"


_TABLE = re.compile(r"(<!-- coverage -->\n)(.*?)(<!-- coverage ends -->)", re.DOTALL)


def shown_table(page: str) -> str:
    """The table as it stands on the page."""
    found = _TABLE.search(page)
    if not found:
        raise ValueError(f"{PAGE.name} has lost the marks <!-- coverage --> and <!-- coverage ends -->")
    return found[2].strip()


def main(arguments: list[str]) -> None:
    """Print the table as it grows; write it to the page when all runs were made."""
    runs = int(arguments[0]) if arguments else RUNS
    lines = [*HEAD]
    sys.stdout.write("\n".join(lines) + "\n")
    for row in rows(runs):
        lines.append(line(row))
        sys.stdout.write(lines[-1] + "\n")
        sys.stdout.flush()
    if runs == RUNS:
        page = PAGE.read_text(encoding="utf-8")
        shown_table(page)
        table = "\n".join(lines)
        PAGE.write_text(_TABLE.sub(lambda m: f"{m[1]}\n{table}\n\n{m[3]}", page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
