"""The cited datasets: all there, as printed, in SI, and honest about what is wrong with them."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from measure.datasets import about, dataset_names, dataset_table, load_dataset
from measure.errors import DataError

SEEDS = {
    "000-ssd": "000_ssd_fio", "000-memory": "000_memory_mlc", "001-ssd": "001_ssd_fio", "001-memory": "001_memory_mlc",
    "002-ssd-tails": "002_ssd_tail_latency", "002-ssd-baseline": "002_ssd_baseline", "003-ssd-read": "003_ssd_fio_read",
    "004-ssd-depth": "004_ssd_queue_depth", "004-ssd-block-size": "004_ssd_block_size",
    "004-ssd-mix": "004_ssd_read_write_mix",
}  # fmt: skip
POINTS = {
    "000-ssd": (12, 36), "000-memory": (8, 152), "001-ssd": (6, 36), "001-memory": (10, 190), "003-ssd-read": (4, 20),
    "004-ssd-depth": (1, 5), "004-ssd-block-size": (5, 5), "004-ssd-mix": (5, 5),
}  # fmt: skip


def test_every_seed_table_is_in_the_catalogue() -> None:
    assert set(dataset_names()) == set(SEEDS)
    assert set(dataset_names(curves_only=True)) == set(POINTS)


@pytest.mark.parametrize("name", SEEDS)
def test_the_numbers_are_those_of_the_source(name: str, shared: Path) -> None:
    printed = pd.read_csv(shared / "seed-data" / f"{SEEDS[name]}.csv")
    pd.testing.assert_frame_equal(dataset_table(name), printed, check_exact=True)


@pytest.mark.parametrize("name", POINTS)
def test_every_curve_is_there_once(name: str) -> None:
    sweep = load_dataset(name)
    assert (len(sweep.series), len(sweep)) == POINTS[name]
    assert sweep.points["repeat"].eq(0).all()
    assert sweep.load_kind == about(name).load_kind


def test_units_are_converted_as_the_catalogue_says() -> None:
    row = load_dataset("001-ssd").points.iloc[1]
    assert row["throughput_per_s"] == pytest.approx(79606 * 1024 / 4096)
    assert row["latency_s"] == pytest.approx(394.66e-6)
    row = load_dataset("003-ssd-read").points.iloc[0]
    assert (row["throughput_per_s"], row["latency_s"]) == pytest.approx((55990, 70.22e-3))
    row = load_dataset("001-memory").points.iloc[0]
    assert (row["throughput_per_s"], row["latency_s"]) == pytest.approx((28439.1e6 / 64, 128.65e-9))
    row = load_dataset("004-ssd-mix").select("16 KiB 70/30 mix").points.iloc[0]
    assert row["throughput_per_s"] == 28500 + 12100
    assert row["latency_s"] == pytest.approx((28500 * 21.55e-6 + 12100 * 28.46e-6) / 40600)


@pytest.mark.parametrize("name", sorted(set(SEEDS) - set(POINTS)))
def test_a_table_that_is_no_curve_says_what_there_is_instead(name: str) -> None:
    with pytest.raises(DataError, match=r"no throughput.*dataset_table"):
        load_dataset(name)
    assert len(dataset_table(name)) > 0


@pytest.mark.parametrize("call", [about, load_dataset, dataset_table])
def test_an_unknown_name_lists_the_names(call: object) -> None:
    with pytest.raises(DataError, match=r"no dataset '001'.*001-ssd.*004-ssd-mix"):
        call("001")  # type: ignore[operator]


def test_provenance_says_what_was_measured_with_what() -> None:
    provenance = load_dataset("001-ssd").provenance
    assert "PM961" in provenance.device
    assert "posixaio" in provenance.tool
    assert "course report 001" in provenance.source
    assert "one direction" in " ".join(provenance.details["anomaly"].split())


def test_the_wheel_holds_every_table(
    repository: Path, tmp_path: Path, require_module: Callable[[str, str], None]
) -> None:
    require_module("hatchling", "pip install hatchling")
    wheel = importlib.import_module("hatchling.builders.wheel")
    built = next(wheel.WheelBuilder(str(repository)).build(directory=str(tmp_path), versions=["standard"]))
    with zipfile.ZipFile(built) as archive:
        files = set(archive.namelist())
    assert {f"measure/datasets/{name}.csv" for name in SEEDS} <= files
