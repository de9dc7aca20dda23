"""``fio --server`` on free ports of this machine, standing for hosts."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import ExitStack

import pytest

from measure.fio.hosts_plan import Host
from measure.machine.process import running


class Server:
    """``fio --server`` on a port of this machine."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.host = Host("127.0.0.1", free.getsockname()[1])
        self._running = ExitStack()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = ["fio", f"--server={self.host.name},{self.host.port}"]
        self.process = self._running.enter_context(running(command, grace_s=0.2))
        for _ in range(1000):
            with socket.socket() as client:
                if client.connect_ex((self.host.name, self.host.port)) == 0:
                    return
            time.sleep(0.02)
        pytest.fail(f"fio --server did not listen on port {self.host.port}")

    def stop(self) -> None:
        """End it and whatever it runs."""
        self._running.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and whatever it runs."""
        os.killpg(self.process.pid, number)
