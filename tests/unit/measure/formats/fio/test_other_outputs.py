"""fio's other outputs: terse lines, the report of version 2, and what its client prints of a server.

Run here by fio 3.33 (terse versions 3 to 5, client and server on one machine); the report of fio 2.2.10 is of a public
issue (axboe/fio 559).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from measure import load
from measure.errors import DataError
from measure.loads import ArrivalRate, Clients
from measure.origin import ORIGIN

OTHERS = Path(__file__).parents[4] / "data" / "fio-others"


@pytest.mark.parametrize("name", ["client.txt", "client.json"])
def test_the_sum_of_all_clients_is_no_point(name: str) -> None:
    sweep = load(OTHERS / name)
    assert list(sweep.points["load"]) == [1, 8]
    assert (sweep.points["throughput_per_s"] < 21e3).all()  # all clients together: 36k, although they ran in turn


@pytest.mark.parametrize(
    "mark", ["> ", ">", "    ", "\t", "fio_1  | ", "2024-03-02T10:00:00.1234567Z ", "Mar  2 10:00:00 host fio[7]: "]
)
def test_a_report_in_a_mail_a_log_or_indented_is_read_as_it_was_printed(tmp_path: Path, mark: str) -> None:
    lines = (OTHERS / "fio-2.2.10.txt").read_text("utf-8").splitlines()
    (path := tmp_path / "mail.txt").write_text("".join(f"{mark}{line}\n" for line in lines))
    assert (
        load(path).points["throughput_per_s"].tolist()
        == load(OTHERS / "fio-2.2.10.txt").points["throughput_per_s"].tolist()
    )


def _limited(tmp_path: Path, **options: str) -> Path:
    """A job at 1,000 a second that takes 100 us each, of a depth of 8."""
    named = {"rw": "randread", "bs": "4k", "iodepth": "8", "ioengine": "libaio", **options}
    times = {"min": 1e4, "max": 9e5, "mean": 1e5, "stddev": 1e4}
    flow = {"iops": 1000.0, "bw_bytes": 4096000, "total_ios": 10000, "runtime": 10000, "lat_ns": times}
    written = {"jobname": "a", "groupid": 0, "error": 0, "job options": named, "read": flow, "write": {}}
    document = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000, "jobs": [written]}
    (path := tmp_path / "limited.json").write_text(json.dumps(document))
    return path


def test_a_depth_that_a_rate_left_idle_is_no_load(tmp_path: Path) -> None:
    held = load(_limited(tmp_path, rate_iops="1000"))
    (asked,) = [f for f in held.findings if f.check == "load-kind"]
    assert (asked.severity, asked.message) == ("error", "X R / N is 0.013 at depth 8.")
    assert "rate_iops" in asked.hypothesis
    paced = load(_limited(tmp_path, rate_iops="1000"), columns={"gaps": "paced"})
    assert (paced.load_type, paced.points["load"].tolist()) == (ArrivalRate(gaps="paced"), [1000])
    assert [(f.check, f.load) for f in paced.findings] == [("rate-limited", None)]  # not at a rate of 8
    arrived = load(_limited(tmp_path, rate_iops="1000", rate_process="poisson"))
    assert (arrived.load_type, arrived.points["load"].tolist()) == (ArrivalRate(), [1000])


def test_a_pause_between_requests_is_a_think_time_and_no_rate(tmp_path: Path) -> None:
    """At depth 1 a cycle of 1 ms holds 100 us of service."""
    file = _limited(tmp_path, thinktime="900", iodepth="1")
    (asked,) = [f for f in load(file).findings if f.check == "load-kind"]
    assert "--columns think=1ms for thinktime=1000" in asked.remedy
    assert "rate" not in f"{asked.hypothesis} {asked.remedy}"
    assert load(file, columns={"think": "900us"}).load_type == Clients(think=9e-4)


def test_jobs_of_one_depth_that_come_at_several_rates_are_one_curve_over_those(tmp_path: Path) -> None:
    document = json.loads(_limited(tmp_path, rate_iops="1000", rate_process="poisson").read_text())
    (job,) = document["jobs"]
    quicker = {**job, "jobname": "b", "read": {**job["read"], "iops": 2000.0, "total_ios": 20000, "bw_bytes": 8192000}}
    (path := tmp_path / "rates.json").write_text(json.dumps({**document, "jobs": [quicker, job]}))
    sweep = load(path)
    assert sweep.series == ("4 KiB random read",)
    assert sweep.points[["load", "repeat"]].to_numpy().tolist() == [[1000, 0], [2000, 0]]
    assert {f.load for f in sweep.findings} == {1000, 2000}


MIXED = """\
a: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.33
a: (groupid=0, jobs=1): err= 0: pid=1: Thu Mar 28 10:25:35 2019
  read: IOPS=6981, BW=27.3MiB/s (28.6MB/s)(273MiB/10001msec)
     lat (usec): min=10, max=900, avg=800.10, stdev=10.00
  write: IOPS=3019, BW=11.8MiB/s (12.4MB/s)(118MiB/10001msec); 0 zone resets
     lat (usec): min=10, max=900, avg=799.90, stdev=10.00
"""


def test_the_report_of_a_mix_is_named_by_what_was_counted(tmp_path: Path) -> None:
    (path := tmp_path / "mix.txt").write_text(MIXED)
    assert load(path).series == ("4 KiB random 70/30 mix",)


def test_a_job_that_only_trims_is_named_so(tmp_path: Path) -> None:
    document = json.loads(_limited(tmp_path, rw="randtrim").read_text())
    document["jobs"][0]["read"] = {}
    (path := tmp_path / "trim.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="job 'a' only trimmed, and reads and writes are what is read"):
        load(path)


def test_one_job_on_two_hosts_is_one_point_of_both(tmp_path: Path) -> None:
    document = json.loads((OTHERS / "client.json").read_text("utf-8").partition("\n")[2])
    first, *_ = document["client_stats"]
    document["client_stats"] = [{**first, "hostname": host} for host in ("a", "b")] + document["client_stats"][-1:]
    (path := tmp_path / "two.json").write_text(json.dumps(document))
    (point,) = load(path).points.to_dict("records")
    assert point["load"] == 2
    assert point["throughput_per_s"] == pytest.approx(2 * first["read"]["iops"])


@pytest.mark.parametrize(
    ("version", "rates", "times"),
    [(3, [19412, 18352], [50e-6, 434e-6]), (4, [16007, 15238], [61e-6, 522e-6]), (5, [16495, 15989], [58e-6, 497e-6])],
)
def test_terse_lines_are_read_by_field(version: int, rates: list[float], times: list[float]) -> None:
    sweep = load(OTHERS / f"terse-{version}.txt")
    assert sweep.points["throughput_per_s"].tolist() == rates
    assert sweep.points["latency_s"].tolist() == pytest.approx(times, rel=0.02)
    assert sweep.points["load"].tolist() == [1, 8]
    assert sweep.points[ORIGIN["load"]].iloc[1].startswith("computed")  # no field holds the depth


def test_of_version_5_the_place_of_each_field_is_that_of_the_line() -> None:
    cells = (OTHERS / "terse-5.txt").read_text("utf-8").splitlines()[0].split(";")
    point = load(OTHERS / "terse-5.txt").points.iloc[0]
    assert point["throughput_per_s"] == float(cells[7])
    assert point["latency_s"] == pytest.approx(float(cells[39]) / 1e6)
    assert point["bandwidth_bytes_per_s"] == float(cells[6]) * 1024


def test_a_terse_line_of_more_jobs_than_it_says_is_at_the_load_that_x_r_tells(tmp_path: Path) -> None:
    """4 x 19,412 requests a second of 50 us are 3.9 in flight, of jobs at depth 1."""
    line = (OTHERS / "terse-3.txt").read_text("utf-8").splitlines()[0]
    (path := tmp_path / "t.txt").write_text(line.replace(";19412;", f";{4 * 19412};") + "\n")
    point = load(path).points.iloc[0]
    assert (point["load"], point[ORIGIN["load"]]) == (4, "computed: X R")


def test_terse_lines_alike_are_repeats_with_a_doubt_as_they_may_be_jobs_that_ran_at_once(tmp_path: Path) -> None:
    one, other = (OTHERS / "terse-3.txt").read_text("utf-8").splitlines()[:2]
    (path := tmp_path / "t.txt").write_text(f"{one}\n{one}\n{other}\n")
    (doubt,) = [f for f in load(path).findings if f.check == "repeats-or-jobs"]
    assert (doubt.severity, doubt.load) == ("warning", 1)
    assert "2 lines of job" in doubt.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2;fio-2.1;job;0;0;1;2;3\n", "terse version 2 of fio has no total latency"),
        ("3;fio-3.33;qd1;0;0;66048;65982;16495\n", "line 1 of fio's terse output is cut off"),
    ],
)
def test_a_terse_line_that_is_not_whole_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (path := tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError, match=says):
        load(path)


def test_the_report_of_fio_2_is_read() -> None:
    (point,) = load(OTHERS / "fio-2.2.10.txt").points.to_dict("records")
    assert point["throughput_per_s"] == pytest.approx(14757, rel=1e-4)
    assert point["latency_s"] == pytest.approx(1239.84e-6)
    assert (point["load"], point["block_bytes"]) == (100, 4096)
