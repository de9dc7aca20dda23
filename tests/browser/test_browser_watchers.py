"""Fifty viewers of one run: each guesses, each sees the same points in the same order, and none is turned away."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from driving import start_lab, until

VIEWERS = 50
POLL_S = 0.5
DATASET = "dataset-003-ssd-read"
LOADS = [4, 32, 8, 256, 1024]  # those of the calibration first


def test_fifty_viewers_guess_and_see_the_same(served):
    assert served.press("open", DATASET) == ""
    started = threading.Event()

    def viewer(number: int) -> list[dict[str, object]]:
        said = served.guess(f"viewer {number}", 5.0 + number)
        assert said.startswith("You sealed"), said
        seen: list[dict[str, object]] = []
        started.wait()
        while True:
            news = served.news("001", len(seen))
            seen += news["events"]
            if news["phase"] == "revealed" and seen[-1]["kind"] == "revealed":
                return seen
            time.sleep(POLL_S)

    with ThreadPoolExecutor(VIEWERS) as pool:
        views = [pool.submit(viewer, n) for n in range(VIEWERS)]
        until(lambda: sum(e["kind"] == "guess" for e in served.news()["events"]) == VIEWERS, "fifty guesses")
        started.set()
        assert served.press("start") == ""
        served.wait_for("measured")
        assert served.press("reveal") == ""
        seen = [view.result(60) for view in views]
    assert all(events == seen[0] for events in seen)
    assert [event["seq"] for event in seen[0]] == list(range(len(seen[0])))
    assert [event["load"] for event in seen[0] if event["kind"] == "point"] == LOADS
    board = seen[0][-1]["leaderboard"]
    assert isinstance(board, list)
    assert {row["name"] for row in board} >= {f"viewer {n}" for n in range(VIEWERS)}
    ranks = [row["rank"] for row in board]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"output": "nobody.children"}', b'{"inputs": 7}'])
def test_nonsense_gets_an_error_and_the_lab_goes_on(served, body):
    where, kind = f"{served.address}_dash-update-component", {"Content-Type": "application/json"}
    request = urllib.request.Request(where, body, kind)  # noqa: S310 - the lab's
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)  # noqa: S310 - the lab's
    assert refused.value.code >= 400
    assert b"Traceback" not in refused.value.read()
    assert served.news()["phase"] in ("", "revealed")


def test_a_run_outlives_its_lab(served, tmp_path):
    second = start_lab(tmp_path / "lab")
    second.press("open", DATASET)
    second.guess("Ann", 19)
    second.press("start")
    until(lambda: any(e["kind"] == "point" for e in second.news()["events"]), "a point")
    second.process.kill()
    second.process.wait()
    again = start_lab(tmp_path / "lab")
    try:
        news = again.news()
        assert news["phase"] == "stopped"
        assert json.dumps(news).count('"Ann"') == 1
        assert again.press("start") == ""
        until(lambda: [e["load"] for e in again.news()["events"] if e["kind"] == "point"] == LOADS, "every point once")
    finally:
        again.process.terminate()
        assert again.process.wait(30) == 130
