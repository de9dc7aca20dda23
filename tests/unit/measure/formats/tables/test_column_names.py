"""Units by their prefixes, and names in one and in many."""

from __future__ import annotations

import re

import pytest

from measure.formats.tables.column_names import BLOCK_UNITS, UNITS

PREFIXES = {"": 1.0, "k": 1e3, "K": 2.0**10, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}


def test_times_are_seconds_by_their_prefix() -> None:
    parts = {"mi": 1e-6, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "na": 1e-9, "s": 1.0, "se": 1.0}
    for unit, scale in UNITS["latency"].items():
        assert scale == (1e-3 if unit.startswith("milli") else parts[unit[:2]])


@pytest.mark.parametrize("role", ["bandwidth", "throughput"])
def test_bandwidths_and_rates_are_decimal_but_for_fio(role: str) -> None:
    for unit, scale in UNITS[role].items():
        prefix = re.sub(r"B/s|bytes/s|/s|iops|IOPS", "", unit)
        assert scale == PREFIXES[prefix]


def test_blocks_are_powers_of_two_but_for_one() -> None:
    powers = {"b": 1, "B": 1, "k": 2**10, "K": 2**10, "m": 2**20, "M": 2**20}
    assert {unit: scale for unit, scale in BLOCK_UNITS.items() if unit != "kB"} == {
        unit: powers[unit[0]] for unit in BLOCK_UNITS if unit != "kB"
    }
    assert BLOCK_UNITS["kB"] == 1000


def test_shares_and_delays() -> None:
    assert UNITS["read_percent"] == {"%": 0.01, "fraction": 1.0}
    assert set(UNITS["delay"].values()) == {1.0}  # as the tool counts them
