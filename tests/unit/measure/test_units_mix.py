"""Words for a mix of reads and writes."""

from __future__ import annotations

import pytest

from measure.units import parse_mix


@pytest.mark.parametrize(
    ("words", "fraction", "pattern"),
    [
        ("Read-Only", 1, None),
        ("Write-Only (Non-Temporal)", 0, None),
        ("3:1 R:W", 0.75, None),
        ("ALL Reads", 1, None),
        ("2:1 Reads-Writes", 2 / 3, None),
        ("randread", 1, "random"),
        ("sequential write", 0, "sequential"),
        ("Read and Write", None, None),
        ("randrw", None, "random"),
        ("70/30", 0.7, None),
        ("", None, None),
        ("0:0", None, None),
    ],
)
def test_the_words_tell_the_share_of_reads(words: str, fraction: float | None, pattern: str | None) -> None:
    mix = parse_mix(words)
    assert mix.pattern == pattern
    assert mix.read_fraction == (fraction if fraction is None else pytest.approx(fraction))
