"""Estimate against truth: the true curve of a known device, and the table beside a fit."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare
from calibrate.prediction.truth import true_curve
from measure import Sweep
from measure.known_device.server import Truth, truth_of
from measure.loads import ArrivalRate, Depth, Load
from measure.origin import Provenance
from qsim import Deterministic, Exponential, LogNormal, MMc, MMcN, solve

S = 2e-3
DEPTH = Depth()
DEPTHS = np.array([1.0, 2, 4, 8, 16, 32])


def swept(truth: Truth, kind: Load = DEPTH, loads: np.ndarray = DEPTHS, damage: float = 1.0) -> Sweep:
    """The true curve as if it had been measured."""
    throughput, response = true_curve(truth, kind, loads)
    known = Provenance(tool="fio", details={"truth": truth.to_dict()})
    return Sweep(points_at(loads, throughput * damage, response / damage), load_type=kind, provenance=known)


def test_one_queue_is_the_bound_itself_for_any_law() -> None:
    for law in (Deterministic(S), Exponential(S), LogNormal(S, 2)):
        throughput, response = true_curve(truth_of(law, 4), DEPTH, DEPTHS)
        assert throughput == pytest.approx(np.minimum(DEPTHS, 4) / S)
        assert throughput * response == pytest.approx(DEPTHS)


def test_a_queue_each_is_random_routing() -> None:
    throughput, _ = true_curve(truth_of(Exponential(S), 4, "per-server"), DEPTH, DEPTHS)
    assert throughput == pytest.approx(DEPTHS / (DEPTHS + 3) * 4 / S)
    skewed, _ = true_curve(truth_of(LogNormal(S, 3), 4, "per-server"), DEPTH, DEPTHS)
    constant, _ = true_curve(truth_of(Deterministic(S), 4, "per-server"), DEPTH, DEPTHS)
    assert (skewed[1:] < throughput[1:]).all()  # the more the service varies, the softer the knee
    assert (constant[1:] > throughput[1:]).all()
    assert skewed[0] == pytest.approx(1 / S, rel=0.03)


def test_open_curves_are_those_of_theory() -> None:
    rates = np.array([150.0, 350.0])
    assert true_curve(truth_of(Exponential(S)), ArrivalRate(), rates)[1] == pytest.approx(1 / (500 - rates))
    central = true_curve(truth_of(Exponential(S), 4), ArrivalRate(), 4 * rates)[1]
    assert central == pytest.approx([solve(MMc(4 * r, 1 / S, 4)).W for r in rates])
    each = true_curve(truth_of(Exponential(S), 4, "per-server"), ArrivalRate(), 4 * rates)[1]
    assert each == pytest.approx(1 / (500 - rates))
    simulated = true_curve(truth_of(LogNormal(S, 1.0), 4), ArrivalRate(), 4 * rates)[1]
    assert simulated == pytest.approx(central, rel=0.1)  # the same two moments, nearly the same wait


def test_an_overloaded_device_has_no_response_time() -> None:
    throughput, response = true_curve(truth_of(Exponential(S)), ArrivalRate(), np.array([400.0, 600.0]))
    assert throughput.tolist() == [400.0, 500.0]
    assert np.isinf(response[1])


def test_a_closed_comparison_stands_beside_the_truth() -> None:
    comparison = compare(swept(truth_of(S, 4)), [1, 32])
    check = comparison.truth
    assert check is not None
    known = {a.name: a for a in check.parameters}
    assert (known["R1"].truth, known["Xmax"].truth, known["N*"].truth, known["c"].truth) == (S, 2000.0, 4.0, 4.0)
    assert known["R1"].inside
    assert known["Xmax"].inside
    assert check.knee.truth == 4.0
    assert check.knee.inside
    assert [a.name for a in check.held].count("N*") == 1
    assert "knee" not in [a.name for a in check.held]  # it is N*, which would count twice
    document = comparison.to_dict()["truth"]
    assert document["parameters"]["N*"] == {
        "name": "N*",
        "truth": 4.0,
        "unit": "",
        "estimate": known["N*"].estimate,
        "low": known["N*"].low,
        "high": known["N*"].high,
        "inside": True,
    }
    assert [p["throughput_per_s"] for p in document["points"]] == pytest.approx([500, 1000, 2000, 2000, 2000, 2000])
    assert "hold the truth (nbdkit, 4 servers, one queue, deterministic, mean 2.00 ms)" in comparison.verdict()
    assert "estimate" in str(comparison)


def test_a_wrong_estimate_is_said_to_be_outside() -> None:
    comparison = compare(swept(truth_of(S, 4), damage=0.4), [1, 32])
    check = comparison.truth
    assert check is not None
    assert not next(a for a in check.parameters if a.name == "Xmax").inside
    assert "Xmax" in check.sentence()
    assert "OUTSIDE" in str(comparison)


def test_servers_with_a_queue_each_are_counted_as_well() -> None:
    check = compare(swept(truth_of(Exponential(S), 4, "per-server")), [1, 4, 32]).truth
    assert check is not None
    known = {a.name: a for a in check.parameters}
    assert (known["c"].truth, known["S"].truth, known["Z"].truth) == (4.0, S, 0.0)
    assert all(known[name].inside for name in ("c", "S", "Z"))


def test_a_delay_moves_the_crossing_and_softens_the_knee() -> None:
    delay = 1e-3
    one = {law: truth_of(law, 4, delay_s=delay) for law in (Deterministic(S), Exponential(S), LogNormal(S, 1.0))}
    curves = {law: true_curve(truth, DEPTH, DEPTHS)[0] for law, truth in one.items()}
    assert all(truth.crossing == pytest.approx(6.0) for truth in one.values())
    assert curves[Deterministic(S)] == pytest.approx(np.minimum(DEPTHS / (S + delay), 4 / S))
    exact = [solve(MMcN(int(n), delay, S, 4)).throughput for n in DEPTHS]
    assert curves[Exponential(S)] == pytest.approx(exact)
    assert curves[LogNormal(S, 1.0)] == pytest.approx(exact, rel=0.03)
    assert one[Deterministic(S)].label.endswith("and a delay of 1.00 ms")
    assert Truth.from_dict(one[Exponential(S)].to_dict()) == one[Exponential(S)]
    without = {k: v for k, v in one[Exponential(S)].to_dict().items() if k != "delay_s"}  # as it was once
    assert Truth.from_dict(without).delay_s == 0.0


def test_an_open_comparison_stands_beside_the_truth() -> None:
    rates = np.array([50.0, 150, 250, 350, 420])
    check = compare(swept(truth_of(Exponential(S)), ArrivalRate(), rates), [50, 250, 420]).truth
    assert check is not None
    known = {a.name: a for a in check.parameters}
    assert known["rho*"].truth == pytest.approx(0.5)
    assert check.knee.truth == pytest.approx(250)
    assert known["S"].inside
    assert known["Xmax"].inside
    several = compare(swept(truth_of(Exponential(S), 4), ArrivalRate(), 4 * rates), [200, 1000, 1680]).truth
    assert several is not None
    assert next(a.truth for a in several.parameters if a.name == "rho*") == pytest.approx(0.665, abs=0.01)
