"""What to measure next where delays or rates were varied: it narrows what it names, more than another load does."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate import fit, profile_parameters
from calibrate.cli.fit import advice
from calibrate.delay_law import DelayLaw
from calibrate.further_loads import next_load, pinning, told_of_parameters
from calibrate.points import points_of
from measure.dataset import Sweep

LAW = np.array([[60.0, 2e-9, 1.4e-9, 70e-9, 8e-9, 5e8, 1.3]])
DELAYS = np.array([0.0, 10, 20, 50, 100, 200, 500, 1000, 20000])
RATES = np.array([1e3, 2e3, 4e3, 6e3, 8e3, 9e3])


def memory(delays=DELAYS) -> Sweep:
    x, r = (v[0] for v in DelayLaw().curve(LAW, delays))
    points = pd.DataFrame({"series": "memory", "load": delays, "throughput_per_s": x, "latency_s": r})
    return Sweep(points, load_kind="injected_delay", load_unit="cycles")


def queue() -> Sweep:
    response = 1e-4 / (1 - RATES * 1e-4)  # M/M/1
    points = pd.DataFrame({"series": "queue", "load": RATES, "throughput_per_s": RATES, "latency_s": response})
    return Sweep(points, load_kind="arrival_rate", load_unit="1/s")


def width(estimate) -> float:
    return float(np.log(estimate.high / estimate.low))


def test_the_delay_that_is_named_narrows_the_knee_more_than_one_that_is_not() -> None:
    before = fit(memory(), [0, 500, 20000])
    wanted = next_load(before)
    assert wanted is not None
    assert wanted.load in (20, 50, 100)  # about the bend, N Z0 = R
    there, elsewhere = (fit(memory(), sorted([0, 500, 20000, n])) for n in (wanted.load, 1000))
    assert width(there.knee) < 0.9 * width(before.knee)
    assert width(there.knee) < width(elsewhere.knee)


def test_a_parameter_is_pinned_by_the_load_named_for_it_and_some_by_none() -> None:
    before = fit(memory(), [0, 500, 20000])
    loads = pinning(before)
    assert set(loads) <= {n for n, e in before.parameters.items() if not e.identified}
    after = fit(memory(), sorted([0, 500, 20000, loads["a"].load]))
    assert width(after.parameters["a"]) < 0.95 * width(before.parameters["a"])
    assert "Z0" not in loads  # two nanoseconds beside a latency of seventy
    told = told_of_parameters(before)
    assert "no further delay tells Z0" in told
    assert f"delay {loads['a'].load:g} would narrow a to about" in told


def test_profiles_and_the_text_of_a_fit_name_the_measurement() -> None:
    made = fit(memory(), [0, 500, 20000])
    pins = {p.name: p.pins for p in profile_parameters(made, points_of(memory()))}
    assert pins["a"] == f"measure {pinning(made)['a'].where}"
    assert pins["Z0"] == "no further load tells it from the others"
    assert str(next_load(made)) in advice(made)


def test_a_rate_is_named_below_the_peak() -> None:
    made = fit(queue(), [1e3, 2e3])
    wanted = next_load(made)
    assert wanted is not None
    assert max(made.used) < wanted.load < made.parameters["Xmax"].high
    after = fit(queue(), [1e3, 2e3, min(RATES, key=lambda n: abs(n - wanted.load))])
    assert width(after.knee) < width(made.knee)
    assert f"measure rate {wanted.load / 1e3:.2f} k/s next" in str(wanted)


def test_depths_have_a_rule_of_their_own() -> None:
    depths = np.array([1.0, 4, 16, 64])
    rates = np.minimum(depths * 1e4, 1.2e5)
    points = pd.DataFrame({"series": "drive", "load": depths, "throughput_per_s": rates, "latency_s": depths / rates})
    made = fit(Sweep(points), [1, 16])
    assert next_load(made) is None
    assert pinning(made) == {}
    assert told_of_parameters(made) == ""
