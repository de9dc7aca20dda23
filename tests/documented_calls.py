"""Calls as the documentation shows them; strict mypy checks each ``assert_type``, which does nothing when it runs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, assert_type

import numpy as np
import pandas as pd

from calibrate import (
    Change,
    Comparison,
    Fit,
    Prediction,
    ServiceFit,
    System,
    Tails,
    change,
    compare,
    fit,
    fit_service,
    fitted_tails,
    from_datasheet,
    of_samples,
    predict,
    system,
)
from measure import ArrivalRate, Clients, Finding, Sweep, audit, load_dataset
from qsim import MM1, Closed, Delay, Exponential, Metrics, MMc, Network, Station, simulate, solve


@cache
def drive() -> Fit:
    """A drive of which only the data sheet is known."""
    return from_datasheet(idle_latency=80e-6, peak_iops=600e3)


@cache
def sweep() -> Sweep:
    """A measured drive."""
    return load_dataset("003-ssd-read").select("4 KiB read")


def a_queue_is_solved_simulated_and_drawn() -> None:
    solved = solve(MM1(16, 20))
    assert_type(solved, Metrics)
    assert_type(solved.W, float)
    assert_type(solved.to_frame(), pd.DataFrame)
    assert_type(MMc(16, 20, servers=2).kendall, str)
    assert solved.to_dict()["model"] == "M/M/1"
    assert solve(MM1(16, 20)).plot().data
    assert solve(MM1(16, 20)).plot(of="W").data
    low, high = simulate(Closed(4, [Station(Exponential(0.1))]), customers=10_000, seed=2).interval("throughput")
    assert low < 10 < high


def a_drive_is_predicted_and_drawn() -> None:
    assert_type(drive().predict([1, 8, 64]), Prediction)
    assert_type(predict(drive(), ArrivalRate([12_000])), Prediction)
    assert drive().predict(Clients([10, 100], think=1.0)).plot().data
    assert drive().predict([1, 8, 64]).to_frame().shape[0] == 3
    assert_type(drive().knee.load, float | None)
    assert drive().station(visits=3).servers


def a_drive_is_fitted_compared_and_drawn() -> None:
    assert fit(sweep(), [4, 32]).plot().data
    assert_type(fit(sweep(), [4, 32]).to_frame(), pd.DataFrame)
    compared = compare(sweep())
    assert_type(compared, Comparison)
    assert_type(compared.verdict(), str)
    assert compared.plot().data
    assert_type(fitted_tails(compared.fit, sweep(), compared.series), Tails | None)


def a_change_is_found() -> None:
    found = change(sweep(), sweep())
    assert_type(found, Change)
    assert_type(str(found), str)
    assert found.plot().data
    assert_type(audit(sweep()), list[Finding])


def an_application_stands_on_the_drive() -> None:
    app = Network(
        {"users": Delay(0.2), "cpu": Station(Exponential(1e-3), servers=4), "disk": drive().station(visits=3)}
    )
    found = system(app, clients=[1, 10, 100])
    assert_type(found, System)
    assert found.plot().data


def times_of_service_have_a_law() -> None:
    found = fit_service(of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200)))
    assert_type(found, ServiceFit)
    assert found.plot().data


CALLS = (
    a_queue_is_solved_simulated_and_drawn,
    a_drive_is_predicted_and_drawn,
    a_drive_is_fitted_compared_and_drawn,
    a_change_is_found,
    an_application_stands_on_the_drive,
    times_of_service_have_a_law,
)

if TYPE_CHECKING:  # each of these is an error to mypy, or the comment would be one
    solve(MM1(16, 20)).plot(off="W")  # type: ignore[call-arg]
    solve(MM1(16, 20)).plot(of=1)  # type: ignore[arg-type]
    solve(MM1(16, 20)).to_frame("W")  # type: ignore[call-arg]
    MM1(16, 20).kendall()  # type: ignore[operator]
    drive().plot(of="W")  # type: ignore[call-arg]
    compare(sweep()).verdict(details=True)  # type: ignore[call-arg]
