"""Running ``qsim`` in this process, or as a program of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from disks import folder_on_a_drive
from qsim_program import QSIM
from typer.testing import CliRunner

from calibrate.cli.app import app


@dataclass(frozen=True)
class Run:
    """What a run of qsim left: its exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as its one JSON document; fails where there is anything else, or a NaN."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    @property
    def error(self) -> str:
        """The one line on stderr; fails where there are more or none."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


Qsim = Callable[..., Run]


@pytest.fixture
def qsim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qsim:
    """``qsim("solve", "mm1", ...)`` or ``qsim("solve mm1 ...")`` in this process, in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QSIM_DEBUG", raising=False)

    def run(*args: str) -> Run:
        result = CliRunner().invoke(app, shlex.split(args[0]) if len(args) == 1 else list(args))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Run(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="module")
def ran() -> dict[tuple[str, ...], Run]:
    """What was printed in a module of tests."""
    return {}


@pytest.fixture
def once(qsim: Qsim, ran: dict[tuple[str, ...], Run]) -> Qsim:
    """``qsim`` for commands that read what is published: the same command again gives what it printed before."""

    def run(*args: str) -> Run:
        if args not in ran:
            ran[args] = qsim(*args)
        return ran[args]

    return run


@pytest.fixture
def compare_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of ``compare`` that differ in what they print share what they computed."""
    command, done = import_module("calibrate.cli.calibration.compare"), dict[str, Any]()
    compute = command.calibrated_device

    def shared(*given: Any) -> Any:
        if repr(given) not in done:
            done[repr(given)] = compute(*given)
        return done[repr(given)]

    monkeypatch.setattr(command, "calibrated_device", shared)


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder on a drive that takes direct I/O, beside the directory in which qsim runs."""
    with folder_on_a_drive(tmp_path_factory.mktemp("drive") / "disk") as folder:
        yield folder


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[Sequence[str]], subprocess.Popen[str]]]:
    """``program(["solve", ...])`` starts qsim as a process with its streams captured, in an empty directory.

    Whatever a failed test leaves running is killed.
    """
    started: list[subprocess.Popen[str]] = []

    def start(args: Sequence[str]) -> subprocess.Popen[str]:
        # No bytecode or debug setting of the test's own environment reaches the program.
        env = {k: v for k, v in os.environ.items() if k != "QSIM_DEBUG"}
        started.append(
            subprocess.Popen(
                [*QSIM, *args], cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def sweep_csv(tmp_path: Path) -> Path:
    """A table that obeys X = [(N/R1)^-p + Xmax^-p]^(-1/p) with R1 = 100 us, Xmax = 100 k/s, p = 3: N* = 10."""
    rows = ["queue_depth,iops,latency_us,block_size_KiB,read_pct"]
    for depth in (1, 2, 4, 8, 16, 32, 64):
        x = ((depth / 1e-4) ** -3 + 1e5**-3) ** (-1 / 3)
        rows.append(f"{depth},{x:.3f},{1e6 * depth / x:.4f},4,100")
    path = tmp_path / "sweep.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
