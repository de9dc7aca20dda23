"""Who may talk to the lab: right host, right origin, and beyond this machine the code of the class or the teacher's."""

from __future__ import annotations

import gzip
import json
import re
import urllib.parse
from collections.abc import Iterator

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from flask import Flask
from flask.testing import FlaskClient

from calibrate.lab.app import build
from calibrate.lab.folder import opened
from calibrate.lab.guard import ADDRESS, Address, Guard, is_loopback, new_code, panel, read_code
from calibrate.lab.run.run_page import BUTTONS
from calibrate.lab.run.session import RunTable
from calibrate.lab.serving import pack_scripts

EVENTS = "/lab/events"
BASE = "http://192.0.2.7:8050"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


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
def guarded(table: RunTable):
    guard, server = Guard.of("0.0.0.0"), build(table).server  # noqa: S104 - nothing listens
    guard.attach(server)
    pack_scripts(server)
    teacher, viewers = (f"{BASE}/?token={token}" for token in (guard.teacher, guard.viewer))
    server.config[ADDRESS] = Address(teacher, viewers, guard.viewer or "")
    return guard, server


@pytest.fixture
def public(guarded) -> tuple[Guard, FlaskClient]:
    guard, server = guarded
    return guard, server.test_client()  # without the cookies of other tests


OWN, EVIL = "127.0.0.1:8050", "http://evil.example"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *((200, {"Host": host}) for host in (OWN, "localhost:8050", "[::1]:8050", "LOCALHOST:1")),
        *((403, {"Host": host}) for host in ("evil.example", f"127.0.0.1.{EVIL[7:]}:8050", "192.0.2.7:8050", "")),
        (200, {"Host": OWN, "Origin": f"http://{OWN}", "Sec-Fetch-Site": "same-origin"}),
        *((403, {"Host": OWN, "Origin": o}) for o in (EVIL, "null", "http://127.0.0.1:1", f"https://{OWN}")),
        (200, {"Host": OWN, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}),
        (403, {"Host": OWN, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
    ],
)
def test_this_machine_is_answered_under_its_own_names_to_its_own_pages(client, status, headers):
    assert client.get(EVENTS, headers=headers).status_code == status
    if "Origin" in headers and status == 403:
        assert client.post("/_dash-update-component", headers=headers, json={}).status_code == 403


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
    assert client.get(EVENTS, headers=host, base_url=BASE).status_code == 200
    assert client.get(f"/?token={guard.teacher}", headers={"Host": "evil.example:8050"}).status_code == 403


@pytest.mark.parametrize(("who", "said"), [("viewer", "only the teacher"), ("teacher", "no run yet")])
def test_only_the_teacher_starts(public, who, said):
    guard, client = public
    client.get(f"/?token={getattr(guard, who)}", base_url=BASE)
    fields = ("device", "culprit")
    body = {
        "output": "run-refusal.children",
        "outputs": {"id": "run-refusal", "property": "children"},
        "inputs": [{"id": f"run-{b}", "property": "n_clicks", "value": 1} for b in BUTTONS],
        "state": [{"id": f"run-{f}", "property": "value", "value": None} for f in fields],
        "changedPropIds": ["run-start.n_clicks"],
    }
    answer = client.post("/_dash-update-component", base_url=BASE, json=body)
    assert answer.status_code == 200
    assert said in answer.get_data(as_text=True)


@pytest.mark.parametrize(
    "path", ["/assets/../app.py", "/assets/%2e%2e/app.py", "/assets//etc/passwd", "/lab/report/../../etc"]
)
def test_no_address_leads_out_of_the_assets(client, path):
    answer = client.get(path, headers={"Host": "localhost"})
    assert b"def build" not in answer.data
    assert b"root:" not in answer.data


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
@pytest.mark.parametrize("elsewhere", ["0.0.0.1", "192.0.2.7", "::", "example.org"])
def test_what_counts_as_this_machine(host, elsewhere):
    assert is_loopback(host)
    assert not is_loopback(elsewhere)


def test_who_comes_without_the_code_is_asked_for_it(public):
    guard, client = public
    answer = client.get("/run", base_url=BASE, headers=BROWSER)
    assert answer.status_code == 403
    assert 'name="token"' in answer.text
    wrong = client.get("/run?token=<script>", base_url=BASE, headers=BROWSER)
    assert (wrong.status_code, "That is not the code" in wrong.text) == (403, True)
    assert "<script>" not in wrong.text
    typed = str(guard.viewer).replace("-", " ").upper()
    led_in = client.get("/run?" + urllib.parse.urlencode({"token": typed}), base_url=BASE, headers=BROWSER)
    assert (led_in.status_code, led_in.headers["Location"]) == (302, "/run")
    assert client.get("/run", base_url=BASE, headers=BROWSER).status_code == 200


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("//evil.example/x", "/evil.example/x"),
        ("/\t/evil.example/x", "/%09/evil.example/x"),  # a browser leaves a tab out
        ("/\\evil.example", "/%5Cevil.example"),
        ("/\r\nSet-Cookie: x=1", "/%0D%0ASet-Cookie%3A%20x%3D1"),
    ],
)
def test_the_way_in_leads_nowhere_else(public, path, leads_to):
    guard, client = public
    answer = client.get(f"/?token={guard.viewer}", base_url=BASE, environ_overrides={"PATH_INFO": path})
    assert answer.status_code == 302
    assert answer.headers["Location"] == leads_to


@pytest.mark.parametrize(("who", "sees"), [("teacher", True), ("viewer", False)])
def test_the_code_is_shown_to_the_teacher_alone(public, who, sees):
    guard, client = public
    client.get(f"/?token={getattr(guard, who)}", base_url=BASE)
    shown = client.get("/_dash-layout", base_url=BASE).get_data(as_text=True)
    assert (guard.viewer in shown) is sees
    assert guard.teacher not in shown


def test_a_code_may_be_typed_as_a_phone_types_it():
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(re.fullmatch("[a-hj-km-np-z2-9]{4}-[a-hj-km-np-z2-9]{4}", code) for code in codes)
    for typed in ("abcd-ef23", "ABCD-EF23", " abcd ef23 ", "Abcdef23", "abcd–ef23"):
        assert read_code(typed) == "abcd-ef23"
    for typed in ("", "abcd-ef2", "abcd-ef234", "a" * 10_000):
        assert read_code(typed) == typed


@pytest.mark.parametrize(
    ("address", "has", "lacks"),
    [
        (
            Address("t", f"{BASE}/?token=abcd-ef23", "abcd-ef23"),
            (f"{BASE}/run?token=abcd-ef23", "image/svg+xml"),
            "--host",
        ),
        (Address(f"{BASE}/", f"{BASE}/"), ("--host 0.0.0.0",), "data:image"),
    ],
)
def test_the_panel_holds_a_link_and_a_square_or_how_to_open_the_lab(address, has, lacks):
    shown = json.dumps(panel(address), default=lambda part: part.to_plotly_json())
    assert all(text in shown for text in has)
    assert lacks not in shown


def test_scripts_are_packed_and_nothing_else(public):
    guard, client = public
    client.get(f"/?token={guard.teacher}", base_url=BASE)
    style = next(iter(re.findall(r'href="(/assets/[^"]+)"', client.get("/", base_url=BASE).text)))
    plotly = "/_dash-component-suites/plotly/package_data/plotly.min.js"
    for path, most in ((style, 100_000), (plotly, 600_000)):
        plain = client.get(path, base_url=BASE, headers={"Accept-Encoding": "identity"})
        packed = client.get(path, base_url=BASE, headers={"Accept-Encoding": "gzip, br"})
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.data) == plain.data
        assert len(packed.data) < min(most, len(plain.data))
    for path in ("/_dash-layout", "/lab/events"):
        answer = client.get(path, base_url=BASE, headers={"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in answer.headers


def joined(guard: Guard, client: FlaskClient) -> None:
    assert client.get(f"/?token={guard.viewer}", base_url=BASE).status_code == 302


def test_a_script_makes_no_session_of_its_own(guarded, table):
    guard, server = guarded
    for cookie in ("", f"token={guard.viewer}", "eyJpZCI6ImZvcmdlZCJ9.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"):
        client = server.test_client()
        client.set_cookie(server.config["SESSION_COOKIE_NAME"], cookie, domain="192.0.2.7")
        assert client.get(EVENTS, base_url=BASE).status_code == 403
    signed = Flask("another lab")
    signed.secret_key = b"another key"
    forged = signed.session_interface.get_signing_serializer(signed).dumps({"token": guard.viewer, "id": "forged"})
    client.set_cookie(server.config["SESSION_COOKIE_NAME"], forged, domain="192.0.2.7")
    assert client.get(EVENTS, base_url=BASE).status_code == 403


def test_a_class_of_200_joins_behind_one_address_and_a_script_gets_no_further(table):
    guard, server = Guard.of("0.0.0.0"), build(table).server  # noqa: S104 - nothing listens
    guard.attach(server)
    came_in = [server.test_client().get(f"/run?token={guard.viewer}", base_url=BASE).status_code for _ in range(400)]
    assert set(came_in[:200]) == {302}
    assert came_in.count(429) > 100
    elsewhere = {"REMOTE_ADDR": "198.51.100.1"}
    told = server.test_client().get(f"/run?token={guard.viewer}", base_url=BASE, environ_overrides=elsewhere)
    assert told.status_code == 302
    assert server.test_client().get(f"/run?token={guard.teacher}", base_url=BASE).status_code == 302


def test_a_machine_joins_no_faster_under_many_addresses_of_its_network(table):
    """A network card takes any of 2^64 addresses of IPv6; one of IPv4 may come in the clothes of IPv6."""
    guard, server = Guard.of("0.0.0.0"), build(table).server  # noqa: S104 - nothing listens
    guard.attach(server)

    def join(address: str) -> int:
        way = {"environ_overrides": {"REMOTE_ADDR": address}, "base_url": BASE}
        return server.test_client().get(f"/run?token={guard.viewer}", **way).status_code

    came_in = [join(f"2001:db8:1:2:{i:x}::{i:x}") for i in range(300)]
    assert (came_in[:250], set(came_in[260:])) == ([302] * 250, {429})
    assert join("2001:db8:1:3::1") == 302
    came_in = [join(f"{prefix}203.0.113.5") for prefix in ("", "::ffff:") for _ in range(140)]
    assert 429 in came_in
    assert join("::ffff:203.0.113.6") == 302


def test_250_browsers_of_one_address_join_at_once_and_then_twelve_a_minute():
    joins = Guard.of("0.0.0.0").joins  # noqa: S104 - nothing listens
    assert [joins.take("192.0.2.7", 0.0) for _ in range(252)] == [True] * 250 + [False] * 2
    assert [joins.take("192.0.2.7", 60.0) for _ in range(14)] == [True] * 12 + [False] * 2


def test_who_has_joined_joins_again_as_the_same_browser(public, table):
    guard, client = public
    joined(guard, client)
    with client.session_transaction(base_url=BASE) as first:
        known = first["id"]
    joined(guard, client)
    with client.session_transaction(base_url=BASE) as again:
        assert again["id"] == known
    restarted = build(table).server
    assert restarted.secret_key == client.application.secret_key


def test_computed_answers_are_limited_for_each_browser_and_not_for_its_neighbours(public, guarded):
    guard, client = public
    neighbour = guarded[1].test_client()
    for each in (client, neighbour):
        joined(guard, each)
    asked = [client.post("/_dash-update-component", base_url=BASE, json={}).status_code for _ in range(150)]
    assert 429 in asked
    assert asked[:100].count(429) == 0
    assert neighbour.post("/_dash-update-component", base_url=BASE, json={}).status_code != 429
