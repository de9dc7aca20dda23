"""The drawing of a network: an SVG document with every station, way and region."""

from __future__ import annotations

from xml.etree import ElementTree

from qsim import Delay, Exponential, Network, Node, Region

SVG = "{http://www.w3.org/2000/svg}"


def test_everything_is_in_the_picture() -> None:
    network = Network(
        {"host": Delay(1.0), "bus <1>": Node(Exponential(1.0)), "die": Node(Exponential(2.0), 8, discipline="PS")},
        populations={"host": 16},
        routing={"host": {"bus <1>": 1}, "bus <1>": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
        regions=[Region(["bus <1>", "die"], 4, name="tags")],
    )
    root = ElementTree.fromstring(network.svg())  # noqa: S314  (our own)
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"host", "bus <1>", "die", "16 customers", "tags: at most 4", "0.1", "0.9", "PS", "8", "∞"} <= set(words)
    assert len([path for path in root.iter(f"{SVG}path") if path.get("marker-end")]) == 4
    assert network._repr_html_() == network.svg()


def test_open_networks_show_where_customers_come_in_and_leave() -> None:
    words = Network({"a": Node(Exponential(1.0)), "b": Node(Exponential(1.0))}, arrivals={"a": 0.5}).svg()
    assert words.count(">in<") == words.count(">out<") == 1


def test_copies_are_drawn() -> None:
    cache = {"cache": Node(Exponential(1.0), copies_to="disk"), "disk": Node(Exponential(0.5))}
    assert Network(cache, arrivals={"cache": 0.5}).svg().count(">copy<") == 1
