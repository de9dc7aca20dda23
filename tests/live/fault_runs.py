"""Runs of a sweep in processes of their own that are killed or interrupted at a moment of the test's choice.

The runs are forked from the test, so that they begin with the work and not with half a second of imports.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from calibrate.cli.interrupts import stopping_cleanly
from measure.store.directory import MANIFEST, SweepStore

INTERRUPTED = 130
_STEPS = frozenset(
    {
        "open",
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.truncate",
        "os.listdir",
        "os.scandir",
        "subprocess.Popen",
        "fcntl.flock",
    }
)


def forked(run: Callable[[], object], *, quiet: bool = False) -> int:
    """The process that does ``run``, then ends with 0, with 130 where it was interrupted, or else with 1.

    Signals to stop are taken as the command line takes them.
    """
    pid = os.fork()
    if pid == 0:
        _run_and_exit(run, quiet)
    return pid


def _run_and_exit(run: Callable[[], object], quiet: bool) -> NoReturn:
    code = 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):  # whatever the tests themselves run under, as nohup
        signal.signal(number, signal.SIG_DFL)
    try:
        with stopping_cleanly():
            run()
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:  # noqa: BLE001  (the process ends here, whatever it was)
        if not quiet:
            traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid: int, within_s: float = 60.0) -> int:
    """The exit code of a forked process, negative for the signal that ended it; AssertionError where it hangs."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"the run did not end within {within_s:g} s")


def finished_files(out: Path) -> dict[Path, bytes]:
    """Every file of the finished points of a sweep directory; none of them is damaged."""
    if not (out / MANIFEST).exists():
        assert not out.exists() or not [p for p in out.iterdir() if not p.name.startswith(".")]
        return {}
    store = SweepStore.read(out)
    assert store.contents().damaged == []
    points = [p for p in store.contents().points if p.ok]
    files = [out / "points" / f"{p.key}.json" for p in points] + [p.raw for p in points if p.raw]
    return {path: path.read_bytes() for path in files}


def signalled_at_steps(numbers: Sequence[int], kind: signal.Signals, folder: Path) -> Callable[[], None]:
    """What makes this process send itself ``kind`` just before those of its steps in ``folder``.

    A step is a look at, a change of or a write to a file below ``folder``, or the start of a program. Call it first in
    a forked process: it cannot be undone.
    """
    owner: list[int] = []
    done = 0

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal done
        if event not in _STEPS or os.getpid() != owner[0]:
            return
        if event not in ("subprocess.Popen", "fcntl.flock", "os.truncate") and str(folder) not in str(args[0]):
            return
        done += 1
        if done in numbers:
            os.kill(owner[0], kind)

    def begin() -> None:
        owner.append(os.getpid())
        sys.addaudithook(hook)

    return begin


def quick_fio(folder: Path, outputs: dict[int, bytes], fill: bytes, size_bytes: int) -> str:
    """An fio that writes its file and prints known outputs without running; the PATH where it is found first."""
    folder.mkdir()
    for depth, output in outputs.items():
        (folder / f"depth-{depth}.json").write_bytes(output)
    (folder / "fill.json").write_bytes(fill)
    here = shlex.quote(str(folder))
    (folder / "fio").write_text(
        "#!/bin/sh\n"
        'for word; do case "$word" in --filename=*) file=${word#*=} ;; --iodepth=*) depth=${word#*=} ;; esac; done\n'
        'case "$* " in\n'
        "*--version*) echo fio-3.33 ;;\n"
        "*--enghelp*) printf 'Available IO engines:\\n\\tlibaio\\n' ;;\n"
        f'*--name=fill*) head -c {size_bytes} /dev/zero 1<>"$file"; cat {here}/fill.json ;;\n'
        f"*) cat {here}/depth-$depth.json ;;\n"
        "esac\n"
    )
    (folder / "fio").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
