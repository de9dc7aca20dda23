"""The plan of a fio sweep: what is asked of fio, and what is refused before anything runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure.errors import UnsafeTargetError
from measure.fio import plan as fio_settings
from measure.fio.fio_command import FioJob
from measure.fio.fio_sweep import plan_fio, plan_workloads
from measure.fio.plan import FioSettings
from qsim.errors import InvalidParameterError

MIB = 2**20


@pytest.fixture(autouse=True)
def fio_here(require_tool: Callable[..., str]) -> None:
    require_tool("fio")


def plan(tmp_path: Path, depths: tuple[int, ...] = (1, 4), **more: Any) -> Any:
    return plan_fio(tmp_path / "file", depths, **{"size_bytes": 16 * MIB, **more})


def option(argv: tuple[str, ...], name: str) -> str | None:
    return next((a.partition("=")[2] for a in argv if a.startswith(f"--{name}=")), None)


def test_every_point_has_its_exact_command(tmp_path: Path) -> None:
    made = plan(tmp_path, (4, 1), repeats=2, runtime_s=1.5, ramp_s=0.25)
    assert [p.key for p in made.points] == [
        "4096-randread-d1-j1.r0",
        "4096-randread-d4-j1.r0",
        "4096-randread-d1-j1.r1",
        "4096-randread-d4-j1.r1",
    ]
    argv = made.points[1].argv
    expected = {
        "iodepth": "4",
        "rw": "randread",
        "bs": "4096",
        "direct": "1",
        "runtime": "1500ms",
        "ramp_time": "250ms",
        "filename": str(tmp_path / "file"),
        "size": str(16 * MIB),
        "output-format": "json+",
    }
    assert {k: option(argv, k) for k in expected} == expected
    assert shlex.split(made.points[1].command) == list(argv)
    assert not list(tmp_path.iterdir())


def test_each_point_draws_other_addresses_and_the_same_ones_again(tmp_path: Path) -> None:
    seeds = [option(p.argv, "randseed") for p in plan(tmp_path, (1, 2, 4), repeats=2).points]
    assert len(set(seeds)) == 6
    assert seeds == [option(p.argv, "randseed") for p in plan(tmp_path, (1, 2, 4), repeats=2).points]


@pytest.mark.parametrize(
    ("percent", "pattern", "rw"),
    [(100, "random", "randread"), (0, "sequential", "write"), (70, "random", "randrw"), (30, "sequential", "rw")],
)
def test_direction_and_pattern(tmp_path: Path, percent: int, pattern: Any, rw: str) -> None:
    argv = plan(tmp_path, read_percent=percent, pattern=pattern).points[0].argv
    assert ("--readonly" in argv) == (percent == 100)
    assert option(argv, "rw") == rw
    assert option(argv, "rwmixread") == (str(percent) if rw.endswith("rw") else None)


def test_the_time_counts_the_filling_and_every_point(tmp_path: Path) -> None:
    short, long = plan(tmp_path, runtime_s=1, ramp_s=0), plan(tmp_path, runtime_s=11, ramp_s=0)
    assert long.seconds() - short.seconds() == pytest.approx(20)
    assert short.fill_seconds() > 0
    assert "2 points, " in short.describe()
    assert "removed at the end" in short.describe()
    assert "kept" in plan(tmp_path, keep=True).describe()


def test_a_network_block_device_needs_no_file(tmp_path: Path) -> None:
    made = plan_fio("nbd+unix:///?socket=s", (1,), label="device")
    assert (made.file, made.passes, made.engine, made.label) == (None, (), "nbd", "device")
    assert option(made.points[0].argv, "uri") == "nbd+unix:///?socket=s"


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("depths", (), "depths is empty"),
        ("runtime_s", 0, "runtime_s is 0"),
        ("runtime_s", float("nan"), "runtime_s is nan"),
        ("ramp_s", -1, "ramp_s is -1"),
        ("repeats", 0, "repeats is 0"),
        ("seed", -1, "seed is -1"),
        ("size_bytes", -1, "size_bytes is -1"),
        ("size_bytes", 8192, "holds fewer than 4 blocks of 4 KiB"),
        ("block_bytes", (), "block_bytes is empty"),
        ("arrival_rates", (), "arrival_rates is empty"),
    ],
)
def test_a_bad_setting_is_named_before_anything_runs(tmp_path: Path, setting: str, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        plan(tmp_path, **{setting: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a:b", "a$b", "a\\b", "a ", 'a"b', "a\nb"])
def test_a_name_that_fio_would_read_as_another_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafeTargetError, match="which fio"):
        plan_fio(tmp_path / name, (1,), size_bytes=MIB)


def test_without_io_uring_libaio_is_taken_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fio_settings, "io_uring_allowed", lambda: (False, "the kernel refuses it (Operation not permitted)")
    )
    engine, reason = fio_settings.choose_engine("auto", [FioJob(1, 1, 4096, 100, "random")])
    assert engine in ("libaio", "posixaio")
    assert "Operation not permitted" in reason


def test_every_combination_is_measured_curve_by_curve(tmp_path: Path) -> None:
    made = plan(tmp_path, (1, 8), block_bytes=(4096, 65536), read_percent=(100, 50), pattern=("random", "sequential"))
    assert len(made.points) == len({p.key for p in made.points}) == 16
    curves = [(p.job.pattern, p.job.read_percent, p.job.block_bytes) for p in made.points]
    assert curves[:4] == [("random", 100, 4096)] * 2 + [("random", 100, 65536)] * 2
    assert [p.job.depth for p in made.points] == [1, 8] * 8


def test_only_what_is_fixed_for_a_directory_are_settings(tmp_path: Path) -> None:
    wide = plan(tmp_path, (1, 8), block_bytes=(4096, 65536), read_percent=(100, 50), jobs=2)
    assert plan(tmp_path, (4,)).fixed() == wide.fixed()
    assert plan(tmp_path, arrival_rates=(100,)).fixed() != wide.fixed()


def test_an_open_sweep_takes_psync_and_a_ramp(tmp_path: Path) -> None:
    made = plan(tmp_path, arrival_rates=(1000.0, 20_000.0))
    assert (made.engine, [p.job.jobs for p in made.points]) == ("psync", [32, 50])
    for settings, sentence in (
        ({"ramp_s": 0.0}, "ramp_s is 0; every job of an open loop begins with a request"),
        ({"runtime_s": 1.2, "ramp_s": 1.0}, "20.0 k/s shared|1.00 k/s shared among 32 jobs take a runtime of 1.4 s"),
    ):
        with pytest.raises(ValueError, match=sentence):
            plan(tmp_path, arrival_rates=(1000.0, 20_000.0), **settings)


def test_psync_gets_its_depth_by_jobs_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_settings, "USUAL", ("psync",))
    made = plan(tmp_path, (8,))
    assert option(made.points[0].argv, "numjobs") == "8"
    assert "a depth of N is N jobs" in made.engine_reason
    assert "a depth of N is N jobs" not in plan(tmp_path, (1,)).engine_reason


def test_what_is_kept_takes_no_time(tmp_path: Path) -> None:
    made = plan(tmp_path, (1, 2, 4))
    keys = [p.key for p in made.points]
    assert made.seconds(keys[:2]) == pytest.approx(made.seconds() - 2 * made.point_seconds)
    assert made.seconds(keys) == 0.0


@pytest.mark.parametrize(
    ("job", "part"),
    [
        (FioJob.open(500.0), "keeps depths of requests outstanding"),
        (FioJob(64, 32, 4096, 100, "random"), "2048 requests"),
    ],
)
def test_the_probe_refuses_what_only_fio_measures(tmp_path: Path, job: FioJob, part: str) -> None:
    with pytest.raises(InvalidParameterError, match=part):
        plan_workloads(tmp_path, [job], FioSettings(engine="probe", size_bytes=2**24))
