"""The two commands of the README in a fresh clone: what they would do, and what they say where it cannot be done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that installing needs, in a folder with a blank in its name."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def would_do(clone: Path, target: str) -> list[str]:
    """The lines that make would run."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "PWD")}
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=clone, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.fixture
def installed(clone: Path) -> Path:
    """The clone as `make test` leaves it, without what was installed."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (clone / ".venv" / ".home").write_text(f"{clone}\n")
    for stamp in (".installed", ".installed-test"):
        (clone / ".venv" / stamp).touch()
    return clone


@pytest.fixture(autouse=True)
def make(require_tool: Callable[..., str]) -> None:
    require_tool("make")


def test_the_demo_installs_no_test_tools(clone: Path) -> None:
    assert would_do(clone, "demo") == ["sh .ci/bootstrap .venv", "touch .venv/.installed", ".venv/bin/qsim demo"]


def test_the_last_thing_that_the_test_command_runs_is_pytest(clone: Path) -> None:
    lines = would_do(clone, "test")
    assert lines[0] == "sh .ci/bootstrap .venv test"
    assert lines[-1].split()[:3] == [".venv/bin/python", "-m", "pytest"]


def test_nothing_is_installed_twice(installed: Path) -> None:
    assert would_do(installed, "demo") == [".venv/bin/qsim demo"]
    assert not [line for line in would_do(installed, "test") if "bootstrap" in line]


def test_a_changed_dependency_is_installed(installed: Path) -> None:
    later = (installed / ".venv" / ".installed").stat().st_mtime + 10
    os.utime(installed / "pyproject.toml", (later, later))
    assert would_do(installed, "demo")[0] == "sh .ci/bootstrap .venv"


def test_a_checkout_that_was_moved_is_installed_again(installed: Path) -> None:
    moved = installed.rename(installed.with_name("moved"))
    assert would_do(moved, "demo")[0] == "sh .ci/bootstrap .venv"


def test_a_python_that_is_gone_means_installing_again(installed: Path) -> None:
    python = installed / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("no-such-python")
    assert would_do(installed, "demo")[0] == "sh .ci/bootstrap .venv"


def bootstrap(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", ".ci/bootstrap", ".venv"],
        cwd=clone,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_python_is_named_with_the_remedy(clone: Path) -> None:
    done = bootstrap(clone, PYTHON="no-such-python")
    assert done.returncode == 1
    assert "Python 3.11 or newer, and no-such-python is missing: install python3" in done.stderr
    assert not (clone / ".venv").exists()


def test_a_python_that_is_too_old_is_named_with_its_version(clone: Path) -> None:
    old = clone / "old python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n')
    old.chmod(0o755)
    done = bootstrap(clone, PYTHON=str(old))
    assert done.returncode == 1
    assert f"{old} is Python 3.9.2" in done.stderr


def test_no_way_to_pip_ends_with_what_to_install(clone: Path) -> None:
    """A Python that is new enough, but has neither ensurepip nor pip, on a machine without network."""
    bare = clone / "python"
    bare.write_text('#!/bin/sh\n[ "$1" = -c ] && case "$2" in *version_info*) exit 0;; esac\nexit 1\n')
    bare.chmod(0o755)
    folder = clone / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "mktemp", "rm", "mkdir", "tr"):
        (folder / name).symlink_to(str(shutil.which(name)))
    done = bootstrap(clone, PYTHON=str(bare), PATH=str(folder))
    assert done.returncode == 1
    assert "install python3-venv (Debian: apt-get install python3-venv)" in done.stderr
    assert "by_debian_package" in (clone / ".venv.log").read_text()
