"""The reading of fio's report for people, where files of other people were misread before: by texts of our own."""

from __future__ import annotations

from measure.formats.fio.sweep import fio_sweep

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
