"""The lab's own devices, from a sealed guess to the reveal: the disk by fio or the probe, the memory by the probe."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab.folder import LabFolder, opened
from calibrate.lab.run.orders import DEPTHS, Order, choices, order_for
from calibrate.lab.run.session import LabRun
from measure import load

pytestmark = [pytest.mark.live, pytest.mark.slow]

PATIENCE_S = 300.0  # the probe fills hundreds of megabytes, on a machine that others use
LOADS = {"disk": DEPTHS, "memory": (0.0, 100.0, 300.0, 500.0, 20000.0)}


def measured(folder: LabFolder, order: Order) -> LabRun:
    """A run from a sealed guess to its last point."""
    run = LabRun.begin(folder.new_run(), order)
    run.guess("Ann", 12, "one")
    run.start()
    waited_until_s = time.monotonic() + PATIENCE_S
    try:
        while run.phase == "running" and time.monotonic() < waited_until_s:
            time.sleep(0.2)
    finally:
        run.stop()
    assert run.phase == "measured", run.log.of_kind("failed", "stopped")
    return run


def skip_without(folder: LabFolder, device: str) -> None:
    """Skip where the device cannot be measured here."""
    choice = next(c for c in choices(folder) if c["value"] == device)
    if choice["disabled"]:
        pytest.skip(str(choice["label"]))


@pytest.mark.parametrize("device", LOADS)
def test_a_device_of_this_machine_is_measured_from_guess_to_reveal(device, tmp_path):
    with opened(tmp_path / "lab") as folder:
        skip_without(folder, device)
        run = measured(folder, replace(order_for(folder, device), loads=LOADS[device]))
        assert {e["load"] for e in run.log.of_kind("point")} == set(LOADS[device])
        kinds = [e["kind"] for e in run.log.of_kind("point", "sealed")]
        assert 0 < kinds.index("sealed") < len(kinds) - 1  # before the other points
        assert all(e["throughput_per_s"] > 0 and e["latency_s"] > 0 for e in run.log.of_kind("point"))
        run.reveal()
        assert run.revealed is not None
        assert {row["name"] for row in run.revealed["leaderboard"]} == {"Ann", "qsim"}
        assert run.report is not None
        assert not [path for path in (folder.root / "disk").rglob("*") if path.is_file()]  # the test file is gone


def test_the_disk_is_measured_by_the_probe_where_fio_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with opened(tmp_path / "lab") as folder:
        skip_without(folder, "disk")
        run = measured(folder, replace(order_for(folder, "disk"), loads=(1.0, 8.0, 32.0)))
        assert load(run.directory / "sweep").provenance.tool == "qsim drive probe"
        assert not [path for path in (folder.root / "disk").rglob("*") if path.is_file()]


def test_a_known_device_is_measured_where_fio_and_nbdkit_are_missing(tmp_path, monkeypatch):
    """Threads of Python play it, on any system; the truth is revealed with the rest."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with opened(tmp_path / "lab") as folder:
        assert [c["disabled"] for c in choices(folder) if c["value"] == "known"] == [False]
        run = measured(folder, replace(order_for(folder, "known"), loads=(1.0, 8.0, 16.0)))
        run.reveal()
        assert run.revealed is not None
        sweep = load(run.directory / "sweep")
        assert sweep.provenance.details["truth"]["player"] == "threads of Python"
        assert {1.0, 8.0} <= set(sweep.points["load"])


def test_a_known_queue_under_arrivals_is_predicted_from_a_closed_test(tmp_path):
    with opened(tmp_path / "lab") as folder:
        skip_without(folder, "mm1")
        run = measured(folder, replace(order_for(folder, "mm1"), loads=(100.0, 300.0)))
        kinds = [e["kind"] for e in run.log.of_kind("point", "sealed")]
        assert kinds == ["sealed", "point", "point"]
        assert {e["load"] for e in run.log.of_kind("point")} == {100.0, 300.0}
        assert all(e["queue"]["waiting"] > -0.1 for e in run.log.of_kind("point"))
        run.reveal()
        assert run.revealed is not None
        assert run.revealed["judged"]["load"] == pytest.approx(250)
        assert "of a closed test alone" in run.revealed["verdict"]
        assert run.report is not None
