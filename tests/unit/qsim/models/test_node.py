"""What a station of a network refuses, in one line that names the parameter and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from qsim import Exponential, Node

ONE = Exponential(1.0)


@pytest.mark.parametrize(("given", "said"), [({"priority": 1}, "priority must be a mapping, not 1")])
def test_servers_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", "\\(")) as refusal:
        Node(ONE, **given)
    assert "\n" not in str(refusal.value)
