"""The report: one file, nothing from outside, every panel, hostile names harmless, foreign files untouched."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import pytest
from made_up import points_at

from calibrate import compare_all
from calibrate.report.compared import compared_section, views_of
from calibrate.report.compared import curve_figures as figures
from calibrate.report.page import is_report, render, write_report
from measure import MeasureError, Provenance, Sweep, load_dataset

PANELS = [
    "Latency against throughput",
    "Throughput against load",
    "Response time against load",
    "Residuals",
    "Little's law",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    done, refused = compare_all(load_dataset("004-ssd-depth"))
    path = write_report(done, tmp_path_factory.mktemp("report") / "report.html", refused=refused)
    return path.read_text("utf-8")


def without_plotly(page: str) -> str:
    """The page less what is packed."""
    return re.sub(r'<script id="(plotly|views)".*?</script>', "", page, flags=re.DOTALL)


def test_it_has_every_panel_and_its_verdict(page: str) -> None:
    for title in PANELS:
        assert f"<h4>{title.replace(chr(39), '&#39;')}</h4>" in page
    assert "Queueing starts at depth " in page
    assert "calibrated on depths 1, 32; the other 3 points are held out" in page


def test_it_holds_the_library_packed_and_stays_small(page: str) -> None:
    (packed,) = re.findall(r'<script id="plotly" type="application/gzip">(.*?)</script>', page)
    assert b"plotly.js (cartesian" in gzip.decompress(base64.b64decode(packed))
    assert len(page) < 1.5e6


def test_it_fetches_nothing(page: str) -> None:
    own = without_plotly(page)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", own)
    assert "http" not in own
    assert "@import" not in own


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script> & </title><img src=x onerror=alert(2)>"
    points = points_at([1, 8, 32, 64], [1e3, 7e3, 9e3, 9.1e3], [1e-3, 1.1e-3, 3.5e-3, 7e-3], series=name)
    sweep = Sweep(points, name=name, provenance=Provenance(device=name, commands=(name,)))
    done, _ = compare_all(sweep)
    own = without_plotly(render([compared_section(name, [views_of(c) for c in done], {name: name})], title=name))
    assert "<script>alert" not in own
    assert "<img src=x" not in own
    assert "&lt;img src=x" in own
    labels = [trace["name"] for trace in figures.overview(done * 2).data]
    assert any("&lt;script&gt;" in label for label in labels)
    assert not any("<script>" in label for label in labels)


def test_another_file_is_never_replaced(tmp_path: Path) -> None:
    done, _ = compare_all(load_dataset("004-ssd-depth"))
    foreign = tmp_path / "thesis.html"
    foreign.write_text("<p>three years of work</p>")
    with pytest.raises(MeasureError, match="not a report of qsim"):
        write_report(done, foreign)
    assert foreign.read_text() == "<p>three years of work</p>"
    assert not is_report(tmp_path)
    ours = write_report(done, tmp_path / "report.html")
    assert is_report(ours)
    assert write_report(done, ours) == ours  # a report of ours may be written anew
