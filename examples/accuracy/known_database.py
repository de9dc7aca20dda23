"""A database of known truth: PostgreSQL, whose every query sleeps, behind pgbouncer's pool, which is its servers.

A query that finds all of the pool's connections busy waits in pgbouncer's queue, first come, first served. pg_sleep
ends at whole milliseconds, so that exponential times are rounded up to these.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SLEEPS = {"constant": "SELECT pg_sleep({mean});", "exponential": "SELECT pg_sleep(-ln(1 - random()) * {mean});"}
PORT = 55432
CONNECTIONS = 300
"""More clients than any load keeps busy."""


def service_s(law: str, mean_s: float) -> float:
    """The true mean: of exponential times rounded up to milliseconds, 1 ms / (1 - exp(-1 ms / mean))."""
    return mean_s if law == "constant" else 1e-3 / -math.expm1(-1e-3 / mean_s)


@contextmanager
def database(servers: int) -> Iterator[str]:
    """The place, as pgbench takes it, of a database that answers so many queries at a time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, sockets = folder / "data", f"-k {folder} -p {PORT}"
        shutil.chown(folder, "postgres")
        bin_of = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        _run(f"{bin_of}/initdb", "-A", "trust", "-D", f"{data}")
        _run(f"{bin_of}/pg_ctl", "-D", f"{data}", "-l", f"{folder}/log", "-w", "-o", sockets, "start")
        settings = folder / "pool.ini"
        settings.write_text(
            f"[databases]\npostgres = host={folder} port={PORT} user=postgres pool_size={servers}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {PORT + 1}\nunix_socket_dir = {folder}\n"
            f"auth_type = any\npool_mode = transaction\nmax_client_conn = {CONNECTIONS}\n"
        )
        pool = subprocess.Popen(_as_postgres(shutil.which("pgbouncer") or "pgbouncer", "-q", f"{settings}"))
        try:
            time.sleep(1.0)
            yield f"-h 127.0.0.1 -p {PORT + 1} -U postgres postgres"
        finally:
            pool.terminate()
            pool.wait()
            _run(f"{bin_of}/pg_ctl", "-D", f"{data}", "-m", "immediate", "stop")


def by_pgbench(place: str, law: str, mean_s: float, seconds: float, *, clients: float = 0, rate: float = 0) -> str:
    """What pgbench prints of so many clients, or of Poisson arrivals at a rate, 1/s."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(SLEEPS[law].format(mean=mean_s))
        script.flush()
        load = f"-c {min(CONNECTIONS - 10, 200)} --rate={rate}" if rate else f"-c {clients:g} -P 5"
        command = f"pgbench -n -f {script.name} {load} -T {seconds:g} {place}"
        return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def _as_postgres(*command: str) -> list[str]:
    return (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        if os.getuid() == 0
        else list(command)
    )


def _run(*command: str) -> None:
    subprocess.run(_as_postgres(*command), check=True, capture_output=True)
