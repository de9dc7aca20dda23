"""Serving the lab until it is stopped, over connections that cannot be held open.

waitress reads a request completely before a thread takes it, so slow senders hold no thread; but it stops accepting at
its limit of connections and waits for minutes. Here a request that is not complete in time is dropped, and a new
connection beyond a limit takes the place of the one that has been silent for the longest time.
"""

from __future__ import annotations

import errno
import gzip
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from dash import Dash
from flask import Flask, Response, request
from waitress.channel import HTTPChannel
from werkzeug.exceptions import HTTPException

from calibrate.lab.guard import ADDRESS, MAX_REQUEST_BYTES, Address, Guard, cookie_name, is_loopback
from calibrate.report.page import PLOTLY
from measure.errors import MeasureError

REQUEST_S = 10.0  # the time for headers and body together: requests of the page have a few kilobytes
MOST_HALF_OPEN = 128  # connections of one address without a complete request
MOST_OPEN = 900  # connections of all addresses; a process may usually open 1,024 files


class TimedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that knows since when its request has been incomplete."""

    waiting_since: float | None = None

    def __init__(self, server: Any, sock: Any, addr: tuple[str, int], adj: Any, map: Any = None) -> None:  # noqa: A002
        """Makes room for itself."""
        super().__init__(server, sock, addr, adj, map=map)
        self.waiting_since = time.monotonic()
        make_room(list(server.active_channels.values()), addr[0])

    def received(self, data: bytes) -> bool:
        """The next part of a request."""
        taken = bool(super().received(data))
        if self.request is None:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = time.monotonic()
        return taken

    def readable(self) -> bool:
        """Asked in each round of the server's loop."""
        if self.waiting_since is not None and time.monotonic() - self.waiting_since > REQUEST_S:
            self.will_close = True
        return bool(super().readable())

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return not self.requests and not self.total_outbufs_len and not self.will_close


def make_room(channels: list[TimedChannel], address: str) -> None:
    """Drop the longest silent connection where a new one of ``address`` is beyond a limit."""
    half_open = [c for c in channels if c.addr[0] == address and c.waiting_since is not None and not c.will_close]
    if len(half_open) > MOST_HALF_OPEN:
        min(half_open, key=lambda c: c.last_activity).will_close = True
    idle = [c for c in channels if c.is_idle]
    if len(channels) > MOST_OPEN and idle:
        open_of = Counter(c.addr[0] for c in idle)
        min(idle, key=lambda c: (-open_of[c.addr[0]], c.last_activity)).will_close = True


LIMITS = {
    "threads": 48,  # a fit that some wait for must not keep the others from their points
    "connection_limit": 1000,  # a browser keeps up to six open; connections.MOST_OPEN is reached first
    "asyncore_use_poll": True,
    "channel_timeout": 30,
    "cleanup_interval": 5,
    "max_request_body_size": MAX_REQUEST_BYTES,
}
LAST_ANSWERS_S = 1.0
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

POLICY = (
    "default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What a browser may load for the page: files of this server, and the few scripts that Dash writes inline."""

PLOTLY_AT = "/_dash-component-suites/plotly/"
"""Where Dash looks for plotly: it gets the small one of the reports, which has all that the lab draws."""
PLACES = ("/_dash-component-suites/", "/assets/")
CALLBACKS = "/_dash-update-component"
KINDS = ("text/javascript", "application/javascript", "text/css")
FEWEST_BYTES, MOST_KEPT, LEVEL = 1024, 64, 6


@contextmanager
def serving(app: Dash, host: str, port: int) -> Iterator[Address]:
    """Serve ``app`` in the background while the block runs; port 0 takes a free one.

    Raises MeasureError where nothing can listen there.
    """
    from waitress import create_server

    log_plainly()
    guard = Guard.of(host)
    guard.attach(app.server)
    app.server.after_request(_with_safe_headers(app))
    pack_scripts(app.server)
    app.server.register_error_handler(Exception, _in_one_line)
    try:
        server = create_server(app.server, host=host, port=port, ident="qsim lab", **LIMITS)
    except (OSError, ValueError) as error:
        raise MeasureError(_why_not(error, host, port)) from error
    for listening in list(server._map.values()):  # one of each address that a name stands for
        if listening.accepting:
            listening.channel_class = TimedChannel
            listening.handle_accept = _accepting(listening.handle_accept)
    app.server.config["SESSION_COOKIE_NAME"] = cookie_name(server.effective_port)
    base = f"http://{_shown(host)}:{server.effective_port}/"
    address = Address(_with_token(base, guard.teacher), _with_token(base, guard.viewer), guard.viewer or "")
    app.server.config[ADDRESS] = address
    closing = threading.Event()

    def run() -> None:
        try:
            server.run()
        except OSError:  # its sockets are closed under it: that is how it is stopped
            if not closing.is_set():
                raise
        finally:
            address.ended.set()

    thread = threading.Thread(target=run, name="lab", daemon=True)
    thread.start()
    try:
        yield address
    finally:
        closing.set()
        server.task_dispatcher.shutdown(timeout=LAST_ANSWERS_S)  # an answer would be written to what is closed
        server.close()


def _accepting(accept: Callable[[], None]) -> Callable[[], None]:
    """``accept`` of a listening socket, which waitress would close for whatever fails in one connection."""

    def accept_or_tell() -> None:
        try:
            accept()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others of the class are answered
            logging.getLogger(__name__).error("a connection failed: %s: %s", type(error).__name__, error)

    return accept_or_tell


def pack_scripts(server: Flask) -> None:
    """Pack the scripts and styles of ``server``: a page of Dash is six megabytes, and fifty phones may share one cell.

    Only what is the same for everybody is packed, each once; answers that hold a code or a name are not.
    """

    def pack(response: Response) -> Response:
        if not request.path.startswith(PLACES) or response.status_code != 200 or response.mimetype not in KINDS:
            return response
        response.vary.add("Accept-Encoding")
        if request.accept_encodings.find("gzip") < 0 or "Content-Encoding" in response.headers:
            return response
        response.direct_passthrough = False
        plain = response.get_data()
        if len(plain) < FEWEST_BYTES:
            return response
        response.set_data(_packed(plain))
        response.headers["Content-Encoding"] = "gzip"
        response.headers.pop("ETag", None)
        return response

    def plotly() -> Response | None:
        if not request.path.startswith(PLOTLY_AT):
            return None
        packed = (files("calibrate.report") / PLOTLY).read_bytes()
        if request.accept_encodings.find("gzip") < 0:
            return Response(gzip.decompress(packed), mimetype="text/javascript")
        return Response(
            packed, mimetype="text/javascript", headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        )

    server.before_request(plotly)
    server.after_request(pack)


@lru_cache(maxsize=MOST_KEPT)
def _packed(plain: bytes) -> bytes:
    return gzip.compress(plain, LEVEL, mtime=0)


def _with_safe_headers(app: Dash) -> Callable[[Response], Response]:
    @cache  # only the first request makes Dash gather its inline scripts
    def policy() -> str:
        return POLICY.format(hashes=" ".join(app.csp_hashes()))

    def add(response: Response) -> Response:
        response.headers.update(SAFE_HEADERS)
        if is_loopback(urlsplit(f"//{request.host}").hostname or ""):  # elsewhere browsers take it for an error
            response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Content-Security-Policy"] = policy()
        return response

    return add


def _in_one_line(error: Exception) -> Response | HTTPException:
    """How an unforeseen error ends: a line for the browser and one for the teacher, no traceback."""
    if isinstance(error, HTTPException):
        return error
    logging.getLogger(__name__).error("a request failed: %s: %s", type(error).__name__, error)
    status = 400 if request.path == CALLBACKS else 500  # Dash takes a body as it comes: what fails was sent
    return Response("the lab could not answer that\n", status, mimetype="text/plain")


def _with_token(base: str, token: str | None) -> str:
    return base if token is None else f"{base}?token={token}"


def _shown(host: str) -> str:
    """A host that a browser can open: the machine's own address where the lab listens on all of them."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return _own_address()
    return f"[{host}]" if ":" in host else host


def _own_address() -> str:
    """The address by which others reach this machine, the loopback's where it has no network."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a datagram socket sends nothing by being connected
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _why_not(error: Exception, host: str, port: int) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken, perhaps by another lab; choose another one: --port 0 takes a free one"
    reason = getattr(error, "strerror", None) or error
    return f"the lab cannot listen on {host} port {port}: {reason}"


LOGGERS = ("waitress", "calibrate.lab")
LONGEST_LINE = 1000  # characters of a line of the log, which may repeat what a request sent


class PlainFormatter(logging.Formatter):
    """Formats a record without its traceback, in one printable line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[0] is not None:
            text += f" ({record.exc_info[0].__name__}: {record.exc_info[1]})"
        shown = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}..."
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def log_plainly() -> None:
    """Send errors of the lab and its server to standard error, once each, in plain lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter())
    handler.setLevel(logging.ERROR)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
