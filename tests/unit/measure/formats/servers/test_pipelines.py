"""Load generators that keep several requests of each client outstanding: the load is in requests, told or found."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure import audit, load
from measure.errors import DataError
from measure.sweep import Sweep

REDIS = """====== SET ======
  1000000 requests completed in 0.98 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

Summary:
  throughput summary: 1020408.19 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.756     0.224     0.703     1.175     1.695     2.999
"""
WRK = """Running 30s test @ http://localhost:8080
  4 threads and 128 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.36ms    3.55ms  53.35ms   89.03%
    Req/Sec   338.18k    49.76k  717.09k    76.64%
  Latency Distribution
     50%    1.05ms
     75%    2.48ms
     90%    6.35ms
     99%   17.28ms
  40436304 requests in 30.08s, 4.97GB read
Requests/sec: 1344512.65
Transfer/sec:    169.25MB
"""


def _read(folder: Path, text: str, columns: dict[str, str] | None = None) -> Sweep:
    path = folder / "r.txt"
    path.write_text(text)
    return load(path, columns)


def _point(sweep: Sweep) -> dict[str, object]:
    return sweep.points.iloc[0].to_dict()


def test_the_pipeline_of_redis_benchmark_follows_from_x_r(tmp_path: Path) -> None:
    point = _point(sweep := _read(tmp_path, REDIS))
    assert (point["load"], point["load_published"]) == (800, 50)
    assert point["load_origin"] == "corrected: clients x 16 requests each, by N = X R"
    assert (point["throughput_per_s"], point["latency_s"]) == (1020408.19, pytest.approx(0.756e-3))
    assert sweep.load_type.at(800) == "800 concurrent requests"
    (law,) = (f for f in audit(sweep) if f.check == "littles-law")
    assert "cannot be checked at 800 concurrent requests" in law.message


def test_a_told_pipeline_is_the_load_and_none_is_found_then(tmp_path: Path) -> None:
    for pipeline, outstanding in (("16", 800), ("1", 50), ("15", 750)):
        point = _point(_read(tmp_path, REDIS, {"pipeline": pipeline}))
        assert (point["load"], point["load_origin"]) == (outstanding, f"told: --columns pipeline={pipeline}")


def test_a_pipeline_that_x_r_does_not_tell_is_asked_for(tmp_path: Path) -> None:
    sweep = _read(tmp_path, WRK)
    assert _point(sweep)["load"] == 128
    (error,) = [f for f in audit(sweep) if f.severity == "error"]
    assert "each of the connections keeps about 25 requests outstanding (pipelining or batches)" in error.hypothesis
    assert "--columns pipeline=" in error.remedy
    assert "job" not in error.hypothesis + error.remedy


def test_times_of_whole_batches_are_no_response_times(tmp_path: Path) -> None:
    point = _point(sweep := _read(tmp_path, WRK, {"pipeline": "16"}))
    assert (point["load"], point["throughput_per_s"]) == (2048, 1344512.65)
    assert (point["latency_s"], point["latency_published_s"]) == pytest.approx((2048 / 1344512.65, 2.36e-3))
    assert str(point["latency_origin"]).startswith("computed: N / X")
    assert "N / X stands beside the mean response time" in next(
        f.message for f in sweep.findings if f.check == "pipelining"
    )


@pytest.mark.parametrize("columns", [{"jobs": "16"}, {"pipeline": "many"}, {"pipeline": "0"}])
def test_other_columns_of_a_run_are_refused_with_what_applies(tmp_path: Path, columns: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"has no columns; --columns can only say .*--columns pipeline=16"):
        _read(tmp_path, REDIS, columns)
