"""``qsim demo``: the main job on this machine."""

from __future__ import annotations

from calibrate.cli.options import AsJson

HELP = "to come"


def demo(as_json: AsJson = False) -> None:
    """To come."""
