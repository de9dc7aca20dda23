"""A wheel of this checkout, in an empty environment of each supported Python found here, runs the demo."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

VERSIONS = ("3.11", "3.12", "3.13")
PATIENCE_S = 900


def _found() -> Iterator[str]:
    """An interpreter of each version: on the path, or in pyenv's folder."""
    for version in VERSIONS:
        installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        for path in (*map(str, installed), shutil.which(f"python{version}")):
            if (
                path
                and subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0
            ):
                yield path
                break


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    root = Path(__file__).resolve().parents[2]
    return Path(next(iter(WheelBuilder(str(root)).build(directory=str(folder), versions=["standard"]))))


@pytest.mark.parametrize("interpreter", list(_found()), ids=lambda path: Path(path).name)
def test_a_wheel_runs_the_demo_in_an_empty_environment(interpreter: str, wheel: Path, tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k != "VIRTUAL_ENV"}
    venv = tmp_path / "venv"

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=clean,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(interpreter, "-m", "venv", venv)
    run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--prefer-binary", wheel)
    assert run(venv / "bin" / "qsim", "--version").startswith("qsim ")
    assert "report.html" in run(venv / "bin" / "qsim", "demo", "--quick")
    assert "plotly" in (tmp_path / "qsim-demo" / "report.html").read_text().lower()
    shutil.rmtree(venv)  # half a gigabyte
