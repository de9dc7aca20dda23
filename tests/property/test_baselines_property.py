"""What every baseline does on any points: finite positive answers that do not depend on order or unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate.prediction.baselines import BASELINES, Array, Baseline, plain_bound
from calibrate.surface import Places
from calibrate.surface.surface_comparison import SURFACE_BASELINES, SurfaceBaseline

CURVES = [pytest.param(kind, f, id=f"{kind}: {name}") for kind, of in BASELINES.items() for name, f in of.items()]
SURFACES = pytest.mark.parametrize("baseline", SURFACE_BASELINES.values(), ids=SURFACE_BASELINES.keys())

depths = st.integers(1, 4096).map(float)
throughputs = st.floats(1e-3, 1e9)


@st.composite
def points(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Loads, with repeats among them, throughputs and response times, (k,) each."""
    loads = draw(st.lists(depths, min_size=1, max_size=8))
    some = {"min_size": len(loads), "max_size": len(loads)}
    x, r = draw(st.lists(throughputs, **some)), draw(st.lists(st.floats(1e-9, 1e3), **some))
    return np.array(loads), np.array(x), np.array(r)


def answered(kind: str, baseline: Baseline, given: tuple[Array, Array, Array], at: Array) -> tuple[Array, Array] | None:
    """What a baseline predicts; None where an open queue says that it is overloaded, which no other may."""
    try:
        return baseline(*given, at)
    except ValueError:
        if kind == "queue_depth":
            raise
        return None


@pytest.mark.parametrize(("kind", "baseline"), CURVES)
@settings(max_examples=30)
@given(known=points(), at=st.lists(depths, min_size=1, max_size=5), seed=st.integers(0, 99))
def test_predictions_are_positive_finite_and_the_same_in_any_order_of_the_points(
    kind: str, baseline: Baseline, known: tuple[Array, Array, Array], at: list[float], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(known[0]))
    shuffled = known[0][order], known[1][order], known[2][order]
    first, second = (answered(kind, baseline, p, np.array(at)) for p in (known, shuffled))
    assert (first is None) == (second is None)
    for one, other in zip(first or (), second or (), strict=True):
        assert one.shape == (len(at),)
        assert np.isfinite(one).all()
        assert (one > 0).all()
        assert (one == other).all()


@pytest.mark.parametrize("baseline", BASELINES["queue_depth"].values(), ids=BASELINES["queue_depth"].keys())
@settings(max_examples=30)
@given(known=points(), at=st.lists(depths, min_size=1, max_size=5), power=st.integers(-12, 12))
def test_throughputs_scale_with_those_of_the_points(
    baseline: Baseline, known: tuple[Array, Array, Array], at: list[float], power: int
) -> None:
    (load, x, r), factor = known, 2.0**power  # exact, so that no rounding moves a fit to absurd points
    one, scaled = baseline(load, x, r, at), baseline(load, x * factor, r, at)
    assert scaled[0] == pytest.approx(factor * one[0], rel=1e-6)
    assert scaled[1] == pytest.approx(one[1] / factor, rel=1e-6)


@given(
    slope=st.floats(1e-2, 1e6),
    peak=st.floats(1, 1e9),
    loads=st.lists(depths, min_size=2, max_size=8, unique=True),
    at=st.lists(depths, min_size=1, max_size=5),
)
def test_exact_data_of_a_bound_on_both_of_its_sides_give_the_bound(
    slope: float, peak: float, loads: list[float], at: list[float]
) -> None:
    knee = peak / slope
    n = np.array([min(1.0, knee), max(4096.0, knee), *loads])
    x, wanted = np.minimum(slope * n, peak), np.minimum(slope * np.array(at), peak)
    assert plain_bound(n, x, n / x, at)[0] == pytest.approx(wanted)


@st.composite
def surfaces(draw: st.DrawFn) -> tuple[Places, Array]:
    """Places of a surface and throughputs there."""
    place = st.tuples(
        st.sampled_from([0, 512, 4096, 65536, 1 << 20]),
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        st.integers(1, 512),
        st.integers(1, 16),
    )
    rows = draw(st.lists(place, min_size=1, max_size=12))
    x = draw(st.lists(throughputs, min_size=len(rows), max_size=len(rows)))
    return Places(*np.array(rows, dtype=float).T), np.array(x)


@SURFACES
@settings(max_examples=30)
@given(known=surfaces(), at=surfaces(), seed=st.integers(0, 99))
def test_surfaces_are_positive_finite_and_the_same_in_any_order_of_the_places(
    baseline: SurfaceBaseline, known: tuple[Places, Array], at: tuple[Places, Array], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(known[1]))
    found = baseline(*known, at[0])
    assert found.shape == (len(at[0]),)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert (found == baseline(known[0].at(order), known[1][order], at[0])).all()
