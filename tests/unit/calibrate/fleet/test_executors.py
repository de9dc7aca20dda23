"""A fleet is one table to the last digit, whichever workers fit it, and whichever of them die meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calibrate.fleet.drives import Fleet, fit_fleet
from calibrate.fleet.workers import processes, spread
from measure.errors import DataError

RACK = Path(__file__).resolve().parents[3] / "data" / "fleet10"


@pytest.fixture(scope="module")
def alone() -> Fleet:
    """The rack, fitted by this process."""
    return fit_fleet([RACK])


def assert_same(found: Fleet, wanted: Fleet) -> None:
    pd.testing.assert_frame_equal(found.drives, wanted.drives, check_exact=True)
    pd.testing.assert_frame_equal(found.curves, wanted.curves, check_exact=True)
    assert (found.powers, found.broken, found.left_out) == (wanted.powers, wanted.broken, wanted.left_out)


class Dying(ThreadPoolExecutor):
    """Workers that say of the first ``deaths`` pieces of work that they ended."""

    def __init__(self, deaths: int) -> None:
        super().__init__(2)
        self.deaths = deaths

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.deaths -= 1
        return super().submit(fn, *args, **kwargs) if self.deaths < 0 else super().submit(_die)


def _die() -> None:
    from concurrent.futures.process import BrokenProcessPool

    raise BrokenProcessPool("a worker ended")


@pytest.mark.parametrize("deaths", [0, 1, 5, 1000])
def test_work_of_workers_that_end_is_done_by_others_then_here(deaths: int) -> None:
    again: list[int] = []
    with Dying(deaths) as executor:
        found = spread(str, range(40), executor, ended=again.extend)
    assert found == [str(i) for i in range(40)]
    assert bool(again) == bool(deaths)


def test_a_fleet_says_what_was_fitted_again(alone: Fleet) -> None:
    with Dying(2) as executor:
        found = fit_fleet([RACK], executor)
    assert_same(found, alone)
    assert len(found.redone) == 2


def end_once(path: Path) -> int:
    """The process, which ends at the first call."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1


def test_a_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    again: list[Path] = []
    with processes(2) as executor:
        assert spread(end_once, [tmp_path / "a", tmp_path / "b"], executor, ended=again.extend) == [1, 1]
    assert again


def test_what_the_work_raises_is_raised() -> None:
    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="invalid literal"):
        spread(int, ["1", "x"], executor)


class Elsewhere(ThreadPoolExecutor):
    """Workers for whom a folder stands under another name."""

    def __init__(self, here: Path, there: Path) -> None:
        super().__init__(1)
        self.names = (str(here), str(there))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        moved = [[Path(str(path).replace(*self.names)) for path in batch] for batch in args[1:]]
        return super().submit(fn, args[0], *moved, **kwargs)


def test_files_that_workers_do_not_see_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("depth,iops\n1,1e4\n")
    executor: Executor
    with Elsewhere(tmp_path, tmp_path / "none") as executor, pytest.raises(DataError) as raised:
        fit_fleet([tmp_path], executor)
    assert str(raised.value).startswith(f"{tmp_path / 'd.csv'}: not seen by a worker on ")
    assert "\n" not in str(raised.value)


def test_a_folder_that_only_workers_see_is_listed_by_them(tmp_path: Path, alone: Fleet) -> None:
    with Elsewhere(tmp_path / "rack", RACK) as executor:
        assert_same(fit_fleet([tmp_path / "rack"], executor), alone)
    with Elsewhere(tmp_path / "rack", tmp_path / "none") as executor, pytest.raises(DataError, match="does not exist"):
        fit_fleet([tmp_path / "rack"], executor)
