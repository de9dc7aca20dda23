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

from calibrate.lab.app import build
from calibrate.lab.explore.curves import QUANTITIES
from calibrate.lab.explore.page import warm_up
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


def request(kind: str) -> dict[str, object]:
    """What a browser sends when a slider was moved."""
    outputs = [
        "explore-problem.children",
        "explore-formulas.children",
        "explore-key.children",
        "explore-followed.data",
        "explore-path.figure",
        *(f"explore-{q}.figure" for q in QUANTITIES),
        *(f"explore-{p}-row.hidden" for p in PARAMETERS),
        "explore-arrival_rate.max",
    ]
    moved = {"service_time": random.uniform(0.1, 1.2), "arrival_rate": random.uniform(0.1, 0.8)}
    values = [("explore-kind", kind), *((f"explore-{n}", moved.get(n, p.start)) for n, p in PARAMETERS.items())]
    return {
        "output": f"..{'...'.join(outputs)}..",
        "outputs": [dict(zip(("id", "property"), o.split("."), strict=True)) for o in outputs],
        "inputs": [{"id": i, "property": "value", "value": v} for i, v in values[:1]]
        + [{"id": "theme", "property": "data", "value": "light"}]
        + [{"id": "explore-again", "property": "n_clicks", "value": 0}]
        + [{"id": "explore-ready", "property": "data", "value": True}]
        + [{"id": i, "property": "value", "value": v} for i, v in values[1:]],
        "changedPropIds": ["explore-service_time.value"],
    }


with tempfile.TemporaryDirectory() as scratch, opened(Path(scratch) / "lab") as folder:
    client = build(RunTable(folder)).server.test_client()
    warm_up()
    for kind in KINDS:
        times = []
        for _ in range(UPDATES):
            began = time.perf_counter()
            answer = client.post("/_dash-update-component", json=request(kind))
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
