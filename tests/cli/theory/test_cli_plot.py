"""``qsim plot``: theory, fits and measurements as pages, images and data, and every way to ask for them wrongly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import qsim as theory

MM1 = ("plot", "mm1", "--service-rate", "1", "--vary", "arrival-rate=0.1..0.99")


def rows(run) -> pd.DataFrame:
    assert run.code == 0, run.err
    return pd.DataFrame(run.json["rows"])


def test_every_point_is_what_solve_gives(qsim):
    found = rows(qsim(*MM1, "--y", "W,Lq,rho,p99", "--json"))
    assert len(found) == 4 * 200
    for row in found.iloc[::50].to_dict("records"):
        answer = theory.solve(theory.MM1(row["arrival_rate"], 1.0))
        expected = {"W": answer.W, "Lq": answer.Lq, "rho": answer.utilization, "p99": answer.quantile(0.99)}
        assert row["value"] == pytest.approx(expected[row["quantity"]])


def test_a_curve_for_each_value(qsim):
    words = ("plot", "mg1", "--service-time", "80us", "--vary", "arrival-rate=1k,10k/s", "--each", "scv=0,4", "--json")
    found = rows(qsim(*words)).set_index(["curve", "arrival_rate"])["value"]
    assert sorted({name for name, _ in found.index}) == ["scv 0", "scv 4"]
    for scv, name in ((0.0, "scv 0"), (4.0, "scv 4")):
        wait = 0.8 * (1 + scv) / 2 * 80e-6 / 0.2
        assert found[name, 10_000.0] == pytest.approx(80e-6 + wait)


def test_whole_options_take_whole_numbers_and_another_quantity_may_go_along(qsim):
    words = (
        "plot",
        "mmcn",
        "--service-time",
        "1",
        "--servers",
        "4",
        "--vary",
        "population=1..12",
        "--x",
        "X",
        "--json",
    )
    found = rows(qsim(*words))
    assert list(found["X"]) == [min(n, 4) for n in range(1, 13)]


def test_overload_is_left_out_and_said_once(qsim):
    words = ("plot", "mg1", "--service-rate", "1", "--vary", "arrival-rate=0.5,1.5", "--each", "scv=0,1", "--json")
    run = qsim(*words)
    assert len(rows(run)) == 2
    assert run.err.splitlines()[0].startswith("warning: 2 points are left out, where there is no steady state")
    assert len(run.err.splitlines()) == 1


def test_simulated_points_lie_on_the_line_within_their_intervals(qsim):
    words = ("plot", "mm1", "--service-rate", "1", "--vary", "arrival-rate=0.2..0.8", "--y", "W,Lq")
    found = rows(qsim(*words, "--simulate", "1e5", "--json"))
    points = found[found["curve"] == "simulated"]
    assert len(points) == 2 * 9
    assert (points["low"] < points["value"]).all()
    assert (points["value"] < points["high"]).all()
    for row in points.to_dict("records"):
        answer = theory.solve(theory.MM1(row["arrival_rate"], 1.0))
        exact = {"W": answer.W, "Lq": answer.Lq}[row["quantity"]]
        # 18 intervals of 95 %: three of their widths hold all of them.
        assert abs(row["value"] - exact) < 3 * (row["high"] - row["low"]) / 2, row
    assert found.equals(rows(qsim(*words, "--simulate", "1e5", "--json")))  # the seed is 1


def test_each_simulated_curve_has_its_own_name_and_overload_is_left_out(qsim):
    words = ("plot", "mmc", "--service-rate", "1", "--vary", "arrival-rate=0.5,1.5", "--each", "servers=1,2")
    found = rows(qsim(*words, "--y", "W,p90", "--simulate", "2e4", "--json"))
    points = found[found["curve"].str.endswith("simulated")]
    counts = points.groupby("curve")["arrival_rate"].agg(lambda at: sorted(set(at))).to_dict()
    assert counts == {"servers 1, simulated": [0.5], "servers 2, simulated": [0.5, 1.5]}


def test_a_page_that_opens_offline_and_the_data_beside_it(qsim):
    assert qsim(*MM1, "--y", "W", "--out", "curve.html", "--csv", "curve.csv").code == 0
    page = Path("curve.html").read_text()
    assert 'content="qsim report"' in page
    assert "M/M/1, service rate 1" in page
    assert not re.search(r"<(?:script|link)[^>]*(?:src|href)=", page)
    table = pd.read_csv("curve.csv")
    assert list(table.columns) == ["curve", "quantity", "arrival_rate", "value"]
    assert len(table) == 200
    assert qsim(*MM1, "--out", "curve.html").code == 0  # a page of ours is replaced


def test_predictions_and_measurements_lie_on_the_same_axes(qsim):
    assert qsim("fit", "--dataset", "003-ssd-read", "--series", "4 KiB read", "--out", "fit.json").code == 0
    found = rows(
        qsim("plot", "fit.json", "--dataset", "003-ssd-read", "--series", "4 KiB read", "--y", "X,W", "--json")
    )
    measured = found[found["curve"] == "003-ssd-read, 4 KiB read"]
    predicted = found[(found["curve"] == "fit.json, 4 KiB read") & (found["quantity"] == "X")]
    assert sorted(set(measured["quantity"])) == ["W", "X"]
    assert predicted.iloc[:, 2].max() == measured.iloc[:, 2].max()
    assert (predicted["low"] < predicted["value"]).all()
    assert (predicted["value"] < predicted["high"]).all()


def test_a_closed_model_goes_with_a_sweep_over_depth(qsim):
    words = ("plot", "mmcn", "--dataset", "003-ssd-read", "--service-time", "80us", "--vary", "population=1..4")
    found = rows(qsim(*words, "--series", "4 KiB read", "--json"))
    assert list(dict.fromkeys(found["curve"])) == ["M/M/c//N", "4 KiB read"]


def test_without_a_file_the_numbers_are_printed(qsim):
    lines = qsim("plot", "mm1", "--service-rate", "1", "--vary", "arrival-rate=0.5,0.8", "--y", "L").out.splitlines()
    assert [line.split() for line in lines] == [["arrival_rate", "L"], ["0.5", "1"], ["0.8", "4"]]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_images(qsim, require_tool, require_module, suffix):
    require_module("kaleido", "pip install kaleido")
    require_tool("chromium", "chromium-browser", "google-chrome")
    out = f"curve.{suffix}"
    assert qsim(*MM1, "--y", "W,Lq", "--out", out).code == 0
    begun = Path(out).read_bytes()[:8]
    assert begun.startswith(b"<svg" if suffix == "svg" else b"\x89PNG")
    again = qsim(*MM1, "--out", out)
    assert again.code == 1
    assert again.error == f"{out} exists and is not replaced; choose another name for --out"


def test_an_image_has_just_the_pixels_that_were_asked_for(qsim, require_tool, require_module):
    require_module("kaleido", "pip install kaleido")
    require_tool("chromium", "chromium-browser", "google-chrome")
    assert qsim(*MM1, "--out", "wide.png", "--size", "640x400").code == 0
    header = Path("wide.png").read_bytes()[16:24]
    assert [int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")] == [640, 400]


def test_other_files_are_never_replaced(qsim):
    Path("mine.html").write_text("<p>mine")
    Path("mine.csv").write_text("mine")
    assert qsim(*MM1, "--out", "mine.html").code == 1
    assert qsim(*MM1, "--csv", "mine.csv").code == 1
    assert (Path("mine.html").read_text(), Path("mine.csv").read_text()) == ("<p>mine", "mine")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to plot"),
        ((*MM1[1:], "--size", "640x400"), "--size is that of an image"),
        ((*MM1[1:], "--out", "a.png", "--size", "640"), "invalid image size '640'"),
        ((*MM1[1:], "--out", "a.png", "--size", "64x48"), "expected 200 to 8000 pixels"),
        ((*MM1[1:], "--simulate", "0"), "invalid number of customers 0"),
        (("--dataset", "003-ssd-read", "--simulate", "1e5"), "--simulate is about a model"),
        (("mm1",), "--vary is missing"),
        (("mm1", "mmc", "--vary", "arrival-rate=1..2"), "mm1 and mmc are two models"),
        (("mm2", "--vary", "arrival-rate=1..2"), "mm2 is neither a model nor a file"),
        (("mm1", "--vary", "speed=1..2"), "'speed' is unknown"),
        (("mm1", "--vary", "arrival-rate"), "names no values"),
        (("mm1", "--vary", "arrival-rate=2..1"), "must go from a smaller value to a larger one"),
        (("mmc", "--vary", "servers=1.5..3"), "invalid number '1.5': expected a whole number"),
        (("mm1", "--service-rate", "1", "--arrival-rate", "1", "--vary", "arrival-rate=1..2"), "is varied already"),
        (("mm1", "--service-rate", "1", "--vary", "arrival-rate=2..3"), "no value of --vary gives a steady state"),
        (("mm1", "--vary", "arrival-rate=.1..2"), "mm1 (M/M/1) needs --service-rate"),
        ((*MM1[1:], "--y", "Z"), "'Z' is unknown"),
        ((*MM1[1:], "--out", "curve.txt"), "curve.txt ends in none of .html, .png, .svg, .pdf"),
        (("--dataset", "003-ssd-read", "--y", "Lq"), "Lq is not in fits and sweeps"),
        (("--dataset", "nothing"), "'nothing' is unknown"),
        (("mm1", "--dataset", "003-ssd-read", "--service-rate", "1", "--vary", "arrival-rate=.1..1"), "share an axis"),
        (
            (
                "mg1",
                "--discipline",
                "SIRO",
                "--service-time",
                "1",
                "--scv",
                "2",
                "--vary",
                "arrival-rate=.1..0.2",
                "--y",
                "p99",
            ),
            "p99: ",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(qsim, words, said):
    run = qsim("plot", *words)
    assert run.code == 2, run.out
    assert said in run.err.splitlines()[-1]
    assert sum(line.startswith("error: ") for line in run.err.splitlines()) == 1


def test_wrong_usage_is_told_in_json_too(qsim):
    document = json.loads(qsim("plot", "mm1", "--json").out)
    assert document["error"]["exit_code"] == 2
