"""Adaptive sweeps come as near to full ones as their page says: its table, and a short version run now."""

from __future__ import annotations

from pathlib import Path

import adaptive_accuracy
import numpy as np
import pytest


def table(page: Path, head: tuple[str, ...]) -> list[list[str]]:
    """The cells of the table of a page that begins with ``head``."""
    text = page.read_text(encoding="utf-8")
    rows = text[text.index("\n".join(head)) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[len(head) :]]


def test_the_page_has_every_row_and_says_what_they_say() -> None:
    cells = table(adaptive_accuracy.PAGE, adaptive_accuracy.HEAD)
    assert [(kind, noise) for kind, noise, *_ in cells] == [(k, f"{100 * n:g} %") for k, n in adaptive_accuracy.ROWS]
    for _kind, _noise, devices, _mean, most, *_ in cells:
        assert int(devices) == adaptive_accuracy.DEVICES
        assert int(most) <= adaptive_accuracy.BUDGET
    within = [float(row[-1].rstrip(" %")) for row in cells]
    assert within[0] >= 95
    assert within[1] >= 90


def test_a_short_version_holds_too() -> None:
    """Ten quiet devices: two misses would come once in fifty tries if the page's 98 % or more were true."""
    done = list(adaptive_accuracy.trials("as in theory", 0.01, 10, seed=7))
    assert max(len(t.adaptive.steps) for t in done) <= adaptive_accuracy.BUDGET
    assert sum(t.off <= adaptive_accuracy.NEAR for t in done) >= 9
    assert np.mean([len(t.adaptive.steps) for t in done]) <= 7


def test_a_jump_leaves_the_ends_of_the_curve_alone() -> None:
    rng = np.random.default_rng(1)
    smooth = adaptive_accuracy.device(rng)
    jumped = adaptive_accuracy.with_jump(smooth, rng)
    assert jumped.throughput[1] == smooth.throughput[1]
    assert jumped.throughput[4] < smooth.throughput[4] / 1.2
    assert jumped.throughput[256] == pytest.approx(smooth.throughput[256], rel=0.05)
