"""Connections that are held open give way to others, and log lines stay plain."""

from __future__ import annotations

import logging
import socket
import time
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab import serving as server
from calibrate.lab.app import build
from calibrate.lab.guard import RateLimit
from calibrate.lab.run.session import RunTable
from calibrate.lab.serving import MOST_HALF_OPEN, PlainFormatter, make_room, serving


@dataclass
class Channel:
    """What ``make_room`` asks of a connection."""

    addr: tuple[str, int]
    last_activity: float
    waiting_since: float | None = 0.0
    is_idle: bool = True
    will_close: bool = field(default=False)


def test_an_address_has_so_many_half_open_connections_and_the_oldest_goes():
    mine = [Channel(("192.0.2.7", n), float(n)) for n in range(MOST_HALF_OPEN + 1)]
    others = [Channel(("192.0.2.8", n), 0.0) for n in range(MOST_HALF_OPEN)]
    make_room([*mine, *others], "192.0.2.7")
    assert [c.will_close for c in mine] == [True, *[False] * MOST_HALF_OPEN]
    assert not any(c.will_close for c in others)


def test_when_the_lab_is_full_the_address_with_most_connections_loses_its_oldest(monkeypatch):
    monkeypatch.setattr(server, "MOST_OPEN", 4)
    busy = Channel(("192.0.2.7", 1), 0.0, None, is_idle=False)
    many = [Channel(("192.0.2.7", n), float(n), None) for n in (3, 2)]
    alone = [Channel(("192.0.2.8", 1), 0.0, None), Channel(("192.0.2.9", 1), 9.0)]
    make_room([busy, *many, *alone], "192.0.2.9")
    assert [c.will_close for c in (busy, *many, *alone)] == [False, False, True, False, False]


@pytest.fixture
def address(folder):
    with serving(build(RunTable(folder)), "127.0.0.1", 0) as found:
        yield urlsplit(found.teacher)


def closed_after(connection: socket.socket, patience_s: float) -> float:
    """Seconds until the other side closes it."""
    start_s = time.monotonic()
    connection.settimeout(patience_s)
    assert connection.recv(1) == b""
    return time.monotonic() - start_s


@pytest.mark.parametrize("part", [b"", b"GET / HT", b"POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"])
def test_a_request_that_is_not_complete_in_time_is_dropped(address, monkeypatch, part):
    monkeypatch.setattr(server, "REQUEST_S", 0.3)
    with socket.create_connection((address.hostname, address.port)) as slow:
        slow.sendall(part)
        assert closed_after(slow, 20) < 20


def test_a_complete_request_keeps_its_connection(address, monkeypatch):
    monkeypatch.setattr(server, "REQUEST_S", 0.3)
    with closing(HTTPConnection(address.hostname, address.port, timeout=20)) as kept:
        kept.connect()
        first = kept.sock
        for pause_s in (0.0, 1.5):
            time.sleep(pause_s)
            kept.request("GET", "/lab/events")
            assert kept.getresponse().read()
        assert kept.sock is first


def test_a_limit_is_for_each_key_and_fills_again():
    limit = RateLimit(200, 40.0)
    assert sum(limit.take("one", 0.0) for _ in range(400)) == 200
    assert limit.take("another", 0.0)
    assert sum(limit.take("one", 1.0) for _ in range(200)) == 40


def test_control_characters_of_a_request_never_reach_a_log():
    path = "/\x1b[31m\r\n\x9b\u202e"
    line = PlainFormatter().format(logging.LogRecord("waitress", logging.ERROR, "", 0, "at %s", (path,), None))
    assert line == r"error: at /\x1b[31m\r\n\x9b\u202e"
    assert line.isprintable()


def test_what_fails_in_a_request_is_one_plain_line(folder, capsys):
    app = build(RunTable(folder))

    def fails() -> str:
        raise RuntimeError("no \x1b[31m\ncolour")

    app.server.add_url_rule("/fails\x1b", "fails", fails)
    with serving(app, "127.0.0.1", 0) as found:
        place = urlsplit(found.teacher)
        with socket.create_connection((place.hostname, place.port), timeout=20) as client:
            client.sendall(b"GET /fails%1b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 500")
    printed = capsys.readouterr().err
    assert "\x1b" not in printed
    assert "Traceback" not in printed
    assert printed.count("\n") <= 2
    assert "colour" in printed


def test_a_callback_that_no_page_sends_is_a_bad_request_and_one_short_line_of_the_log(folder, capsys):
    long = '{"output": "' + "x" * 200_000 + '"}'
    bodies = ("null", "5", "[" * 20_000, long, '{"output": "part.children", "inputs": [5]}')
    with serving(build(RunTable(folder)), "127.0.0.1", 0) as found:
        place = urlsplit(found.teacher)
        for body in bodies:
            with closing(HTTPConnection(place.hostname, place.port, timeout=20)) as client:
                client.request("POST", server.CALLBACKS, body, {"Content-Type": "application/json"})
                answer = client.getresponse()
                assert (answer.status, answer.read().count(b"\n")) == (400, 1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error"] * len(bodies)
    assert max(map(len, lines)) < 1100


def test_a_connection_that_fails_leaves_the_lab_listening(folder, capsys, monkeypatch):
    def fails(_channels: object, _address: object) -> None:
        raise RuntimeError("no room")

    with serving(build(RunTable(folder)), "127.0.0.1", 0) as found:
        place = urlsplit(found.teacher)
        with monkeypatch.context() as patched, socket.socket() as refused:
            patched.setattr(server, "make_room", fails)
            refused.connect((place.hostname, place.port))
            said, end_s = "", time.monotonic() + 20
            while not said and time.monotonic() < end_s:
                time.sleep(0.01)
                said = capsys.readouterr().err
        assert said == "error: a connection failed: RuntimeError: no room\n"
        with closing(HTTPConnection(place.hostname, place.port, timeout=20)) as next_one:
            next_one.request("GET", "/lab/events")
            assert next_one.getresponse().status == 200
        assert not found.ended.is_set()
    assert found.ended.wait(20)


@pytest.mark.slow
@pytest.mark.live
def test_a_class_is_answered_within_a_second_while_connections_are_held():
    """A class of 40 for 8 s, and 700 slow connections; ``tests/class_load.py`` does it with 200 and 2,000."""
    from class_load import main

    found = main(40, 8.0, 350)
    assert found["class"]["failures"] == found["teacher"]["failures"] == 0
    assert found["teacher"]["all"]["max"] < 1.0
    assert found["class"]["all"]["p99"] < 1.0
    assert found["printed"] == []
