"""Helper processes end with the process that started them, also where that one is killed outright."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
if __name__ == "__main__":
    from calibrate.fleet.workers import processes, spread
    from sleeping import work
    with processes(2) as executor:
        spread(work, [sys.argv[1]] * 4, executor)
else:
    class Slow:  # a worker's imports, on a busy machine
        def find_spec(self, name, path=None, target=None):
            if name == "{slow}":
                from sleeping import work
                work(sys.argv[1])
    sys.meta_path.insert(0, Slow())
"""
SLEEPING = """
import os, time
def work(folder):
    open(f"{folder}/{os.getpid()}.pid", "w").close()
    time.sleep(60)
import calibrate.fleet.drives
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc (Linux)")
@pytest.mark.parametrize("slow", ["no module of this name", "pandas"], ids=["at work", "while it imports"])
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, repository: Path, slow: str) -> None:
    (tmp_path / "sleeping.py").write_text(SLEEPING)
    (tmp_path / "main.py").write_text(PROGRAM.replace("{slow}", slow))
    program = subprocess.Popen(
        [sys.executable, "main.py", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{repository}{os.pathsep}{tmp_path}"},
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert len(workers) >= 2
    program.send_signal(signal.SIGKILL)
    program.wait()
    deadline = time.monotonic() + 20
    while any(_lives(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in workers if _lives(pid)] == []


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
