"""The sweeps of others in docs/data: each can be read, is told of in the README, and is predicted as the page says."""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest

from calibrate import compare
from measure import load

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"
SWEEPS = sorted(DATA.glob("drives*/*.csv"))
README = (DATA / "README.md").read_text(encoding="utf-8")
NAMED = [
    cell.strip() for line in README.splitlines() if line.startswith("| ") for cell in line.split("|")[1].split(",")
]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda p: p.stem)
def test_each_can_be_read_and_is_named_with_its_source(path: Path) -> None:
    points = load(path).points
    assert len(points) >= 4
    assert (np.diff(points["load"]) > 0).all()
    kept = points["throughput_per_s"] * points["latency_s"] / points["load"]
    assert kept.between(0.45, 1.05).all()  # a thread that is the limit holds back up to half of the depth
    assert any(fnmatch(path.stem, pattern) for pattern in NAMED)


def test_the_steadiest_of_them_is_predicted_from_three_depths() -> None:
    comparison = compare(load(DATA / "drives-later" / "samsung-pm981a-mzvlb256-randread.csv"))
    assert comparison.fit.used == (1, 8, 64)
    assert comparison.summary().held_out_mdape_throughput_pct is not None
    assert comparison.summary().held_out_mdape_throughput_pct < 6.0


def test_the_block_sizes_of_others_can_be_read() -> None:
    sys.path.insert(0, str(DATA.parent))
    from surface_accuracy import lines

    tuned, unseen = lines("tuned"), lines("unseen")
    assert len(tuned) == 26
    assert len(unseen) == 23
    assert not set(tuned) & set(unseen)
    assert all((line.throughput_per_s > 0).all() and len(line) > 2 for each in unseen.values() for line in each)


@pytest.mark.parametrize("use", [(1, 32), (1, 8, 32)])
def test_a_language_model_server_is_predicted_inside_its_bands(use: tuple[int, ...]) -> None:
    sweep = load(DATA / "llm-server")
    assert sweep.points.groupby("load").size().to_dict() == dict.fromkeys((1, 2, 4, 8, 16, 32), 3)
    found = compare(sweep, use=use).summary()
    assert found.inside_band_pct == 100
    assert found.held_out_mdape_throughput_pct is not None
    assert found.held_out_mdape_throughput_pct < 10.0
