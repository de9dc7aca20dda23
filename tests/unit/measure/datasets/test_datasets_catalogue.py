"""The cited datasets: all there, as printed, in SI, and honest about what is wrong with them."""

from __future__ import annotations

import hashlib
import importlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from measure.datasets import about, audit_dataset, dataset_names, dataset_table, load_dataset
from measure.errors import DataError

PRINTED = {
    "000-ssd": "b6d608cadbbccd1e",
    "000-memory": "11e8582769137d74",
    "001-ssd": "7cb13d0f4aeab251",
    "001-memory": "007e80cc6a1d9824",
    "002-ssd-tails": "18d705af01796c94",
    "002-ssd-baseline": "21f69eba0e97ee8d",
    "003-ssd-read": "59c670978a853148",
    "004-ssd-depth": "f7365385d5e4d2fd",
    "004-ssd-block-size": "fed467d0278ffb41",
    "004-ssd-mix": "718159f2c8b1b899",
}
"""The first digits of the SHA-256 of each table as its source printed it, mistakes included."""

POINTS = {
    "000-ssd": (12, 36),
    "000-memory": (8, 152),
    "001-ssd": (6, 36),
    "001-memory": (10, 190),
    "003-ssd-read": (4, 20),
    "004-ssd-depth": (1, 5),
    "004-ssd-block-size": (5, 5),
    "004-ssd-mix": (5, 5),
}


def test_every_seed_table_is_in_the_catalogue() -> None:
    assert set(dataset_names()) == set(PRINTED)
    assert set(dataset_names(curves_only=True)) == set(POINTS)


@pytest.mark.parametrize("name", PRINTED)
def test_the_numbers_are_those_of_the_source(name: str) -> None:
    table = dataset_table(name).to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(table.encode()).hexdigest().startswith(PRINTED[name])


@pytest.mark.parametrize("name", POINTS)
def test_every_curve_is_there_once(name: str) -> None:
    sweep = load_dataset(name, as_published=True)
    assert (len(sweep.series), len(sweep)) == POINTS[name]
    assert sweep.points["repeat"].eq(0).all()
    assert sweep.load_type.kind == about(name).load_kind


def test_units_are_converted_as_the_catalogue_says() -> None:
    row = load_dataset("001-ssd", as_published=True).points.iloc[1]
    assert row["throughput_per_s"] == pytest.approx(79606 * 1024 / 4096)
    assert row["latency_s"] == pytest.approx(394.66e-6)
    row = load_dataset("003-ssd-read", as_published=True).points.iloc[0]
    assert (row["throughput_per_s"], row["latency_s"]) == pytest.approx((55990, 70.22e-3))
    row = load_dataset("001-memory", as_published=True).points.iloc[0]
    assert (row["throughput_per_s"], row["latency_s"]) == pytest.approx((28439.1e6 / 64, 128.65e-9))
    row = load_dataset("004-ssd-mix", as_published=True).select("16 KiB 70/30 mix").points.iloc[0]
    assert row["throughput_per_s"] == 28500 + 12100
    assert row["latency_s"] == pytest.approx((28500 * 21.55e-6 + 12100 * 28.46e-6) / 40600)


@pytest.mark.parametrize("name", sorted(set(PRINTED) - set(POINTS)))
def test_a_table_that_is_no_curve_says_what_there_is_instead(name: str) -> None:
    with pytest.raises(DataError, match=rf"no throughput.*qsim show --dataset {name}"):
        load_dataset(name, as_published=True)
    assert len(dataset_table(name)) > 0


@pytest.mark.parametrize("call", [about, load_dataset, dataset_table])
def test_an_unknown_name_lists_the_names(call: object) -> None:
    with pytest.raises(DataError, match=r"no dataset '001'.*001-ssd.*004-ssd-mix"):
        call("001")  # type: ignore[operator]


def test_exchanged_labels_are_told_with_the_times_of_both_tables() -> None:
    """The report prints 17.54 and 51.97 us as p50 at depth 1, and 52.87 and 18.78 us as its baselines."""
    (found,) = (f for f in audit_dataset("002-ssd-tails") if f.check == "labels")
    assert found.message == (
        "at depth 1 the reads take 17.5 µs and the writes 52.0 µs, where the baselines of the same device are "
        "52.9 µs and 18.8 µs."
    )


def test_provenance_says_what_was_measured_with_what() -> None:
    provenance = load_dataset("001-ssd", as_published=True).provenance
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
    assert {f"measure/datasets/{name}.csv" for name in PRINTED} <= files
