"""A real server on the loopback address under ApacheBench: calibrated at 1 and 32 clients, predicted, measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from calibrate import compare
from measure import load

WORKERS, SERVICE_S = 8, 0.03
CLIENTS = (1, 2, 4, 8, 16, 32, 64)


@pytest.fixture
def port() -> Iterator[str]:
    """Of a server with so many workers that each takes so long."""
    program = Path(__file__).with_name("known_http_server.py")
    with subprocess.Popen(
        [sys.executable, str(program), str(WORKERS), str(SERVICE_S)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def test_a_server_is_predicted_from_1_and_32_clients(
    require_tool: Callable[..., str], port: str, tmp_path: Path
) -> None:
    ab = require_tool("ab")
    for clients in CLIENTS:
        command = [ab, "-q", "-k", "-t", "2", "-n", "100000", "-c", str(clients), f"http://127.0.0.1:{port}/"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (tmp_path / f"c{clients}.txt").write_text(done.stdout)
    compared = compare(load(tmp_path), use=[1, 32])
    measured, predicted = compared.points.throughput_per_s, compared.predicted.throughput_per_s
    assert np.median(np.abs(predicted / measured - 1)[compared.held_out]) < 0.10
    assert compared.fit.knee.load == pytest.approx(WORKERS, rel=0.15)
