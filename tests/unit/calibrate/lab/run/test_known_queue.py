"""A live run of a known queue: its curve, its numbers, and a closed test that predicts the arrivals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate import Fit, fit
from calibrate.fitting.fit_file import with_origin
from calibrate.lab.run.duel import judge, predicted_load
from calibrate.lab.run.event_log import PREDICTION, EventWriter
from calibrate.lab.run.known_queue import curve, doubling, in_numbers, predicted_doubling
from calibrate.lab.run.orders import Order, choices, order_for
from calibrate.lab.run.session import LabRun
from calibrate.lab.run.worker import reveal
from calibrate.report.predicted import arrivals_in_words
from measure import Sweep, load
from measure.errors import ToolMissingError
from measure.loads import ArrivalRate
from qsim import MM1, MMc, solve

DATA = Path(__file__).parents[5] / "docs" / "data" / "one-device"
FOUR = Order("mmc", "four servers", ArrivalRate(), (400.0, 800.0, 1200.0, 1400.0, 1600.0, 1800.0), 4, 2e-3)
ONE = replace(FOUR, device="mm1", servers=1, loads=(100.0, 400.0))


@pytest.fixture(scope="module")
def closed() -> Fit:
    sweep = load(DATA / "closed.csv")
    return with_origin(fit(sweep, [1, 4, 16]), sweep)


def opened() -> Sweep:
    sweep = load(DATA / "open.csv")
    more = {"asked_rate_per_s": list(FOUR.loads), "requests": 40 * sweep.points["load"]}
    return replace(sweep, points=sweep.points.assign(**more))


def test_the_curve_is_that_of_the_formula():
    for order, model in ((ONE, MM1), (FOUR, lambda rate, mu: MMc(rate, mu, 4))):
        for row in curve(order)[::20]:
            exact = solve(model(row["load"], 500.0))
            assert row["response_time_s"] == pytest.approx(exact.W)
            assert row["waiting"] == pytest.approx(exact.Lq)
            assert row["rho"] == pytest.approx(exact.utilization)


def test_a_point_has_the_numbers_put_into_the_formula():
    found = in_numbers(ONE, 400.0, 10.5e-3, 3600)
    assert found["sum"] == "Lq = 0.800² / (1 - 0.800) = 3.2"
    assert found["waiting"] == pytest.approx(400 * 8.5e-3)  # Little's law on those who wait
    assert found["chance"] == pytest.approx(1.96 * 9 / 60 * 10e-3)
    erlang = solve(MMc(1600.0, 500.0, 4))
    found = in_numbers(FOUR, 1600.0, 3.5e-3, 3600)
    wanted = f"Lq = C · 0.800 / (1 - 0.800), C = {erlang.p_wait:.3f} (Erlang) = {erlang.Lq:.3g}"
    assert found["sum"] == wanted
    assert found["chance"] is None


def test_more_arrivals_than_the_servers_can_do_are_no_failure():
    assert in_numbers(ONE, 505.0, 0.5, 3600)["waiting"] > 200


def test_the_question_has_an_exact_answer():
    assert doubling(ONE) == pytest.approx(250)
    assert solve(MMc(doubling(FOUR), 500.0, 4)).W == pytest.approx(4e-3)
    judged = judge(ONE, opened())
    assert (judged.load, judged.standard, judged.note) == (pytest.approx(250), "the truth", "there R = 2 S = 4 ms")


def test_a_closed_test_predicts_the_arrivals(closed):
    said = arrivals_in_words(closed, opened())
    assert said.startswith("Predicted from depths 1, 4, 16 of a closed test alone")
    assert said.endswith("6 of 6 lie in its 90 % band.")
    assert predicted_doubling(FOUR, closed) == pytest.approx(doubling(FOUR), rel=0.03)
    assert predicted_load(FOUR, closed) == predicted_doubling(FOUR, closed)
    assert predicted_doubling(replace(FOUR, service_s=1e-3), closed) is None  # no rate is answered so soon


def test_points_are_sent_with_their_numbers_and_the_prediction_is_sealed_before_them(folder, closed):
    sent: list[dict[str, object]] = []
    run = LabRun.begin(folder.new_run(), FOUR)
    assert len(run.log.of_kind("opened")[0]["theory"]) == len(curve(FOUR))
    writer = EventWriter(FOUR, run.directory, (), lambda line: sent.append(json.loads(line)))
    assert not writer.is_sealed
    writer.seal(closed)
    writer.add(opened())
    writer.add(opened())
    assert [message["kind"] for message in sent] == ["progress", "sealed", *["point"] * 6]
    assert [message["load"] for message in sent[2:]] == list(FOUR.loads)  # those asked for, not those that came
    assert sent[2]["queue"]["sum"].startswith("Lq = C · 0.200")
    told = sent[1]["curve"]
    exact = [row["response_time_s"] for row in curve(FOUR)]
    assert np.allclose([row["response_time_s"] for row in told][:60], exact[:60], rtol=0.05)
    result = reveal(opened(), run.directory, FOUR)
    assert "which saw no arrivals" in result["verdict"]
    assert result["judged"]["load"] == pytest.approx(doubling(FOUR))
    assert (run.directory / PREDICTION).exists()


def test_the_queues_are_offered_where_fio_and_nbdkit_are(folder, monkeypatch):
    monkeypatch.setattr("calibrate.lab.run.orders.shutil.which", lambda name: f"/bin/{name}")
    order = order_for(folder, "mm1")
    assert (order.servers, order.service_s, order.load_type) == (1, 2e-3, ArrivalRate())
    assert order.loads == (100.0, 200.0, 300.0, 350.0, 400.0, 425.0)
    assert "R = 2 S" in order.question
    assert Order.read(LabRun.begin(folder.new_run(), order).directory / "order.json") == order
    monkeypatch.setattr("calibrate.lab.run.orders.shutil.which", lambda name: None)
    with pytest.raises(ToolMissingError, match="fio and nbdkit"):
        order_for(folder, "mmc")
    (offer,) = [c for c in choices(folder) if c["value"] == "mmc"]
    assert offer["disabled"]
