"""The picture of the page on simulating: a drive as a network, drawn by ``Network.svg``."""

from __future__ import annotations

from pathlib import Path

from qsim import Delay, Exponential, Network, Node, Region

FILE = Path(__file__).resolve().parent.parent / "_static" / "network.svg"


def picture() -> str:
    """Draws it and gives the line of Markdown that shows it."""
    drive = Network(
        {
            "host": Delay(20.0),
            "bus": Node(Exponential(2.0)),
            "die": Node(Exponential(80.0), 16, capacity=24, when_full="after service"),
        },
        populations={"host": 64},
        routing={"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.05, "host": 0.95}},
        regions=[Region(["bus", "die"], 32, name="tags")],
    )
    FILE.write_text(drive.svg() + "\n", encoding="utf-8")
    return (
        "![Host, bus and die in a row. Bus and die are in a frame, tags: at most 32. One request in twenty goes "
        f"to the die again.](../_static/{FILE.name})"
    )
