"""The servers behind a curve as a queue: right on devices that are known, refused where the points leave them open."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from calibrate import Fit, fit
from measure import Sweep, load_dataset
from measure.errors import DataError
from qsim import Closed, Exponential, Network, Station, solve

DEPTHS = (1, 2, 4, 8, 16, 32)
SERVICE_S = 3e-3


def known(servers: int, *, constant: bool) -> Fit:
    """A fit of so many servers of 3 ms, with the noise of a short run."""
    rates = [
        min(n, servers) / SERVICE_S
        if constant
        else solve(Closed(n, [Station(Exponential(SERVICE_S), servers=servers)])).throughput
        for n in DEPTHS
    ]
    rates = np.array(rates) * np.exp(np.random.default_rng(servers).normal(0, 0.005, len(DEPTHS)))
    return fit(Sweep(points_at(DEPTHS, rates, latency_sd_s=1e-5 if constant else SERVICE_S)))


@pytest.mark.parametrize("servers", [3, 8])
def test_exponential_servers_are_told_and_make_the_queue(servers: int) -> None:
    made = known(servers, constant=False)
    queue = made.queue(6, structure=True)
    assert isinstance(queue, Network)
    assert queue.stations["device"].servers == servers
    assert queue.stations["device"].time.mean == pytest.approx(SERVICE_S, rel=0.02)
    assert solve(queue).throughput == pytest.approx(made.predict([6]).throughput_per_s[0], rel=0.04)


def test_constant_servers_are_open_and_the_line_says_what_would_tell_them() -> None:
    with pytest.raises(DataError, match=r"any number of servers from 1 to 4 .* measure the response time under"):
        known(4, constant=True).queue(6, structure=True)


def test_a_memory_has_no_servers() -> None:
    with pytest.raises(DataError, match="depths, clients or threads"):
        fit(load_dataset("001-memory"), series="64 B read").queue(4, structure=True)


def with_way(*, link_s: float = 0.0, host_s: float = 0.0, blocks: bool = True) -> Fit:
    """Three exponential servers behind a host of one job and a link that a larger block fills as well."""
    way = [Station(Exponential(host_s))] if host_s else []
    way += [Station(Exponential(link_s), discipline="PS")] if link_s else []
    stations = [*way, Station(Exponential(SERVICE_S), servers=3)]
    rates = np.array([solve(Closed(n, stations)).throughput for n in DEPTHS])
    small = points_at(DEPTHS, rates, series="4 KiB", latency_sd_s=SERVICE_S, block_bytes=4096.0, read_fraction=1.0)
    if host_s:
        small = small.assign(host_cpu_s=host_s, jobs=1.0)
    large = [
        small.assign(series=f"{k} blocks", block_bytes=4096.0 * k, throughput_per_s=1 / (link_s * k), latency_s=1.0)
        for k in ((64, 256) if blocks and link_s else ())
    ]
    return fit(Sweep(pd.concat([small, *large], ignore_index=True)), series="4 KiB")


def test_host_and_link_are_stations_of_their_own_where_they_were_measured() -> None:
    made = with_way(link_s=2e-4, host_s=1e-4)
    stations = made.queue(8, structure=True).stations
    assert stations["link"].time.mean == pytest.approx(2e-4)
    assert stations["host"].time.mean == pytest.approx(1e-4)
    assert stations["device"].servers == 3
    assert "would be measured" not in repr(stations["device"])
    assert solve(made.queue(8, structure=True)).throughput == pytest.approx(
        made.predict([8]).throughput_per_s[0], rel=0.05
    )


def test_what_was_not_measured_is_named_with_what_would() -> None:
    stations = with_way(link_s=2e-4, blocks=False).queue(8, structure=True).stations
    assert "link" not in stations
    assert "two large blocks" in repr(stations["device"])
    assert "processor time" in repr(stations["device"])


def test_a_link_that_is_full_hides_the_servers_behind_it() -> None:
    with pytest.raises(DataError, match=r"^4 KiB does not determine .* the link serves .* measure a smaller block"):
        with_way(link_s=1e-3).queue(8, structure=True)
