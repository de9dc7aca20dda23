"""Small web servers under wrk, for what service_accuracy.py judges: which clients its bands hold.

    python service_live.py FOLDER [--seconds 4]        then: python service_accuracy.py FOLDER/*

Each server has a thread for each connection, and does the work of its name in ``SERVICES``. 1 to 256 clients in
doublings; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CLIENTS = tuple(2**k for k in range(9))
SLEEP_S = 2e-3
STATIC_BYTES, HASHED_BYTES = 2**18, 2**19

Work = Callable[[], object]


def compute(count: int) -> Work:
    """Python itself, which one thread at a time runs."""
    return lambda: sum(range(count))


def gate(at_once: int, service_s: Callable[[], float] = lambda: SLEEP_S) -> Work:
    """Workers that sleep: so many requests at a time, for a service time each."""
    workers = threading.Semaphore(at_once)

    def work() -> None:
        with workers:
            time.sleep(service_s())

    return work


def exponential() -> float:
    """A random service time."""
    return random.expovariate(1 / SLEEP_S)


def half_locked() -> Work:
    """A millisecond for itself, then a quarter of one that only one request has at a time."""
    lock = gate(1, lambda: 2.5e-4)
    return lambda: (time.sleep(1e-3), lock())


def static(folder: Path) -> Work:
    """A file of 256 KiB is read."""
    path = folder / "static"
    path.write_bytes(random.randbytes(STATIC_BYTES))
    return path.read_bytes


def hashed() -> Work:
    """Half a mebibyte is hashed, on every processor at a time."""
    data = random.randbytes(HASHED_BYTES)
    return lambda: hashlib.sha256(data).digest()


def sqlite(folder: Path, statement: str) -> Work:
    """A statement in a transaction of its own, each thread by its own connection."""
    path, own = folder / f"{len(statement)}.db", threading.local()
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
        made.executemany("INSERT INTO t (v) VALUES (?)", [("x" * 100,)] * 1000)

    def work() -> None:
        if not hasattr(own, "connection"):
            own.connection = sqlite3.connect(path, timeout=60)
        with own.connection as connection:
            connection.execute(statement).fetchall()

    return work


def services(folder: Path) -> Mapping[str, Work]:
    """The work of each server, by its name."""
    return {
        "threads": compute(5000),
        "gate": gate(4),
        "computes": compute(50_000),
        "worker-1": gate(1, exponential),
        "workers-2": gate(2, exponential),
        "workers-8": gate(8, exponential),
        "half-locked": half_locked(),
        "static": static(folder),
        "hashes": hashed(),
        "sqlite-writes": sqlite(folder, "INSERT INTO t (v) VALUES ('y')"),
        "sqlite-scans": sqlite(folder, "SELECT count(*) FROM t WHERE v LIKE '%z%'"),
    }


def answering(work: Work) -> type[BaseHTTPRequestHandler]:
    """A handler that does the work, then answers with a hundred bytes, in one packet."""

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 8192

        def do_GET(self) -> None:
            """The work, then the answer."""
            work()
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"x" * 100)

        def handle(self) -> None:
            """A client that leaves is no failure."""
            try:
                super().handle()
            except (ConnectionError, ValueError):
                return

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    return Answer


def main() -> None:
    """Serve in this process, let wrk ask, keep what it prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=4)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.folder.parent) as files:
        for name, work in services(Path(files)).items():
            server = ThreadingHTTPServer(("127.0.0.1", 0), answering(work))
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            (asked.folder / name).mkdir(exist_ok=True)
            for clients in CLIENTS:
                url = f"http://127.0.0.1:{server.server_port}/"
                command = ["wrk", "-t1", f"-c{clients}", f"-d{asked.seconds}s", "--latency", "--timeout", "30s", url]
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                (asked.folder / name / f"wrk-{clients}.txt").write_text(told)
            server.shutdown()


if __name__ == "__main__":
    main()
