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
from measure.origin import ORIGIN

OTHERS = Path(__file__).parents[4] / "data" / "fio-others"


@pytest.mark.parametrize("name", ["client.txt", "client.json"])
def test_the_sum_of_all_clients_is_no_point(name: str) -> None:
    sweep = load(OTHERS / name)
    assert list(sweep.points["load"]) == [1, 8]
    assert (sweep.points["throughput_per_s"] < 21e3).all()  # all clients together: 36k, although they ran in turn


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
