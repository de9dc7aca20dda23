"""The diagram, p(n), the other system and the page of a course: the numbers are those of the theory."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim[lab]'")

from calibrate.lab.app import build
from calibrate.lab.explore.formulas import formulas_of
from calibrate.lab.explore.page import exported, layout
from calibrate.lab.explore.path import comparison, path_of, rival_of
from calibrate.lab.explore.settings import KINDS, PARAMETERS, link_to, linked, settings_of
from calibrate.lab.explore.states import DRAWN, bars_figure, described, diagram, probabilities, rates_of
from calibrate.lab.run.session import RunTable
from calibrate.lab.widgets import Theme
from qsim import solve

START = {p.name: p.start for p in PARAMETERS.values()}


@pytest.mark.parametrize("kind", ["mm1", "mmc", "closed"])
def test_the_rates_balance_the_probabilities(kind):
    settings = settings_of(kind, {**START, "population": 9, "arrival_rate": 0.9})
    births, deaths = rates_of(settings, 8)
    p = probabilities(settings, solve(settings.model()))
    for n, (up, down) in enumerate(zip(births, deaths, strict=True)):
        if n + 1 < len(p):
            assert p[n] * up == pytest.approx(p[n + 1] * down)


def test_what_is_no_birth_and_death_process_says_why():
    assert rates_of(settings_of("mg1", START)) is None
    assert "belongs to the state" in described(settings_of("mg1", START))
    assert "nobody thinks" in described(settings_of("closed", {**START, "think_time": 0.0}))
    assert diagram(settings_of("mg1", START), Theme(dark=False)) == ""


def test_the_diagram_is_drawn_and_said():
    settings = settings_of("mmc", {**START, "arrival_rate": 2.5, "servers": 3})
    drawn = diagram(settings, Theme(dark=True))
    picture = ElementTree.fromstring(b64decode(drawn.partition(",")[2]))  # noqa: S314 - made here
    texts = [e.text for e in picture.iter() if e.tag.endswith("text")]
    assert [t for t in texts if t and t.isdigit() and int(t) <= DRAWN][: DRAWN + 1] == [
        str(n) for n in range(DRAWN + 1)
    ]
    assert texts.count("2.5") == DRAWN
    assert described(settings).endswith("down at rates 1, 2, 3, 3, 3, 3")
    short = settings_of("closed", {**START, "population": 2})
    assert len(rates_of(short)[0]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_bars_hold_nearly_everything(kind):
    settings = settings_of(kind, START)
    bars = bars_figure(settings, solve(settings.model()), Theme(dark=False))["data"][0]
    assert 0.99 <= sum(bars["y"]) <= 1 + 1e-9
    assert bars_figure(settings, None, Theme(dark=False))["data"][0]["y"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_formula_for_w_gives_w(kind):
    settings = settings_of(kind, START)
    metrics = solve(settings.model())
    found = next(f for f in formulas_of(settings, metrics) if f.name == "response")
    assert float(found.result) == pytest.approx(metrics.W, rel=1e-3)


@pytest.mark.parametrize(("kind", "name"), [("mm1", "M/D/1"), ("mg1", "M/D/1"), ("mmc", "one server, 4 times as fast")])
def test_the_other_system_has_the_same_arrivals(kind, name):
    settings = settings_of(kind, START)
    path = path_of(settings, 3)
    rival = rival_of(settings, path)
    assert rival.name.startswith(name)
    assert rival.path.arrival.tolist() == path.arrival.tolist()
    own, services = np.subtract(path.finish, path.start), np.subtract(rival.path.finish, rival.path.start)
    assert services == pytest.approx(own / 4 if kind == "mmc" else np.full(len(own), 1.0))
    metrics = solve(settings.model())
    said = comparison(settings, path, rival, metrics.W)
    assert f"in the long run {metrics.W:.3g} and {rival.mean_response:.3g}" in said
    assert rival.mean_response < metrics.W
    assert rival_of(settings_of("closed", START), path) is None
    loaded = replace(settings, arrival_rate=9.0)
    assert rival_of(loaded, path).mean_response is None
    assert comparison(loaded, path, rival_of(loaded, path), None).endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_opens_the_state_that_it_was_made_of(kind):
    settings = settings_of(kind, {**START, "service_time": 0.65, "servers": 3})
    values = linked(dict(parse_qsl(link_to(settings))))
    assert settings_of(values.pop("model"), values) == settings
    assert "0.65" in str(layout(f"?{link_to(settings)}").to_plotly_json())


@pytest.mark.parametrize(
    "query", ["model=<script>", "servers=1e9", "service_time=nan", "servers=2.5", "x=1", "servers="]
)
def test_a_link_of_nonsense_opens_the_usual_state(query):
    assert linked(dict(parse_qsl(query))) == {"model": "mm1", **START}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_for_a_course_has_no_script_and_the_numbers(kind):
    settings = settings_of(kind, START)
    page = exported(settings, "/explore?a=<b>&c=1")
    metrics = solve(settings.model())
    assert f"{metrics.W:.4g}" in page
    assert f"<td>{metrics.p(1):.3f}</td>" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert ("data:image/svg" in page) == (kind != "mg1")
    assert "overloaded" in exported(replace(settings_of("mm1", START), arrival_rate=2.0), "/")


def test_the_lab_serves_the_page(folder):
    client = build(RunTable(folder)).server.test_client()
    answer = client.get("/lab/explore.html?model=mmc&servers=3&arrival_rate=2")
    assert answer.status_code == 200
    assert "M/M/c" in answer.text
    assert f"{solve(settings_of('mmc', {**START, 'servers': 3.0, 'arrival_rate': 2.0}).model()).W:.4g}" in answer.text
