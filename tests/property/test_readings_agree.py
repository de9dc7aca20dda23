"""Lines that stand together agree: every reading is one of the printed curve, whatever the points say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_up import points_at

from calibrate import Fit, compare, fit, from_datasheet, objective_knee, predict, system
from calibrate.cli.calibration.fit import fit_document
from calibrate.course.sections import _figures as course_figures
from calibrate.course.sections import measured_peak
from calibrate.fitting.fit_answer import fit_answer, knee_figure, knee_word, peak_figure
from calibrate.fitting.objectives import doubling
from calibrate.fitting.predicted_curve import grid
from calibrate.fitting.readings import STAYS_BELOW, still_rises
from calibrate.lab.run.duel import predicted_load
from calibrate.lab.run.orders import Order
from calibrate.points import points_of
from calibrate.prediction.comparison_answer import answer
from calibrate.report.compared.curve_views import key_figures
from calibrate.surface.model import SurfaceModel
from measure import Clients, Depth, dataset_names, load_dataset
from measure.loads import ClosedLoad
from measure.sweep import Sweep
from qsim import Delay, Exponential, Network, Station, solve

DEPTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
growth = st.lists(st.floats(0.7, 2.6), min_size=len(DEPTHS) - 1, max_size=len(DEPTHS) - 1)


def check(made: Fit) -> None:
    """Each identity of the printed figures of a closed fit."""
    figures, think = made.curve_parameters, made.load_type.thinking_s
    idle, peak = figures["R1"].estimate, figures["Xmax"].estimate
    assert made.knee.load == pytest.approx(max((idle + think) * peak, 1.0), rel=1e-9)
    assert figures["N*"].estimate == made.knee.load
    if not made.closed_model.declines:  # what was measured was served
        assert max(made.used_throughput_per_s, default=0.0) <= figures["Xmax"].high
    knee, ninety = made.knee, made.ninety
    assert knee.response_time_s == pytest.approx(knee.load / knee.throughput_per_s - think, rel=1e-9)
    if ninety.load is not None:
        if ninety.note.startswith(STAYS_BELOW):
            assert ninety.throughput_per_s < 0.9 * peak
            assert not ninety.identified
        else:
            check_ninety(ninety.load, ninety.throughput_per_s, peak)
        assert ninety.response_time_s == pytest.approx(ninety.load / ninety.throughput_per_s - think, rel=1e-9)
    if knee_word(made) == "sure":
        assert figures["R1"].identified
        assert figures["Xmax"].identified
        assert not still_rises(made)


def check_ninety(load: float, throughput_per_s: float, peak: float) -> None:
    """90 % of the peak, or what one request reaches, where that is more."""
    lightest = load == 1 and throughput_per_s > 0.9 * peak
    assert lightest or throughput_per_s == pytest.approx(0.9 * peak, rel=1e-9)


def check_curve(made: Fit) -> None:
    """The readings of loads lie on the predicted curve, which begins at the idle latency and stays below the peak."""
    peak = made.curve_parameters["Xmax"].estimate
    far = predict(made, [1.0, *made.used, *np.geomspace(1.0, 4 * max(*made.used, made.ninety.load or 1.0), 60)])
    assert far.throughput_per_s.max() <= peak * (1 + 1e-9)
    assert far.response_time_s[0] == pytest.approx(made.curve_parameters["R1"].estimate, rel=1e-6)
    if made.ninety.load is not None:
        at = predict(made, [made.ninety.load]).throughput_per_s[0]
        assert at == pytest.approx(made.ninety.throughput_per_s, rel=5e-3)
    asked = objective_knee(made, 3 * float(far.response_time_s[0]))
    if asked.load is not None:
        there = predict(made, [asked.load])
        assert there.response_time_s[0] == pytest.approx(3 * float(far.response_time_s[0]), rel=0.03)
        assert asked.throughput_per_s == there.throughput_per_s[0]
    bought = doubling(made, made.knee.load)
    twice = predict(made, [made.knee.load, 2 * made.knee.load]).throughput_per_s
    assert bought.gain == pytest.approx(twice[1] / twice[0], rel=1e-9)
    assert bought.low <= bought.gain <= bought.high


def check_application(made: Fit) -> None:
    """An application of the device alone has its peak and its knee, and stays below them."""
    figures, station = made.curve_parameters, made.station()
    peak = figures["Xmax"].estimate
    most = min(8, station.most)
    found = system({"disk": station}, sorted({1, most}), draws=20)
    assert found.peak.estimate == pytest.approx(peak, rel=1e-9)
    assert max(found.knee.estimate, 1.0) == pytest.approx(made.knee.load, rel=1e-6)
    assert found.throughputs[0].max() <= peak * (1 + 5e-3)
    assert found.utilization("disk")[0] == pytest.approx(found.throughput()[0] / peak, rel=5e-3)
    solved = solve(Network({"disk": station}, most))
    assert solved.utilization == pytest.approx(solved.throughput / peak, rel=5e-3)


@settings(max_examples=3, deadline=None)
@given(growth, st.floats(1e2, 1e6), st.sampled_from([None, "p-norm", "p-norm with onset and decline"]))
@example([1.484375, 1.005859375, 2.5234375, 0.830078125, 1.73828125, 2.34375], 100.0, "p-norm")  # a bend at 0.9 peak
@example([2.5, 2.25, 2.25, 1.21875, 0.890625, 2.03125], 100.0, None)  # highest between the loads of the peak
def test_of_any_closed_sweep(ratios: list[float], alone: float, model: str | None) -> None:
    sweep = Sweep(points_at(DEPTHS, alone * np.cumprod([1.0, *ratios])))
    for use in ([1.0, 32.0], [1.0, 8.0, 64.0], list(DEPTHS)):
        made = fit(sweep, use, model=model)
        check(made)
        check_curve(made)
        check_application(made)


CLOSED = [n for n in dataset_names(curves_only=True) if isinstance(load_dataset(n).load_type, ClosedLoad)]


@pytest.mark.parametrize("name", CLOSED)
def test_of_every_published_curve(name: str) -> None:
    sweep = load_dataset(name)
    for series in sweep.series[:3]:
        made = fit(sweep, series=series)
        check(made)
        check_application(made)
        if len(points_of(sweep, series)) > 1:
            check_curve(made)


def test_of_users_who_think() -> None:
    users = np.array([1.0, 20, 50, 100, 150])
    rates = np.minimum(users / 1.01, 100 - 20 / users)
    sweep = Sweep(points_at(users, rates, users / rates - 1.0), load_type=Clients(think=1.0))
    made = fit(sweep)
    check(made)
    there = made.predict([made.ninety.load])
    assert there.throughput_per_s[0] == pytest.approx(made.ninety.throughput_per_s, rel=1e-3)


def test_of_a_data_sheet() -> None:
    made = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    assert made.knee.load == pytest.approx(48.0, rel=1e-12)
    assert (made.parameters["R1"].estimate, made.parameters["Xmax"].estimate) == (80e-6, 600e3)
    check(made)


@pytest.mark.parametrize("series", load_dataset("001-ssd").series[:2])
def test_what_is_printed_passes_a_division(series: str) -> None:
    made = fit(load_dataset("001-ssd"), series=series)
    first, second, third = fit_answer(made)
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "k/s": 1e3, "/s": 1.0}

    def number(text: str) -> float:
        value, unit = re.search(r"([\d.]+)(?: \([^)]*\))? (k/s|/s|ms|µs|s)\b|$", text).groups()
        return float(value) * units[unit]

    starts, ninety = (float(re.search(r"depth ([\d.]+)", line)[1]) for line in (first, second))
    peak = number(third.removeprefix("PEAK").strip())
    idle = number(third.partition("idle latency ")[2])
    assert starts == pytest.approx(idle * peak, rel=0.08)
    rate, _, time = second.rpartition(": ")[2].partition(" at ")
    assert number(rate) == pytest.approx(0.9 * peak, rel=0.06)
    assert number(time) == pytest.approx(ninety / number(rate), rel=0.08)


def test_of_an_application() -> None:
    drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    stations = {"users": Delay(0.2), "cpu": Station(Exponential(1e-3), servers=4), "disk": drive.station(visits=3)}
    found = system(stations, [1, 10, 1000])
    alone = float(found.response([1])[0, 0]) + 0.2
    assert found.knee.estimate == pytest.approx(alone * found.peak.estimate, rel=1e-9)
    around = [np.floor(found.ninety.estimate), np.ceil(found.ninety.estimate)]
    below, above = found.throughput(around)[0]
    assert below <= 0.9 * found.peak.estimate <= above * (1 + 1e-9)


def check_document(document: dict[str, Any]) -> None:
    """The same identities of the figures in a JSON document of a closed fit."""
    idle, peak = (document["parameters"][name]["estimate"] for name in ("R1", "Xmax"))
    assert document["knee"]["load"] == pytest.approx(max(idle * peak, 1.0), rel=1e-9)
    assert document["parameters"]["N*"]["estimate"] == document["knee"]["load"]
    ninety = document["knee90"]
    if ninety["load"] is not None and ninety["reason"] != STAYS_BELOW:
        check_ninety(ninety["load"], ninety["throughput_per_s"], peak)


@pytest.mark.parametrize("name", CLOSED)
def test_text_documents_and_pages_have_the_same_figures(name: str) -> None:
    """Of fit, knee (whose document is that of fit) and compare."""
    sweep = load_dataset(name)
    for series in sweep.series[:2]:
        compared = compare(sweep, series=series)
        made, lines = compared.fit, "\n".join(answer([compared]))
        check(made)
        check_document(compared.to_dict())
        check_document(fit_document(made, None))
        shown = [knee_figure(made), knee_figure(made, knee=made.ninety), peak_figure(made)]
        on_page = [f"{figure.value} ({figure.interval})" for figure in key_figures(made)]
        for figure in filter(None, shown):
            assert figure in lines
            assert figure in on_page
        if compared.knee.load is not None:
            there = predict(made, [compared.knee.load])
            assert compared.at_knee == pytest.approx((there.throughput_per_s[0], there.response_time_s[0]), rel=1e-9)


@pytest.mark.parametrize("moves", [0.05, 0.3])
def test_of_a_suite_and_a_course_whose_repeats_move(moves: float) -> None:
    """They print fits whose intervals hold what moves between suites: no figure moves by that."""
    compared = compare(load_dataset("004-ssd-depth"))
    made = compared.fit
    moved = replace(made, between_runs=moves)
    check(moved)
    peak = measured_peak(compared.series, [compared])
    still = [figure.value for figure in course_figures(compared, peak)]
    assert [figure.value for figure in course_figures(compared, peak, moves)] == still
    assert moved.knee.high / moved.knee.low > made.knee.high / made.knee.low


@given(st.floats(1.0, 60.0), st.floats(1.0, 12.0), st.floats(1e-5, 1e-2))
def test_of_a_surface(crossing: float, sharpness: float, idle: float) -> None:
    """The depth at 90 % of the peak lies on the curve of the place, where jobs do not limit it."""
    model = SurfaceModel(idle, 1e12)
    medians = {p.name: p.prior_median for p in model.parameters()}
    medians |= {"latency": idle, "served at a time": crossing, "p": sharpness, "onset": 1.0}
    values, place = np.array([[*medians.values()]]), np.array([[4096.0, 1.0, 1.0, 1.0]])
    depth = model.ninety(values, place)[0, 0]
    there = np.array([[4096.0, 1.0, depth, 1e9]])
    reached = model.throughput(values, there)[0, 0] * model.busy_s(values, place)[0, 0]
    assert reached == pytest.approx(0.9, rel=1e-6) or (depth == 1.0 and reached > 0.9)


@pytest.mark.parametrize("series", load_dataset("001-ssd").series[:2])
def test_of_a_lab_whose_model_answers_for_a_disk(series: str) -> None:
    """The duel's answer has 90 % of the highest of the curve over the measured loads."""
    made = fit(load_dataset("001-ssd"), [1, 64], series=series)
    order = Order("disk", "the disk", Depth(), tuple(load_dataset("001-ssd").select(series).points["load"]))
    load = predicted_load(order, made)
    curve = predict(made, grid(min(order.loads), max(order.loads))).throughput_per_s
    assert predict(made, [load]).throughput_per_s[0] == pytest.approx(0.9 * curve.max(), rel=0.01)
