"""95 % intervals hold the exact value as often as they say: the table of the page, and a short version run now."""

from __future__ import annotations

import re
from functools import partial

import interval_coverage
import pytest
from scipy.stats import binom

from qsim import Metrics, MMc, Open, simulate

LEAST, MOST = 92.0, 98.0


def test_the_page_has_every_row_and_every_share_holds() -> None:
    lines = interval_coverage.shown_table(interval_coverage.PAGE.read_text(encoding="utf-8")).splitlines()
    assert tuple(lines[:2]) == interval_coverage.HEAD
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    wanted = [
        (name, model.kendall, f"{model.rho:.2f}")
        for name in interval_coverage.METHODS
        for model in interval_coverage.MODELS
    ]
    assert [tuple(row[:3]) for row in rows] == wanted
    for row in rows:
        for share in row[-2:]:
            assert LEAST <= float(share.rstrip(" %")) <= MOST, row


def run(model: Open, seed: int, customers: int) -> Metrics:
    return simulate(model, customers=customers, seed=seed)


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize(("rho", "customers"), [(0.5, 100_000), (0.8, 200_000), (0.95, 1_000_000)])
def test_a_short_version_holds_too(servers: int, rho: float, customers: int) -> None:
    """80 runs each: so few hits would come once in ten thousand tries if 92 % were true."""
    model, runs = MMc(rho * servers, 1.0, servers), 80
    found = interval_coverage.coverage(model, "short", partial(run, customers=customers), runs, workers=1)
    fewest = binom.ppf(1e-4, runs, LEAST / 100)
    for name in interval_coverage.VALUES:
        assert found.held[name] >= fewest, name
    # Too long an interval always holds: hold its length against the spread of the estimates (known to 8 %).
    assert 0.75 < found.half_width / found.needed < 1.5


def test_rows_are_written_as_the_page_shows_them() -> None:
    row = interval_coverage.Coverage(
        MMc(0.5, 1.0, 1), "`simulate(model)`", 500, {"W": 475, "Lq": 470}, 1e6, 0.0068, 0.006
    )
    assert (
        interval_coverage.line(row) == "| `simulate(model)` | M/M/1 | 0.50 | 1,000,000 | ± 0.68 % | 95.0 % | 94.0 % |"
    )
    with pytest.raises(ValueError, match="has lost the marks"):
        interval_coverage.shown_table("a page without")
    assert re.match(r"\| intervals of ", interval_coverage.HEAD[0])
