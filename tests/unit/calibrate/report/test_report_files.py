"""Plots as images and their data as CSV: what is written, and that nothing is replaced."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from calibrate.report import images
from calibrate.report.drawing import empty_figure
from calibrate.report.files import csv_text, write_tables
from calibrate.report.images import check_images, write_images
from calibrate.report.view import Group, View
from measure import MeasureError

TABLE = pd.DataFrame({"load": [1.0, 2.0], "latency_s": [1.23456789e-4, 2e-4], "name": ["a, b", 'say "c"']})


def view(name: str = "curve", *, drawn: bool = True) -> View:
    figure = None
    if drawn:
        figure = empty_figure("load", "latency")
        figure.add_scatter(x=[1, 2], y=[3, 4], name="<b>curve</b>")
    return View("curve", name, "Latency & load", "How to read it.", TABLE, figure)


def test_a_table_reads_back_as_it_was() -> None:
    back = pd.read_csv(io.StringIO(csv_text(view())))
    pd.testing.assert_frame_equal(back, TABLE, rtol=1e-7, check_dtype=False)


def test_one_group_fills_the_directory_several_have_folders(tmp_path: Path) -> None:
    one = write_tables([Group("reads", [view()])], tmp_path / "one")
    assert one == [tmp_path / "one" / "curve.csv"]
    several = write_tables([Group("4 KiB read", [view()]), Group("../x", [view()])], tmp_path / "two")
    assert several == [tmp_path / "two" / "01-4-kib-read" / "curve.csv", tmp_path / "two" / "02-x" / "curve.csv"]


def test_nothing_is_replaced_and_then_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "second.csv").write_text("mine")
    with pytest.raises(MeasureError, match=r"second\.csv exists and is not replaced; choose another --csv"):
        write_tables([Group("", [view("first"), view("second")])], tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["second.csv"]
    assert (tmp_path / "second.csv").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MeasureError, match="cannot be written"):
        write_tables([Group("", [view()])], tmp_path / "file")


def test_images_are_drawn_of_what_has_a_figure(
    tmp_path: Path, require_tool: Callable[..., str], require_module: Callable[..., None]
) -> None:
    require_module("kaleido", "pip install 'qsim-queue[plots]'")
    browser = require_tool("chromium", "chromium-browser", "google-chrome")
    shares: list[float] = []
    group = Group("", [view("first"), view("table", drawn=False), view("second")])
    written = write_images([group], tmp_path, browser=browser, progress=shares.append)
    assert [p.name for p in written] == ["first.svg", "second.svg"]
    text = written[0].read_text()
    assert text.startswith("<svg")
    assert "Latency &amp; load" in text
    assert shares == [0.5, 1.0]
    with pytest.raises(MeasureError, match="not replaced; choose another --plots"):
        write_images([group], tmp_path, browser=browser)


def test_a_browser_that_dies_is_one_clear_error(
    tmp_path: Path, require_tool: Callable[..., str], require_module: Callable[..., None]
) -> None:
    require_module("kaleido", "pip install 'qsim-queue[plots]'")
    with pytest.raises(MeasureError, match="could not be drawn by") as told:
        write_images([Group("", [view()])], tmp_path, browser=require_tool("false"))
    assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())


def test_without_a_browser_or_kaleido_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "find_spec", lambda name: None)
    with pytest.raises(MeasureError, match=r"pip install 'qsim-queue\[plots\]'"):
        check_images()
    monkeypatch.setattr(images, "find_spec", lambda name: object())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MeasureError, match="apt-get install chromium"):
        check_images()
    with pytest.raises(MeasureError, match="no-such-browser is not one"):
        check_images("no-such-browser")
