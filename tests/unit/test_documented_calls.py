"""The calls of the documentation pass strict mypy, with types that are not Any; a wrong one does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import documented_calls
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("call", documented_calls.CALLS, ids=lambda call: call.__name__)
def test_a_documented_call_runs(call) -> None:
    call()


def test_strict_mypy_passes_on_the_documented_calls_and_finds_the_wrong_ones() -> None:
    """An ignored error that is none would be reported, so each wrong call is one to mypy."""
    command = [sys.executable, "-m", "mypy", "--strict", documented_calls.__file__]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 source file" in done.stdout, done.stdout + done.stderr
    name = Path(documented_calls.__file__).name  # an older mypy does not know what newer packages say in their files
    assert [line for line in done.stdout.splitlines() if name in line] == []
