"""Planning and running MLC, with a program in its place: the commands, the reading, and every fault."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fake_mlc import MLC_DELAYS, latency_and_bandwidth

from measure import mlc
from measure.errors import DataError
from measure.loading import load
from measure.machine.host import host_facts
from measure.mlc import plan_mlc, run_mlc

pytestmark = pytest.mark.usefixtures("fake_mlc")
MIB = 2**20


def test_a_run_for_each_mix_and_buffer_and_what_is_not_asked_is_left_to_mlc() -> None:
    plan = plan_mlc(delays=(0, 500), mixes=("R", "w3"), buffers=(200 * MIB,))
    assert plan.commands == (
        "mlc --loaded_latency -b204800 -t2 -R -gdelays.txt",
        "mlc --loaded_latency -b204800 -t2 -W3 -gdelays.txt",
    )
    own = plan_mlc()
    assert own.commands == ("mlc --loaded_latency -t2 -R",)
    assert own.seconds() == plan.seconds() / 2 + 2 * (19 - 2)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mixes": ("W99",)}, "mixes holds 'W99'"),
        ({"delays": (1.5,)}, "delays holds 1.5"),
        ({"delays": ()}, "delays is empty"),
        ({"buffers": (1000,)}, "buffers holds 1000; MLC takes whole KiB"),
        ({"buffers": (2**50,)}, "take smaller buffers"),
        ({"repeats": 0}, "repeats is 0"),
    ],
)
def test_a_setting_that_mlc_could_not_use_is_named(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plan_mlc(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mixes", "fit"), [(("R",), 6 * MIB), (("W3",), 3 * MIB), (("R", "W3"), 3 * MIB)])
def test_buffers_for_reads_and_for_writes_of_all_threads_must_fit_the_memory(
    monkeypatch: pytest.MonkeyPatch, mixes: tuple[str, ...], fit: int
) -> None:
    monkeypatch.setattr(mlc, "host_facts", lambda: replace(host_facts(), memory_available_bytes=12 * MIB))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    plan_mlc(mixes=mixes, buffers=(MIB, fit))
    with pytest.raises(ValueError, match="take smaller buffers"):
        plan_mlc(mixes=mixes, buffers=(MIB, fit + 1024))


@pytest.mark.parametrize("version", ["3.5", "3.11b"])
def test_the_curves_are_what_mlc_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("FAKE_MLC_VERSION", version)
    plan = plan_mlc(delays=(0, 100, 2000), mixes=("R", "W3", "W11"), buffers=(128 * MIB,))
    sweep = run_mlc(plan, tmp_path / "s")
    assert sweep.series == ("read buffer 128 MiB", "75/25 mix buffer 128 MiB", "75/25 mix -W11 buffer 128 MiB")
    points = sweep.select("75/25 mix buffer 128 MiB").points
    assert points["load"].tolist() == [0, 100, 2000]
    for delay, (ns, mb) in ((d, latency_and_bandwidth(d, "W3")) for d in (0, 100, 2000)):
        row = points[points["load"] == delay].iloc[0]
        assert row["latency_s"] == pytest.approx(ns / 1e9, abs=0.006e-9)
        assert row["bandwidth_bytes_per_s"] == pytest.approx(mb * 1e6, abs=0.06e6)
        assert row["read_fraction"] == 0.75
    assert sweep.provenance.tool_version == version
    assert sweep.provenance.details["buffer_bytes"]["75/25 mix buffer 128 MiB"] == 128 * MIB
    assert not sweep.findings


def test_a_sweep_without_delays_takes_those_of_mlc(tmp_path: Path) -> None:
    sweep = run_mlc(plan_mlc(), tmp_path / "s")
    assert sweep.points["load"].tolist() == list(MLC_DELAYS)
    assert sweep.provenance.details["buffer_bytes"] == {"read": 100 * MIB}


def test_repeats_are_repeats_of_one_curve(tmp_path: Path) -> None:
    run_mlc(plan_mlc(delays=(0, 9000), repeats=3), tmp_path / "s")
    sweep = load(tmp_path / "s")
    assert sweep.series == ("read",)
    assert sorted(sweep.points["repeat"]) == [0, 0, 1, 1, 2, 2]
    assert sweep.mean_points()["repeats"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("half a table", r"W5\.r0: MLC printed 2 rows for the 4 delays"),
        ("half a row", r"MLC printed 2 rows for the 4 delays"),
        ("refuses", r"without a loaded-latency table.*MLC said: Hugepages need to be set up for this CPU: Exiting"),
        ("says nothing", "is MLC's output, but|without a loaded-latency table"),
        ("fails on stderr", "MLC said: mlc: cannot open shared object file"),
        ("signal 4", r"ended by signal 4 \(this build of MLC uses an instruction that the CPU lacks"),
        ("signal 9", r"ended by signal 9 \(killed from outside.*prefetchers"),
        ("signal 11", r"ended by signal 11 \(it crashed"),
        ("signal 6", r"ended by signal 6$"),
    ],
)
def test_a_run_that_fails_is_recorded_with_its_reason_and_the_others_go_on(
    tmp_path: Path, fake_mlc, behaviour: str, says: str
) -> None:
    plan = plan_mlc(delays=(0, 50, 500, 9000), mixes=("R", "W5", "W6"))
    fake_mlc.behave(**{"-W5": behaviour})
    sweep = run_mlc(plan, tmp_path / "s")
    assert sweep.series == ("read", "write non-temporal")
    (finding,) = sweep.findings
    assert finding.check == "point-failed"
    assert re.search(says, finding.message), finding.message
    fake_mlc.behave()
    whole = run_mlc(plan, tmp_path / "s")
    assert set(whole.series) == {"read", "50/50 mix", "write non-temporal"}
    assert not whole.findings


def test_a_run_that_hangs_is_stopped_and_may_put_the_prefetchers_back(tmp_path: Path, fake_mlc) -> None:
    plan = plan_mlc(mixes=("R", "W5"))
    hanging = tuple(replace(run, seconds=0.0) for run in plan.runs)
    fake_mlc.behave(**{"-R": "hangs"})
    fake_mlc.monkeypatch.setattr("measure.mlc.MARGIN_S", 1.5)
    sweep = run_mlc(replace(plan, runs=hanging), tmp_path / "s")
    assert sweep.series == ("50/50 mix",)
    assert "did not end within 1.5 s and was stopped" in sweep.findings[0].message
    assert "prefetchers on again" in fake_mlc.commands()


def test_a_machine_whose_prefetchers_stay_on_is_told(tmp_path: Path, fake_mlc) -> None:
    fake_mlc.behave(**{"-R": "not root"})
    sweep = run_mlc(plan_mlc(mixes=("R", "W5")), tmp_path / "s")
    (finding,) = sweep.findings
    assert finding.check == "mlc-prefetchers"
    assert "in 1 of 2 runs" in finding.message


def test_no_file_of_delays_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_mlc(plan_mlc(delays=(0, 100)), tmp_path / "s")
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


def test_a_record_that_does_not_tell_its_request_is_named(tmp_path: Path) -> None:
    run_mlc(plan_mlc(delays=(0, 100)), tmp_path / "s")
    record = tmp_path / "s" / "points" / "R.r0.json"
    record.write_text(record.read_text().replace('"buffer_bytes"', '"buffer"'))
    with pytest.raises(DataError, match="does not tell what was asked"):
        load(tmp_path / "s")


def test_not_root_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "cannot switch the hardware prefetchers off" in plan_mlc().describe()
