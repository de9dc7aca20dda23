"""The distribution's name: every hint uses it, and its version is found by it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version as metadata_version
from pathlib import Path

from qsim.installed import DISTRIBUTION, install_hint, version

PARTS = ("qsim", "measure", "calibrate", "docs", "README.md")


def test_the_distribution_is_the_one_that_is_built(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert version() == metadata_version(DISTRIBUTION) == project["version"]


def test_every_hint_names_the_distribution_and_an_extra_that_exists(repository: Path) -> None:
    extras = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = 0
    for part in PARTS:
        path = repository / part
        for file in [path] if path.is_file() else [f for f in path.rglob("*") if f.suffix in (".py", ".md")]:
            for name, named in re.findall(r"pip install '([\w-]+)\\*\[([\w,]+)\\*\]'", file.read_text()):
                found += 1
                assert name == DISTRIBUTION, file
                assert set(named.split(",")) <= set(extras), file
    assert found
    assert install_hint("lab") == f"pip install '{DISTRIBUTION}[lab]'"
