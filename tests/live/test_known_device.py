"""The whole measuring path, real fio included, against a device whose truth is known."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest

from measure.dataset import Sweep
from measure.errors import ToolMissingError
from measure.fio import plan_fio, run_fio
from measure.known_device import KnownDevice, known_device

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
    # Whatever else runs on the machine only takes throughput away, so the better repeat is the truer one.
    best = known_device_sweep.points.groupby("load")["throughput_per_s"].max()
    expected = np.minimum(best.index.to_numpy(), 4) / 2e-3
    assert best.to_numpy() == pytest.approx(expected, rel=0.10)


def test_littles_law_holds_at_every_point(known_device_sweep: Sweep) -> None:
    points = known_device_sweep.points
    assert (points["throughput_per_s"] * points["latency_s"] / points["load"]).between(0.97, 1.01).all()


def test_the_truth_is_in_the_provenance(known_device_sweep: Sweep, four_servers: KnownDevice) -> None:
    provenance = known_device_sweep.provenance
    assert provenance.details["truth"] == four_servers.truth == {
        "servers": 4, "mean_service_time_s": 0.002, "service_law": "deterministic",
        "peak_throughput_per_s": 2000.0, "knee": 4,
    }  # fmt: skip
    assert provenance.device == "nbdkit, 4 servers, deterministic, mean 2 ms"
    assert len(provenance.commands) == len(known_device_sweep)
    assert not known_device_sweep.findings


def test_any_law_is_served_by_a_sample_of_it(fio_and_nbdkit: None, tmp_path: Path) -> None:
    times = np.random.default_rng(5).exponential(4e-3, 400)
    with known_device(1, times, "exponential") as device:
        assert device.mean_service_time_s == pytest.approx(times.mean())
        row = run_fio(plan_fio(device.uri, (1,), runtime_s=2.0, ramp_s=0), tmp_path / "s").points.iloc[0]
    # Other work on the machine can only add to a service time, so the bounds above are wide.
    assert 0.85 * times.mean() < row["latency_s"] < 2 * times.mean()
    assert row["latency_sd_s"] > 0.6 * times.std()  # deterministic service would have almost none
    assert row["latency_p50_s"] < 0.9 * row["latency_s"]  # and no skew


def test_the_server_and_its_folder_are_gone_afterwards(fio_and_nbdkit: None) -> None:
    places: list[Path] = []

    def fail_inside() -> None:
        with known_device() as device:
            places.append(socket_of(device.uri))
            assert serving(places[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_inside()
    assert not serving(places[0])
    assert not places[0].parent.exists()


def test_the_server_ends_with_a_killed_program(fio_and_nbdkit: None, repository: Path) -> None:
    code = (
        "import time\nfrom measure.known_device import known_device\n"
        "with known_device() as d:\n    print(d.uri, flush=True)\n    time.sleep(600)"
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
    socket.unlink(missing_ok=True)
    socket.parent.rmdir()


@pytest.mark.parametrize(
    ("servers", "time_s", "sentence"),
    [
        (0, 2e-3, "servers is 0"),
        (300, 2e-3, "servers is 300"),
        (1, 0.0, "above 0"),
        (1, [], "above 0"),
        (1, 99.0, "below 60"),
    ],
)
def test_an_impossible_device_is_refused(servers: int, time_s: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence), known_device(servers, time_s):
        pass


def test_a_missing_nbdkit_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissingError, match=r"nbdkit is not installed .*apt-get install nbdkit"), known_device():
        pass
