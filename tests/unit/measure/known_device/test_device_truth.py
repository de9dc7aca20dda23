"""The truth of a known device: what is asked, what is drawn, and the way through JSON and back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import qsim
from measure.errors import DataError, ToolFailedError
from measure.fio.fio_command import submitters
from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import Truth, known_device, truth_of

LAWS = [
    qsim.Exponential(2e-3),
    qsim.Deterministic(2e-3),
    qsim.HyperExponential.from_moments(2e-3, 4.0),
    qsim.LogNormal(2e-3, 2.0),
    qsim.Empirical.from_histogram([1e-3, 2e-3, 4e-3], [3, 1]),
    qsim.Shifted(base=qsim.Erlang(3, 1e-3), shift=1e-3),
    qsim.Mixture((qsim.Exponential(1e-3), qsim.Deterministic(4e-3)), (0.7, 0.3)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_truth_goes_through_json_and_its_sample_has_the_moments_asked_for(law: qsim.Distribution) -> None:
    truth = truth_of(law, 3, "per-server", seed=7)
    again = Truth.from_dict(json.loads(json.dumps(truth.to_dict())))
    assert again == truth
    assert again.peak_throughput_per_s == pytest.approx(3 / law.mean)
    assert truth.served_mean_s == pytest.approx(law.mean, rel=0.02)
    assert truth.served_scv == pytest.approx(law.scv, rel=0.1, abs=1e-9)


def test_a_number_is_a_constant_and_a_sample_is_drawn_from() -> None:
    assert truth_of(2e-3).service == qsim.Deterministic(2e-3)
    times = qsim.Empirical((1e-3, 3e-3))
    truth = truth_of(times)
    assert truth.service.mean == pytest.approx(2e-3)
    assert truth.served_scv == pytest.approx(0.25, rel=0.01)
    assert truth_of(times, seed=2).served_mean_s != truth.served_mean_s


def test_the_label_says_what_it_is() -> None:
    assert truth_of(2e-3, 4).label == "nbdkit, 4 servers, one queue, deterministic, mean 2.00 ms"
    assert truth_of(qsim.LogNormal(2e-3, 2), 4, "per-server").label == (
        "nbdkit, 4 servers, a queue each, lognormal, mean 2.00 ms, scv 2"
    )
    assert truth_of(qsim.Exponential(1e-3)).label == "nbdkit, 1 server, exponential, mean 1.00 ms"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"servers": None}, "damaged"),
        ({"queueing": "lottery"}, "lottery"),
        ({"service": {"family": "Metrics"}}, "'Metrics' is unknown"),
        ({"service": {"family": "Exponential", "mean": -1}}, "mean"),
    ],
)
def test_a_damaged_truth_is_refused(change: dict[str, Any], sentence: str) -> None:
    values = {**truth_of(2e-3, 4).to_dict(), **change}
    if change.get("servers", 0) is None:
        del values["servers"]
    with pytest.raises(DataError, match=sentence):
        Truth.from_dict(values)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"servers": 0}, "servers is 0"),
        ({"servers": 300}, "servers is 300"),
        ({"service": 0.0}, "above 0"),
        ({"service": 99.0}, "below 60"),
        ({"service": qsim.Exponential(30.0)}, "below 60"),
        ({"queueing": "lottery"}, "central or per-server"),
        ({"seed": -1}, "seed is -1"),
        ({"delay_s": -1.0}, "delay_s is -1"),
    ],
)
def test_an_impossible_device_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        truth_of(**settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "both empty"),
        ({"depths": (1,), "arrival_rates": (10.0,)}, "both given"),
        ({"depths": (2000,)}, "1024"),
        ({"arrival_rates": (500.0,)}, "below the device's peak of 500"),
    ],
)
def test_an_impossible_sweep_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        DeviceSweep(truth_of(qsim.Exponential(2e-3)), **settings)


@pytest.mark.usefixtures("fio_here")
def test_busy_devices_get_more_submitting_jobs() -> None:
    truth = truth_of(qsim.Exponential(2e-3))
    plan = DeviceSweep(truth, arrival_rates=(150.0, 350.0, 450.0), runtime_s=20.0).plan()
    jobs = [p.job.jobs for p in plan.points]
    # 25 jobs for each request that M/M/1 has outstanding: rho/(1-rho) = 0.43, 2.33, 9; and no fewer than usual
    assert jobs == pytest.approx([submitters(150.0), 59, 225], abs=1)
    assert plan.settings.details["truth"]["service"] == {"family": "Exponential", "mean": 2e-3}


@pytest.fixture
def fio_here(require_tool: Any) -> None:
    require_tool("fio")


def nbdkit_that(does: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name, of which ``$socket`` is the path where it is to listen."""
    (script := folder / "nbdkit").write_text(
        f'#!/bin/sh\nfor a; do case $a in --unix=*) socket="${{a#--unix=}}";; esac; done\n{does}\n', "utf-8"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_a_device_has_its_address_as_soon_as_it_listens_and_is_gone_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbdkit_that('sleep 0.05; : > "$socket"; exec sleep 60', tmp_path, monkeypatch)
    with known_device(truth_of(2e-3)) as address:
        socket = Path(address.removeprefix("nbd+unix:///?socket="))
        assert socket.exists()
    assert not socket.parent.exists()


def test_a_device_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbdkit_that("echo cannot open plugin python >&2; exit 3", tmp_path, monkeypatch)
    said = r"did not start \(exit code 3\): cannot open plugin python; install .* nbdkit-plugin-python$"
    with pytest.raises(ToolFailedError, match=said), known_device(truth_of(2e-3)):
        pass
