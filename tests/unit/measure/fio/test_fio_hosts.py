"""Many hosts: their names, the job files they are sent, what must not be sent, and the sum over all of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from measure.errors import DataError, StoreError, UnsafeTargetError
from measure.fio import hosts_plan as fio_hosts_plan
from measure.fio.hosts_plan import HostsPlan, client_command, parse_hosts, read_hosts
from measure.fio.hosts_sweep import plan_hosts, read_hosts_store
from measure.fio.settings import RunSettings
from measure.fio.workload import FioJob
from measure.loading import load
from measure.store.directory import SweepStore

READS = FioJob(8, 1, 4096, 100, "random")
WRITES = FioJob(8, 1, 4096, 0, "sequential")


@pytest.fixture(autouse=True)
def no_fio_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_hosts_plan, "find_tool", lambda name: name)
    monkeypatch.setattr(fio_hosts_plan, "tool_version", lambda _: "fio-3.33")


def two(target: str = "/data", *workloads: FioJob, **more: Any) -> HostsPlan:
    return plan_hosts(target, parse_hosts(["a", "b:8766"]), workloads or (READS,), RunSettings(**more))


def test_hosts_are_named_as_typed_and_as_fio_takes_them() -> None:
    hosts = parse_hosts([" a.example ", "10.0.0.2:8766"])
    assert [str(h) for h in hosts] == ["a.example", "10.0.0.2:8766"]
    assert [h.client for h in hosts] == ["--client=a.example,8765", "--client=10.0.0.2,8766"]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([], "hosts holds 0"),
        ([""], "hosts holds ''"),
        (["--readonly"], "hosts holds '--readonly'"),
        (["-a"], "hosts holds '-a'"),
        (["a,b"], "hosts holds 'a,b'"),
        (["sock:/tmp/x"], "write NAME or NAME:PORT"),
        (["ip6:::1"], "IPv6"),
        (["a:0"], "hosts holds 'a:0'"),
        (["a:70000"], "hosts holds 'a:70000'"),
        (["a:"], "hosts holds 'a:'"),
        (["a b"], "hosts holds 'a b'"),
        (["a", "a:8765"], "hosts names a twice"),
    ],
)
def test_what_is_no_host_is_refused(texts: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_hosts(texts)


def test_hosts_are_read_from_a_file_with_remarks(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# storage\na\n\nb:8766   # the slow one\n")
    assert [str(h) for h in read_hosts(path)] == ["a", "b:8766"]
    for content in (b"", b"a b\n", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=str(path)):
            read_hosts(path)
    with pytest.raises(DataError, match="No such file"):
        read_hosts(tmp_path / "none")


def test_every_host_gets_a_file_of_its_own_that_nobody_can_have() -> None:
    plan, other = two(), two()
    a, b = plan.hosts
    assert plan.file_on(a) == f"/data/qsim-{plan.token}-1"
    assert plan.file_on(b) == f"/data/qsim-{plan.token}-2"
    assert plan.token != other.token
    assert len(plan.token) == 16
    job = plan.point_jobs(plan.points[0])[b].splitlines()
    assert job[0] == "[4096-randread-d8-j1.r0]"
    assert {
        "directory=/data",
        f"filename=qsim-{plan.token}-2",
        "unique_filename=0",
        "allow_file_create=0",
        "direct=1",
        "rw=randread",
        "iodepth=8",
        "group_reporting=1",
    } <= set(job)
    assert not any("--" in line or line.startswith(("output", "eta")) for line in job)


def test_the_file_is_filled_whole_and_removed_by_a_job_that_creates_nothing() -> None:
    plan = two(size_bytes=8 * 2**20)
    host = plan.hosts[0]
    fill = plan.fill_jobs()[host].splitlines()
    assert {"rw=write", f"size={8 * 2**20}", "refill_buffers=1", "end_fsync=1", "directory=/data"} <= set(fill)
    assert not any(line.startswith("unlink") for line in fill)
    assert {"unlink=1", "allow_file_create=0", "rw=read"} <= set(plan.remove_job(host).splitlines())


def test_readonly_stands_behind_every_client_and_only_there() -> None:
    command = client_command(parse_hosts(["a", "b"]), "p", readonly=True)
    assert command[3:] == ("--client=a,8765", "--readonly", "p-1.fio", "--client=b,8765", "--readonly", "p-2.fio")
    plan = two("/data", READS, WRITES)
    assert [("--readonly" in command) for command in plan.commands] == [False, True, False]  # the fill, then the points


def test_what_exists_is_read_without_a_fill_a_directory_or_a_size() -> None:
    plan = two("/dev/nvme1n1", consent="read")
    (point,) = plan.points
    job = plan.point_jobs(point)[plan.hosts[1]].splitlines()
    assert "filename=/dev/nvme1n1" in job
    assert "allow_file_create=0" in job
    assert not any(line.startswith(("directory", "size")) for line in job)
    assert len(plan.commands) == 1
    assert plan.fill_seconds() == 0


@pytest.mark.parametrize(
    "target",
    [
        "data",
        "",
        "/data;rm",
        "/data#1",
        "/data:x",
        "/data $HOME",
        "/data\nrw=write",
        "/data/`id`",
        "/data[x]",
        "/dät",
        "/data\\x",
        "/data'",
        "/data/%",
    ],
)
def test_a_path_that_fio_could_read_otherwise_is_never_sent(target: str) -> None:
    with pytest.raises(UnsafeTargetError, match="cannot be sent to hosts"):
        two(target)


def test_nothing_that_exists_is_written_and_no_path_leads_upwards() -> None:
    with pytest.raises(UnsafeTargetError, match="read only, and this workload writes"):
        two("/dev/nvme1n1", READS, WRITES, consent="read")
    with pytest.raises(UnsafeTargetError, match="leads upwards"):
        two("/data/../etc")


@pytest.mark.parametrize(
    ("workload", "more", "says"),
    [
        (FioJob.open(1000.0), {}, "arrival_rates"),
        (FioJob(8, 1, 4096, 50, "random", mixing="parallel"), {}, "mixing is parallel"),
        (READS, {"engine": "falloc"}, "engine 'falloc'"),
        (READS, {"engine": "libaio\nrw=write"}, "engine"),
        (READS, {"size_bytes": 8192}, "fewer than 8 blocks"),
        (READS, {"runtime_s": 0.0}, "runtime_s"),
    ],
)
def test_a_setting_that_cannot_be_measured_is_named(workload: FioJob, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        two("/data", workload, **more)
    with pytest.raises(ValueError, match="hosts is empty"):
        plan_hosts("/data", (), [READS])


def test_a_plan_tells_hosts_file_and_time() -> None:
    plan = two(repeats=3, runtime_s=10.0)
    assert "/data on 2 hosts, a, b:8766" in plan.describe()
    assert "removed at the end" in plan.describe()
    assert plan.seconds() > 3 * 10


def client(host: str, port: int, iops: float, mean_us: float, bins: dict[int, int], error: int = 0) -> dict[str, Any]:
    options = {
        "rw": "randread",
        "bs": "4096",
        "iodepth": "8",
        "numjobs": "1",
        "ioengine": "libaio",
        "direct": "1",
        "filename": f"qsim-x-{port}",
    }
    section = {
        "iops": iops,
        "bw_bytes": iops * 4096,
        "runtime": 10_000,
        "total_ios": int(iops * 10),
        "lat_ns": {"mean": 1e3 * mean_us, "stddev": 0.0, "bins": {str(1000 * b): n for b, n in bins.items()}},
    }
    return {
        "jobname": "p",
        "groupid": 0,
        "hostname": host,
        "port": port,
        "error": error,
        "job options": options,
        "read": section,
    }


def stored(folder: Path, clients: list[dict[str, Any]], **manifest: Any) -> SweepStore:
    details = {"token": "0123456789abcdef", **manifest}
    store = SweepStore.create(
        folder, "fio-hosts", {}, {"tool": "fio", "device": "/data on 2 hosts", "details": details}
    )
    document = {"fio version": "fio-3.33", "timestamp": 1_700_000_000, "client_stats": clients}
    request = {"depth": 8, "jobs": 1, "load": 8.0, "repeat": 0}
    record = {"status": "ok", "command": "fio", "started_at": "2026-01-01T00:00:00+00:00", "request": request}
    store.add("p.r0", b"<vm> Starting\n" + json.dumps(document).encode(), record)
    return store


def test_all_hosts_together_are_added_weighted_and_merged(tmp_path: Path) -> None:
    clients = [client("a", 8765, 30_000, 100.0, {90: 900, 110: 900}), client("a", 8766, 10_000, 500.0, {500: 600})]
    stored(tmp_path / "s", [*clients, {**client("a", 8766, 40_000, 200.0, {}), "jobname": "All clients"}])
    sweep = load(tmp_path / "s")
    assert sweep.series == ("4 KiB random read from a", "4 KiB random read from a:8766", "4 KiB random read all hosts")
    total = sweep.select("4 KiB random read all hosts").points.iloc[0]
    assert total["load"] == 16
    assert total["throughput_per_s"] == 40_000
    assert total["latency_s"] == pytest.approx(200e-6)  # (30 x 100 + 10 x 500) / 40
    assert total["latency_sd_s"] == pytest.approx(math.sqrt(0.75 * 100**2 + 0.25 * 300**2) * 1e-6)
    assert total["latency_p50_s"] == pytest.approx(110e-6, rel=0.02)
    assert total["latency_p99_s"] == pytest.approx(500e-6, rel=0.02)
    assert total["bandwidth_bytes_per_s"] == 40_000 * 4096
    assert sweep.provenance.device == "/data on 2 hosts"


def test_reads_and_writes_of_a_mix_are_added_each(tmp_path: Path) -> None:
    def mixed(port: int, reads: tuple[float, float], writes: tuple[float, float]) -> dict[str, Any]:
        made = {**client("a", port, *reads, {}), "write": client("a", port, *writes, {})["read"]}
        made["job options"] |= {"rw": "randrw", "rwmixread": "50"}
        return made

    clients = [mixed(8765, (3000, 100.0), (3000, 50.0)), mixed(8766, (1000, 500.0), (1000, 250.0))]
    total = read_hosts_store(stored(tmp_path / "s", clients)).points.iloc[-1]
    assert total["series"] == "4 KiB random 50/50 mix all hosts"
    assert total["read_latency_s"] == pytest.approx(200e-6)
    assert total["write_latency_s"] == pytest.approx(100e-6)
    assert total["read_throughput_per_s"] == 4000
    assert total["latency_s"] == pytest.approx(150e-6)


def test_the_curves_stand_in_the_order_of_the_hosts(tmp_path: Path) -> None:
    clients = [client(name, 8765, 100, 80.0, {}) for name in ("b", "a")]  # fio prints who ends first
    sweep = read_hosts_store(stored(tmp_path / "s", clients, hosts=["a", "b"]))
    assert [s.removeprefix("4 KiB random read ") for s in sweep.series] == ["from a", "from b", "all hosts"]


def test_one_host_needs_no_sum(tmp_path: Path) -> None:
    sweep = read_hosts_store(stored(tmp_path / "s", [client("a", 8765, 100, 80.0, {80: 1})]))
    assert sweep.series == ("4 KiB random read",)


def test_a_file_that_is_left_on_a_host_is_told_until_it_is_removed(tmp_path: Path) -> None:
    store = stored(tmp_path / "s", [client("a", 8765, 100, 80.0, {80: 1})])
    note = store.directory / "files-on-hosts.json"
    note.write_text(json.dumps({"b": "/data/qsim-0123456789abcdef-2"}))
    (finding,) = read_hosts_store(store).findings
    assert finding.check == "file-left-on-host"
    assert "/data/qsim-0123456789abcdef-2 on b" in finding.message
    for content in ("[1]", "{"):
        note.write_text(content)
        with pytest.raises(StoreError, match="on the hosts"):
            read_hosts_store(store)
