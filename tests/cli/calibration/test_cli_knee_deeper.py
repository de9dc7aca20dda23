"""``qsim knee`` goes on to deeper points while the throughput rises: which ones, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from made_up import points_at

from calibrate.cli.calibration import knee
from measure.fio.plan import FioPlan, FioPoint
from measure.sweep import Sweep


@pytest.mark.parametrize(("left_s", "asked_for"), [(600.0, [16, 32, 64]), (0.0, [])])
def test_each_deeper_point_doubles_the_depth_and_is_measured_once(
    require_tool: Callable[..., str],
    disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    left_s: float,
    asked_for: list[int],
) -> None:
    require_tool("fio")
    monkeypatch.setattr(knee, "DEPTHS", (1, 8))
    monkeypatch.setattr(knee, "DEEPEST", 64)
    plan = knee.plan_knee(str(disk), 2.0, knee.DriveOptions(2**24, knee.Consent()))
    followed: list[FioPoint] = []

    def curve(points: Sequence[FioPoint]) -> Sweep:
        depths = [float(p.job.depth) for p in points]
        table = points_at(depths, [1e3 * n for n in depths], depth=depths, source=[f"{p.key}.json" for p in points])
        return Sweep(table, name="d")

    def run_fio(
        plan: FioPlan, _directory: Path, _progress: object, deeper: Callable[[Sweep], Sequence[FioPoint]], **_: object
    ) -> Sweep:
        while more := deeper(curve([*plan.points, *followed])):
            followed.extend(more)
        return curve([*plan.points, *followed])

    monkeypatch.setattr("measure.fio.fio_sweep.run_fio", run_fio)
    knee.measure_knee(plan, tmp_path / "sweep", time.monotonic() + left_s)
    assert [p.job.depth for p in followed] == asked_for
    assert [p.repeat for p in followed] == [0] * len(asked_for)
    assert {p.key.rpartition(".")[2] for p in (*plan.points, *followed)} == {"r0"}
