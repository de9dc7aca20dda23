"""How traffic is written, and what a burst of it moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.memory.traffic import BURST_LINES, MOST_PARTS, parse_traffic, parse_traffics


@pytest.mark.parametrize(
    ("text", "name", "lines", "reads"),
    [
        ("100", "read", (64, 0), 1),
        ("mix", "mix", (32, 32), 2 / 3),
        ("4:2", "2:1", (32, 32), 2 / 3),
        ("write", "write", (0, 64), 1 / 2),
        (" 50% ", "1:1", (0, 64), 1 / 2),
        ("70", "7:3", (36, 27), 7 / 10),
    ],
)
def test_names_ratios_and_percentages(text: str, name: str, lines: tuple[int, int], reads: float) -> None:
    traffic = parse_traffic(text)
    assert traffic.name == name
    assert (traffic.read_lines, traffic.updated_lines) == lines
    assert traffic.read_fraction == pytest.approx(reads)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reed", "'reed' is unknown; write read, mix"),
        ("30", "reads its line first; take 1:1"),
        ("0:0", "moves nothing"),
        ("1000:1", "rounder ratio"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        parse_traffic(text)
    assert "\n" not in str(refusal.value)


@given(st.integers(0, 99), st.integers(0, 99))
def test_every_ratio_is_exact_or_refused(reads: int, writes: int) -> None:
    try:
        traffic = parse_traffic(f"{reads}:{writes}")
    except ValueError:
        assert reads + writes == 0 or reads + writes > MOST_PARTS or writes > reads
        return
    assert traffic.read_fraction == pytest.approx(reads / (reads + writes))
    assert min(traffic.read_lines, traffic.updated_lines) >= 0
    assert BURST_LINES // 2 < traffic.burst_lines <= MOST_PARTS
    assert parse_traffic(traffic.name) == traffic
    assert ":" not in traffic.slug


def test_a_list_keeps_each_traffic_once_at_every_stride() -> None:
    assert [t.name for t in parse_traffics("read, 100,3:1,75,,write")] == ["read", "3:1", "write"]
    kinds = parse_traffics("read,3:1", [64, 256, 64])
    assert [k.label for k in kinds] == ["read", "3:1", "read stride 256 B", "3:1 stride 256 B"]
    assert [k.slug for k in kinds][2:] == ["read-by256", "3to1-by256"]


@pytest.mark.parametrize(
    ("traffic", "strides", "message"),
    [
        (" , ", [64], "traffic is empty"),
        ("read", [], "strides is empty"),
        ("read", [100], "strides: invalid value 100 B: expected a multiple of a cache line"),
        ("read", [2**20], "up to 64 KiB"),
    ],
)
def test_lists_that_make_no_sense_are_refused(traffic: str, strides: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_traffics(traffic, strides)
