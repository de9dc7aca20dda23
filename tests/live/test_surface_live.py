"""A surface of a device whose truth is known, two classes and a service time that grows with the block, by real fio."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import measure.machine.process
from calibrate.surface import Places, SurfaceComparison, compare_surface, surface_points
from measure.fio.fio_sweep import plan_fio, run_fio

pytestmark = pytest.mark.live

SERVERS = 4
READ_S, WRITE_S, READ_BYTE_S, WRITE_BYTE_S = 6e-3, 12e-3, 9e-3 / 2**17, 15e-3 / 2**17
BLOCKS, SHARES, DEPTHS = (4096, 32768, 131072), (0, 50, 100), (1, 16)


def true_throughput(places: Places) -> np.ndarray:
    """min(N, c) requests are served at once, each for the mean service time of the mix."""
    b, m = places.block_bytes, places.read_fraction
    service = m * (READ_S + READ_BYTE_S * b) + (1 - m) * (WRITE_S + WRITE_BYTE_S * b)
    return np.asarray(np.minimum(places.outstanding, SERVERS) / service)


@pytest.fixture(scope="module")
def uri(fio_and_nbdkit: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    socket = tmp_path_factory.mktemp("two-classes") / "socket"
    device = Path(__file__).with_name("two_class_device.py")
    argv = ["nbdkit", "--foreground", "--exit-with-parent", "--unix", str(socket), "--threads", "32"]
    argv += ["python", str(device), f"servers={SERVERS}", f"read={READ_S}", f"write={WRITE_S}"]
    argv += [f"read_byte={READ_BYTE_S!r}", f"write_byte={WRITE_BYTE_S!r}"]
    with measure.machine.process.running(argv, grace_s=2.0, timer_slack_ns=1):
        for _ in range(500):
            if socket.exists():
                break
            time.sleep(0.02)
        yield f"nbd+unix:///?socket={socket}"


@pytest.fixture(scope="module")
def compared(uri: str, tmp_path_factory: pytest.TempPathFactory) -> SurfaceComparison:
    """18 points of half a second, calibrated on ten; about 15 seconds."""
    settings = {"runtime_s": 0.5, "ramp_s": 0.1, "write_device": uri}
    plan = plan_fio(uri, DEPTHS, block_bytes=BLOCKS, read_percent=SHARES, **settings)
    return compare_surface(surface_points(run_fio(plan, tmp_path_factory.mktemp("surface") / "sweep")))


def test_ten_points_predict_all_the_others(compared: SurfaceComparison) -> None:
    assert int(compared.used.sum()) == 10
    assert compared.summary().held_out_points == 8
    assert compared.summary().held_out_mdape_throughput_pct < 15  # type: ignore[operator]
    assert compared.summary().inside_band_pct > 75  # type: ignore[operator]


def test_the_prediction_is_that_of_the_true_device(compared: SurfaceComparison) -> None:
    places = compared.points.places
    error = np.abs(compared.predicted.throughput_per_s / true_throughput(places) - 1)
    assert np.median(error) < 0.12


def test_the_limits_of_both_classes_hold_the_truth(compared: SurfaceComparison) -> None:
    found = compared.surface.parameters()
    truth = {
        "read: peak rate": SERVERS / READ_S,
        "write: peak rate": SERVERS / WRITE_S,
        "read: bandwidth": SERVERS / READ_BYTE_S,
        "write: bandwidth": SERVERS / WRITE_BYTE_S,
    }
    inside = [found[name].low <= value <= found[name].high for name, value in truth.items()]
    assert sum(inside) >= 3, {n: (found[n].low, v, found[n].high) for n, v in truth.items()}
