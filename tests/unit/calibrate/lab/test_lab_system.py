"""The page System: its numbers are those of ``calibrate.system``, whatever a browser sends."""

from __future__ import annotations

import pytest

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate import fit, system
from calibrate.lab.system_page import NUMBERS, USUAL, stretch, update
from measure import load_dataset
from measure.units import plain_number
from qsim import Delay, Exponential, Network, Station

START = [n.start for n in NUMBERS.values()]


def test_the_answer_is_that_of_the_library(folder):
    problem, answer, picture, throughput, response, moving = update(folder, USUAL, "light", *START)
    assert problem == ""
    sweep = load_dataset("003-ssd-read")
    drive = fit(sweep.select(sweep.series[0]), sorted({float(n) for n in sweep.select(sweep.series[0]).points["load"]}))
    cpu = Station(Exponential(1e-3), servers=4)
    stations = {"users": Delay(0.1), "cpu": cpu, "drive": drive.station(visits=20)}
    wanted = system(Network(stations), clients=[1, 50, 300, 600], draws=60)
    assert answer.startswith(f"{wanted.bottleneck} is full first. Waiting begins at {wanted.knee.estimate:.3g} (")
    assert f"{plain_number(wanted.throughput([300])[0, 0], 3)} transactions a second" in answer
    assert f"{wanted.bottleneck} is full first" in picture.alt
    assert moving["bottleneck"] == 1 + wanted.stations.index(wanted.bottleneck)
    assert sum(moving["start"]) == 300
    for figure in (throughput, response):
        assert [t["name"] for t in figure["data"]][:2] == ["90 % band", "predicted"]


def test_a_slower_processor_becomes_the_bottleneck(folder):
    assert update(folder, USUAL, "dark", 40, 0.1, 10.0, 1, 5)[1].startswith("cpu is full first. Waiting begins at 1")


def test_the_moving_run_has_the_throughput_of_the_network():
    sweep = load_dataset("003-ssd-read").select("4 KiB read")
    cpu, drive = Station(Exponential(1e-3), servers=4), fit(sweep, [4.0, 32.0, 1024.0]).station(visits=50)
    run = stretch(400, 0.1, [cpu, drive], 0, jumps=100_000)
    wanted = system(Network({"users": Delay(0.1), "cpu": cpu, "drive": drive}), clients=[400], draws=2)
    assert run["times"][0] > 0  # from its start on
    for place in range(3):
        assert run["moves"].count(place) / run["times"][-1] == pytest.approx(wanted.throughput()[0, 0], rel=0.02)


@pytest.mark.parametrize(
    ("drive", "place", "value", "why"),
    [
        (USUAL, 0, 0, "users is 0"),
        (USUAL, 3, 2.5, "whole number"),
        (USUAL, 1, None, "think time"),
        ("../etc", 0, 5, "not in the lab"),
        ("dataset-001-memory", 0, 5, "no curve over outstanding requests"),
    ],
)
def test_nonsense_is_said_and_changes_nothing_else(folder, drive, place, value, why):
    values = [*START[:place], value, *START[place + 1 :]]
    problem, *rest = update(folder, drive, "light", *values)
    assert why in problem
    assert len(rest) == 5
