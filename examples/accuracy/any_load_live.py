"""Devices of known truth under every kind of load, for what any_load.py judges.

    python any_load.py --measure FOLDER       two hours; needs fio, nbdkit, wrk, k6, Locust, vegeta, pgbench, pgbouncer

Drives are nbdkit's (``measure.known_device``), of 3 ms, under fio: depths, and jobs whose requests are Poisson.
Services are HTTP servers of 10 ms: wrk's connections, users of k6 and of Locust who wait for 100 ms (Locust's with a
plain connection, and with its own client), and vegeta's evenly spaced requests, of constant services also at 1.3 times
the peak. Databases are PostgreSQL behind a pool
(``known_database``), of queries of 10 ms: pgbench's clients, and its Poisson rates. Each has 1 or 4 servers and
constant or exponential times. All loads are measured twice, in rounds. What was measured before is kept, so that the
same command goes on. Servers and tools may run before other programs: ``chrt -r 5``. K6, LOCUST and VEGETA are the
programs' places, where they are not found by name.
"""

from __future__ import annotations

import json
import math
import os
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from known_database import by_pgbench, database, service_s

from measure import load
from measure.formats.servers import runs_in
from measure.known_device.device_sweep import DeviceSweep, lateness_s
from measure.known_device.plugin import Server
from measure.known_device.server import Truth, drawn_times, truth_of
from qsim import Deterministic, Exponential

REPEATS = 2
SHARES = (0.15, 0.3, 0.5, 0.65, 0.8, 0.9)
"""Arrival rates, as shares of the peak."""

BEYOND, BEYOND_SHARE = "beyond", 1.3
"""Evenly spaced requests of which a quarter do not come: of constant services, which else hold no queue."""

DRIVE_S, SERVICE_S, THINK_S = 3e-3, 10e-3, 0.1
DEPTHS = {1: (1, 2, 3, 4, 8, 16), 4: (1, 2, 4, 8, 16, 32)}
USERS = {1: (1, 4, 8, 11, 16, 24), 4: (1, 12, 24, 36, 52, 80)}
LAWS = {"constant": Deterministic, "exponential": Exponential}

LOCUST, LOCUST_OWN = "Locust", "Locust's own client"
TOOLS = {"closed": "wrk", "thinking": "k6", LOCUST: "Locust", LOCUST_OWN: "Locust"}
"""Who measures a service under a kind of load; Locust's are users who think, once more, by a plain connection each, and
by the client that Locust brings, which itself takes most of a millisecond for an answer."""

K6_SCRIPT = """
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  scenarios: { users: { executor: 'constant-vus', vus: Number(__ENV.USERS), duration: `${__ENV.SECONDS}s` } },
};

export default function () {
  if (__ITER == 0) sleep(__ENV.LONGEST * Math.random());  // not all at once
  http.get(__ENV.URL);
  sleep(__ENV.LONGEST * (1 + 2 * Math.random()) / 3);
}
"""

LOCUSTFILE = """
import random, socket, time
from locust import FastHttpUser, User, between, task

class Own(FastHttpUser):
    wait_time = between({low}, {high})

    def on_start(self):
        time.sleep(random.uniform(0, {high}))  # not all at once

    @task
    def ask(self):
        self.client.get("/")

class Plain(User):
    wait_time = between({low}, {high})

    def on_start(self):
        host, port = self.host.removeprefix("http://").split(":")
        self.connection = socket.create_connection((host, int(port)))
        time.sleep(random.uniform(0, {high}))

    @task
    def ask(self):
        begun = time.perf_counter()
        self.connection.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        length = len(self.connection.recv(4096))
        took = 1e3 * (time.perf_counter() - begun)
        fire = self.environment.events.request.fire
        fire(request_type="GET", name="/", response_time=took, response_length=length, exception=None, context={{}})
"""


@dataclass(frozen=True)
class Known:
    """A device: its truth, and what it is, the first word of its name; ``law`` is the last."""

    truth: Truth
    kind: str
    law: str

    @property
    def rates(self) -> tuple[float, ...]:
        """The arrival rates, 1/s."""
        return tuple(round(share * self.truth.peak_throughput_per_s, 1) for share in SHARES)


def devices() -> Mapping[str, Known]:
    """The devices by name: ``drive-1-constant``."""
    kinds = {"drive": DRIVE_S, "service": SERVICE_S, "database": SERVICE_S}
    return {
        f"{kind}-{servers}-{law}": Known(truth_of(LAWS[law](_mean_s(kind, law, mean)), servers), kind, law)
        for kind, mean in kinds.items()
        for servers in (1, 4)
        for law in LAWS
    }


def _mean_s(kind: str, law: str, mean_s: float) -> float:
    return service_s(law, mean_s) if kind == "database" else mean_s


@contextmanager
def http_server(truth: Truth) -> Iterator[str]:
    """The address of a server whose workers keep to the clock: a late answer delays its client alone."""
    times, _ = drawn_times(truth)
    queue, lock, early_s = Server(array("d", times.tobytes()), truth.servers), threading.Lock(), lateness_s()

    class Answer(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            """Each request of a connection, until the client leaves."""
            for line in self.rfile:
                if line == b"\r\n":  # the end of a request's headers
                    self.answer()

        def answer(self) -> None:
            """One request, once a worker was free and worked for it."""
            with lock:
                due = queue.admit(time.monotonic())
            time.sleep(max(0.0, due - early_s - time.monotonic()))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    class Listening(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address, request_queue_size = True, True, 1024

        def handle_error(self, *_: object) -> None:
            """A client that leaves is no failure."""

    with Listening(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def by_wrk(url: str, clients: float, seconds: float) -> str:
    """What wrk prints."""
    return _run("wrk", "-t1", f"-c{clients:g}", f"-d{seconds:g}s", "--latency", "--timeout", "30s", url)


def by_k6(url: str, users: float, seconds: float) -> str:
    """What k6 prints."""
    k6 = os.environ.get("K6", "k6")
    told = {"USERS": f"{users:g}", "SECONDS": f"{seconds:g}", "LONGEST": f"{1.5 * THINK_S:g}", "URL": url}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "users.js").write_text(K6_SCRIPT)
        values = [part for name, value in told.items() for part in ("-e", f"{name}={value}")]
        return _run(k6, "run", "--quiet", "--no-usage-report", *values, "users.js", cwd=folder)


def by_locust(url: str, users: float, seconds: float, client: str = "Plain") -> str:
    """Locust's stats_history.csv, of users with a ``client``."""
    with tempfile.TemporaryDirectory() as folder:
        waits = {"low": THINK_S / 2, "high": 1.5 * THINK_S}
        Path(folder, "locustfile.py").write_text(LOCUSTFILE.format(**waits))
        said = "--headless --csv out --csv-full-history --only-summary"
        users_at_once = f"-u {users:g} -r {users:g} -t {seconds:g}s -H {url.rstrip('/')}"
        _run(os.environ.get("LOCUST", "locust"), *said.split(), *users_at_once.split(), client, cwd=folder)
        rows = Path(folder, "out_stats_history.csv").read_text().splitlines(keepends=True)
        return "".join([rows[0], *(row for row in rows if ",Aggregated," in row)])


def by_vegeta(url: str, rate: float, seconds: float) -> str:
    """vegeta's report as JSON."""
    vegeta = os.environ.get("VEGETA", "vegeta")
    attack = f"attack -rate={round(10 * rate)}/10s -duration={seconds:g}s -timeout=60s -max-workers=2000"
    with tempfile.NamedTemporaryFile(suffix=".bin") as results:
        _run(vegeta, *attack.split(), f"-output={results.name}", given=f"GET {url}\n")
        return json.dumps(json.loads(_run(vegeta, "report", "-type=json", results.name)))


def _run(*command: str, given: str | None = None, cwd: str | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, input=given, cwd=cwd).stdout


Tool = Callable[[str, float, float], str]


def measure_service(known: Known, folder: Path, seconds: float) -> None:
    """Each kind of load in each round; the tools' outputs are kept."""
    servers = known.truth.servers
    loads: list[tuple[str, Tool, float, float]] = [
        *(("closed", by_wrk, n, seconds / 3) for n in DEPTHS[servers]),
        *(("thinking", by_k6, n, seconds * 0.75) for n in USERS[servers]),
        *((LOCUST, by_locust, n, seconds * 0.75) for n in USERS[servers]),
        *((LOCUST_OWN, partial(by_locust, client="Own"), n, seconds * 0.75) for n in USERS[servers]),
        *(("paced", by_vegeta, rate, seconds) for rate in known.rates),
    ]
    if known.law == "constant":
        loads.append((BEYOND, by_vegeta, round(BEYOND_SHARE * known.truth.peak_throughput_per_s, 1), seconds))
    with http_server(known.truth) as url:
        for repeat in range(REPEATS):
            for kind, tool, value, lasts in loads:
                path = folder / kind / f"{value:g}.{repeat}"
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(tool(url, value, round(lasts)))
                    sys.stderr.write(f"{path}\n")


def measure_drive(known: Known, folder: Path, seconds: float) -> None:
    """Depths, then Poisson arrivals."""
    truth = known.truth
    for repeats in range(1, REPEATS + 1):  # a further repeat of each at a time: rounds
        DeviceSweep(truth, DEPTHS[truth.servers], runtime_s=seconds / 3, repeats=repeats).run(folder / "closed")
        DeviceSweep(truth, arrival_rates=known.rates, runtime_s=seconds, repeats=repeats).run(folder / "poisson")
        sys.stderr.write(f"{folder} {repeats}\n")


def measure_database(known: Known, folder: Path, seconds: float) -> None:
    """Clients, then Poisson rates, in each round."""
    servers = known.truth.servers
    closed = [("closed", {"clients": n}, seconds / 3) for n in DEPTHS[servers]]
    arrivals = [("poisson", {"rate": rate}, seconds) for rate in known.rates]
    with database(servers) as place:
        for repeat in range(REPEATS):
            for kind, load_of_it, lasts in (*closed, *arrivals):
                (value,) = load_of_it.values()
                path = folder / kind / f"{value:g}.{repeat}"
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(by_pgbench(place, known.law, SERVICE_S, round(lasts), **load_of_it))
                    sys.stderr.write(f"{path}\n")


MEASURED_BY = {"drive": measure_drive, "service": measure_service, "database": measure_database}


def measure(folder: Path, seconds: float = 36) -> pd.DataFrame:
    """Measure what is missing of every device; a row for each run."""
    for name, known in devices().items():
        MEASURED_BY[known.kind](known, folder / name, seconds)
    return pd.DataFrame(_rows(folder)).sort_values(["device", "kind", "load", "repeat"])


def _rows(folder: Path) -> Iterator[dict[str, float | str]]:
    for name, known in devices().items():
        for place in sorted((folder / name).iterdir()):
            rows = _drive_rows(place) if known.kind == "drive" else _printed_rows(place, known.kind)
            yield from ({"device": name, "kind": place.name, **row} for row in rows)


def _drive_rows(place: Path) -> Iterator[dict[str, float]]:
    for row in load(place).points.to_dict("records"):
        asked = "asked_rate_per_s" if place.name == "poisson" else "load"
        kept = ("repeat", "throughput_per_s", "latency_s", "latency_sd_s", "requests")
        yield {"load": row[asked], **{name: row[name] for name in kept}, "woken_late_s": row["wakeup_late_s"]}


def _printed_rows(place: Path, kind: str) -> Iterator[dict[str, float]]:
    for path in place.iterdir():
        at, repeat = path.name.rsplit(".", 1)
        tool = "pgbench" if kind == "database" else TOOLS.get(place.name, "")
        yield {"load": float(at), "repeat": int(repeat), **_read(tool, path.read_text(), place.name)}


def _read(tool: str, text: str, kind: str) -> dict[str, float]:
    if not tool:  # vegeta's JSON
        said = json.loads(text)
        mean_s = said["latencies"]["mean"] / 1e9
        came = said["rate"] if kind != BEYOND else said["throughput"]
        return {"throughput_per_s": came, "latency_s": mean_s, "requests": said["requests"]}
    run = runs_in(text, tool)[0]
    return {
        "throughput_per_s": run.throughput_per_s,
        "latency_s": run.response_s or math.nan,
        "latency_sd_s": run.sd_s,
        "requests": run.requests or math.nan,
    }
