"""The callbacks of all pages together."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab.app import build
from calibrate.lab.run.session import RunTable


def test_no_callback_waits_for_one_that_waits_for_it(folder):
    """Dash never runs some of those: a number typed while the server was at work changed nothing."""
    found = build(RunTable(folder)).server.test_client().get("/_dash-dependencies").json
    outputs = [set(each["output"].strip(".").split("...")) for each in found]
    inputs = [{f"{one['id']}.{one['property']}" for one in each["inputs"]} for each in found]
    assert any("explore-arrival_rate.value" in each for each in outputs)
    waits = {i: {j for j, given in enumerate(outputs) if i != j and given & inputs[i]} for i in range(len(found))}
    assert sorted(TopologicalSorter(waits).static_order()) == sorted(waits)  # CycleError names the ring
