"""The host limit uses what fio tells of the host's work and of the blocks, and says what is not there."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrate.fitting.curve_fit import fit
from calibrate.models.host_limits import host_limit_of
from calibrate.points import points_of
from measure.formats.fio.json_output import parse_fio, processor_time
from measure.formats.fio.record import host_columns
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32])


def sweep(cpu_s: float | None = None, block: float = 4096.0, extra: tuple[float, float] | None = None) -> Sweep:
    """A drive whose host needs ``cpu_s`` of one job for a request; ``extra``: throughput and block of another curve."""
    x = np.minimum(DEPTHS / (DEPTHS + 15) * 3e5, 1e5)
    table = pd.DataFrame(
        {
            "series": "reads",
            "load": DEPTHS,
            "throughput_per_s": x,
            "latency_s": DEPTHS / x,
            "block_bytes": block,
            "jobs": 1.0,
        }
    )
    if cpu_s is not None:
        table["host_cpu_s"] = cpu_s
    if extra is not None:
        rate, size = extra
        other = table.assign(series="big", throughput_per_s=rate, latency_s=DEPTHS / rate, block_bytes=size)
        table = pd.concat([table, other], ignore_index=True)
    return Sweep(table, name="drive")


def test_a_host_without_time_left_is_the_wall() -> None:
    model = host_limit_of(points_of(sweep(cpu_s=1e-5)))
    assert model.host is not None
    assert model.host.most_per_s == pytest.approx(1e5)
    assert model.host.is_wall
    assert "the host is the limit" in model.assumption


def test_a_host_with_time_left_bounds_the_peak_that_is_extrapolated() -> None:
    shallow = points_of(sweep(cpu_s=5e-6)).at(DEPTHS <= 4)
    told = host_limit_of(shallow)
    assert told.host is not None
    assert not told.host.is_wall
    assert "not the limit below 200 k/s" in told.assumption
    assert told.host.most_per_s == pytest.approx(200e3)


def test_a_host_that_is_the_wall_fixes_the_peak() -> None:
    points = points_of(sweep(cpu_s=1e-5))
    low, middle, high = host_limit_of(points).weights(points).quantiles(lambda v: v[:, 1], (0.05, 0.5, 0.95))
    assert middle == pytest.approx(1e5, rel=0.02)
    assert high / low < 1.2


def test_what_other_blocks_moved_over_the_link_is_no_wall() -> None:
    points = points_of(sweep(extra=(1e4, 2.0**20)), "reads")
    assert points.carried_bytes_per_s == pytest.approx(1e4 * 2**20)
    assert "the link is not the limit below 2.56 M/s" in host_limit_of(points).assumption


def test_what_is_not_there_is_said() -> None:
    assumption = fit(sweep(block=np.nan), list(DEPTHS), model="host limit").assumption
    assert "the host's time for a request is not in these data" in assumption
    assert "the size of a block is not in these data" in assumption


def test_fio_tells_the_time_of_its_jobs() -> None:
    clone = {"usr_cpu": 10.0, "sys_cpu": 30.0, "job_runtime": 2000}
    assert processor_time([clone, clone], 2.0, 2) == pytest.approx(1.6)
    older = {"usr_cpu": 10.0, "sys_cpu": 30.0}
    assert processor_time([older], 2.0, 4) == pytest.approx(3.2)  # four clones reported as one
    assert np.isnan(processor_time([{"usr_cpu": 1.0}], 1.0, 1))
    section = {
        "iops": 100.0,
        "total_ios": 200,
        "runtime": 2000,
        "bw_bytes": 409600,
        "io_bytes": 819200,
        "lat_ns": {"mean": 1e7, "stddev": 0, "min": 1, "max": 2},
    }
    document = {"fio version": "fio-3.33", "jobs": [{"jobname": "j", "error": 0, "read": section, **clone}]}
    (record,) = parse_fio(json.dumps(document), "one.json")
    assert host_columns(record) == {"host_cpu_s": pytest.approx(0.8 / 200)}
    del document["jobs"][0]["sys_cpu"]
    (silent,) = parse_fio(json.dumps(document), "one.json")
    assert host_columns(silent) == {}
