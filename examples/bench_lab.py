"""How quick the lab page is here: its start, an update of Explore, and what one of fifty viewers costs it.

    python examples/bench_lab.py

An update goes the whole way that a browser's goes, through Dash and back as JSON, with settings never seen before.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from calibrate.lab.app import build
from calibrate.lab.explore.explore_page import warm_up
from calibrate.lab.explore.settings import KINDS, PARAMETERS
from calibrate.lab.folder import opened
from calibrate.lab.run.session import RunTable

UPDATES, POLLS = 15, 200
LAB = "import sys; sys.argv[0] = 'qsim'; from calibrate.cli.app import app; app()"


def start_s(folder: Path) -> float:
    """Seconds from the command to the line that says where the lab is, which is when it answers."""
    argv = [sys.executable, "-c", LAB, "lab", "--no-browser", "--port", "0", "--folder", str(folder)]
    began = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        said = process.stdout.readline() if process.stdout else ""
        taken = time.perf_counter() - began
        process.terminate()
    if not said.startswith("the lab: "):
        raise SystemExit(f"qsim lab did not start: {said!r}")
    return taken


def request(callback: dict[str, Any], kind: str) -> dict[str, object]:
    """What a browser sends to ``callback`` when a slider was moved."""
    outputs = callback["output"].strip(".").split("...")
    values = {f"explore-{name}": number.start for name, number in PARAMETERS.items()}
    values |= {"explore-service_time": random.uniform(0.1, 1.2), "explore-arrival_rate": random.uniform(0.1, 0.8)}
    values |= {"explore-kind": kind, "theme": "light", "explore-again": 0, "explore-many": 0, "explore-ready": True}
    return {
        "output": callback["output"],
        "outputs": [dict(zip(("id", "property"), o.rsplit(".", 1), strict=True)) for o in outputs],
        "inputs": [{**given, "value": values[given["id"]]} for given in callback["inputs"]],
        "state": [{**given, "value": None} for given in callback["state"]],
        "changedPropIds": ["explore-service_time.value"],
    }


with tempfile.TemporaryDirectory() as scratch, opened(Path(scratch) / "lab") as folder:
    client = build(RunTable(folder)).server.test_client()
    warm_up()
    callbacks = client.get("/_dash-dependencies").json
    update = next(c for c in callbacks if "explore-formulas.children" in c["output"])
    for kind in KINDS:
        times = []
        for _ in range(UPDATES):
            began = time.perf_counter()
            answer = client.post("/_dash-update-component", json=request(update, kind))
            times.append(1e3 * (time.perf_counter() - began))
            if answer.status_code != 200 or not json.loads(answer.data)["response"]["explore-formulas"]["children"]:
                raise SystemExit(f"the update of {kind} failed: {answer.data!r}")
        print(f"update of {kind:<8} {median(times):7.1f} ms, at most {max(times):.1f} ms")
    began = time.perf_counter()
    for _ in range(POLLS):
        client.get("/lab/events?run=&first=0")
    each_s = (time.perf_counter() - began) / POLLS
    print(f"one viewer's question {1e3 * each_s:5.2f} ms; fifty, twice a second: {100 * 100 * each_s:.0f} % of a core")
    print(f"start                 {start_s(Path(scratch) / 'another'):5.2f} s")
