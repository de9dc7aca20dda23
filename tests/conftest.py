"""What every test may ask for: tools that may be missing.

A missing tool skips with its reason; where ``QSIM_REQUIRE_TOOLS`` is set (as CI does) it fails instead,
so that no skip goes unseen.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an input takes, or is thought out, says more of the machine than of the code. The inputs are the same at each
# run, so that a change is judged by what it changed; ``pytest --hypothesis-profile=search`` looks for new ones.
_ANY_TIME = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", **_ANY_TIME)
settings.register_profile("any-machine", derandomize=True, **_ANY_TIME)
settings.load_profile("any-machine")

# The tests compute with small matrices: more threads would only wait for each other, and for the other worker's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # Windows has two of them
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures this machine, or needs a browser, is slow: ``make test`` leaves it to ``make test-all``.

    What measures is one group too, for one worker; xdist 3.8 with pytest 9.2 spreads it all the same. No test is run
    again where it fails: one that a neighbour's burst may spoil measures until it has seen the machine undisturbed.
    """
    for item in items:
        folder = item.path.relative_to(REPOSITORY / "tests").parts[0]
        if folder == "browser" or (_measures(item) and folder != "unit"):
            item.add_marker(pytest.mark.slow)
        if "require_tool" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.tools)
        if _measures(item):
            item.add_marker(pytest.mark.xdist_group("this machine"))


gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and never in what is loaded by now: each time would take 0.3 s."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself (``importorskip``) fails where tools are required."""
    report = yield
    if report.skipped and os.environ.get("QSIM_REQUIRE_TOOLS"):
        report.outcome = "failed"
        report.longrepr = f"QSIM_REQUIRE_TOOLS is set, and {collector.nodeid} is skipped: {report.longrepr}"
    return report


def _measures(item: pytest.Item) -> bool:
    uses_tools = "require_tool" in getattr(item, "fixturenames", ())
    page = getattr(item, "callspec", None) and item.callspec.params.get("page")  # type: ignore[attr-defined]
    if isinstance(page, Path) and uses_tools:  # it runs the page
        text = page.read_text(encoding="utf-8")
        return "qsim measure" in text or "<!-- needs: fio" in text
    return "live" in item.keywords or uses_tools


def missing(what: str, remedy: str) -> None:
    """Skip the running test, or fail it where tools are required."""
    message = f"{what} is not here: {remedy}"
    if os.environ.get("QSIM_REQUIRE_TOOLS"):
        pytest.fail(f"QSIM_REQUIRE_TOOLS is set, and {message}")
    pytest.skip(message)


@pytest.fixture(scope="session", autouse=True)
def signals_reach_programs() -> None:
    """Where the tests run in the background, SIGINT is ignored, and so it would be in every program they start.

    A handler that does nothing is not handed on: the program begins with the default.
    """
    for number in signal.valid_signals() & {getattr(signal, name, None) for name in STOPPING}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def require_tool() -> Callable[..., str]:
    """``require_tool("fio")`` returns the program's path, or skips (fails under QSIM_REQUIRE_TOOLS)."""

    def find(*names: str) -> str:
        for name in names:
            if path := shutil.which(name):
                return path
        missing(" or ".join(names), f"install it (Debian: apt-get install {names[0]})")
        raise AssertionError  # not reached: missing() always raises

    return find


@pytest.fixture(scope="session")
def require_module() -> Callable[[str, str], None]:
    """``require_module("distributed", "pip install ...")`` skips (fails under QSIM_REQUIRE_TOOLS) without it."""

    def find(name: str, remedy: str) -> None:
        if importlib.util.find_spec(name) is None:
            missing(f"the Python package {name}", remedy)

    return find


@pytest.fixture
def without_root_rights() -> Callable[[], object]:
    """The ``preexec_fn`` of a program for which file permissions count, also where root runs the tests (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda: [libc.prctl(_PR_CAPBSET_DROP, c) for c in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH)]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of this checkout."""
    return REPOSITORY


@dataclass(frozen=True)
class FakeMlc:
    """A program named ``mlc`` first on PATH (tests/fake_mlc.py), how it behaves, and what it was started with."""

    log: Path
    monkeypatch: pytest.MonkeyPatch

    def behave(self, **by_words: str) -> None:
        """``behave(idle_latency="hangs")``: what commands that hold the word do instead of working."""
        self.monkeypatch.setenv("FAKE_MLC", "\n".join(f"{words}: {what}" for words, what in by_words.items()))

    def commands(self) -> list[str]:
        """The arguments of every start, and what the program wrote into its log."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def fake_mlc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeMlc:
    """``mlc`` on PATH is a program that prints in MLC's format; the test says where it misbehaves.

    Its buffers of 100 MiB are larger than the caches of the machine that it claims to run on.
    """
    from measure.machine.host import Cache

    monkeypatch.setattr("measure.machine.host._caches", lambda: [Cache(3, "Unified", 16 * 2**20, 1)])
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "mlc"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{Path(__file__).with_name("fake_mlc.py")}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_MLC_LOG", str(folder / "log"))
    monkeypatch.setenv("FAKE_MLC", "")
    return FakeMlc(folder / "log", monkeypatch)
