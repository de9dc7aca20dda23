"""The peak that a tool listed beside a memory's curve: of its own traffic, and of no other."""

from __future__ import annotations

import pytest
from made_up import points_at

from calibrate import fit
from calibrate.points import points_of
from measure.auditing.memory_curves import known_peak
from measure.loads import InjectedDelay
from measure.origin import Provenance
from measure.sweep import Sweep

PROBE = {"peaks_bytes_per_s": {"read": {"mean": 40e9}, "mix": {"mean": 30e9}}}


def curve(series: str, details: dict[str, object], read_fraction: float = 1.0) -> Sweep:
    rates, times = [6e8, 1.2e8, 3e7], [130e-9, 90e-9, 85e-9]
    points = points_at([0, 500, 2500], rates, times, series=series, read_fraction=read_fraction)
    return Sweep(points, load_type=InjectedDelay(), provenance=Provenance(details=details))


@pytest.mark.parametrize(
    ("series", "details", "reads", "expected"),
    [
        ("read", PROBE, 1.0, 40e9),
        ("mix, 2 loaders", PROBE, 0.67, 30e9),
        ("nt-write", PROBE, 0.0, None),
        ("read", {}, 1.0, None),
    ],
)
def test_the_peak_is_that_of_the_same_traffic(
    series: str, details: dict[str, object], reads: float, expected: float | None
) -> None:
    assert known_peak(curve(series, details, reads)) == expected


def test_a_fit_takes_the_peak_of_its_sweep_and_says_so() -> None:
    own, blind = (fit(curve("read", details)) for details in (PROBE, {}))
    assert points_of(curve("read", PROBE)).known_peak_per_s == pytest.approx(40e9 / 64)
    assert "the peak of 40.0 GB/s is the tool's own" in own.notes
    assert own.known_peak_per_s == pytest.approx(40e9 / 64)
    assert blind.known_peak_per_s is None
    given = fit(curve("read", PROBE), peak_per_s=45e9)
    assert "the peak of 45.0 GB/s is given" in given.notes
