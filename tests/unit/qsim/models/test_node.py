"""What a station of a network refuses, in one line that names the parameter and the remedy."""

from __future__ import annotations

import math
from typing import Any

import pytest

from qsim import Exponential, Node

ONE = Exponential(1.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"setup": 2.0}, "setup must be a Distribution"),
        ({"setup": ONE, "off_after": -1}, "off_after must be zero or positive"),
        ({"setup": ONE, "servers": math.inf}, "servers must be finite, not inf, where setup is given"),
        (
            {"setup": ONE, "discipline": "PS"},
            "discipline must be one of FCFS, LCFS, SJF, SIRO, priority, polling: setup",
        ),
        ({"turnaround": ONE, "speeds": (1, 2)}, "speeds must be None: turnaround needs"),
        ({"turnaround": {"w": "fast"}}, "turnaround of w must be a Distribution"),
        ({"paces": (1, 2), "servers": 3}, "paces must hold one number for each server, 3 in all, not 2"),
        ({"paces": (1, 0), "servers": 2}, "paces must be positive and finite, not 0"),
        ({"off_after": 1.0}, "off_after must be 0 without setup"),
        ({"copies_to": 3}, "copies_to must be the name of a station, not 3"),
        ({"priority": 1}, "priority must be a mapping, not 1"),
    ],
)
def test_servers_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", "\\(")) as refusal:
        Node(ONE, **given)
    assert "\n" not in str(refusal.value)
