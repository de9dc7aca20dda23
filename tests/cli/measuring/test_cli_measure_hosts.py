"""``qsim measure fio --hosts``: plans without a host, refusals, and a real sweep on two servers of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


def test_dry_run_prints_the_commands_and_a_job_file_and_asks_no_host(qsim, fio):
    args = ("measure", "fio", "/mnt/drive", "--hosts", "node1,node2:8766", "--depths", "1,8", "--size", "64MiB")
    run = qsim(*args, "--dry-run")
    assert run.code == 0, run.err
    commands = [line for line in run.out.splitlines() if line.startswith("fio ")]
    assert len(commands) == 3  # the files are filled, then two points
    assert "--client=node1,8765 --readonly" in commands[1]
    assert "--client=node2,8766 --readonly" in commands[1]
    assert "directory=/mnt/drive" in run.out
    document = qsim(*args, "--dry-run", "--json").json
    assert [p["depth"] for p in document["points"]] == [1, 8]
    assert set(document["points"][0]["job_files"]) == {"node1", "node2:8766"}
    assert document["settings"]["hosts"] == ["node1", "node2:8766"]
    assert list(Path().iterdir()) == []


def test_hosts_come_from_a_file_too(qsim, fio):
    Path("hosts.txt").write_text("# all\nnode1\nnode2:8766\n")
    run = qsim("measure", "fio", "/mnt/drive", "--hosts-file", "hosts.txt", "--dry-run")
    assert "/mnt/drive on 2 hosts, node1, node2:8766" in run.out


@pytest.mark.parametrize(
    ("args", "code", "parts"),
    [
        (["/mnt", "--hosts", "a b"], 2, ["--hosts", "a b"]),
        (["/mnt", "--hosts", "a,a"], 2, ["--hosts", "twice"]),
        (["/mnt", "--hosts", "a", "--hosts-file", "h"], 2, ["--hosts-file"]),
        (["/mnt", "--hosts-file", "none.txt"], 1, ["none.txt", "cannot be read"]),
        (["/mnt", "--hosts", "a", "--arrival-rates", "100"], 2, ["--arrival-rates", "one machine"]),
        (["/mnt", "--hosts", "a", "--keep"], 2, ["--keep", "one machine"]),
        (["/mnt", "--hosts", "a", "--write-device", "/dev/x"], 2, ["--write-device", "one machine"]),
        (["/mnt", "--hosts", "a", "--mixing", "parallel", "--depths", "4", "--read", "5"], 2, ["--mixing", "parallel"]),
        (["/mnt", "--hosts", "a", "--log"], 2, ["--log", "one machine"]),
        (["/mnt", "--hosts", "a", "--repeats", "auto"], 2, ["--repeats", "one machine"]),
        (["/mnt", "--hosts", "a", "--precondition", "random"], 2, ["--precondition", "one machine"]),
        (["mnt", "--hosts", "a"], 1, ["'mnt'", "from /"]),
        (["/dev/x", "--hosts", "a", "--allow-read", "--read", "50"], 1, ["/dev/x", "read only"]),
    ],
)
def test_what_hosts_do_not_take_is_one_line(qsim, fio, args, code, parts):
    run = qsim("measure", "fio", *args, "--out", "s")
    assert run.code == code, run.err
    for part in parts:
        assert part in run.error
    assert not Path("s").exists()


@pytest.mark.live
def test_two_hosts_are_measured_printed_and_compared(qsim, servers, disk):
    hosts = ",".join(str(server.host) for server in servers)
    args = (
        "measure",
        "fio",
        str(disk),
        "--hosts",
        hosts,
        "--depths",
        "1,8",
        "--size",
        "16MiB",
        "--runtime",
        "300ms",
        "--ramp",
        "0s",
        "--out",
        "cluster",
    )
    run = qsim(*args)
    assert run.code == 0, run.err
    assert f"4 KiB random read from {servers[0].host}" in run.out
    assert "4 KiB random read all hosts" in run.out
    document = qsim(*args, "--json").json
    assert sorted({p["load"] for p in document["points"]}) == [1, 2, 8, 16]
    assert qsim("compare", "cluster", "--series", "4 KiB random read all hosts", "--json").code == 0
    assert list(disk.iterdir()) == []
    servers[1].stop()
    gone = qsim("measure", "fio", str(disk), "--hosts", hosts, "--depths", "2", "--size", "16MiB", "--out", "other")
    assert gone.code == 1
    assert f"{servers[1].host} gave no result" in gone.err.splitlines()[-1]
    assert "start fio --server there" in gone.err.splitlines()[-1]


def test_the_commands_of_the_manual_are_taken(qsim, fio, repository):
    Path("hosts.txt").write_text("node1\n")
    page = (repository / "docs" / "howto-shape-the-load.md").read_text()
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("qsim measure fio")]
    assert len(commands) == 2
    for command in commands:
        run = qsim(*command, *([] if "--dry-run" in command else ["--dry-run"]))
        assert run.code == 0, run.err
