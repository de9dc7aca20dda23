"""A wheel of this checkout, in an empty read-only environment of each supported Python found here, runs the demo."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disks import folder_on_a_drive

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
def test_a_wheel_measures_and_runs_the_demo_where_the_environment_and_home_are_read_only(
    interpreter: str, wheel: Path, tmp_path: Path, without_root_rights: Callable[[], object]
) -> None:
    caches = ("VIRTUAL_ENV", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k not in caches}
    venv, home = tmp_path / "venv", tmp_path / "home"

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=clean,
            preexec_fn=without_root_rights,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(interpreter, "-m", "venv", venv)
    run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--prefer-binary", wheel)
    home.mkdir(mode=0o555)
    clean["HOME"] = str(home)
    run("chmod", "-R", "a-w", venv)
    qsim = venv / "bin" / "qsim"
    assert run(qsim, "--version").startswith("qsim ")
    with folder_on_a_drive(tmp_path / "disk") as disk:
        short = ("--runtime", "300ms", "--size", "16MiB")
        assert "qsim compare drive" in run(qsim, "measure", "drive", disk, "--depths", "1,2", *short, "--out", "drive")
        assert run(qsim, "knee", disk, "--seconds", "6s", "--size", "16MiB", "--out", "knee")
    memory = ("--delays", "0,500", "--seconds", "0.02", "--repeats", "1")
    assert run(qsim, "measure", "memory", *memory, "--out", "memory")
    assert "report.html" in run(qsim, "demo", "--quick")
    assert "plotly" in (tmp_path / "qsim-demo" / "report.html").read_text().lower()
    run("chmod", "-R", "u+w", venv)
    shutil.rmtree(venv)  # half a gigabyte
