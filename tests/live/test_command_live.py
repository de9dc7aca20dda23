"""``qsim knee --run`` with the tools that people have, on a service whose truth is known and on real ones."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from qsim_program import QSIM

pytestmark = [pytest.mark.live, pytest.mark.slow]

WORKERS = 4
WITHIN = 0.3
"""The relative error that other tests beside this one may cause; on a machine at rest it is a tenth."""
DD = """#!/bin/sh
start=$(date +%s%N)
for i in $(seq $1); do dd if=/dev/zero of=copy.$i bs=1M count=16 conv=fsync 2>/dev/null & done
wait
end=$(date +%s%N)
rm copy.*
awk -v n=$1 -v s=$(((end - start) / 1000000 + 1)) 'BEGIN { printf "iops,lat_ms\\n%g,%g\\n", n * 16000 / s, s / 16 }'
"""


def knee(command: str, *more: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """The document of a knee of the command."""
    words = [*QSIM, "knee", "--run", command, "--json", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    assert done.returncode == 0, done.stderr + done.stdout
    return dict(json.loads(done.stdout))


@contextmanager
def ending(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A server that ends with the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def wait_for(command: list[str]) -> None:
    for _ in range(100):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"{command} did not succeed in ten seconds")


@pytest.fixture
def url(at_once: list[str]) -> Iterator[str]:
    """A service of four workers of 10 ms."""
    server = str(Path(__file__).with_name("known_http_server.py"))
    with ending([*at_once, sys.executable, server, str(WORKERS), "0.01"]) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/"


@pytest.mark.parametrize(
    ("tool", "command"), [("wrk", "wrk -t1 -c{N} -d2s --latency URL"), ("ab", "ab -q -k -t 2 -n 1000000 -c {N} URL")]
)
def test_four_workers_have_their_knee_at_four(
    require_tool: Callable[..., str], url: str, at_once: list[str], tool: str, command: str
) -> None:
    require_tool(tool)
    document = knee(" ".join([*at_once, command.replace("URL", url)]))
    assert [point["load"] for point in document["points"]][:4] == [1, 2, 4, 8]
    assert document["knee"]["load"] == pytest.approx(WORKERS, rel=WITHIN)


def test_wrk_with_two_threads_keeps_an_even_number_busy_and_says_so(
    require_tool: Callable[..., str], url: str, tmp_path: Path
) -> None:
    require_tool("wrk")
    words = ["measure", "command", f"wrk -t2 -c{{N}} -d1s {url}", "--loads", "2,3,5", "--out", str(tmp_path / "out")]
    done = subprocess.run([*QSIM, *words, "--json"], capture_output=True, text=True, check=True)
    assert sorted(row["load"] for row in json.loads(done.stdout)["points"]) == [2, 2, 4]
    assert "3 connections over 2 threads are 2" in done.stderr


def postgres_program(name: str) -> str | None:
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    return next((path for path in reversed(found) if path), None)


@pytest.fixture
def database(require_tool: Callable[..., str]) -> Iterator[dict[str, str]]:
    """The environment in which pgbench finds a PostgreSQL server with its tables."""
    initdb, server = postgres_program("initdb"), postgres_program("postgres")
    if initdb is None or server is None:
        require_tool("initdb")
    assert initdb is not None
    assert server is not None
    require_tool("pgbench")
    user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}
    folder = tempfile.mkdtemp(prefix="qsim-pg-", dir="/tmp")
    try:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "postgres"], cwd=folder, check=True, **user)
        at = {"PGHOST": folder, "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "postgres"}
        with ending([server, "-D", data, "-k", folder, "-c", "listen_addresses="], cwd=folder, **user):
            environment = {**os.environ, **at}
            wait_for(["env", *(f"{k}={v}" for k, v in at.items()), "psql", "-c", "select 1"])
            subprocess.run(["pgbench", "-i", "-q"], check=True, env=environment, capture_output=True)
            yield at
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_postgresql_with_pgbench(database: dict[str, str]) -> None:
    closed = knee("pgbench -n -S -T 1 -c {N} -j 2", environment=database)
    assert [point["load"] for point in closed["points"]][:3] == [1, 2, 4]
    assert closed["measured"]["tool"] == "pgbench"
    assert closed["load"] == "clients N"
    opened = knee("pgbench -n -S -T 1 -c 10 --rate {rate}", "--seconds", "8s", environment=database)
    assert opened["load"].startswith("arrival rate")
    rates = [point["load"] for point in opened["points"]]  # as measured: those asked for double
    assert rates[-1] > 4 * rates[0] > 0


def test_redis_with_redis_benchmark(require_tool: Callable[..., str], tmp_path: Path) -> None:
    server = require_tool("redis-server")
    require_tool("redis-benchmark")
    socket = tmp_path / "redis"
    with ending([server, "--port", "0", "--unixsocket", str(socket), "--save", ""]):
        wait_for(["redis-benchmark", "-s", str(socket), "-n", "1", "-t", "get", "-q"])
        document = knee(f"redis-benchmark -s {socket} -c {{N}} -n 20000 -t get")
    assert document["name"] == "GET"
    assert [point["load"] for point in document["points"]][:3] == [1, 2, 4]


def test_the_processors_with_sysbench(require_tool: Callable[..., str]) -> None:
    require_tool("sysbench")
    document = knee("sysbench cpu --threads={N} --time=1 run")
    assert document["load"] == "threads N"
    assert 0.5 <= document["knee"]["load"] <= 2 * (os.cpu_count() or 1)


def test_a_drive_with_a_script_of_dd_and_with_fio(require_tool: Callable[..., str], disk: Path) -> None:
    script = disk / "copies.sh"
    script.write_text(DD)
    script.chmod(0o755)
    document = knee(shlex.join(["env", "-C", str(disk), str(script), "{N}"]))
    assert document["measured"]["tool"] == "env"
    assert [point["load"] for point in document["points"]][:3] == [1, 2, 4]
    require_tool("fio")
    file = shlex.quote(f"--filename={disk / 'file'}")
    fio = f"fio --name=a {file} --size=16m --rw=randread --direct=1 --ioengine=libaio --iodepth={{N}}"
    document = knee(f"{fio} --runtime=1 --time_based --output-format=json+", "--slo", "p99=1s")
    assert document["name"] == "4 KiB random read"
    assert document["objective"] is not None
