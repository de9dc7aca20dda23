"""Who may talk to the lab: right host, right origin, and beyond this machine a token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim[lab]'")

from flask import Flask
from flask.testing import FlaskClient

from calibrate.lab.app import build
from calibrate.lab.folder import opened
from calibrate.lab.guard import Guard, is_loopback
from calibrate.lab.run.page import BUTTONS
from calibrate.lab.run.session import RunTable

EVENTS = "/lab/events"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunTable]:
    with opened(tmp_path_factory.mktemp("lab") / "lab") as folder:
        yield RunTable(folder)


@pytest.fixture(scope="module")
def client(table: RunTable) -> FlaskClient:
    server = build(table).server
    Guard.of("127.0.0.1").attach(server)
    return server.test_client()


@pytest.fixture(scope="module")
def guarded(table: RunTable) -> tuple[Guard, Flask]:
    guard, server = Guard.of("0.0.0.0"), build(table).server  # noqa: S104 - nothing listens
    guard.attach(server)
    return guard, server


@pytest.fixture
def public(guarded: tuple[Guard, Flask]) -> tuple[Guard, FlaskClient]:
    guard, server = guarded
    return guard, server.test_client()  # without the cookies of other tests


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:8050", "[::1]:8050", "LOCALHOST:1"])
def test_this_machine_is_answered(client, host):
    assert client.get(EVENTS, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8050", "192.0.2.7:8050", "localhost.evil", ""]
)
def test_a_foreign_name_for_this_machine_is_refused(client, host):
    assert client.get(EVENTS, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:8050"])
def test_a_foreign_origin_is_refused(client, origin):
    headers = {"Host": "127.0.0.1:8050", "Origin": origin}
    assert client.post("/_dash-update-component", headers=headers, json={}).status_code == 403
    assert client.get(EVENTS, headers=headers).status_code == 403


def test_the_own_origin_is_answered(client):
    headers = {"Host": "127.0.0.1:8050", "Origin": "http://127.0.0.1:8050", "Sec-Fetch-Site": "same-origin"}
    assert client.get(EVENTS, headers=headers).status_code == 200


def test_another_site_may_link_to_the_lab_but_not_load_it(client):
    headers = {"Host": "127.0.0.1:8050", "Sec-Fetch-Site": "cross-site"}
    assert client.get("/", headers={**headers, "Sec-Fetch-Mode": "navigate"}).status_code == 200
    assert client.get(EVENTS, headers={**headers, "Sec-Fetch-Mode": "no-cors"}).status_code == 403


def test_a_body_of_any_size_is_not_taken(client):
    answer = client.post(
        "/_dash-update-component", headers={"Host": "localhost"}, data=b"x" * 2**20, content_type="application/json"
    )
    assert answer.status_code == 413


def test_beyond_this_machine_a_token_is_asked_for(public):
    guard, client = public
    host = {"Host": "192.0.2.7:8050"}
    assert client.get(EVENTS, headers=host).status_code == 403
    assert client.get(f"{EVENTS}?token=wrong", headers=host).status_code == 403
    first = client.get(f"/?token={guard.viewer}", headers=host)
    assert first.status_code == 302
    assert "token" not in first.headers["Location"]
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert client.get(EVENTS, headers=host, base_url="http://192.0.2.7:8050").status_code == 200


def test_a_name_that_resolves_here_is_refused_even_with_the_token(public):
    guard, client = public
    assert client.get(f"/?token={guard.teacher}", headers={"Host": "evil.example:8050"}).status_code == 403


@pytest.mark.parametrize(("who", "said"), [("viewer", "only the teacher"), ("teacher", "no run yet")])
def test_only_the_teacher_starts(public, who, said):
    guard, client = public
    base = "http://192.0.2.7:8050"
    client.get(f"/?token={getattr(guard, who)}", base_url=base)
    fields = ("device", "series", "pace", "culprit")
    body = {
        "output": "run-refusal.children",
        "outputs": {"id": "run-refusal", "property": "children"},
        "inputs": [{"id": f"run-{b}", "property": "n_clicks", "value": 1} for b in BUTTONS],
        "state": [{"id": f"run-{f}", "property": "value", "value": None} for f in fields],
        "changedPropIds": ["run-start.n_clicks"],
    }
    answer = client.post("/_dash-update-component", base_url=base, json=body)
    assert answer.status_code == 200
    assert said in answer.get_data(as_text=True)


def test_there_is_no_report_before_the_reveal(client):
    assert client.get("/lab/report", headers={"Host": "localhost"}).status_code == 404


@pytest.mark.parametrize(
    "path", ["/assets/../app.py", "/assets/%2e%2e/app.py", "/assets//etc/passwd", "/lab/report/../../etc"]
)
def test_no_address_leads_out_of_the_assets(client, path):
    answer = client.get(path, headers={"Host": "localhost"})
    assert b"def build" not in answer.data
    assert b"root:" not in answer.data


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.1", False),
        ("192.0.2.7", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_what_counts_as_this_machine(host, expected):
    assert is_loopback(host) is expected
