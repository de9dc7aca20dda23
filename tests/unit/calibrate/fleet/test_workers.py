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
import sys
from calibrate.fleet.drives import spread
import sleeping
if __name__ == "__main__":
    spread(sleeping.work, [sys.argv[1]] * 4, workers=2)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc (Linux)")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "sleeping.py").write_text(
        "import os, time\ndef work(folder):\n    open(f'{folder}/{os.getpid()}.pid', 'w').close()\n    time.sleep(60)\n"
    )
    (tmp_path / "main.py").write_text(PROGRAM)
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
