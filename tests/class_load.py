"""A class on a lab of this machine: ``python tests/class_load.py [STUDENTS] [SECONDS] [SLOW] [ADDRESSES]``.

Each student joins by the code, loads the page with its scripts, seals a guess, and asks for news twice a second. They
stand behind ADDRESSES addresses (127.x.y.z), each behind its own where none are given. Before that, SLOW connections
from one address and as many from different ones send a part of a request and stop. It prints JSON: response times in
seconds, and failures.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from qsim_program import QSIM

ARRIVE_S, NEWS_S = 15.0, 0.5
DATASET = "dataset-003-ssd-read"
GUESS = {
    "output": "..run-sealed.children...run-sealed.className...run-mine.data..",
    "outputs": [
        {"id": "run-sealed", "property": "children"},
        {"id": "run-sealed", "property": "className"},
        {"id": "run-mine", "property": "data"},
    ],
    "changedPropIds": ["run-guess.n_clicks"],
}


@dataclass
class Times:
    """Response times and failures of a class."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Quantiles of each kind of request, and of all."""
        kinds = {**self.seconds, "all": [s for values in self.seconds.values() for s in values]}
        return {
            "failures": len(self.failures),
            "first": self.failures[:3],
            **{k: _quantiles(v) for k, v in kinds.items()},
        }


def _quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        "count": len(ordered),
        **{k: round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3) for k, q in at.items()},
    }


class Browser:
    """One connection that is kept open, from one address."""

    def __init__(self, port: int, address: str, times: Times) -> None:
        self.port, self.address, self.times = port, address, times
        self.cookie = ""
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, kind: str, path: str, body: object = None) -> bytes:
        """The body of an answer, its time noted under ``kind``."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self.port}\r\nCookie: {self.cookie}\r\n"
            f"Accept: text/html,*/*\r\nAccept-Encoding: gzip\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        start_s = time.monotonic()
        try:
            async with asyncio.timeout(30):
                status, headers, answer = await self._exchange(head.encode() + content)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self.times.failures.append(f"{kind}: {type(error).__name__}")
            self.streams = None
            return b""
        self.times.seconds.setdefault(kind, []).append(time.monotonic() - start_s)
        if status != (302 if kind == "join" else 200):
            self.times.failures.append(f"{kind}: status {status}")
        if found := re.search(r"set-cookie: (qsim-lab[^;]+)", headers, re.I):
            self.cookie = found[1]
        return answer

    async def _exchange(self, request: bytes) -> tuple[int, str, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0))
        reader, writer = self.streams
        writer.write(request)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", headers, re.I)
        return int(headers.split()[1]), headers, await reader.readexactly(int(length[1]) if length else 0)


async def joined(port: int, token: str, address: str, times: Times) -> Browser:
    """A browser that has joined by a token."""
    browser = Browser(port, address, times)
    await browser.ask("join", f"/run?token={token}")
    return browser


async def student(number: int, port: int, token: str, address: str, until_s: float, times: Times) -> None:
    """One student: the page, a guess, news."""
    draw = random.Random(number)
    await asyncio.sleep(draw.uniform(0, ARRIVE_S))
    browser = await joined(port, token, address, times)
    page = (await browser.ask("page", "/run")).decode()
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        await browser.ask("script", path.replace("&amp;", "&"))
    for path in ("/_dash-layout", "/_dash-dependencies"):
        await browser.ask("page", path)
    state = [
        {"id": "run-name", "property": "value", "value": f"student {number}"},
        {"id": "run-knee", "property": "value", "value": draw.randint(2, 200)},
    ]
    inputs = [
        {"id": f"run-{b}", "property": "n_clicks", "value": 1 if b == "guess" else None} for b in ("guess", "undo")
    ]
    answer = await browser.ask("guess", "/_dash-update-component", {**GUESS, "inputs": inputs, "state": state})
    if b"You sealed" not in answer:
        times.failures.append(f"guess: {answer.decode()[:200]}")
    seen = 0
    while time.monotonic() < until_s:
        await asyncio.sleep(NEWS_S)
        news = await browser.ask("news", f"/lab/events?run=001&first={seen}")
        seen += len(json.loads(news)["events"]) if news else 0


async def hold(port: int, count: int, addresses: list[str]) -> list[asyncio.StreamWriter]:
    """Connections that send half a request, with control characters in its path, and stop."""
    held = []
    for number in range(count):
        address = addresses[number % len(addresses)]
        _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        writer.write(b"POST /\x1b[31m HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc")
        held.append(writer)
    return held


async def measured(
    port: int, tokens: tuple[str, str], students: int, seconds: float, slow: int, addresses: int
) -> dict[str, object]:
    """The times of a page while connections are held, then those of the class; ``tokens``: the teacher's, the code."""
    token, code = tokens
    teacher = await joined(port, token, "127.0.0.1", Times())
    await _open_run(teacher)
    teacher.times = Times()
    await teacher.ask("alone", "/run")
    held = await hold(port, slow, ["127.2.0.1"])
    for _ in range(5):
        await teacher.ask("slow from one address", "/run")
    held += await hold(port, slow, [f"127.3.{1 + n // 250}.{1 + n % 250}" for n in range(slow)])
    for _ in range(5):
        await teacher.ask("slow from many addresses", "/run")
    for writer in held:
        writer.close()
    times, until_s = Times(), time.monotonic() + seconds
    places = [f"127.1.{1 + n // 250}.{1 + n % 250}" for n in range(addresses)]
    everybody = (student(n, port, code, places[n % addresses], until_s, times) for n in range(students))
    await asyncio.gather(*everybody)
    return {
        "students": students,
        "seconds": seconds,
        "slow": slow,
        "addresses": addresses,
        "teacher": teacher.times.to_dict(),
        "class": times.to_dict(),
    }


def main(students: int = 200, seconds: float = 60.0, slow: int = 1000, addresses: int = 0) -> dict[str, object]:
    """Start a lab, open a run, and measure."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [*QSIM, "lab", "--no-browser", "--port", "0", "--host", "0.0.0.0", "--folder", f"{folder}/lab"]  # noqa: S104
        lab = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert lab.stdout is not None
            viewers, teachers = (urlsplit(lab.stdout.readline().strip().rpartition(" ")[2]) for _ in range(2))
            tokens = teachers.query.removeprefix("token="), viewers.query.removeprefix("token=")
            port = teachers.port or 0
            found = asyncio.run(measured(port, tokens, students, seconds, slow, addresses or students))
        finally:
            lab.terminate()
            _, printed = lab.communicate(timeout=30)
    return {**found, "printed": [line for line in printed.splitlines() if "\x1b" in line]}


async def _open_run(teacher: Browser) -> None:
    buttons = ("open", "start", "stop", "reveal", "remove", "remove-between")
    state = {"device": DATASET, "culprit": None}
    body = {
        "output": "run-refusal.children",
        "outputs": {"id": "run-refusal", "property": "children"},
        "inputs": [{"id": f"run-{b}", "property": "n_clicks", "value": 1} for b in buttons],
        "state": [{"id": f"run-{k}", "property": "value", "value": v} for k, v in state.items()],
        "changedPropIds": ["run-open.n_clicks"],
    }
    answer = await teacher.ask("open", "/_dash-update-component", body)
    assert not teacher.times.failures, (teacher.times.failures, answer)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*map(int, sys.argv[1:])), indent=1) + "\n")
