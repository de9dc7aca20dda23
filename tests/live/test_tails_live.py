"""Tails of a device whose truth is known, with real fio: from depths 1 and 16 to the depths between."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrate import compare
from calibrate.tails.percentiles import fitted_tails
from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import truth_of
from qsim import LogNormal

pytestmark = pytest.mark.live


def test_a_queue_each_is_told_from_one_queue(tmp_path: Path, fio_and_nbdkit: None) -> None:
    truth = truth_of(LogNormal(4e-3, 2.0), 4, "per-server")
    sweep = DeviceSweep(truth, (1, 16), runtime_s=2.0, ramp_s=0.1).run(tmp_path / "each")
    tails = fitted_tails(compare(sweep, [1, 16]).fit, sweep, sweep.series[0])
    assert tails is not None
    assert sum(weight for structure, weight in tails.structures if structure.queues == "random") > 0.5
