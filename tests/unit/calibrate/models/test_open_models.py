"""Open device models: exact where theory is, fitted to open sweeps, ranked, and with the tangent as their knee."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare, fit, predict
from calibrate.models.open_models import MD1, MG1, MM1, MGc, MGcEach, OpenModel, sakasegawa
from calibrate.report.page import write_report
from measure import Sweep
from measure.errors import DataError
from measure.loads import ArrivalRate
from qsim import Deterministic, Exponential, GGc, LogNormal, MMc, solve

S = 2e-3


def open_sweep(
    model: OpenModel, values: list[float], rates: list[float], noise: float = 0.0, repeats: int = 1, **columns: float
) -> Sweep:
    """Points of a model, at rates measured a little off those asked for."""
    asked, repeat = np.repeat(rates, repeats), np.tile(range(repeats), len(rates))
    away = np.exp(noise * np.random.default_rng(2).standard_normal(len(asked)))
    response = model.curve(np.array([values]), 1.01 * asked)[1][0] * away
    made = points_at(1.01 * asked, 1.01 * asked, response, asked_rate_per_s=asked, repeat=repeat, **columns)
    return Sweep(made, load_type=ArrivalRate(), name="made")


RATES = [50.0, 150.0, 250.0, 350.0, 420.0]


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    ("model", "values", "exact"),
    [
        (MM1, [1 / S], lambda rho: MMc(rho / S, 1 / S, 1)),
        (MD1, [1 / S], lambda rho: GGc(Exponential(S / rho), Deterministic(S), 1)),
        (MG1, [1 / S, 3.0], lambda rho: GGc(Exponential(S / rho), LogNormal(S, 3.0), 1)),
        (MGc, [1 / S, 1.0, 3.0], lambda rho: GGc(Exponential(S / rho), LogNormal(S, 3.0), 1)),
        (MGcEach, [4 / S, 4.0, 3.0], lambda rho: GGc(Exponential(S / rho), LogNormal(S, 3.0), 1)),  # a fourth of it
    ],
    ids=["M/M/1", "M/D/1", "M/G/1", "M/G/c with one server", "four servers with a queue each"],
)
def test_a_model_is_the_formula_of_its_name(model, values, exact, rho) -> None:
    queue = exact(rho)
    peak = np.array([values])[:, 0]
    _, response = model.curve(np.array([values]), rho * peak)
    assert response[0, 0] == pytest.approx(solve(queue).W, rel=1e-9)


@pytest.mark.parametrize("servers", [2, 4, 16, 64])
def test_the_queue_of_a_fitted_number_of_servers_is_near_erlang(servers: int) -> None:
    rho = np.linspace(0.3, 0.97, 30)
    exact = np.array([float(solve(MMc(servers * r, 1.0, servers)).W) for r in rho])
    assert (1 + sakasegawa(np.array(float(servers)), rho) / servers) / exact == pytest.approx(1, abs=0.03)


def test_points_at_the_edge_of_saturation_are_met() -> None:
    peak = 1 / S
    rates = np.array([0.1, 0.5, 0.9, 0.99995]) * peak
    table = points_at(rates, rates, 1 / (peak - rates))
    made = fit(Sweep(table, load_type=ArrivalRate()), rates, model="M/M/1")
    assert predict(made, rates).response_time_s == pytest.approx(1 / (peak - rates), rel=0.02)
    assert made.parameters["Xmax"].low < peak < made.parameters["Xmax"].high


def test_the_knee_is_the_tangent_in_closed_form() -> None:
    for scv in (0.2, 1.0, 5.0):
        values = np.array([[1 / S, scv]])
        rho = 1 / (1 + np.sqrt((1 + scv) / 2))  # 1 / (1 + sqrt(a / L0)), a = S (1 + scv) / 2, L0 = S
        knee = MG1.knee(values)
        assert MG1.report(values)["rho*"][1][0] == pytest.approx(rho, abs=1e-4)
        assert knee.load[0] == pytest.approx(rho / S, rel=1e-3)
        assert knee.response[0] == pytest.approx(MG1.curve(values, knee.load)[1][0, 0])


def test_the_knee_of_queues_of_their_own_does_not_depend_on_their_number() -> None:
    for servers in (2.0, 30.0):
        values = np.array([[servers / S, servers, 3.0]])
        assert MGcEach.report(values)["rho*"][1][0] == pytest.approx(1 / (1 + np.sqrt(2)), abs=1e-4)


@pytest.mark.parametrize(("made", "told"), [(MGc, "M/G/c"), (MGcEach, "M/G/c, a queue each")])
def test_the_points_tell_whether_the_servers_share_a_queue(made: OpenModel, told: str) -> None:
    rates = [200.0, 1000.0, 2500.0, 3600.0]
    found = fit(open_sweep(made, [8 / S, 8.0, 1.0], rates, noise=0.01), rates)
    assert found.model == told
    assert found.parameters["c"].low < 8 < found.parameters["c"].high
    assert found.knee.load == pytest.approx(made.knee(np.array([[8 / S, 8.0, 1.0]])).load[0], rel=0.1)


def test_no_model_promises_more_than_its_peak() -> None:
    throughput, response = MGc.curve(np.array([[1000.0, 2.0, 1.0]]), np.array([500.0, 2000.0]))
    assert throughput[0].tolist() == [500.0, 1000.0]
    assert np.isfinite(response).all()
    assert response[0, 1] > 1.0  # out of all proportion, not a number to believe


@pytest.mark.parametrize(("model", "truth"), [("M/M/1", MM1), ("M/D/1", MD1)])
def test_the_ladder_ranks_the_true_model_first(model: str, truth: OpenModel) -> None:
    comparison = compare(open_sweep(truth, [1 / S], RATES), [50, 250, 420])
    held_out = {m.name: m.held_out_mape_response_pct for m in comparison.models}
    assert held_out[model] == pytest.approx(0, abs=0.1)
    assert comparison.models[0].held_out_mape_response_pct == pytest.approx(0, abs=0.1)
    wrong = "M/D/1" if model == "M/M/1" else "M/M/1"
    assert held_out[wrong] > 3


def test_intervals_hold_the_parameters_that_made_the_points() -> None:
    sweep = open_sweep(MG1, [1 / S, 2.0], [50, 100, 200, 300, 350, 400, 450], noise=0.02, repeats=3)
    made = fit(sweep, [50, 100, 200, 300, 350, 400, 450])
    assert made.model == "M/G/c"
    for name, truth in (("S", S), ("Xmax", 1 / S), ("scv", 2.0)):
        estimate = made.parameters[name]
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < truth < estimate.high, name
    assert made.parameters["S"].identified
    assert made.parameters["Xmax"].identified
    rho = 1 / (1 + np.sqrt(1.5))
    assert made.knee.load == pytest.approx(rho / S, rel=0.25)
    one_server = fit(sweep, [50, 200, 350, 450], model="M/G/1")
    assert one_server.parameters["scv"].estimate == pytest.approx(2.0, rel=0.3)
    assert "c" not in one_server.parameters


def test_a_point_may_be_named_by_the_rate_that_was_asked_for() -> None:
    sweep = open_sweep(MM1, [1 / S], RATES)
    by_asked = fit(sweep, [50, 250], model="M/M/1")
    assert by_asked.used == pytest.approx((50.5, 252.5))
    assert fit(sweep, [50.5, 252.5], model="M/M/1").used == by_asked.used
    with pytest.raises(DataError, match="no point at load 60"):
        fit(sweep, [60])


def test_the_report_of_an_open_sweep_has_no_little_check(tmp_path) -> None:
    comparison = compare(open_sweep(MM1, [1 / S], RATES), [50, 250, 420], model="M/M/1")
    page = write_report([comparison], tmp_path / "r.html").read_text()
    assert "Response time against arrival rate" in page
    assert "Little's law must" not in page
