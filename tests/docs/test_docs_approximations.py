"""What results say of their own errors is what the program measures."""

from __future__ import annotations

from pathlib import Path

import approximations
import numpy as np
import pytest

from qsim.analytic.open.approximations import ERRORS


@pytest.mark.slow
def test_the_errors_that_results_quote_are_those_measured_now() -> None:
    found = {name: 100 * np.abs(values) for name, values in approximations.errors().items()}
    assert found.keys() == ERRORS.keys()
    for name, (median, worst) in ERRORS.items():
        assert np.median(found[name]) == pytest.approx(median, abs=0.2), name
        assert found[name].max() == pytest.approx(worst, abs=2), name


def test_the_page_quotes_what_results_quote() -> None:
    page = (Path(__file__).parents[2] / "docs" / "theory" / "general-times.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.count("|") == 6]
    cells = [[cell.strip() for cell in row] for row in rows]
    quoted = {
        name: (float(median.rstrip(" %")), float(worst.rstrip(" %")))
        for name, _, median, _, worst in cells
        if name in ERRORS
    }
    assert quoted == ERRORS


def test_the_phase_type_fit_is_nearer_than_every_author_who_takes_any_queue() -> None:
    median = {name: size for name, (size, _) in ERRORS.items()}
    for author in ("Allen-Cunneen", "Krämer-Langenbach-Belz"):
        assert median["phase-type fit"] < median[author]
