"""Nothing that the instructor does waits without a bar: each callback of the server changes something that has one.

Those that set nothing but a store change nothing that anybody sees.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from dash import dcc, html

from calibrate.lab import compare_page, system_page, watch_page
from calibrate.lab.app import build
from calibrate.lab.explore import explore_page
from calibrate.lab.run import run_page
from calibrate.lab.run.run_page import STEPS
from calibrate.lab.run.session import RunTable

ACTIONS = {
    "open a part of the lab": "address.pathname",
    **{f"{button}, of a run": f"run-{button}.n_clicks" for button in STEPS},
    "seal a guess": "run-guess.n_clicks",
    "choose datasets to compare": "compare-sources.value",
    "choose a drive": "system-drive.value",
    "set its users": "system-users.value",
    "choose a model": "explore-kind.value",
    "move a slider": "explore-servers.value",
    "another run of a queue": "explore-again.n_clicks",
    "watch a device": "watch-device.value",
}
"""By the input that begins it. Downloads and pages without scripts are links: the browser shows its own bar."""


@pytest.fixture
def table(folder, monkeypatch) -> RunTable:
    monkeypatch.setattr(run_page, "teaches", lambda: True)
    monkeypatch.setattr("calibrate.lab.app.teaches", lambda: False)
    return RunTable(folder)


def with_a_bar(component: Any, *, waited: bool = False) -> set[str]:
    """The identities in ``component`` that lie under a bar which comes within a second."""
    if isinstance(component, list | tuple):
        return set().union(*(with_a_bar(c, waited=waited) for c in component))
    if isinstance(component, dcc.Loading):
        waited = isinstance(component.custom_spinner, html.Progress) and component.delay_show < 1000
    own = {component.id} if waited and hasattr(component, "id") else set()
    children = getattr(component, "children", None)
    return own if children is None else own | with_a_bar(children, waited=waited)


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_changes_what_has_a_bar(action, table):
    app = build(table)
    barred = with_a_bar(
        [
            app.layout(),
            explore_page.layout(),
            run_page.layout(table),
            compare_page.layout(table.folder),
            system_page.layout(table.folder),
            watch_page.layout(watch_page.WatchedDevices()),
        ]
    )
    begun = [
        callback
        for callback in app._callback_list
        if not callback["clientside_function"]
        and ACTIONS[action] in {f"{i['id']}.{i['property']}" for i in callback["inputs"]}
    ]
    assert begun
    for callback in begun:
        changed = {output.partition(".")[0] for output in callback["output"].strip(".").split("...")}
        assert changed & barred or all(name.endswith("-range") for name in changed), f"{action}: no bar at {changed}"
