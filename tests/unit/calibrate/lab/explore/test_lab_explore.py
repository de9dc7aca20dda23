"""What the lab's page Explore shows: numbers that are those of the theory, for whatever a browser sends."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dash", reason="install it: pip install 'qsim[lab]'")

from calibrate.lab.explore.curves import QUANTITIES, Mark, curves_of, said_of, with_simulation
from calibrate.lab.explore.figures import quantity_figure
from calibrate.lab.explore.formulas import formulas_of, rendered
from calibrate.lab.explore.page import update
from calibrate.lab.explore.path import path_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, settings_of
from calibrate.lab.widgets import theme_of
from qsim import MG1, Gamma, MMc, MMcN, solve

START = {p.name: p.start for p in PARAMETERS.values()}
MODELS = {
    "mm1": MMc(0.7, 1.0, 1),
    "mmc": MMc(0.7, 1.0, 4),
    "mg1": MG1(0.7, Gamma(1.0, 4.0)),
    "closed": MMcN(8, 1.0, 1.0, 4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_operating_point_is_the_theory_and_lies_on_its_curve(kind):
    settings = settings_of(kind, START)
    curves, exact = curves_of(settings), solve(MODELS[kind])
    assert curves.here is not None
    for name in QUANTITIES:
        assert curves.here.values[name][0] == pytest.approx(getattr(exact, name))
    assert curves.here.x == pytest.approx(8 if kind == "closed" else exact.utilization)
    for name, line in curves.lines.items():
        below = [y for x, y in zip(curves.x, line, strict=True) if x <= curves.here.x]
        above = [y for x, y in zip(curves.x, line, strict=True) if x >= curves.here.x]
        assert max(below, default=0.0) <= curves.here.values[name][0] * (1 + 1e-9) <= min(above) * (1 + 2e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_simulation_agrees_with_the_theory_within_its_interval(kind):
    settings = settings_of(kind, START)
    curves = with_simulation(settings, curves_of(settings), 1, customers=200_000)
    mark, here = curves.simulated[-1], curves.here
    assert here is not None
    for name in QUANTITIES:
        value, low, high = mark.values[name]
        assert low <= value <= high
        room = high - low  # twice as far out as the interval reaches: a wrong model is farther
        assert low - room <= here.values[name][0] <= high + room


def test_a_simulated_interval_that_misses_the_theory_says_so():
    settings = settings_of("mm1", START)
    found = [with_simulation(settings, curves_of(settings), seed, customers=4_000) for seed in range(12)]
    for curves in found:
        for mark in curves.simulated:
            exact = solve(settings.at_rate(mark.x * settings.servers / settings.service_time))
            outside = {n for n, (_, low, high) in mark.values.items() if not low <= getattr(exact, n) <= high}
            assert mark.missed == outside
    curves = next(c for c in found if any("W" in mark.missed for mark in c.simulated))
    count = sum(len(mark.missed) for mark in curves.simulated)
    assert said_of(curves.simulated).startswith(f"{count} of 16 simulated intervals miss")
    drawn = quantity_figure(curves, "W", theme_of("light"))["data"]
    symbols = next(t for t in drawn if t["name"].startswith("simulated"))["marker"]["symbol"]
    assert [s != "circle-open" for s in symbols] == ["W" in mark.missed for mark in curves.simulated]


@pytest.mark.parametrize(
    ("missed", "said"),
    [
        ((), "All 8 simulated intervals hold the theory."),
        (("W",), "1 of 8 simulated intervals misses the theory"),
        (("W", "L"), "2 of 8 simulated intervals miss the theory"),
    ],
)
def test_misses_are_counted_in_words(missed, said):
    assert said_of([Mark(0.3, {}), Mark(0.6, {}, frozenset(missed))]).startswith(said)
    assert said_of([]) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_path_visibly_differs_from_the_mean(kind):
    figure = update(kind, "light", 0, *START.values())[4]
    drawn = {t["name"].partition(":")[0]: t["y"][0] for t in figure["data"]}
    highest = max(figure["data"][0]["y"])
    assert abs(drawn["its average"] - drawn["mean by theory"]) > 0.05 * highest  # of the height of the plot
    assert abs(drawn["its average"] / drawn["mean by theory"] - 1) > 0.15


def test_labels_are_in_plain_words():
    labels = [*KINDS.values(), *(p.label for p in PARAMETERS.values()), *QUANTITIES.values()]
    assert not [label for label in labels for word in ("iodepth", "scv", "circle", "stripe") if word in label]
    assert all(len(label.split()) > 1 for label in labels)


def test_a_closed_curve_keeps_to_its_bounds():
    curves = curves_of(settings_of("closed", {**START, "population": 64, "think_time": 3.0}))
    high, low = curves.bounds["throughput"]
    assert all(
        a <= x * (1 + 1e-9) and x <= b * (1 + 1e-9)
        for a, x, b in zip(low, curves.lines["throughput"], high, strict=True)
    )
    assert curves.knee == pytest.approx((3.0 + 1.0) * 4)


def test_the_formulas_hold_the_numbers_of_the_student():
    said = {f.name: f for f in formulas_of(settings_of("mm1", START), solve(MODELS["mm1"]))}
    assert said["busy"].result == "0.7"
    assert said["waiting"].result == "1.633"
    assert said["Little's law"].result == "2.333"
    shown = json.dumps([part.to_plotly_json() for part in rendered(list(said.values()))], default=str)
    assert "0.7" in shown
    closed = {f.name: f.result for f in formulas_of(settings_of("closed", START), solve(MODELS["closed"]))}
    assert (closed["knee"], closed["at most"], closed["all that circulate"]) == ("8", "4", "8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_is_one_of_the_queue(kind):
    settings = settings_of(kind, START)
    path = path_of(settings, 7)
    ends: dict[int, float] = {}
    for arrival, start, finish, server in zip(path.arrival, path.start, path.finish, path.server, strict=True):
        assert arrival <= start < finish
        assert start >= ends.get(server, 0.0) - 1e-12  # one at a time
        assert server < settings.servers
        ends[server] = finish
    _, counts = path.steps()
    assert min(counts) >= 0
    assert max(counts) <= (settings.population if kind == "closed" else len(path.arrival))


def test_an_overloaded_queue_is_said_and_its_path_is_shown():
    settings = settings_of("mm1", {**START, "arrival_rate": 1.5})
    assert curves_of(settings).here is None
    told = update("mm1", "light", 0, *({**START, "arrival_rate": 1.5}.values()))
    assert "grows for ever" in told[0]
    assert told[3]["arrival"]


@given(
    kind=st.one_of(st.sampled_from(sorted(KINDS)), st.text(), st.none(), st.integers()),
    values=st.lists(st.one_of(st.none(), st.floats(), st.text(), st.booleans(), st.integers()), min_size=6, max_size=6),
)
def test_whatever_a_browser_sends_is_answered_in_words(kind, values):
    problem, formulas, *_ = update(kind, "light", values[0], *values)
    if not problem:
        settings = settings_of(kind, dict(zip(PARAMETERS, values, strict=True)))
        assert math.isfinite(settings.utilization)
        assert formulas


def test_an_update_says_what_is_wrong_and_changes_nothing_else():
    told = update("mmc", "dark", 0, *({**START, "servers": 2.5}.values()))
    assert told[0] == "servers c is 2.5; it must be a whole number"
    assert "_dash_no_update" in repr(told[1]) or type(told[1]).__name__ == "NoUpdate"
