"""Each system call of a piece of work fails once, or is its last: opening, writing, fsync, naming, removing.

The calls are counted in the folder of the work. The n-th raises an OSError, or ends the process as a kill would.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

KILLED = 9
BY_PATH = ("open", "replace", "rename", "link", "unlink", "mkdir")


@contextmanager
def failing(folder: Path, number: int, error: int | None) -> Iterator[list[str]]:
    """Let the ``number``-th call in the folder fail with an errno, or (None) end this process; the calls so far."""
    calls: list[str] = []

    def step(name: str, path: object) -> None:
        if str(folder) not in str(path):
            return
        calls.append(f"{name} {Path(str(path)).name}")
        if len(calls) == number:
            if error is None:
                os._exit(KILLED)
            raise OSError(error, os.strerror(error), str(path))

    real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in (*BY_PATH, "fsync", "fdopen", "write")}

    def by_path(name: str) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            reads = name == "open" and rest and not rest[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not reads and not (name == "mkdir" and os.path.isdir(path)):
                step(name, path)
            return real[name](path, *rest, **more)

        return call

    def fsync(file: int) -> None:
        step("fsync", os.readlink(f"/proc/self/fd/{file}"))
        real["fsync"](file)

    def write(file: int, content: bytes) -> int:
        path = os.readlink(f"/proc/self/fd/{file}")
        if str(folder) not in path:
            return int(real["write"](file, content))
        done = int(real["write"](file, content[: len(content) // 2]))  # a full disk takes a part
        step("write", path)
        return done + int(real["write"](file, content[len(content) // 2 :]))

    class Writing(io.BufferedWriter):
        def write(self, content: Any) -> int:
            super().write(bytes(content)[: len(content) // 2])  # a full disk takes a part
            self.flush()
            step("write", os.readlink(f"/proc/self/fd/{self.fileno()}"))
            return super().write(bytes(content)[len(content) // 2 :])

    def fdopen(file: int, mode: str = "r", *rest: Any, **more: Any) -> BinaryIO | Any:
        if mode == "wb":
            return Writing(io.FileIO(file, "w"))
        return real["fdopen"](file, mode, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        for name in BY_PATH:
            patch.setattr(os, name, by_path(name))
        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "fdopen", fdopen)
        patch.setattr(os, "write", write)
        yield calls


def killed_at(folder: Path, number: int, work: Callable[[], object]) -> bool:
    """Whether a process that does the work was ended at its ``number``-th call; False where it has fewer."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with failing(folder, number, None):
                work()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, KILLED), f"the work failed with exit code {code}"
    return code == KILLED
