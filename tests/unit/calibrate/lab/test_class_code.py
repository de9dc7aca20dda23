"""How a class joins: a code that survives a phone's keyboard, a page that asks for it, a panel for teachers."""

from __future__ import annotations

import gzip
import json
import re
import urllib.parse
from collections.abc import Iterator

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim[lab]'")

from flask import Flask
from flask.testing import FlaskClient

from calibrate.lab.app import build
from calibrate.lab.class_code import ADDRESS, Address, new_code, panel, read_code
from calibrate.lab.folder import opened
from calibrate.lab.guard import Guard
from calibrate.lab.run.session import RunTable
from calibrate.lab.server import pack_scripts

BASE = "http://192.0.2.7:8050"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guard, Flask]]:
    guard = Guard.of("0.0.0.0")  # noqa: S104 - nothing listens
    with opened(tmp_path_factory.mktemp("lab") / "lab") as folder:
        server = build(RunTable(folder)).server
        guard.attach(server)
        pack_scripts(server)
        server.config[ADDRESS] = Address(
            f"{BASE}/?token={guard.teacher}", f"{BASE}/?token={guard.viewer}", guard.viewer or ""
        )
        yield guard, server


@pytest.fixture
def viewer(lab: tuple[Guard, Flask]) -> FlaskClient:
    return lab[1].test_client()


def told(address: Address) -> str:
    """The teacher's panel as the browser gets it."""
    return json.dumps(panel(address), default=lambda part: part.to_plotly_json())


def test_codes_differ_and_hold_nothing_that_is_misread():
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(re.fullmatch("[a-hj-km-np-z2-9]{4}-[a-hj-km-np-z2-9]{4}", code) for code in codes)


@pytest.mark.parametrize("typed", ["abcd-ef23", "ABCD-EF23", " abcd ef23 ", "Abcdef23", "abcd–ef23"])
def test_a_code_may_be_typed_as_a_phone_types_it(typed):
    assert read_code(typed) == "abcd-ef23"


@pytest.mark.parametrize("typed", ["", "abcd-ef2", "abcd-ef234", "a" * 10_000])
def test_what_is_no_code_stays_what_it_is(typed):
    assert read_code(typed) == typed


def test_who_comes_without_the_code_is_asked_for_it(lab, viewer):
    answer = viewer.get("/run", base_url=BASE, headers=BROWSER)
    assert answer.status_code == 403
    assert 'name="token"' in answer.text
    wrong = viewer.get("/run?token=<script>", base_url=BASE, headers=BROWSER)
    assert (wrong.status_code, "That is not the code" in wrong.text) == (403, True)
    assert "<script>" not in wrong.text
    typed = str(lab[0].viewer).replace("-", " ").upper()
    led_in = viewer.get("/run?" + urllib.parse.urlencode({"token": typed}), base_url=BASE, headers=BROWSER)
    assert (led_in.status_code, led_in.headers["Location"]) == (302, "/run")
    assert viewer.get("/run", base_url=BASE, headers=BROWSER).status_code == 200


def test_the_way_in_leads_nowhere_else(lab, viewer):
    answer = viewer.get(f"/?token={lab[0].viewer}", base_url=BASE, environ_overrides={"PATH_INFO": "//evil.example/x"})
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/evil.example/x"


@pytest.mark.parametrize(("who", "sees"), [("teacher", True), ("viewer", False)])
def test_the_code_is_shown_to_the_teacher_alone(lab, viewer, who, sees):
    guard = lab[0]
    viewer.get(f"/?token={getattr(guard, who)}", base_url=BASE)
    shown = viewer.get("/_dash-layout", base_url=BASE).get_data(as_text=True)
    assert (guard.viewer in shown) is sees
    assert guard.teacher not in shown


def test_the_panel_holds_a_link_to_the_run_and_a_square():
    shown = told(Address("t", f"{BASE}/?token=abcd-ef23", "abcd-ef23"))
    assert f"{BASE}/run?token=abcd-ef23" in shown
    assert "192.0.2.7:8050" in shown
    assert "data:image/svg+xml" in shown


def test_a_lab_of_this_machine_alone_says_how_to_open_it():
    shown = told(Address(f"{BASE}/", f"{BASE}/"))
    assert "--host 0.0.0.0" in shown
    assert "data:image" not in shown


def test_scripts_are_packed_and_nothing_else(lab, viewer):
    viewer.get(f"/?token={lab[0].teacher}", base_url=BASE)
    style = next(iter(re.findall(r'href="(/assets/[^"]+)"', viewer.get("/", base_url=BASE).text)))
    plain = viewer.get(style, base_url=BASE)
    packed = viewer.get(style, base_url=BASE, headers={"Accept-Encoding": "gzip, br"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data)
    for path in ("/_dash-layout", "/lab/events"):
        answer = viewer.get(path, base_url=BASE, headers={"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in answer.headers


def test_plotly_is_the_small_one(lab, viewer):
    viewer.get(f"/?token={lab[0].teacher}", base_url=BASE)
    where = "/_dash-component-suites/plotly/package_data/plotly.min.js"
    packed = viewer.get(where, base_url=BASE, headers={"Accept-Encoding": "gzip"})
    plain = viewer.get(where, base_url=BASE, headers={"Accept-Encoding": "identity"})
    assert len(packed.data) < 600_000
    assert gzip.decompress(packed.data) == plain.data
    assert b"plotly.js" in plain.data[:200]
