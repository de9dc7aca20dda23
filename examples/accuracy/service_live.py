"""Two small web servers under wrk, for what service_accuracy.py judges: which clients its bands hold.

    python service_live.py FOLDER [--seconds 4]        then: python service_accuracy.py FOLDER/threads FOLDER/gate

Each server has a thread for each connection. "threads" computes for about 0.1 ms, "gate" lets four requests at
a time sleep for 2 ms. 1 to 256 clients in doublings; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CLIENTS = tuple(2**k for k in range(9))
SLEEP_S, AT_ONCE = 2e-3, 4


class Answer(BaseHTTPRequestHandler):
    """Answers with a hundred bytes, in one packet."""

    protocol_version = "HTTP/1.1"
    wbufsize = 8192
    gate: threading.Semaphore | None = None

    def do_GET(self) -> None:
        """The work, then the answer."""
        if self.gate is None:
            sum(range(5000))
        else:
            with self.gate:
                time.sleep(SLEEP_S)
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


class Gate(Answer):
    """The same through a gate."""

    gate = threading.Semaphore(AT_ONCE)


def main() -> None:
    """Serve in this process, let wrk ask, keep what it prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=4)
    asked = parser.parse_args()
    for name, answer in (("threads", Answer), ("gate", Gate)):
        server = ThreadingHTTPServer(("127.0.0.1", 0), answer)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (asked.folder / name).mkdir(parents=True, exist_ok=True)
        for clients in CLIENTS:
            url = f"http://127.0.0.1:{server.server_port}/"
            command = ["wrk", "-t1", f"-c{clients}", f"-d{asked.seconds}s", "--latency", url]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            (asked.folder / name / f"wrk-{clients}.txt").write_text(told)
        server.shutdown()


if __name__ == "__main__":
    main()
