"""Every program in examples/ runs from an empty folder, and prints something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUICK = {
    "accuracy/fleet_growth.py": ["3,6", "2"],
    "bench_engines.py": ["1", "1e6"],
    "bench_fit.py": ["1"],
    "bench_lab_browser.py": ["2"],
    "bench_network.py": ["2"],
    "peers.py": ["1", "500"],
    "real_application.py": ["--quick"],
}
"""Arguments that shorten a program; each says in its own docstring what they do."""


def programs() -> list[ParameterSet]:
    """Those that measure this machine are slow."""
    names = ["accuracy/fleet_growth.py", *sorted(path.name for path in EXAMPLES.glob("*.py"))]
    return [
        pytest.param(n, marks=[pytest.mark.slow] if n.startswith(("accuracy/", "bench_", "measure_", "real_")) else [])
        for n in names
    ]


@pytest.mark.parametrize("name", programs())
def test_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *QUICK.get(name, [])],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
