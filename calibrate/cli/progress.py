"""A progress bar on stderr for work of more than a second; lines at intervals where stderr is no terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from calibrate.cli.console import remark, visible
from calibrate.cli.interrupts import raise_if_interrupted
from measure.units import format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

WAIT_S = 1.0
LINE_EVERY_S = 10.0


class Bar:
    """A bar that appears when its work has lasted a second. Use it as a context manager.

    Where stderr is a file or a pipe, a line is written every ten seconds, and less often as time goes on.

    ``above`` gives what stands above the bar in a terminal, drawn again with it.

    ``bar.share`` is what ``simulate(progress=...)`` takes, ``bar.points`` what ``run_fio`` and ``run_memory`` take.
    """

    def __init__(self, what: str, *, opening: str = "", above: Callable[[], RenderableType] | None = None) -> None:
        self._what = what
        self._above = above
        self._opening = opening
        self._visible = sys.stderr.isatty()
        self._started = self._last_line = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            with contextlib.suppress(OSError):  # the terminal was closed
                self._progress.stop()

    def share(self, done: float) -> None:
        """Show the share ``done`` of the work, 0 to 1."""
        raise_if_interrupted()
        elapsed = time.monotonic() - self._started
        self._show(done, _left(elapsed * (1 - done) / done) if 0 < done < 1 else "")

    def points(self, done: int, total: int, seconds_left: float, text: str) -> None:
        """Show that ``done`` of ``total`` points are measured, and ``text``, the present one."""
        raise_if_interrupted()
        if self._opening:
            remark(self._opening)
            self._opening = ""
        elapsed = time.monotonic() - self._started
        share = elapsed / (elapsed + seconds_left) if elapsed + seconds_left > 0 else 1.0
        left = f", {_left(seconds_left)}" if done < total else ""
        self._show(share, f"{done}/{total} points, {text}{left}")

    def _show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if not self._visible:
            if now - self._last_line >= max(LINE_EVERY_S, (now - self._started) / 10):
                self._last_line = now
                remark(f"{self._what}: {text}")
            return
        if now - self._started < WAIT_S:
            return
        try:
            self._draw(share, text)
        except OSError:  # the terminal was closed: the work goes on
            self._visible, self._last_line = False, float("inf")

    def _draw(self, share: float, text: str) -> None:
        if self._progress is None or self._task is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            text_columns = [TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[text]}")]
            columns = (text_columns[0], BarColumn(), text_columns[1])
            above = self._above

            class Shown(Progress):
                def get_renderables(self) -> Iterator[RenderableType]:
                    if above is not None:
                        yield above()
                    yield self.make_tasks_table(self.tasks)

            self._progress = Shown(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(visible(self._what), total=1.0, text="")
            self._progress.start()
        self._progress.update(self._task, completed=share, text=visible(text))


def _left(seconds: float) -> str:
    return f"{format_duration(max(1.0, round(seconds)), 2)} left"


def part_of(bar: Bar, done: int, total: int) -> Callable[[float], None]:
    """The progress of one of ``total`` parts of the work, ``done`` of which are finished."""
    return lambda share: bar.share((done + share) / total)


@contextlib.contextmanager
def simulating(what: str = "simulating") -> Iterator[Bar]:
    """A bar for a simulation; in a terminal, a line where the engine has to be compiled first."""
    from qsim.engines.jit import before_compiling

    def announce() -> None:
        if sys.stderr.isatty():
            remark("compiling the engine, which takes up to half a minute, once on this machine")

    with before_compiling(announce), Bar(what) as bar:
        yield bar
