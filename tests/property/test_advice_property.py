"""What to measure next is never a load that was measured, whatever depths they are and whatever was used of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import points_at

from calibrate import fit
from calibrate.models.curves import OnsetPNorm
from calibrate.next import advice, next_load
from calibrate.points import points_of
from measure import Sweep

depths = st.sets(st.one_of(st.sampled_from([2**i for i in range(11)]), st.integers(1, 1024)), min_size=2, max_size=12)


def drive(loads: list[int], onset: float, knee: float, noise: list[float]) -> Sweep:
    """A drive with that knee, each of whose points is off by its own noise."""
    throughput, _ = OnsetPNorm().curve(np.array([[knee, 75e3, 3.0, onset]]), np.array(loads, dtype=float))
    measured = throughput[0] * np.exp(noise)
    return Sweep(points_at(loads, measured))


@settings(max_examples=10, deadline=None)
@given(loads=depths, onset=st.floats(0.4, 1.0), knee=st.floats(1.5, 200.0), data=st.data())
def test_no_depth_that_was_measured_is_advised(loads: set[int], onset: float, knee: float, data: st.DataObject) -> None:
    noise = data.draw(st.lists(st.floats(-0.1, 0.1), min_size=len(loads), max_size=len(loads)))
    sweep = drive(sorted(loads), onset, knee, noise)
    used = data.draw(st.sets(st.sampled_from(sorted(loads)), min_size=2))
    for wanted in (
        advice(points_of(sweep, "made")),
        next_load(fit(sweep)),
        next_load(fit(sweep, sorted(used)), measured=sorted(loads)),
    ):
        assert wanted is None or all(abs(wanted.load - load) > 1e-9 * load for load in loads)
