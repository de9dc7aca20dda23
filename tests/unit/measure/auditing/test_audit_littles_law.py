"""Where each hypothesis on X R / N begins and ends: ratios on both sides of every limit, and on it where exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from measure.auditing.all_checks import audit
from measure.auditing.curve_shape import ClosedCurve
from measure.auditing.littles_law import diagnose
from measure.formats.tables.table import csv_sweep
from measure.loads import Clients, Depth

DEPTH = Depth()

IMPLIED_S = 2.0**-14
"""N / X, a power of two so that a latency of ratio times it gives back exactly that ratio."""


def curve(
    ratios: Sequence[float], loads: Sequence[float] = (), implied_s: float | np.ndarray = IMPLIED_S, **kept: Any
) -> ClosedCurve:
    """A curve with these ratios X R / N, at depths 1, 2, 4, ... where none are given."""
    n = np.array(loads or 2.0 ** np.arange(len(ratios)), dtype=float)
    of = {"block_bytes": None, "read_fraction": None, "load_type": DEPTH, **kept}
    return ClosedCurve("c", n, n / implied_s, np.array(ratios, dtype=float) * implied_s, **of)


def cause(ratios: Sequence[float], loads: Sequence[float] = (), *siblings: ClosedCurve, **kept: Any) -> str:
    return diagnose(curve(ratios, loads, **kept), siblings).cause


@pytest.mark.parametrize(
    ("ratios", "found"),
    [
        ([1.0199, 0.9801], "holds"),
        ([1.0, 1.03], "unexplained"),
        ([1.03, 1.0], "unexplained"),
        # a unit: every point within 0.4 to 1.25 after it, the median within 0.7 to 1.1
        ([401, 1000, 1000], "unit"),
        ([400, 1000, 1000], "unexplained"),
        ([1249, 1000, 1000], "unit"),
        ([1250, 1000, 1000], "unexplained"),
        ([701, 701, 701], "unit"),
        ([700, 700, 700], "jobs-not-counted"),
        ([1099, 1099, 1099], "unit"),
        ([1100, 1100, 1100], "jobs-not-counted"),
        # jobs: one whole number from 2 on, within 8 %
        ([2.15, 2, 2], "jobs-not-counted"),
        ([1.85, 2, 2], "jobs-not-counted"),
        ([2.17, 2, 2], "unexplained"),
        ([1.83, 2, 2], "unexplained"),
        ([1.06, 1.06, 1.06], "unexplained"),
        ([1.1, 0.85], "unexplained"),
        ([1.5, 1.5, 1.5], "unexplained"),
        # half of the latency: three depths or more, from 0.85 on down to between 0.42 and 0.58 at the last two
        ([0.85, 0.5, 0.5], "half-latency"),
        ([0.84, 0.5, 0.5], "depth-not-filled"),
        ([1, 0.5], "depth-not-filled"),
        ([1, 0.57, 0.52], "half-latency"),
        ([1, 0.58, 0.53], "depth-not-filled"),
        ([1, 0.57, 0.5], "depth-not-filled"),
        ([1, 0.47, 0.43], "half-latency"),
        ([1, 0.47, 0.42], "depth-not-filled"),
        ([1, 0.49, 0.43], "half-latency"),
        ([1, 0.5, 0.515], "half-latency"),
        ([1, 0.5, 0.53], "depth-not-filled"),
        ([0.9, 0.95, 0.5, 0.5], "depth-not-filled"),
        # the depth was not filled: down to 0.8 and to 0.8 of the first
        ([1.25, 0.8], "depth-not-filled"),
        ([1.26, 0.8], "unexplained"),
        ([1, 0.8], "depth-not-filled"),
        ([1, 0.81], "constant-share"),
        ([0.95, 0.77], "constant-share"),
        ([0.95, 0.75], "depth-not-filled"),
        # a constant share: 0.5 and more, all within a quarter
        ([0.5, 0.5], "constant-share"),
        ([0.49, 0.49], "unexplained"),
        ([1.03, 0.97], "unexplained"),
        ([1.02, 0.95], "constant-share"),
    ],
)
def test_where_a_hypothesis_begins_and_ends(ratios: Sequence[float], found: str) -> None:
    assert cause(ratios) == found


@pytest.mark.parametrize(("ratios", "found"), [([0.75, 1.0], "constant-share"), ([0.74, 1.0], "unexplained")])
def test_a_constant_share_stays_within_a_quarter(ratios: Sequence[float], found: str) -> None:
    assert cause(ratios, (2, 4)) == found


@pytest.mark.parametrize(
    ("ratios", "loads", "found"),
    [
        ([0.6, 1], (1, 2), "submission-gap"),
        ([0.6, 1], (2, 4), "unexplained"),
        ([0.6, 0.97], (1, 2), "unexplained"),
        ([0.5, 1], (1, 2), "submission-gap"),
        ([0.49, 1], (1, 2), "unexplained"),
        ([0.6, 1.03], (1, 2), "unexplained"),
        ([0.6, 1.02], (1, 2), "submission-gap"),
        ([0.98, 1], (1, 2), "constant-share"),
        ([0.6, 0.9, 0.97], (2, 4, 8), "submission-gap"),
        ([1.02], (1,), "mostly-outside"),
        ([0.6, 0.9, 0.975], (2, 4, 8), "submission-gap"),
        ([0.6, 0.9, 0.965], (2, 4, 8), "unexplained"),
        ([0.8, 0.785, 0.98], (2, 4, 8), "submission-gap"),
        ([0.8, 0.775, 0.98], (2, 4, 8), "constant-share"),
        ([0.8], (1,), "submission-gap"),
        ([0.79], (1,), "mostly-outside"),
        ([0.3], (1,), "mostly-outside"),
        ([1.5], (1,), "unexplained"),
        ([0.3], (2,), "unexplained"),
        ([0.9], (2,), "constant-share"),
    ],
)
def test_a_gap_is_seen_at_depth_one_alone_or_closes_with_the_depth(
    ratios: Sequence[float], loads: Sequence[float], found: str
) -> None:
    assert cause(ratios, loads) == found


def test_the_host_loses_no_more_than_200_us() -> None:
    assert cause([0.6, 1], implied_s=490e-6) == "submission-gap"
    assert cause([0.6, 1], implied_s=510e-6) == "unexplained"
    just = ClosedCurve("c", np.array([1.0, 2]), np.array([2500.0, 5000]), np.array([2e-4, 4e-4]), None, None, DEPTH)
    assert diagnose(just).cause == "submission-gap"  # 400 - 200 us
    many = curve([0.6, 0.9, 1], (2, 4, 8))
    assert "less the longer" in diagnose(many).hypothesis
    assert "less the longer" not in diagnose(curve([0.6, 1])).hypothesis


@pytest.mark.parametrize(("ratio", "severity"), [(0.8, "info"), (0.79, "warning")])
def test_a_large_gap_is_a_warning_with_a_remedy(ratio: float, severity: str) -> None:
    found = diagnose(curve([ratio, 1]))
    assert (found.cause, found.severity, bool(found.remedy)) == ("submission-gap", severity, severity == "warning")


@pytest.mark.parametrize(
    ("ratios", "read", "found"),
    [
        ([0.4, 0.4], 0.5, "one-direction"),
        ([0.4, 0.4], None, "unexplained"),
        ([0.4, 0.4], 0.0, "unexplained"),
        ([0.4, 0.4], 1.0, "unexplained"),
        ([0.2, 0.25], 0.5, "unexplained"),
        ([0.21, 0.25], 0.5, "one-direction"),
        ([0.65, 0.6], 0.5, "constant-share"),
        ([0.64, 0.6], 0.5, "one-direction"),
        ([0.375, 0.5625], 0.5, "one-direction"),
        ([0.375, 0.57], 0.5, "unexplained"),
        ([0.4], 0.5, "mostly-outside"),
    ],
)
def test_one_direction_is_a_fifth_to_two_thirds_at_all_depths(
    ratios: Sequence[float], read: float | None, found: str
) -> None:
    assert cause(ratios, read_fraction=read) == found


def test_one_direction_is_held_against_reads_and_writes_alone() -> None:
    reads, writes = curve([1.0], read_fraction=1.0), curve([0.9], read_fraction=0.0)
    mix = curve([0.4], read_fraction=0.5)
    found = diagnose(mix, [writes, reads])
    assert found.cause == "one-direction"
    assert "In the same table: reads alone 1.00, writes alone 0.90." in found.evidence
    assert "(writes alone take 54.9 µs)" in found.hypothesis  # 0.9 of 61 us
    assert "the other half took 36.6 µs each" in found.hypothesis  # N/X - R = 0.6 of 61 us
    assert diagnose(replace(mix, read_fraction=None), [reads]).cause == "one-direction"
    assert diagnose(mix, [replace(reads, block_bytes=4096.0)]).cause == "mostly-outside"
    assert diagnose(mix, [curve([0.7], read_fraction=1.0)]).cause == "one-direction"
    assert diagnose(mix, [curve([0.69], read_fraction=1.0)]).cause == "mostly-outside"
    assert diagnose(mix, [reads, curve([0.69], read_fraction=0.0)]).cause == "mostly-outside"


def test_the_page_cache_answers_twenty_times_as_fast_as_a_read_of_the_same() -> None:
    def with_reads(write: Sequence[float], read: float, **of: Any) -> str:
        reads = replace(curve([read, 1]), read_fraction=1.0, **of)
        found = diagnose(curve(write, read_fraction=0.0), [reads])
        assert found.more in ("", f" A write takes 1.91 µs where a read of the same device takes {61 * read:.1f} µs.")
        return found.cause

    assert with_reads([1 / 32, 0.5], 20 / 32) == "page-cache"
    assert with_reads([1 / 32, 0.5], 19.9 / 32) == "unexplained"
    assert with_reads([1 / 32, 0.69], 1) == "page-cache"
    assert with_reads([1 / 32, 0.7], 1) == "unexplained"
    for other in ({"block_bytes": 4096.0}, {"file_bytes": 2.0**20}, {"load": np.array([2.0, 4.0])}):
        assert with_reads([1 / 32, 0.5], 1, **other) == "unexplained"
    assert diagnose(curve([1 / 32, 0.5], read_fraction=1.0), [curve([1, 1], read_fraction=1.0)]).cause == "unexplained"


def test_a_file_with_few_blocks_fills_no_queue() -> None:
    ratios = [1, 0.5, 0.25]  # one in flight at depths 1, 2 and 4
    small = curve(ratios, block_bytes=4096.0, file_bytes=4096.0)
    assert "holds only 1 blocks of 4 KiB" in diagnose(small).hypothesis
    assert "synchronous" in diagnose(replace(small, file_bytes=None)).hypothesis
    assert "holds only" in diagnose(curve([1.05, 0.52, 0.26], block_bytes=4096.0, file_bytes=4096.0)).hypothesis
    assert "holds only" not in diagnose(curve([1.06, 0.53, 0.26], block_bytes=4096.0, file_bytes=4096.0)).hypothesis
    assert diagnose(replace(small, latency=np.array([1, 0.5, 0.5]) * IMPLIED_S)).cause == "depth-not-filled"


@pytest.mark.parametrize(
    ("ratios", "loads", "words"),
    [
        ([1, 0.595], (1, 2), "no more than about 1.2 requests can be outstanding: the engine is synchronous"),
        ([1, 0.6], (1, 2), "the depth was not filled"),  # 1.2 in flight after 1
        ([1, 0.75, 0.5], (1, 2, 4), "the depth was not filled"),  # 2 in flight after 1.5
        ([1, 0.7, 0.3], (1, 2, 4), "no more than about 1.2 requests can be outstanding: the engine is synchronous"),
        ([1, 0.9, 0.5], (10, 11, 20), "no more than about 10 requests can be outstanding: a limit of the queue"),
        ([1, 0.325], (2, 4), "no more than about 1.3 requests can be outstanding: a limit of the queue"),
        ([1, 0.6], (10, 18), "no more than about 11 requests can be outstanding: a limit of the queue"),
        ([1, 0.6], (10, 17), "the depth was not filled"),
    ],
)
def test_a_limit_of_the_queue_needs_a_depth_that_doubles_and_requests_that_do_not(
    ratios: Sequence[float], loads: Sequence[float], words: str
) -> None:
    found = diagnose(curve(ratios, loads))
    assert found.cause == "depth-not-filled"
    assert found.hypothesis.startswith(words)


def test_a_share_of_a_few_per_cent_is_an_info_and_its_gap_may_grow() -> None:
    assert "a few per cent" in diagnose(curve([0.9, 0.9])).hypothesis
    more = diagnose(curve([0.89, 0.89]))
    assert ("a share of the depth" in more.hypothesis, more.severity) == (True, "warning")
    at_one_rate = ClosedCurve(
        "c", np.array([1.0, 2, 4]), np.full(3, 1e4), np.array([0.78e-4, 1.56e-4, 3.12e-4]), None, None, DEPTH
    )
    assert "N/X - R grows from 22.0 µs to 88.0 µs" in diagnose(at_one_rate).evidence
    assert "grows" not in diagnose(curve([0.8, 0.79, 0.8])).evidence
    assert "grows" not in diagnose(curve([0.6, 0.592])).evidence  # by 2 %
    assert "grows" in diagnose(curve([0.8, 0.79])).evidence


@pytest.mark.parametrize(("ratio", "severity"), [(1.09, "info"), (1.11, "warning"), (1.19, "warning"), (1.21, "error")])
def test_the_severity_is_that_of_the_worst_point(ratio: float, severity: str) -> None:
    found = diagnose(curve([1.0, ratio, 1.0]))
    assert (found.cause, found.severity) == ("unexplained", severity)
    assert "--depths 2 " in found.remedy


@pytest.mark.parametrize(
    ("ratio", "words", "right", "wrong"),
    [
        (1000, "divided by 1,000", "1,000: the first latency is 61.0 µs", "61.0 ms"),
        (1e-3, "multiplied by 1,000", "1,000: the first latency is 61.0 µs", "61.0 ns"),
        (1e6, "divided by 1,000,000", "1,000,000: the first latency is 61.0 µs", "61.0 s"),
        (1e-6, "multiplied by 1,000,000", "1,000,000: the first latency is 61.0 µs", "0.0610 ns"),
    ],
)
def test_the_unit_is_named_with_what_the_latency_is(ratio: float, words: str, right: str, wrong: str) -> None:
    found = diagnose(curve([ratio, 1.1 * ratio]))
    assert f"With the latency {words} it is 1.000 to 1.100." in found.evidence
    assert f"a unit off by {right}, not {wrong}" in found.hypothesis


def test_half_of_the_latency_is_said_of_the_last_depth_and_its_remedy_is_of_the_load() -> None:
    half = curve([1, 0.57, 0.52], implied_s=np.array([1, 1, 2]) * IMPLIED_S)
    assert diagnose(half).more == " With depth 4 N/X is 122 µs, and 63.5 µs is printed."
    assert "fio's iops" in diagnose(curve([1.5])).remedy
    assert "fio's iops" not in diagnose(curve([1.5], load_type=Clients())).remedy


def test_up_to_eight_ratios_are_listed_with_three_digits() -> None:
    assert diagnose(curve([0.0996, 9.996, 10.46])).evidence.startswith("X R / N is 0.0996, 9.996, 10.5 at")
    assert diagnose(curve([1.5] * 8)).evidence.startswith("X R / N is 1.500, 1.500,")
    assert diagnose(curve([1.5] * 8 + [1.6])).evidence.startswith(
        "X R / N is 1.500 to 1.600 from depth 1 to 256 (worst 1.600 at 256)"
    )


def test_the_remedy_for_a_unit_of_users_does_not_speak_of_fio() -> None:
    text = "users,req/s,latency_ms\n1,100,10000\n8,350,22857\n16,400,40000\n"
    (found,) = [f for f in audit(csv_sweep(text, name="t.csv")) if f.check == "littles-law"]
    assert found.remedy == "look at the tool's own output for the unit of its latency."
