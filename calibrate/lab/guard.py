"""Access to the lab: right Host, right Origin, and, beyond this machine, a token.

A page from elsewhere must not reach a server on this machine through its reader's browser. So a request must name a
host of the lab (a foreign name that resolves to 127.0.0.1, DNS rebinding, does not), and an origin that is named must
be the lab's. Where the lab listens beyond the loopback, every browser brings a token once, in the address, and then a
cookie: that of the class may watch and guess, that of the teacher may start and stop measurements too.

A class joins by a code that one can read out, or by the address as a square of dots. Who joins gets a session in a
signed cookie, and limits count by session, since a class may stand behind one address. A script makes no sessions of
its own; it joins no faster than a class of one address does.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote, urlencode, urlsplit

from dash import html
from dash.development.base_component import Component
from flask import Flask, Response, g, redirect, request, session

from calibrate.lab.widgets import filled

SESSION_BYTES = 16
MAX_REQUEST_BYTES = 256 * 1024
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SITES = (None, "same-origin", "none")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on ``host``."""
    address = _ip(host.strip("[]"))
    return host == "localhost" or (address is not None and address.is_loopback)


def _ip(name: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a name is; None for any other name."""
    try:
        return ip_address(name)
    except ValueError:
        return None


MOST_KEYS = 10_000
HOST_BITS = 64  # of an IPv6 address, those that name a machine in its network


class RateLimit:
    """A bucket for each key (token bucket): so many at once, and so many a second in the long run."""

    def __init__(self, burst: int, per_second: float) -> None:
        self.burst, self.per_second = burst, per_second
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str, now_s: float) -> bool:
        """Whether ``key`` may have one more at ``now_s``."""
        with self._lock:
            left, since_s = self._left.get(key, (float(self.burst), now_s))
            left = min(float(self.burst), left + self.per_second * (now_s - since_s))
            if len(self._left) > MOST_KEYS:  # those that have waited long enough are as good as new
                self._left = {k: v for k, v in self._left.items() if now_s - v[1] < self.burst / self.per_second}
            self._left[key] = (max(0.0, left - 1), now_s)
            return left >= 1


@dataclass(frozen=True)
class Guard:
    """``names`` are the host names by which the lab may be called, without the port.

    ``any_address`` also allows every bare IP address, for a lab that listens on all of them: no other site can make a
    browser call us by an address and pass for the same origin. The tokens are None where none is asked for; that of
    the viewers is a code that a class can type. The teacher is not limited. ``joins`` are browsers of one address, as
    a class of 200, of whom some join again; ``answers`` are computed for one session, a hand at a slider, and
    ``answers_together`` for one address.
    """

    names: frozenset[str]
    any_address: bool = False
    teacher: str | None = None
    viewer: str | None = None
    joins: RateLimit = field(default_factory=lambda: RateLimit(250, 0.2), compare=False)
    answers: RateLimit = field(default_factory=lambda: RateLimit(100, 10.0), compare=False)
    answers_together: RateLimit = field(default_factory=lambda: RateLimit(2000, 200.0), compare=False)

    @classmethod
    def of(cls, host: str) -> Guard:
        """The guard of a lab that listens on ``host``: tokens where others can reach it."""
        names = frozenset((*_LOOPBACK_NAMES, _bracketed(host)))
        if is_loopback(host):
            return cls(names)
        everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        return cls(names, everywhere, secrets.token_urlsafe(18), new_code())

    def attach(self, server: Flask) -> None:
        """Check every request of ``server`` and put safe headers on every answer."""
        server.config.update(MAX_CONTENT_LENGTH=MAX_REQUEST_BYTES, SESSION_COOKIE_SAMESITE="Lax")
        server.before_request(self._check)

    def _check(self) -> Response | None:
        if not self._is_ours(request.host):
            return _refused("this lab does not answer to that host name; use the address that qsim lab printed")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"{request.scheme}://{request.host}":
            return _refused("a page of another origin may not use the lab")
        if request.headers.get("Sec-Fetch-Site") not in _SITES and request.headers.get("Sec-Fetch-Mode") != "navigate":
            return _refused("a page of another site may not use the lab")
        return self._admit()

    def _is_ours(self, host: str) -> bool:
        name = (urlsplit(f"//{host}").hostname or "").lower()
        return _bracketed(name) in self.names or (self.any_address and _ip(name) is not None)

    def _admit(self) -> Response | None:
        """Admit browsers that have joined. One joins by the token in the address, which a signed cookie then holds."""
        if self.teacher is None or self.viewer is None:
            g.teaches = True
            session.setdefault("id", secrets.token_hex(SESSION_BYTES))
            return None
        given = request.args.get("token", "").strip()
        shown = given or str(session.get("token", ""))
        g.teaches = _same(shown, self.teacher)
        if not (g.teaches or _same(read_code(shown), self.viewer)):
            return _asked(given)
        if "id" not in session and not g.teaches and not self.joins.take(_address(), time.monotonic()):
            return _refused("too many browsers have joined from this address; try again in a few seconds", 429)
        if not given:
            return self._limited() if request.method == "POST" and not g.teaches else None
        session["token"] = shown
        session.setdefault("id", secrets.token_hex(SESSION_BYTES))
        rest = urlencode([(k, v) for k, v in request.args.items(multi=True) if k != "token"])
        path = quote(request.path.lstrip("/"))  # a browser leaves a tab out, and "/\t/other.site" is another site
        return redirect(f"/{path}" + (f"?{rest}" if rest else ""))  # type: ignore[return-value]

    def _limited(self) -> Response | None:
        """The refusal of a computed answer beyond the limits; None within them."""
        now_s = time.monotonic()
        if not self.answers.take(browser_session(), now_s):
            return _refused("too many requests from this browser; wait a moment", 429)
        if not self.answers_together.take(_address(), now_s):
            return _refused("too many requests from this address; wait a moment", 429)
        return None


def teaches() -> bool:
    """Whether the current request may start and stop measurements."""
    return bool(g.get("teaches", False))


def browser_session() -> str:
    """The session that the requesting browser got when it joined: a cookie that only the lab can sign."""
    return str(session["id"])


def cookie_name(port: int) -> str:
    """That of the cookie: cookies do not differ by port, and two labs may run on one machine."""
    return f"qsim-lab-{port}"


def _address() -> str:
    """The requesting address; of IPv6 its network of 64 bits, in which a machine takes any address it likes."""
    given = request.remote_addr or ""
    address = _ip(given)
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> HOST_BITS << HOST_BITS))
    return given


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(), expected.encode())


def _bracketed(host: str) -> str:
    """A host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _asked(given: str) -> Response:
    """The response to a request without a token; a browser gets a page for the code."""
    if request.method == "GET" and request.accept_mimetypes.accept_html and "text/html" in request.headers["Accept"]:
        why = "That is not the code." if given else "This lab asks for the code of the class."
        return Response(filled("join.html.j2", why=why), status=403, mimetype="text/html")
    return _refused("this lab asks for a token: open the whole address that qsim lab printed")


def _refused(why: str, status: int = 403) -> Response:
    return Response(f"{why}\n", status, mimetype="text/plain")


LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""What a code is made of: nothing that is taken for something else when it is read from a wall."""
CODE_LETTERS = 8
ADDRESS = "QSIM_LAB_ADDRESS"
"""The setting of the server under which the page finds its ``Address``: it is known only once the lab listens."""
ALONE = "Only this machine can open this lab. For laptops and phones start it with: qsim lab --host 0.0.0.0"


@dataclass(frozen=True)
class Address:
    """Where the lab answers: the address of the teacher, that of the class (the same on this machine alone), and the
    code that the page asks for without a token (empty on this machine alone). ``ended`` is set once nothing answers."""

    teacher: str
    viewers: str
    code: str = ""
    ended: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)


def new_code() -> str:
    """A code for a class. 31 letters to the power of 8 are too many to try out over a network."""
    return read_code("".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS)))


def read_code(typed: str) -> str:
    """What was typed, as ``new_code`` writes it: phones make capitals and blanks, and leave the dash out."""
    letters = "".join(c for c in typed.lower() if c in LETTERS)
    half = CODE_LETTERS // 2
    return f"{letters[:half]}-{letters[half:]}" if len(letters) == CODE_LETTERS else typed


def panel(address: Address | None) -> Component:
    """What the teacher shows to the class: the address and the code to type, a link, and a square to photograph."""
    if address is None or not address.code:
        return html.Details([html.Summary("Join"), html.Div(html.P(ALONE), className="join")], className="joining")
    place, _, rest = address.viewers.partition("?")
    link = f"{place}run?{rest}"
    copy: Component = html.Button("Copy the link", className="small", id="join-copy", **{"data-copy": link})  # type: ignore[arg-type]
    words = [
        html.P("Open"),
        html.P(place.removeprefix("http://").rstrip("/"), className="big"),
        html.P("and type the code"),
        html.P(address.code, id="join-code", className="big code"),
        html.P(html.Code(link), className="link"),
        copy,
    ]
    square = html.Img(src=_square(link), alt="the link as a square to photograph", className="square")
    shown = html.Div([square, html.Div(words)], className="join")
    return html.Details([html.Summary("Join"), shown], className="joining", id="joining")


def _square(link: str) -> str:
    """A QR code as a data URI, dark on light in either look, as cameras want it."""
    import segno

    square = segno.make(link, error="m", micro=False)
    return str(square.svg_data_uri(scale=8, border=3, light="#ffffff", dark="#000000"))
