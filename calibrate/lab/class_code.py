"""How a class joins: a code that one can read out, and the address as a square of dots."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from dash import html
from dash.development.base_component import Component

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""What a code is made of: nothing that is taken for something else when it is read from a wall."""
CODE_LETTERS = 8
ADDRESS = "QSIM_LAB_ADDRESS"
"""The setting of the server under which the page finds its ``Address``: it is known only once the lab listens."""
ALONE = "Only this machine can open this lab. For laptops and phones start it with: qsim lab --host 0.0.0.0"


@dataclass(frozen=True)
class Address:
    """Where the lab answers: the address of the teacher, that of the class (the same on this machine alone), and the
    code that the page asks those for who come without it (empty on this machine alone)."""

    teacher: str
    viewers: str
    code: str = ""


def new_code() -> str:
    """A code for a class. 31 letters to the power of 8 are too many to try out over a network."""
    drawn = [secrets.choice(LETTERS) for _ in range(CODE_LETTERS)]
    half = CODE_LETTERS // 2
    return f"{''.join(drawn[:half])}-{''.join(drawn[half:])}"


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
