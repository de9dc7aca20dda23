"""The site and the slides, built from a copy of the pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def built(folder: Path, builder: str, *options: str) -> Path:
    """What a builder of sphinx makes of a copy of the pages in ``folder``; a warning is an error."""
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    command = [sys.executable, "-m", "sphinx", "-b", builder, *options, "-q", "-W", "--keep-going", "docs", "site"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"
