"""Every command gives the same knee and the same advice for the same points."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from calibrate.next import to_calibrate_on
from calibrate.points import points_of
from measure import dataset_names, load_dataset
from measure.errors import DataError
from measure.loads import Depth
from measure.units import with_interval
from qsim import MMcN, solve

DATA = Path(__file__).parents[2] / "data"
CURVES = dataset_names(curves_only=True)


def by_name(document: dict) -> dict[str, dict]:
    return {part["name"]: part for part in document["series"]}


def ends_of(name: str) -> list[str]:
    """The first and the last curve of a dataset that a model can be fitted to."""
    sweep, found = load_dataset(name), []
    for series in sweep.series:
        with suppress(DataError):  # a buffer in a cache, a single load
            if len(points_of(sweep, series)) > points_of(sweep, series).load_type.least_points:
                found.append(series)
    return list(dict.fromkeys([*found[:1], *found[-1:]]))


WITHOUT = {"000-memory", "004-ssd-block-size", "004-ssd-mix"}


@pytest.mark.parametrize("name", CURVES)
def test_every_command_advises_the_same_next_load_and_none_that_was_measured(qsim, name):
    ends = ends_of(name)
    assert bool(ends) == (name not in WITHOUT)
    for series in ends:
        points = points_of(load_dataset(name), series)
        few = ",".join(f"{n:g}" for n in to_calibrate_on(points))
        source = ("--dataset", name, "--series", series, "--json")
        fitted, compared = (qsim(command, *source).json["next"] for command in ("fit", "compare"))
        predicted = qsim("predict", *source, "--use", few).json["next"]
        assert fitted == predicted == compared
        if fitted is not None:
            assert not np.any(np.isclose(points.load, fitted["load"], rtol=0.01))


def table_of(servers: int, think_s: float, service_s: float, depths: list[int], path: Path) -> str:
    """A sweep of a machine repairman, as a table."""
    rows = ["depth,iops,latency_us"]
    for n in depths:
        x = solve(MMcN(n, think_time=think_s, service_time=service_s, servers=servers)).throughput
        rows.append(f"{n},{x:.6f},{1e6 * n / x:.6f}")
    path.write_text("\n".join(rows) + "\n")
    return str(path)


MADE = {
    "sharp": (8, 0.0, 1e-4, [1, 2, 4, 8, 16, 32, 64]),
    "soft": (1, 4e-4, 1e-4, [1, 2, 4, 8, 16, 32, 64]),
    "shallow": (32, 0.0, 1e-4, [1, 2, 4, 8]),
    "without a lone request": (8, 1e-4, 1e-4, [4, 8, 16, 32, 64]),
}


@pytest.fixture(params=[*MADE, "004-ssd-depth"])
def source(request, tmp_path) -> tuple[str, ...]:
    """DATA or a dataset, and the loads of all its points."""
    if request.param in MADE:
        depths = MADE[request.param][3]
        return table_of(*MADE[request.param], tmp_path / "sweep.csv"), "--use", ",".join(map(str, depths))
    sweep = load_dataset(request.param)
    loads = points_of(sweep, sweep.series[0]).load
    return "--dataset", request.param, "--use", ",".join(f"{n:g}" for n in loads)


@pytest.mark.usefixtures("compare_once")
def test_every_command_gives_the_same_knee_for_the_same_points(qsim, source):
    data = source[:-2]
    fitted = by_name(qsim("fit", *data, "--json").json)
    predicted = by_name(qsim("predict", *data, "--json").json)
    compared = by_name(qsim("compare", *source, "--json", "--report", "report.html").json)
    (section,) = qsim("show", *data, "--json").json["sections"]
    (view,) = (v for v in section["views"] if v["name"] == "latency-bandwidth")
    shown = {row["series"]: row for row in view["rows"]}
    page = Path("report.html").read_text()
    text = qsim("compare", *source, "--details").out
    assert fitted.keys() == predicted.keys() == compared.keys() == shown.keys()
    assert fitted
    for name, part in fitted.items():
        knee = part["knee"]
        assert predicted[name]["knee"] == knee
        assert compared[name]["knee"] == knee
        assert part["parameters"]["N*"]["estimate"] == knee["load"]
        row = shown[name]
        assert (row["knee"], row["knee_low"], row["knee_high"]) == (knee["load"], knee["low"], knee["high"])
        ninety = part["knee90"]
        assert row["ninety"] == ninety["load"]
        for said in (page, text):
            start, most = (with_interval(Depth().figure, k["load"], k["low"], k["high"]) for k in (knee, ninety))
            assert not knee["sharp"] or f"depth {start}" in said
            assert f"90 % of the peak at depth {most}" in said


def test_both_knees_are_always_named_and_a_soft_bend_is_said(qsim, tmp_path):
    # X = [(N / N*)^-p + 1]^(-1/p) Xmax with p = 0.6, of which N* gives 31 % of the peak
    rates = {n: 1e5 * ((n / 8) ** -0.6 + 1) ** (-1 / 0.6) for n in (1, 2, 4, 8, 16, 32, 64, 128)}
    rows = [f"{n},{x:.4f},{1e6 * n / x:.4f}" for n, x in rates.items()]
    path = tmp_path / "soft.csv"
    path.write_text("\n".join(["depth,iops,latency_us", *rows]) + "\n")
    run = qsim("fit", str(path), "--details")
    document = qsim("fit", str(path), "--json").json
    assert not document["knee"]["sharp"]
    first, second = run.out.splitlines()[1:3]
    assert first.startswith("QUEUEING STARTS depth ")
    assert first.endswith("the bend is soft, no sharp knee")
    assert second.startswith("90 % OF PEAK AT ")
    assert {"load", "low", "high", "throughput_per_s", "sure", "reason"} == set(document["knee90"])
    assert "(N* = R1 Xpeak: throughput still rises at depth 128)" in run.out
    verdict = qsim("compare", str(path), "--use", "1,2,4,8,16,32,64,128", "--details").out
    assert "the bend is soft, no sharp knee" in verdict
    assert "The knee is" not in verdict


def test_fit_and_predict_take_all_points_and_compare_says_what_it_holds_out(qsim, tmp_path):
    data = table_of(*MADE["sharp"], tmp_path / "sweep.csv")
    assert "through all 7 points" in qsim("fit", data).out.splitlines()[0]
    assert "through all 7 points" in qsim("predict", data).out.splitlines()[0]
    first = qsim("compare", data).out.splitlines()[0]
    assert "predicted from depths 1, 8 and 64 alone" in first
    assert "depths 1 and 32 (2 of 7 points)" in qsim("fit", data, "--use", "1,32").out.splitlines()[0]


def test_details_print_the_points_of_one_curve_once(qsim):
    run = qsim("compare", "--dataset", "004-ssd-depth", "--details")
    assert run.out.count("THROUGHPUT") == 1
    assert "N* " in run.out
    several = qsim("compare", "--dataset", "003-ssd-read", "--details")
    assert several.out.count("THROUGHPUT") == 4


@pytest.mark.parametrize("command", ["fit", "show", "compare"])
def test_users_whose_think_time_was_found_are_named(qsim, command):
    run = qsim(command, str(DATA / "kinds" / "think_rps.csv"))
    assert "users who think for 1.00 s: found" in run.out
