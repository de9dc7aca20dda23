"""What others print, read number by number: fio's report for people, bandwidth-latency curves."""

from __future__ import annotations

import math

import pytest

from measure.errors import DataError
from measure.formats.fio.text_output import parse_normal
from measure.formats.mess_curves import curves_sweep, looks_like_curves

# --- fio's report -----------------------------------------------------------------------------------------------------

NEW = """\
j: (g=0): rw={rw}, bs=(R) 4096B-4096B, (W) 8192B-8192B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.33
j: (groupid=0, jobs=1): err= 0: pid=7: Fri Feb 24 22:39:10 2023
  read: IOPS={iops}, BW={bw} ({decimal})(782MiB/2000msec)
    clat (usec): min=3, max=5979, avg=90.00, stdev= 9.00
     lat (usec): min=3, max=5979, avg=100.00, stdev=10.00
    clat percentiles (usec):
     |  1.00th=[    5], 50.00th=[   88], 99.00th=[  150],
     | 99.90th=[  200]
  IO depths    : 1=0.5%, 2=0.0%, 4=0.0%, 8=99.5%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total={issued},0,0,0 short=0,0,0,0 dropped=0,0,0,0
"""


def report(**changes: object) -> str:
    usual = {"rw": "randread", "iops": "100k", "bw": "391MiB/s", "decimal": "410MB/s", "issued": 200_040}
    return NEW.format(**{**usual, **changes})


def test_every_field_of_a_report() -> None:
    (found,) = parse_normal(report(), "f")
    assert (found.throughput_per_s, found.runtime_s, found.requests) == (100_020, 2, 200_040)
    assert found.bandwidth_bytes_per_s == 391 * 2**20
    assert (found.latency.mean_s, found.latency.sd_s) == pytest.approx((1e-4, 1e-5))
    assert found.latency.percentiles_s == pytest.approx({1.0: 5e-6, 50.0: 88e-6, 99.0: 150e-6, 99.9: 200e-6})
    assert found.latency.kind == "lat"
    assert found.options == {"rw": "randread", "bs": "4096", "ioengine": "libaio", "iodepth": "8"}
    assert (found.read_fraction, found.version, found.error, found.records) == (1, "fio-3.33", 0, 1)
    assert (found.findings, found.job, found.depth, found.jobs) == ((), "j", 8, 1)
    assert (found.iodepth_levels["1"], found.iodepth_levels[">=64"]) == (0.5, 0)
    (write,) = parse_normal(report(rw="randwrite").replace("read:", "write:"), "f")
    assert (write.options["bs"], write.read_fraction) == ("8192", 0)
    (failed,) = parse_normal(report().replace("err= 0", "err= 5"), "f")
    assert failed.error == 5
    (ranged,) = parse_normal(report().replace("(R) 4096B", "(R) 512B"), "f")
    assert "bs" not in ranged.options
    (mixed,) = parse_normal(report(iops="1").replace("read:", "mixed:"), "f")
    assert (mixed.throughput_per_s, math.isnan(mixed.read_fraction)) == (1, True)
    (trimmed,) = parse_normal(report().replace("read:", "trim:"), "f")
    assert (trimmed.requests, trimmed.runtime_s) == (0, 0)
    for way in ("read", "write"):  # neither issued requests nor a run time
        for hidden in ("issued", "2000"):
            (rounded,) = parse_normal(report(iops="1").replace(hidden, "0").replace("read:", f"{way}:"), "f")
            assert rounded.throughput_per_s == 1


def test_runs_of_one_terminal_session_keep_their_own_options_and_are_not_added() -> None:
    runs = [report(), report().replace("4096B", "32.0KiB"), report().replace("depth=8", "depth=16")]
    found = parse_normal("user@host:~$ sudo fio job.fio\n".join(runs), "f")
    assert [(each.block_bytes, each.depth, each.requests) for each in found] == [
        (4096, 8, 200_040),
        (32768, 8, 200_040),
        (4096, 16, 200_040),
    ]


@pytest.mark.parametrize(
    ("iops", "issued", "rate"),
    [
        ("100k", 203_900, 101_950),
        ("100k", 204_100, 100_000),
        ("100k", 196_100, 98_050),
        ("100k", 195_900, 100_000),
        ("40", 82, 41),
        ("1", 0, 1),
        ("40", 83, 40),
        ("1.5M", 5e6, 1.5e6),
        ("2G", 3, 2e9),
        ("2.5K", 1, 2500),
    ],
)
def test_the_rate_is_that_of_the_requests_issued_where_they_agree(iops: str, issued: float, rate: float) -> None:
    """Within 2 %, or within one a second below 50."""
    assert parse_normal(report(iops=iops, issued=int(issued)), "f")[0].throughput_per_s == pytest.approx(
        rate, rel=1e-12
    )


@pytest.mark.parametrize(
    ("bw", "decimal", "rate"),
    [
        ("391MiB/s", "410MB/s", 391 * 2**20),
        ("100KiB/s", "102kB/s", 102_400),
        ("410MB/s", "391MiB/s", 410e6),
        ("900B/s", "900B/s", 900),
        ("1.2GiB/s", "1.3GB/s", 1.2 * 2**30),
        ("3.1Gibit/s", "3.3Gbit/s", 0),
    ],
)
def test_bandwidths_of_a_report(bw: str, decimal: str, rate: float) -> None:
    assert parse_normal(report(bw=bw, decimal=decimal), "f")[0].bandwidth_bytes_per_s == pytest.approx(rate)


# --- curves -----------------------------------------------------------------------------------------------------------


def test_files_of_curves_are_told_apart() -> None:
    same = curves_sweep({"a/bwlat_50.txt": "640 95\n1280 96\n", "b/bwlat_50.txt": "640 95\n1280 96\n"})
    assert list(same.series) == ["a/bwlat_50.txt: 50/50 mix", "b/bwlat_50.txt: 50/50 mix"]
    assert same.name == ""
    assert list(curves_sweep({"a.txt": "640 95\n1280 96\n"}).series) == ["all points"]
    assert list(curves_sweep({"bwlat_0.txt": "0 95\n1280 96\n"}).provenance.details["idle_latency_s"]) == ["write"]
    two = curves_sweep({"a.txt": "640 95\n1280 96\n", "b.txt": "640 95\n1280 96\n"})
    assert list(two.series) == ["a.txt", "b.txt"]
    assert "a.txt and 1 more file: no unit is named" in two.findings[0].message
    repeats = curves_sweep({"bwlat_50.txt": "640 95\n640 96\n1280 99\n"})
    assert repeats.points["repeat"].tolist() == [0, 1, 0]
    assert repeats.name == "bwlat_50.txt"
    assert not looks_like_curves("1 2\n")
    assert looks_like_curves("1 2\n3 4\n")
    with pytest.raises(DataError, match="cannot be one sweep"):
        curves_sweep({"a": "1 2\n3 4\n", "b": "pause,bandwidth_mean,latency_mean\n1,2,3\n"})
