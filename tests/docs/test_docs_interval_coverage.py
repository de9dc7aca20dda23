"""95 % intervals hold the exact value as often as they say: the tables of the page, and a short version run now."""

from __future__ import annotations

from functools import partial

import interval_coverage
import pytest
from interval_coverage import METHODS, MODELS, QUEUES
from on_page import shown_table
from scipy.stats import binom

from qsim import Metrics, Network, simulate

LEAST, MOST = 93.0, 98.0
TOO_FEW = 0.9
REFUSED = ("lognormal, scv 20", "Pareto, shape 2.2")
CUSTOMERS = {
    **{"M/M/1, ρ 0.8": 200_000, "M/M/1, ρ 0.95": 1_000_000, "M/M/3, ρ 0.95": 1_000_000},
    **dict.fromkeys(("priorities", "open network", "closed network", "two closed classes"), 50_000),
}


def shown(name: str) -> list[list[str]]:
    """The cells of a table of the page."""
    lines = shown_table(interval_coverage.PAGE, f"coverage of {name}").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def assert_holds(shares: str) -> None:
    for share in shares.split(", "):
        assert LEAST <= float(share) <= MOST, shares


def test_the_page_has_every_model_and_whatever_is_not_refused_holds() -> None:
    rows = shown("models")[2:]
    assert [name.partition(";")[0] for name, _, _ in rows] == list(MODELS)
    assert tuple(name.partition(";")[0] for name, _, _ in rows if name.endswith("; refused")) == REFUSED
    for name, _, shares in rows:
        if not name.endswith("; refused"):
            assert_holds(shares)


def test_the_page_has_every_method_and_all_hold() -> None:
    head, _, *rows = shown("methods")
    assert head[1:] == list(QUEUES)
    assert [row[0] for row in rows] == list(METHODS)
    for row in rows:
        for cell in row[1:]:
            assert_holds(cell.partition(";")[0])


def run(model: Network, seed: int, customers: int) -> Metrics:
    return simulate(model, customers=customers, seed=seed, allow_short=True)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_a_short_version_holds_too(name: str) -> None:
    """60 runs each: so few hits would come once in ten thousand tries if 90 % were true."""
    model, runs = MODELS[name], 60
    customers = CUSTOMERS.get(name, 100_000)
    truth = interval_coverage.truth_of(model, customers=50 * customers)
    found = interval_coverage.coverage(model, partial(run, customers=customers), runs, truth, workers=1)
    fewest = binom.ppf(1e-4, runs, TOO_FEW)
    for value in interval_coverage.VALUES:
        assert found.held[value] >= fewest, value
    # Too long an interval always holds: hold its length against the spread of the estimates (known to 10 %).
    assert 0.7 < found.half_width / found.needed < 1.7


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="service times"):
        simulate(MODELS[name], customers=100_000, seed=1)
