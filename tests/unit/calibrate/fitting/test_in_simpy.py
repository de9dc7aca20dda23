"""The device in a SimPy simulation: closed loops have the curve's throughput, open streams the W of ``solve``."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import simpy

from calibrate import Fit, from_datasheet
from qsim import Exponential, Open, solve

DRIVE = from_datasheet(idle_latency=80e-6, peak_iops=600e3)


@pytest.fixture
def env() -> simpy.Environment:
    return simpy.Environment()


def test_a_closed_loop_has_the_throughput_of_the_curve(env: simpy.Environment) -> None:
    device = DRIVE.simpy(env, seed=1)
    served = []

    def client() -> Generator[Any, Any, None]:
        while True:
            served.append((yield device.request()))

    for _ in range(32):
        env.process(client())
    while len(served) < 100_000:
        env.step()
    assert len(served) / env.now == pytest.approx(DRIVE.predict([32]).throughput_per_s[0], rel=0.02)
    assert np.mean(served) == pytest.approx(DRIVE.predict([32]).response_time_s[0], rel=0.02)


def test_an_open_stream_has_the_response_time_of_the_formula(env: simpy.Environment) -> None:
    device, rate, times = DRIVE.simpy(env, seed=2), 400e3, []
    rng = np.random.default_rng(3)

    def one() -> Generator[Any, Any, None]:
        times.append((yield device.request()))

    def stream() -> Generator[Any, Any, None]:
        while True:
            yield env.timeout(rng.exponential(1 / rate))
            env.process(one())

    env.process(stream())
    env.run(until=100_000 / rate)
    station = DRIVE.station()
    exact = solve(Open(Exponential(1 / rate), station.service, speeds=station.speeds, discipline="PS")).W
    assert np.mean(times) == pytest.approx(exact, rel=0.03)


def test_requests_that_come_together_share_the_device(env: simpy.Environment) -> None:
    device = DRIVE.simpy(env, seed=5)
    both = [device.request(), device.request()]
    assert len(device) == 2
    env.run(until=simpy.AllOf(env, both))
    assert len(device) == 0
    assert both[0].value <= env.now
    assert both[1].value <= env.now
    assert env.now in (both[0].value, both[1].value)


def test_an_interrupted_process_takes_its_request_back(env: simpy.Environment) -> None:
    device = DRIVE.simpy(env, seed=6)
    seen: list[str] = []

    def waiting() -> Generator[Any, Any, None]:
        try:
            with device.request() as request:
                yield request
            seen.append("served")
        except simpy.Interrupt:
            seen.append("interrupted")

    process = env.process(waiting())

    def impatient() -> Generator[Any, Any, None]:
        yield env.timeout(1e-9)
        assert len(device) == 1
        process.interrupt()

    env.process(impatient())
    env.run()
    assert seen == ["interrupted"]
    assert len(device) == 0
    done = device.request()
    env.run()
    done.cancel()  # after it was served: nothing happens
    assert done.processed
    assert len(device) == 0


def test_more_requests_than_the_device_is_known_for_are_refused(env: simpy.Environment) -> None:
    device, most = DRIVE.simpy(env, seed=8), DRIVE.station().most
    for _ in range(most):
        device.request()
    with pytest.raises(ValueError, match="extrapolate=True"):
        device.request()


def test_the_same_seed_gives_the_same_times() -> None:
    def first(fit: Fit, seed: int) -> float:
        env = simpy.Environment()
        request = fit.simpy(env, seed=seed).request()
        env.run()
        return float(request.value)

    assert first(DRIVE, 1) == first(DRIVE, 1) != first(DRIVE, 2)
