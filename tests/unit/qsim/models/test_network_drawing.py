"""The drawing of a network: an SVG document with every station, way and region."""

from __future__ import annotations

from qsim import Exponential, Network, Node

SVG = "{http://www.w3.org/2000/svg}"


def test_open_networks_show_where_customers_come_in_and_leave() -> None:
    words = Network({"a": Node(Exponential(1.0)), "b": Node(Exponential(1.0))}, arrivals={"a": 0.5}).svg()
    assert words.count(">in<") == words.count(">out<") == 1
