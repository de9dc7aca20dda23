"""Kernels work where nothing can be cached: in an installation and a home that are read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = ("qsim", "measure", "calibrate")
CODE = f"""
import importlib, pathlib, pkgutil
import numpy as np
for name in {PACKAGES!r}:
    for module in pkgutil.walk_packages([name], name + "."):
        assert pathlib.Path(importlib.import_module(module.name).__file__).is_relative_to(pathlib.Path.cwd())
from measure.memory.kernels import spin
state, taken_ns = spin(np.uint64(1), 1000, np.empty(2, dtype=np.int64))
print(state, taken_ns > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="takes Linux's capabilities away from root")
def test_every_module_loads_and_compiles_where_no_cache_can_be_written(
    repository: Path, tmp_path: Path, without_root_rights: Callable[[], object]
) -> None:
    for name in PACKAGES:
        shutil.copytree(repository / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(path.stat().st_mode & 0o555)
    caches = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        preexec_fn=without_root_rights,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k not in caches} | {"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    state = 1
    for _ in range(1000):  # xorshift64, as the kernel has it
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
    assert done.stdout.split() == [str(state), "True"]
