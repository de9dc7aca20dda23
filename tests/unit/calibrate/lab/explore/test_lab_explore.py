"""What the lab's page Explore shows: numbers that are those of the theory, for whatever a browser sends."""

from __future__ import annotations

import math
from base64 import b64decode
from dataclasses import replace
from urllib.parse import parse_qsl, quote_plus
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab.explore.explore_page import exported, formulas_of, layout, response_times, update
from calibrate.lab.explore.figures import (
    DRAWN,
    described,
    diagram,
    loads_compared,
    probabilities,
    quantity_figure,
    rates_of,
)
from calibrate.lab.explore.path import comparison, many_runs, path_of, rival_of
from calibrate.lab.explore.settings import (
    KINDS,
    MOST_REQUESTS,
    MOST_SERVERS,
    PARAMETERS,
    Settings,
    link_to,
    linked,
    not_opened,
    range_of_rates,
    settings_of,
)
from calibrate.lab.explore.theory_curves import QUANTITIES, curves_of, under_three_loads
from calibrate.lab.widgets import Theme, plain
from qsim import MG1, Gamma, MMc, MMcN, solve

START = {p.name: p.start for p in PARAMETERS.values()}
MODELS = {
    "mm1": MMc(0.7, 1.0, 1),
    "mmc": MMc(0.7, 1.0, 4),
    "mg1": MG1(0.7, Gamma(1.0, 4.0)),
    "closed": MMcN(8, 1.0, 1.0, 4),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_the_operating_point_is_the_theory_and_lies_on_its_curve(kind):
    curves, exact = curves_of(settings_of(kind, START)), solve(MODELS[kind])
    assert curves.here.x == pytest.approx(8 if kind == "closed" else exact.utilization)
    for name in QUANTITIES:
        here = curves.here.values[name][0]
        assert here == pytest.approx(getattr(exact, name))
        assert np.interp(curves.here.x, curves.x, curves.lines[name]) == pytest.approx(here, rel=0.02)


@pytest.mark.parametrize(("population", "side"), [(1, "left"), (8, "right")])
def test_the_number_at_few_requests_stands_on_the_right_where_there_is_room(population, side):
    curves = curves_of(settings_of("closed", {**START, "population": population}))
    here, *_ = quantity_figure(curves, "W", Theme(dark=False))["layout"]["annotations"]
    assert (here["x"], here["xanchor"]) == (population, side)


@every_kind
def test_the_formulas_hold_the_numbers_of_the_student(kind):
    settings, exact = settings_of(kind, START), solve(MODELS[kind])
    found = {f.name: f for f in formulas_of(settings, exact)}
    assert float(found["response"].result) == pytest.approx(exact.W, rel=1e-3)
    assert float(found["Little's law"].result) == pytest.approx(exact.L, rel=1e-3)
    if kind == "closed":
        assert [found[n].result for n in ("knee", "at most", "all that circulate")] == ["8", "4", "8"]
    else:
        assert float(found["waiting"].result) == pytest.approx(exact.Lq, rel=1e-3)
    if kind == "mm1":
        assert found["waiting"].parts == ["Lq = ", ("ρ²", "1 − ρ"), " = ", ("0.7²", "1 − 0.7"), " = "]


@pytest.mark.parametrize("typed", [0.777, 0.123456789, 3e-7, 4e6, 1e-11, 1e11])
def test_any_positive_number_is_computed_and_shown_as_typed(typed):
    told = update("mm1", "light", 0, *({**START, "arrival_rate": typed, "service_time": 0.8 / typed}.values()))
    assert told[0] == ""
    assert PARAMETERS["arrival_rate"].checked(typed) == typed
    busy = "".join(str(part.children) for part in told[1][0].children)
    assert f"λ·S = {plain(typed)} · {plain(0.8 / typed)} = " in busy
    found = next(t for t in told[7]["data"] if t["name"].startswith("here"))
    assert found["y"][0] == pytest.approx(5 * 0.8 / typed)
    assert f"arrival_rate={quote_plus(plain(typed))}" in str(told)


@every_kind
@given(
    rate=st.floats(1e-12, 1e12),
    service=st.floats(1e-12, 1e12),
    servers=st.integers(1, MOST_SERVERS),
    requests=st.integers(1, MOST_REQUESTS),
    think=st.just(0.0) | st.floats(1e-12, 1e12),
)
@example(rate=1.0, service=1e-5, servers=1, requests=1, think=40230135654.0)
@hypothesis_settings(max_examples=15, deadline=None)
def test_whatever_may_be_typed_is_shown(kind, rate, service, servers, requests, think):
    told = update(kind, "light", 0, rate, service, servers, 1.0, requests, think)
    assert not told[0] or "grows for ever" in told[0]
    assert told[3]["arrival"]
    assert response_times(kind, rate, service, servers, 1.0, requests, think) or told[0]


def test_what_cannot_be_worked_out_says_between_what_it_must_be():
    told = update("closed", "light", 0, *({**START, "population": 5000}.values()))
    assert told[0] == "requests in flight N is 5000; it must be from 1 to 2000"
    told = update("mm1", "light", 0, *({**START, "arrival_rate": -1.0}.values()))
    assert told[0] == "arrival rate λ is -1; it must be from 1e-12 to 1e+12"


@pytest.mark.parametrize("kind", ["mm1", "mmc", "mg1"])
def test_the_slider_of_rates_ends_at_twice_what_the_servers_can_do(kind):
    settings = settings_of(kind, {**START, "service_time": 0.03, "servers": 5})
    low, high, step = range_of_rates(settings)
    assert 2 * settings.servers / 0.03 <= high <= 5 * settings.servers / 0.03
    assert low == step
    assert high / step == pytest.approx(round(high / step))


@every_kind
def test_percentiles_stand_beside_the_mean(kind):
    exact = solve(MODELS[kind])
    p50, p95, p99 = exact.quantile([0.5, 0.95, 0.99])
    assert response_times(kind, *START.values()) == (
        f"response time W: mean {exact.W:.4g} · p50 {p50:.4g} · p95 {p95:.4g} · p99 {p99:.4g}"
    )
    assert f"<td>{p99:.4g}</td>" in exported(settings_of(kind, START), "/")
    over = response_times("mm1", *({**START, "arrival_rate": 2.0}.values()))
    assert over == "Overloaded: ρ = 2. The queue grows for ever, and so does the response time."


OWN = {"mm1": ["open"], "mmc": ["open"], "mg1": ["open"], "closed": ["thinking"]}
"""The load that the model of the page has itself."""


@every_kind
def test_twenty_runs_average_to_the_theory(kind):
    settings = settings_of(kind, {**START, "arrival_rate": 0.4})
    runs, mean = many_runs(settings, 3), solve(settings.model()).L
    assert runs.averages.shape == (20, 100)
    assert runs.averages[:, -1].mean() == pytest.approx(mean, rel=0.2)
    assert len({round(float(last), 6) for last in runs.averages[:, -1]}) == 20
    path = path_of(settings, 5)
    assert path.averages(np.array([path.end]))[0] == pytest.approx(path.mean_present())
    told = update(kind, "light", 0, *({**START, "arrival_rate": 0.4}.values()), many=1)
    assert sum(t["name"].startswith("average of N(t)") for t in told[4]["data"]) == 20
    assert told[4]["data"][-1]["name"] == f"mean by theory: L = {mean:.3g}"


def test_one_device_under_three_loads_is_that_of_the_formulas():
    settings = settings_of("mmc", {**START, "arrival_rate": 3.0})
    loads = under_three_loads(settings, 3.0)
    assert loads["open"].here == pytest.approx(solve(MMc(3.0, 1.0, 4)).W, rel=1e-3)
    assert loads["closed"].here == pytest.approx(1.0)
    thinking = solve(MMcN(34, 10.0, 1.0, 4))
    assert loads["thinking"].response_at(thinking.throughput) == pytest.approx(thinking.W, rel=0.01)
    assert loads["closed"].here < loads["thinking"].here < loads["open"].here
    said = loads_compared(settings, loads, 3.0)
    assert said.startswith(f"At X = 3, 75 % of the peak, strangers see R = {loads['open'].here:.4g}; about 34 users")


def test_a_closed_test_of_one_server_has_one_throughput():
    settings = settings_of("mm1", START)
    loads = under_three_loads(settings, 0.7)
    assert loads["closed"].here is None
    assert "a lone request in flight makes X = 1 already" in loads_compared(settings, loads, 0.7)
    assert "No load" in loads_compared(settings, under_three_loads(settings, None), None)


def test_the_law_of_service_acts_on_each_load():
    settings = settings_of("mg1", START)
    loads = under_three_loads(settings, 0.7)
    assert loads["open"].here == pytest.approx(solve(MODELS["mg1"]).W, rel=1e-3)
    assert loads["thinking"].here > under_three_loads(replace(settings, kind="mm1"), 0.7)["thinking"].here


@every_kind
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
    told = update("mm1", "light", 0, *({**START, "arrival_rate": 1.5}.values()))
    assert "grows for ever" in told[0]
    assert told[3]["arrival"]
    bars, hidden, said_away = told[10:13]
    assert type(bars).__name__ == "NoUpdate"
    assert (hidden, said_away) == (True, False)


@every_kind
def test_one_colour_is_one_thing_on_the_page(kind):
    told = update(kind, "light", 0, *START.values())
    theme = Theme(dark=False)
    figures = [t for t in told if isinstance(t, dict) and "data" in t]
    drawn = [(t["name"], t.get("line", t.get("marker", {})).get("color")) for f in figures for t in f["data"]]
    meaning = {
        theme.blue: ("theory", "p(n)", "mean by theory", *OWN[kind]),
        theme.green: ("simulated", "N(t) of this run", "its average"),
        theme.red: ("here",),
        theme.orange: ("M/D/1", "one server"),
    }
    for colour, names in meaning.items():
        assert all(name.startswith(names) for name, own in drawn if own == colour), (colour, drawn)
    others = {name.partition(":")[0]: own for name, own in drawn if own in (theme.purple, theme.sky)}
    assert len(others) == 2
    assert len(set(others.values())) == 2


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
    assert type(told[1]).__name__ == "NoUpdate"


@pytest.mark.parametrize("kind", ["mm1", "mmc", "closed"])
def test_the_rates_balance_the_probabilities(kind):
    settings = settings_of(kind, {**START, "population": 9, "arrival_rate": 0.9})
    births, deaths = rates_of(settings, 8)
    p = probabilities(settings, solve(settings.model()))
    for n, (up, down) in enumerate(zip(births, deaths, strict=True)):
        if n + 1 < len(p):
            assert p[n] * up == pytest.approx(p[n + 1] * down)


def test_what_is_no_birth_and_death_process_says_why():
    assert "belongs to the state" in described(settings_of("mg1", START))
    assert "nobody thinks" in described(settings_of("closed", {**START, "think_time": 0.0}))
    assert diagram(settings_of("mg1", START), Theme(dark=False)) == ""


def test_the_diagram_is_drawn_and_said():
    settings = settings_of("mmc", {**START, "arrival_rate": 2.5, "servers": 3})
    drawn = diagram(settings, Theme(dark=True))
    picture = ElementTree.fromstring(b64decode(drawn.partition(",")[2]))  # noqa: S314 - made here
    texts = [e.text for e in picture.iter() if e.tag.endswith("text")]
    assert texts[: DRAWN + 1] == [str(n) for n in range(DRAWN + 1)]
    assert texts.count("2.5") == DRAWN
    assert described(settings).endswith("down at rates 1, 2, 3, 3, 3, 3")
    assert len(rates_of(settings_of("closed", {**START, "population": 2}))[0]) == 2


@pytest.mark.parametrize(("kind", "name"), [("mm1", "M/D/1"), ("mg1", "M/D/1"), ("mmc", "one server, 4 times as fast")])
def test_the_other_system_has_the_same_arrivals(kind, name):
    settings = settings_of(kind, START)
    path = path_of(settings, 3)
    rival = rival_of(settings, path)
    assert rival.name.startswith(name)
    assert rival.path.arrival.tolist() == path.arrival.tolist()
    own, services = path.finish - path.start, rival.path.finish - rival.path.start
    assert services == pytest.approx(own / 4 if kind == "mmc" else np.full(len(own), 1.0))
    said = comparison(settings, path, rival, solve(settings.model()).W)
    assert f"in the long run {solve(settings.model()).W:.3g} and {rival.mean_response:.3g}" in said
    loaded = replace(settings, arrival_rate=9.0)
    assert comparison(loaded, path, rival_of(loaded, path), None).endswith(".")


@every_kind
def test_a_link_opens_the_state_that_it_was_made_of(kind):
    settings = settings_of(kind, {**START, "service_time": 0.65, "servers": 3})
    values = linked(dict(parse_qsl(link_to(settings))))
    assert settings_of(values.pop("model"), values) == settings
    assert "0.65" in str(layout(f"?{link_to(settings)}").to_plotly_json())


@pytest.mark.parametrize(
    "query", ["model=<script>", "servers=1e9", "service_time=nan", "servers=2.5", "x=1", "servers="]
)
def test_a_link_of_nonsense_opens_the_usual_state_and_says_so(query):
    asked = dict(parse_qsl(query))
    assert linked(asked) == {"model": "mm1", **START}
    known = asked.keys() & {"model", *PARAMETERS}
    assert ("is not opened as it stands" in str(layout(f"?{query}").to_plotly_json())) == bool(known)


def test_a_link_opens_that_very_system_whatever_the_sliders_reach():
    query = "model=mm1&arrival_rate=16&service_time=0.05"
    values = linked(dict(parse_qsl(query)))
    assert not_opened(dict(parse_qsl(query))) == ""
    assert settings_of(values.pop("model"), values) == Settings("mm1", 16.0, 0.05)


@every_kind
def test_a_page_for_a_course_has_no_script_and_the_numbers(kind):
    page, metrics = exported(settings_of(kind, START), "/explore?a=<b>&c=1"), solve(MODELS[kind])
    assert f"{metrics.W:.4g}" in page
    assert f"<td>{metrics.p(1):.3f}</td>" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert ("data:image/svg" in page) == (kind != "mg1")
    assert "overloaded" in exported(replace(settings_of("mm1", START), arrival_rate=2.0), "/")
