"""What makes intervals wide: the parts of a fit that the page names, and what the public drives say of the prior."""

from __future__ import annotations

import interval_parts
import numpy as np
import pytest
from interval_parts import MISSES, PARTS, Case, NoShape, OfTheModel
from on_page import shown_table

from calibrate.models.curves import CLOSED_MISFIT, OnsetPNorm
from calibrate.points import points_of


def shown(name: str) -> dict[str, list[str]]:
    lines = shown_table(interval_parts.PAGE, name).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def test_the_page_shows_that_the_misfit_makes_intervals_hold_more() -> None:
    rows = shown("parts of the intervals")
    assert {*PARTS, MISSES} <= rows.keys()
    pairs = {name: np.array([[float(v) for v in c.split("; ")] for c in rows[name]]) for name in (*PARTS, MISSES)}
    printed, told = (pairs[name] for name in ("as printed", "noise told, nothing else missed"))
    five = [0, 1, 4, 5]  # 5 % noise and few requests
    assert (told[:, 1] < printed[:, 1]).all()
    assert (told[five, 0] < printed[five, 0]).all()
    assert (abs(told[:, 0] - 90) <= 6).all()
    assert 85 <= pairs[MISSES][:, 0].mean() <= 97


def test_each_part_left_out_narrows_the_intervals_of_a_sweep() -> None:
    device, sweep = Case("p-norm, usual", 7, 0.05).measured(np.random.default_rng(2))
    widths = {
        name: interval_parts.judged(Case("p-norm, usual", 7, 0.05), device, fitting(sweep, 0.05))[-1]["width"]
        for name, fitting in PARTS.items()
    }
    printed = widths.pop("as printed")
    assert all(width < printed for width in widths.values())


def test_the_variants_are_the_default_model_but_for_its_misfit() -> None:
    _, sweep = Case("onset", 7, 0.0).measured(np.random.default_rng(2))
    points = points_of(sweep)
    default, exact, shapeless = (model.weights(points) for model in (OnsetPNorm(), OfTheModel(), NoShape()))
    assert exact.typical_misfit() == pytest.approx(1e-3, rel=1e-3)
    assert {round(size, 9) for size in shapeless.misfit} <= {round(size, 9) for size in CLOSED_MISFIT.sizes()[0]}
    assert default.log_evidence != shapeless.log_evidence


def test_the_prior_of_fits_is_the_reference_and_no_narrower_one_is_as_probable() -> None:
    rows = shown("prior of the misfit")
    odds = np.array([[float(cell) for cell in rows[f"a factor of {np.exp(sd):.2g}"]] for sd in interval_parts.LOG_SDS])
    at = interval_parts.LOG_SDS.index(CLOSED_MISFIT.log_sd), interval_parts.MEDIANS.index(CLOSED_MISFIT.median)
    assert odds[at] == 0
    assert (odds[: at[0]] < -10).all()
