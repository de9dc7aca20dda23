"""A server of 4 workers and one of 8, of 10 ms each, loaded with wrk: the second is predicted from the first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from calibrate import WhatIf, fit, what_if
from measure import load

pytestmark = [pytest.mark.live, pytest.mark.slow]

CLIENTS = (1, 2, 4, 8, 16, 32)
ROUNDS = 5


@contextmanager
def server(workers: int, at_once: list[str]) -> Iterator[str]:
    command = [*at_once, sys.executable, str(Path(__file__).with_name("known_http_server.py")), str(workers), "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/"
        finally:
            process.terminate()


def test_eight_workers_are_predicted_from_four(require_tool, at_once: list[str], tmp_path: Path) -> None:
    require_tool("wrk")
    rates: dict[tuple[int, int], list[float]] = {}
    with server(4, at_once) as four, server(8, at_once) as eight:
        for turn in range(ROUNDS):
            for clients in CLIENTS:
                for workers, url in ((4, four), (8, eight)):  # in turns: the machine may change meanwhile
                    command = [*at_once, "wrk", "-t1", f"-c{clients}", "-d1s", "--latency", url]
                    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                    into = tmp_path / str(workers)
                    into.mkdir(exist_ok=True)
                    (into / f"{clients}-{turn}.txt").write_text(f"$ {' '.join(command)}\n{text}")
                    said = next(line for line in text.splitlines() if line.startswith("Requests/sec"))
                    rates.setdefault((workers, clients), []).append(float(said.split()[1]))
    scenario = what_if(fit(load(tmp_path / "4")), WhatIf(workers=(4, 8)))
    clients = (4, 8, 16, 32)
    measured = [np.median(rates[8, n]) for n in clients]
    assert scenario.fit.predict(clients).throughput_per_s == pytest.approx(measured, rel=0.06), rates
