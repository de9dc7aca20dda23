"""Host and device told apart: two stations found again from times that another engine simulated."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from calibrate.models.host_and_device import host_and_device, host_findings, two_stations
from measure.errors import DataError
from measure.sweep import Provenance, Sweep
from measure.units import format_rate
from measure.watching.device_counters import COLUMNS, NOTE
from qsim import Closed, Exponential, Station, simulate, solve

DEPTHS = (1, 2, 4, 8, 16, 32, 64)


def simulated(threads: int, host_s: float, servers: int, service_s: float, **columns: float) -> Sweep:
    """What fio and the block layer would have told of two stations, by simulation."""
    rows = []
    for depth in DEPTHS:
        stations = [Station(Exponential(mean=host_s), threads), Station(Exponential(mean=service_s), servers)]
        run = simulate(Closed(depth, stations), customers=100_000, seed=depth, engine="compiled")
        rate, device = run.throughput, run.stations[1]
        rows.append(
            {
                "series": "reads",
                "load": float(depth),
                "throughput_per_s": rate,
                "latency_s": depth / rate,
                "jobs": float(threads),
                **dict(zip(COLUMNS, (rate, device.W, device.L), strict=True)),
                **columns,
            }
        )
    return Sweep(pd.DataFrame(rows), provenance=Provenance(details={NOTE: "vda"}))


def test_the_formula_is_the_exact_one() -> None:
    loads = np.array([1.0, 3, 17])
    x, host, device = two_stations(loads, 2, 3.0, 5, 11.0)
    for i, n in enumerate(loads):
        exact = solve(Closed(int(n), [Station(Exponential(mean=3.0), 2), Station(Exponential(mean=11.0), 5)]))
        assert x[i] == pytest.approx(exact.throughput)
        assert host[i] == pytest.approx(exact.stations[0].W)
        assert device[i] == pytest.approx(exact.stations[1].W)


def test_the_device_behind_a_slow_host_is_found_and_a_second_thread_foretold() -> None:
    found = host_and_device(simulated(1, 14e-6, 8, 60e-6), "reads")
    assert found.bottleneck == "host"
    assert found.likely_servers[0] <= 8 <= found.likely_servers[1]
    assert found.host_service_s == pytest.approx(14e-6, rel=0.05)
    assert found.misfit < 0.1
    more = found.predicted(np.array([64.0]), 2)[0][0]
    truth = simulated(2, 14e-6, 8, 60e-6).points["throughput_per_s"].iloc[-1]
    assert more == pytest.approx(truth, rel=0.1)
    assert "the knee is the host's" in found.sentence()


def test_the_device_is_the_bottleneck_where_it_serves_less() -> None:
    found = host_and_device(simulated(1, 4e-6, 4, 60e-6), "reads")
    assert found.bottleneck == "device"
    assert found.servers == 4
    assert found.service_s == pytest.approx(60e-6, rel=0.05)
    assert f"would give about {format_rate(found.throughput_per_s[-1])} there, 0 % more" in found.sentence()


def test_threads_with_time_to_spare_are_no_bottleneck() -> None:
    assert host_and_device(simulated(1, 14e-6, 8, 60e-6, host_cpu_s=4e-6), "reads").bottleneck == "device"


def test_a_device_that_was_never_full_leaves_a_bound_on_what_another_thread_gives() -> None:
    busy = simulated(1, 14e-6, 64, 60e-6, host_cpu_s=14e-6)
    found = host_and_device(busy, "reads")
    assert (found.bottleneck, found.filled) == ("host", False)
    told = found.sentence()
    assert "the device took 60 µs at every load and was never full" in told
    assert f"would give at most {format_rate(2 * float(found.throughput_per_s[-1]))} there, 100 % more" in told


def test_what_threads_could_hand_over_is_the_throughput_over_the_share_they_work() -> None:
    found = host_and_device(simulated(2, 14e-6, 4, 60e-6, host_cpu_s=10e-6), "reads")
    assert (found.bottleneck, found.filled) == ("device", True)
    assert found.host_peak_per_s == pytest.approx(2 / 10e-6)


def test_what_was_served_is_never_said_to_be_beyond_the_device() -> None:
    """A device that bends softly serves more than the number of servers that its times are nearest to."""
    sweep = simulated(1, 4e-6, 4, 60e-6)
    slow = np.linspace(1, 1.6, len(DEPTHS))  # what no number of servers does
    times = sweep.points["device_response_time_s"] / slow
    response = times + (sweep.points["latency_s"] - sweep.points["device_response_time_s"])
    rate = sweep.points["load"] / response
    points = sweep.points.assign(
        device_response_time_s=times, latency_s=response, throughput_per_s=rate, device_throughput_per_s=rate
    )
    found = host_and_device(Sweep(points, provenance=sweep.provenance), "reads")
    assert found.device_peak_per_s >= found.throughput_per_s.max()
    assert found.servers / found.service_s < 0.9 * found.throughput_per_s.max()
    assert "(more than the 5 servers that its times suggest)" in found.sentence()


def test_the_audit_says_whose_knee_it_is_or_why_not() -> None:
    (warned,) = host_findings(simulated(1, 14e-6, 8, 60e-6))
    assert (warned.severity, warned.remedy) == ("warning", "measure with --jobs 2.")
    points = simulated(1, 14e-6, 8, 60e-6).points
    over_nbd = Sweep(points.drop(columns=list(COLUMNS)), provenance=Provenance(details={NOTE: "not counted: nbd"}))
    (told,) = host_findings(over_nbd)
    assert told.severity == "info"
    assert told.message.endswith("not counted: nbd")
    assert host_findings(Sweep(points)) == []


def test_a_device_that_others_used_is_not_told_apart() -> None:
    sweep = simulated(1, 14e-6, 8, 60e-6)
    busy = Sweep(sweep.points.assign(device_throughput_per_s=2 * sweep.points["throughput_per_s"]))
    with pytest.raises(DataError, match="at 7 of 7 runs the device did not serve fio's requests one by one"):
        host_and_device(busy, "reads")


def test_times_that_two_stations_do_not_explain_say_so() -> None:
    sweep = simulated(1, 14e-6, 8, 60e-6)
    strange = sweep.points.assign(
        device_response_time_s=np.where(sweep.points["load"] % 3 == 1, 0.02, 0.9) * sweep.points["latency_s"]
    )
    found = host_and_device(Sweep(strange), "reads")
    assert (found.bottleneck, math.isnan(found.busy)) == ("", True)
    assert "two stations do not explain these times" in found.sentence()
