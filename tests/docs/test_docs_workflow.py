"""The workflow of GitHub runs the two commands of the README; it cannot run here, so it is read."""

from __future__ import annotations

import re
from pathlib import Path

import yaml


def test_the_workflow_is_plain_and_runs_the_readmes_commands(repository: Path) -> None:
    files = sorted((repository / ".github" / "workflows").iterdir())
    assert [path.name for path in files] == ["tests.yml"]
    document = yaml.safe_load(files[0].read_text("utf-8"))
    (job,) = document["jobs"].values()
    matrix = job["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13"]  # strings: 3.10 would be the number 3.1
    commands = [step["run"] for step in job["steps"] if "run" in step]
    readme = (repository / "README.md").read_text("utf-8")
    assert commands == ["make test", "make demo"]
    assert all(command in readme for command in commands)
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)
