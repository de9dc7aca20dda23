"""The whole measuring path, real fio included, against a device whose truth is known."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from outstanding import MOST, in_flight

from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import Queueing, truth_of
from measure.sweep import Sweep
from qsim import Distribution, Exponential, HyperExponential, LogNormal

pytestmark = pytest.mark.live


def socket_of(uri: str) -> Path:
    return Path(parse_qs(urlparse(uri).query)["socket"][0])


def serving(socket: Path) -> bool:
    """Whether a process of this machine has the socket on its command line."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(socket).encode() in line.read_bytes():
                return True
        except OSError:
            continue
    return False


def test_throughput_is_that_of_four_servers(known_device_sweep: Sweep) -> None:
    best = known_device_sweep.points.groupby("load")["throughput_per_s"].max()
    truth = np.minimum(best.index.to_numpy(), 4) / 2e-3
    # A busy machine wakes threads late, which costs time before the knee; past it the servers lose nothing.
    assert (best.to_numpy() / truth).max() < 1.05
    assert (best.to_numpy() / truth).min() > 0.6
    assert best.loc[8:].min() > 0.8 * 2000
    assert best.loc[8:].max() == pytest.approx(2000, rel=0.05)


def test_littles_law_holds_at_every_point(known_device_sweep: Sweep) -> None:
    shares = in_flight(known_device_sweep)
    assert np.quantile(shares, 0.95) < MOST
    assert np.median(shares) == pytest.approx(1, abs=0.1)  # single repeats may have met a stall


@pytest.mark.parametrize(
    ("law", "queueing"),
    [
        (Exponential(4e-3), "central"),
        (HyperExponential.from_moments(4e-3, 4.0), "per-server"),
        (LogNormal(4e-3, 2.0), "central"),
    ],
    ids=["exponential", "hyperexponential", "lognormal"],
)
def test_fio_sees_the_law_that_is_served(
    fio_and_nbdkit: None, tmp_path: Path, law: Distribution, queueing: Queueing
) -> None:
    sweep = DeviceSweep(truth_of(law, 2, queueing), (1, 4), runtime_s=2.0, ramp_s=0.1).run(tmp_path / "s")
    for _, row in sweep.points.iterrows():
        assert row["throughput_per_s"] < 1.35 * min(row["load"], 2) / law.mean
    alone = sweep.points.iloc[0]
    assert 0.6 * law.mean < alone["latency_s"] < 1.6 * law.mean + 1e-3  # a short run and a busy machine
    assert alone["latency_sd_s"] > 0.5 * alone["latency_s"]  # a deterministic service would have none
    assert alone["latency_p50_s"] < 0.95 * alone["latency_s"]  # skewed, as each of these laws is


def test_the_server_ends_with_a_killed_program(fio_and_nbdkit: None, repository: Path) -> None:
    code = (
        "import time\nfrom measure.known_device.server import known_device, truth_of\n"
        "with known_device(truth_of()) as uri:\n    print(uri, flush=True)\n    time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=repository, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        socket = socket_of(program.stdout.readline().strip())
        program.kill()
    for _ in range(200):
        if not serving(socket):
            break
        time.sleep(0.02)
    assert not serving(socket)
    shutil.rmtree(socket.parent)
