"""The reading of fio's report for people, where files of other people were misread before: by texts of our own."""

from __future__ import annotations

import pytest

from measure.formats.fio.sweep import fio_sweep, read_fio

OLD = """\
warm: (g=0): rw=rw, bs=16K-16K/16K-16K/16K-16K, ioengine=sync, iodepth=1
fio-2.0.15
Starting 1 thread
Jobs: 1 (f=1), CR=4000/0 IOPS: [M] [100.0% done] [8352K/7648K/0K /s] [522 /478 /0  iops] [eta 00m:00s]
warm: (groupid=0, jobs=1): err= 0: pid=77: Mon Sep  9 11:42:55 2013
  read : io=80000KB, bw=8000.0KB/s, iops=500 , runt= 10000msec
    clat (usec): min=560 , max=3291 , avg=711.00, stdev=193.33
     lat (usec): min=561 , max=3291 , avg=720.00, stdev=193.33
  write: io=48000KB, bw=4800.0KB/s, iops=300 , runt= 10000msec
     lat (usec): min=1053 , max=6044 , avg=1360.00, stdev=320.28
     issued    : total=r=5000/w=3000/d=0, short=r=0/w=0/d=0
"""

NEW = """\
job1: (g=0): rw=randread, bs=(R) {bs}-{bs}, (W) {bs}-{bs}, (T) {bs}-{bs}, ioengine=libaio, iodepth={depth}
...
fio-3.16
Starting 4 processes
Jobs: 4 (f=4)
job1: (groupid=0, jobs=4): err= 0: pid={pid}: Fri Feb 24 22:39:10 2023
  read: IOPS={iops}, BW={bw} ({decimal})({size}/1000msec)
    clat (usec): min=3, max=5979, avg= 4.45, stdev= 9.20
     lat (usec): min=3, max=5979, avg={lat}, stdev= 9.20
     issued rwts: total={issued},0,0,0 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth={depth}
"""


def run(**changes: object) -> str:
    usual = {
        "bs": "4096B",
        "depth": 4,
        "pid": 1,
        "iops": "100k",
        "bw": "391MiB/s",
        "decimal": "410MB/s",
        "size": "391MiB",
        "lat": "160.00",
        "issued": 100_000,
    }
    return NEW.format(**{**usual, **changes})


@pytest.mark.parametrize("before", ["", "# ", "> ", "   "])
def test_a_report_of_fio_2_0_has_spaces_before_its_commas_and_may_stand_in_notes(before: str) -> None:
    notes = "".join(f"{before}{line}\n" for line in OLD.splitlines())
    (record,) = read_fio(notes, "old.txt")
    assert record.job == "warm"
    assert record.throughput_per_s == pytest.approx(800)
    assert record.bandwidth_bytes_per_s == pytest.approx(12_800 * 1024)
    assert record.latency.mean_s == pytest.approx((500 * 720e-6 + 300 * 1360e-6) / 800)
    assert (record.depth, record.block_bytes, record.read_fraction) == (1, 16384, pytest.approx(500 / 800))


def test_runs_of_one_terminal_session_keep_their_own_options_and_are_not_added() -> None:
    """The same job of the same group, run again with another block and another depth, was read as one of two clones."""
    session = "user@host:~$ sudo fio job.fio\n".join(
        ["", run(), run(bs="32.0KiB", pid=2, iops="50.0k", issued=50_000), run(depth=8, pid=3, lat="320.00")]
    )
    points = fio_sweep({"session.txt": session}).points
    assert sorted(zip(points["series"], points["load"], points["throughput_per_s"], strict=True)) == [
        ("32 KiB random read", 16, 50_000),
        ("4 KiB random read 4 jobs", 16, 100_000),
        ("4 KiB random read 4 jobs", 32, 100_000),
    ]


@pytest.mark.parametrize(("rw", "block"), [("write", 65536), ("read", 4096)])
def test_each_direction_of_fio_2_0_has_a_block_size_of_its_own(rw: str, block: int) -> None:
    flows = OLD.split("  write:")
    kept = flows[0] if rw == "read" else flows[0].split("  read :")[0] + "  write:" + flows[1]
    text = kept.replace("rw=rw, bs=16K-16K/16K-16K/16K-16K", f"rw={rw}, bs=4K-4K/64K-64K/4K-4K")
    (record,) = read_fio(text.replace("/64K-64K/4K-4K", "/64K-64K"), "old.txt")
    assert record.block_bytes == block
