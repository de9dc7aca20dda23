"""How traffic is written, and what a burst of it moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.memory.traffic import BURST_LINES, MOST_PARTS, parse_traffic, parse_traffics, strided


@pytest.mark.parametrize(
    ("text", "name", "lines", "reads"),
    [
        ("read", "read", (64, 0, 0), 1),
        ("100", "read", (64, 0, 0), 1),
        ("mix", "mix", (32, 32, 0), 2 / 3),
        ("4:2", "2:1", (32, 32, 0), 2 / 3),
        ("write", "write", (0, 64, 0), 1 / 2),
        (" 50% ", "1:1", (0, 64, 0), 1 / 2),
        ("3:1", "3:1", (42, 21, 0), 3 / 4),
        ("70", "7:3", (36, 27, 0), 7 / 10),
        ("NT-Write", "nt-write", (0, 0, 64), 0),
        ("nt-1:1", "nt-1:1", (32, 0, 32), 1 / 2),
        ("nt-1:3", "nt-1:3", (16, 0, 48), 1 / 4),
        ("nt-30", "nt-3:7", (18, 0, 42), 3 / 10),
    ],
)
def test_names_ratios_and_percentages(text: str, name: str, lines: tuple[int, int, int], reads: float) -> None:
    traffic = parse_traffic(text)
    assert traffic.name == name
    assert (traffic.read_lines, traffic.updated_lines, traffic.streamed_lines) == lines
    assert traffic.read_fraction == pytest.approx(reads)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown"),
        ("reed", "'reed' is unknown; write read, mix"),
        ("0", "reads its line first; write past the caches with nt-write"),
        ("30", "nt-3:7"),
        ("1:2", "nt-1:2"),
        ("0:0", "moves nothing"),
        ("3:1:2", "unknown"),
        ("nt-read", "unknown"),
        ("nt-1:0", "writes nothing"),
        ("1000:1", "rounder ratio"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        parse_traffic(text)
    assert "\n" not in str(refusal.value)


@given(st.integers(0, 99), st.integers(0, 99), st.booleans())
def test_every_ratio_is_exact_or_refused(reads: int, writes: int, streamed: bool) -> None:
    try:
        traffic = parse_traffic(f"{'nt-' if streamed else ''}{reads}:{writes}")
    except ValueError:
        assert reads + writes == 0 or reads + writes > MOST_PARTS or (writes == 0 if streamed else writes > reads)
        return
    assert traffic.read_fraction == pytest.approx(reads / (reads + writes))
    assert min(traffic.read_lines, traffic.updated_lines, traffic.streamed_lines) >= 0
    assert BURST_LINES // 2 < traffic.burst_lines <= MOST_PARTS
    assert parse_traffic(traffic.name) == traffic
    assert ":" not in traffic.slug


def test_a_list_keeps_each_traffic_once() -> None:
    assert [t.name for t in parse_traffics("read, 100,3:1,75,,nt-write")] == ["read", "3:1", "nt-write"]
    with pytest.raises(ValueError, match="traffic is empty"):
        parse_traffics(" , ")


def test_every_traffic_at_every_stride() -> None:
    kinds = strided(parse_traffics("read,3:1"), [64, 256, 64, 4096])
    assert [k.label for k in kinds] == [
        "read",
        "3:1",
        "read stride 256 B",
        "3:1 stride 256 B",
        "read stride 4 KiB",
        "3:1 stride 4 KiB",
    ]
    assert [k.slug for k in kinds][2:4] == ["read-by256", "3to1-by256"]
    assert len(set(kinds)) == 6
    assert "each 4 lines from the one before" in kinds[2].describe()


@pytest.mark.parametrize(
    ("traffic", "strides", "message"),
    [
        ("read", [], "strides is empty"),
        ("read", [32], "strides: invalid value 32 B: expected a multiple of a cache line"),
        ("read", [100], "strides: invalid value 100 B: expected a multiple"),
        ("read", [2**20], "up to 64 KiB"),
        ("read,nt-write", [64, 128], "traffic nt-write has no stride"),
    ],
)
def test_strides_that_make_no_sense_are_refused(traffic: str, strides: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        strided(parse_traffics(traffic), strides)
