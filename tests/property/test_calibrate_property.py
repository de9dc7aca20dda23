"""What no fit and no curve may ever do, whatever the points."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import points_at

from calibrate import fit, from_datasheet, predict
from calibrate.models.curves import AsymptoticBounds, PNorm
from calibrate.models.memory_models import DelayLaw
from measure import Sweep


@given(crossing=st.floats(1, 1e4), peak=st.floats(1e-3, 1e9), p=st.floats(0.5, 60))
def test_no_closed_curve_passes_its_bounds(crossing: float, peak: float, p: float) -> None:
    loads = np.geomspace(1, 4096, 40)
    bound = np.minimum(loads / (crossing / peak), peak)
    for model, values in ((PNorm(), [crossing, peak, p]), (AsymptoticBounds(), [crossing, peak])):
        throughput, response = model.curve(np.array([values]), loads)
        assert (throughput[0] <= bound * (1 + 1e-9)).all()
        assert (throughput[0] > 0).all()
        assert (np.diff(throughput[0]) >= -1e-9 * peak).all()
        assert np.allclose(throughput[0] * response[0], loads, rtol=1e-9)


@given(
    scale=st.tuples(*[st.floats(-1.5, 1.5)] * 5),
    overlap=st.floats(0.5, 10),
    delays=st.lists(st.floats(0, 1e5), min_size=1, max_size=6),
)
def test_the_delay_law_is_solved_for_any_parameters(
    scale: tuple[float, ...], overlap: float, delays: list[float]
) -> None:
    values = np.append(np.array([57.0, 1.36e-9, 65e-9, 5e-9, 4.8e8]) * 10 ** np.array(scale), overlap)
    throughput, response = DelayLaw().curve(values[None, :], np.array(delays))
    lines, per_unit, idle, queueing, peak, _ = values
    think = np.maximum(per_unit * np.array(delays), 1e-300)
    cycle = np.exp(np.logaddexp(overlap * np.log(think), overlap * np.log(response[0])) / overlap)
    asked = lines / cycle + 1 / response[0]
    rho = throughput[0] / peak
    assert ((rho > 0) & (rho < 1)).all()
    assert (response[0] >= idle * (1 - 1e-12)).all()
    assert np.allclose(throughput[0], asked, rtol=1e-6)
    assert np.allclose(response[0], idle + queueing * rho / (1 - rho), rtol=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    throughput=st.lists(st.floats(10, 1e6), min_size=3, max_size=6),
    depths=st.lists(st.integers(1, 1024), min_size=6, max_size=6, unique=True),
)
def test_any_points_give_a_possible_answer(throughput: list[float], depths: list[int]) -> None:
    loads = sorted(depths)[: len(throughput)]
    made = fit(Sweep(points_at(loads, throughput)), loads)
    assert (made.table.values[:, 0] >= 1).all()
    curve = predict(made, [1, 10, 100])
    assert np.isfinite(curve.throughput_per_s).all()
    assert (curve.throughput_low_per_s <= curve.throughput_high_per_s).all()
    assert (curve.throughput_low_per_s > 0).all()


@settings(max_examples=25, deadline=None)
@given(latency=st.floats(1e-7, 1e-1), crossing=st.floats(1, 1e4), factor=st.floats(1e-3, 1e3))
def test_time_units_scale_through(latency: float, crossing: float, factor: float) -> None:
    one = from_datasheet(latency, crossing / latency * (1 + 1e-12))
    other = from_datasheet(latency * factor, crossing / latency / factor * (1 + 1e-12))
    a, b = predict(one, [1, 50]), predict(other, [1, 50])
    assert np.allclose(a.response_time_s * factor, b.response_time_s, rtol=1e-9)
    assert np.isclose(one.knee.load, other.knee.load, rtol=1e-9)  # type: ignore[arg-type]
