"""Real fio as client and servers: two servers on this machine stand for two hosts; down, gone, hanging, restarted."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from fio_servers import Server
from outstanding import as_asked

from measure import load
from measure.errors import DataError, ToolFailedError
from measure.fio import hosts_plan as fio_hosts_plan
from measure.fio import hosts_sweep as fio_hosts
from measure.fio.hosts_plan import client_command
from measure.fio.hosts_sweep import HostsPlan, plan_hosts, run_hosts
from measure.fio.settings import RunSettings
from measure.fio.workload import FioJob
from measure.machine.process import run_tool
from measure.store.directory import SweepStore

pytestmark = pytest.mark.live
MIB = 2**20


def small(disk: Path, servers: list[Server], depths: tuple[int, ...] = (1, 4), **more: object) -> HostsPlan:
    settings = {"size_bytes": 16 * MIB, "runtime_s": 0.3, "ramp_s": 0.0, **more}
    reads = settings.pop("read_percent", 100)
    workloads = [FioJob(depth, 1, 4096, reads, "random") for depth in depths]  # type: ignore[arg-type]
    return plan_hosts(str(disk), [s.host for s in servers], workloads, RunSettings(**settings))  # type: ignore[arg-type]


def test_each_host_has_its_curve_and_all_have_one_together(disk: Path, tmp_path: Path, servers: list[Server]) -> None:
    (disk / "thesis").write_text("years of work")
    seen: list[int] = []
    plan = small(disk, servers, (4,), repeats=2, read_percent=70)
    sweep = run_hosts(plan, tmp_path / "s", lambda done, *_: seen.append(done))
    first, second = (f"4 KiB random 70/30 mix from {s.host}" for s in servers)
    together = "4 KiB random 70/30 mix all hosts"
    assert set(sweep.series) == {first, second, together}
    assert sweep.points["read_fraction"].between(0.4, 0.95).all()
    assert as_asked(sweep)
    assert not sweep.findings
    for repeat in (0, 1):
        of_repeat = sweep.points[sweep.points["repeat"] == repeat].set_index(["series", "load"])["throughput_per_s"]
        total = of_repeat[together, 8]
        assert total == pytest.approx(of_repeat[first, 4] + of_repeat[second, 4])
    rows = sweep.select(together).points
    assert (rows["latency_p50_s"] <= rows["latency_p99_s"]).all()
    assert {p.name: p.read_text() for p in disk.iterdir()} == {"thesis": "years of work"}
    assert not (tmp_path / "s" / fio_hosts.LEFT).exists()
    assert load(tmp_path / "s").points.equals(sweep.points)
    raw = {p.key: p.raw.read_bytes() for p in SweepStore.read(tmp_path / "s").points() if p.raw}
    assert all(b'"client_stats"' in content for content in raw.values())
    assert seen[-1] == len(raw) == 2


def test_a_host_that_does_not_answer_is_named_before_anything_is_written(
    disk: Path, tmp_path: Path, servers: list[Server]
) -> None:
    servers[1].stop()
    with pytest.raises(ToolFailedError, match=rf"look: {servers[1].host} gave no result .*start fio --server there"):
        run_hosts(small(disk, servers), tmp_path / "s")
    assert not list(disk.iterdir())


def test_a_host_that_goes_and_comes_back_costs_its_points_only(
    disk: Path, tmp_path: Path, servers: list[Server]
) -> None:
    def leave(done: int, _total: int, _left: float, text: str) -> None:
        if done == 1 and "depth 4" in text:
            servers[1].stop()

    plan = small(disk, servers, (1, 4))
    sweep = run_hosts(plan, tmp_path / "s", leave)
    assert set(sweep.points["load"]) == {1, 2}
    found = {f.check: f.message for f in sweep.findings}
    assert f"{servers[1].host} gave no result" in found["point-failed"]
    assert str(servers[0].host) not in found["point-failed"].partition("(")[0]
    assert f"qsim-{plan.token}-2 on {servers[1].host}" in found["file-left-on-host"]
    assert [p.name for p in disk.iterdir()] == [f"qsim-{plan.token}-2"]
    servers[1].start()
    whole = run_hosts(small(disk, servers, (1, 4)), tmp_path / "s")
    assert set(whole.points["load"]) == {1, 2, 4, 8}
    assert not whole.findings
    assert not list(disk.iterdir())


def test_a_host_that_hangs_is_stopped_and_named(
    disk: Path, tmp_path: Path, servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fio_hosts_plan, "MARGIN_S", 3.0)
    for limit in ("LOOK_LIMIT_S", "REMOVE_LIMIT_S"):
        monkeypatch.setattr(fio_hosts, limit, 3.0)
    monkeypatch.setattr(fio_hosts, "GRACE_S", 0.5)

    def freeze(_done: int, _total: int, _left: float, text: str) -> None:
        if "depth 4" in text:
            servers[1].signal(signal.SIGSTOP)

    says = f"did not end in time and was stopped; no answer from {servers[1].host}$"
    with pytest.raises(ToolFailedError, match=says):
        run_hosts(small(disk, servers, (4,)), tmp_path / "s", freeze)
    assert str(servers[1].host) in (tmp_path / "s" / fio_hosts.LEFT).read_text()
    assert str(servers[0].host) not in (tmp_path / "s" / fio_hosts.LEFT).read_text()
    servers[1].signal(signal.SIGCONT)


def test_what_exists_is_read_and_left_as_it_is(disk: Path, tmp_path: Path, servers: list[Server]) -> None:
    path = disk / "database"
    path.write_bytes(os.urandom(4 * MIB))
    before = path.read_bytes(), path.stat().st_mtime_ns
    plan = plan_hosts(
        str(path),
        [s.host for s in servers],
        [FioJob(2, 1, 4096, 100, "random")],
        RunSettings(runtime_s=0.3, ramp_s=0.0, consent="read"),
    )
    sweep = run_hosts(plan, tmp_path / "s")
    assert as_asked(sweep)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(disk.iterdir()) == [path]


def test_readonly_reaches_the_hosts_where_we_put_it(disk: Path, tmp_path: Path, servers: list[Server]) -> None:
    (disk / "mine").write_bytes(bytes(MIB))
    job = f"[w]\nfilename={disk}/mine\nrw=write\nbs=4k\nsize=1m\nbuffer_pattern=0xff\n"
    for number in (1, 2):
        (tmp_path / f"w-{number}.fio").write_text(job)
    done = run_tool(client_command([s.host for s in servers], "w", readonly=True), 20, tmp_path)
    assert b"read-only mode" in done.stdout
    assert (disk / "mine").read_bytes() == bytes(MIB)


def test_a_directory_that_a_host_has_not_is_not_made(disk: Path, tmp_path: Path, servers: list[Server]) -> None:
    with pytest.raises(ToolFailedError, match=r"could not be filled: .* gave no result; .*failed parsing directory"):
        run_hosts(small(disk / "nowhere", servers), tmp_path / "s")
    assert not list(disk.iterdir())
    assert not (tmp_path / "s" / fio_hosts.LEFT).exists()


def test_an_interruption_keeps_what_is_finished_and_removes_the_files(
    disk: Path, tmp_path: Path, servers: list[Server]
) -> None:
    def stop(done: int, *_: object) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_hosts(small(disk, servers), tmp_path / "s", stop)
    assert len(SweepStore.read(tmp_path / "s").finished()) == 1
    assert not list(disk.iterdir())
    assert load(tmp_path / "s").points["depth"].eq(1).all()


def test_every_point_that_fails_leaves_no_number(disk: Path, tmp_path: Path, servers: list[Server]) -> None:
    (disk / "small").write_bytes(b"tiny")
    plan = plan_hosts(
        str(disk / "small"),
        [s.host for s in servers],
        [FioJob(1, 1, 4096, 100, "random")],
        RunSettings(runtime_s=0.2, ramp_s=0.0, consent="read"),
    )
    with pytest.raises(ToolFailedError, match="no point of the sweep could be measured; the last: 4096-randread"):
        run_hosts(plan, tmp_path / "s")
    with pytest.raises(DataError, match="no finished point yet"):
        load(tmp_path / "s")
