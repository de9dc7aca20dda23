"""Outputs that fio 3.33 really wrote here, read back and held against what the files themselves say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from measure.errors import DataError
from measure.formats.fio.runs_as_sweep import fio_sweep

DATA = Path(__file__).parent / "data" / "fio"


def text(name: str) -> str:
    return (DATA / name).read_text("utf-8")


def one_row(name: str) -> dict[str, object]:
    sweep = fio_sweep({name: text(name)})
    assert len(sweep) == 1
    return dict(sweep.points.iloc[0])


READABLE = sorted(p.name for p in DATA.iterdir() if p.name not in ("io-error.json", "no-latency.json"))


@pytest.mark.parametrize("name", [n for n in READABLE if n not in ("rate-limited.json", "completion-only.json")])
def test_the_measured_points_obey_littles_law(name: str) -> None:
    points = fio_sweep({name: text(name)}).points
    outstanding = points["throughput_per_s"] * points["latency_s"]
    assert (outstanding / points["load"]).between(0.97, 1.005).all()


def test_three_files_make_one_curve_with_the_numbers_that_fio_printed() -> None:
    names = [f"sweep-depth-{d}.json" for d in (16, 1, 4)]
    sweep = fio_sweep({n: text(n) for n in names})
    assert sweep.series == ("4 KiB random read",)
    assert list(sweep.points["load"]) == [1, 4, 16]
    read = json.loads(text("sweep-depth-4.json"))["jobs"][0]["read"]
    row = sweep.points.iloc[1]
    assert row["throughput_per_s"] == read["iops"]
    assert row["latency_s"] == pytest.approx(read["lat_ns"]["mean"] * 1e-9)
    assert row["latency_sd_s"] == pytest.approx(read["lat_ns"]["stddev"] * 1e-9)
    assert row["latency_p99_s"] == pytest.approx(read["clat_ns"]["percentile"]["99.000000"] * 1e-9)
    assert row["bandwidth_bytes_per_s"] == read["bw_bytes"]
    assert (row["block_bytes"], row["read_fraction"], row["source"]) == (4096, 1.0, "sweep-depth-4.json")
    assert sweep.provenance.tool_version == "fio-3.33"
    assert not sweep.findings


def test_clones_are_summed_and_their_latency_is_weighted_by_iops() -> None:
    reads = [job["read"] for job in json.loads(text("clones.json"))["jobs"]]
    row = one_row("clones.json")
    total = sum(r["iops"] for r in reads)
    assert row["throughput_per_s"] == pytest.approx(total)
    mean = sum(r["iops"] * r["lat_ns"]["mean"] for r in reads) / total
    assert row["latency_s"] == pytest.approx(mean * 1e-9)
    second = sum(r["iops"] * (r["lat_ns"]["stddev"] ** 2 + r["lat_ns"]["mean"] ** 2) for r in reads) / total
    assert row["latency_sd_s"] == pytest.approx(math.sqrt(second - mean**2) * 1e-9)
    assert (row["depth"], row["jobs"], row["load"]) == (4, 3, 12)


def test_a_group_that_fio_did_not_record_as_one_is_known_by_what_was_in_flight() -> None:
    name = "grouped-by-flag.json"  # --group_reporting without a value is not among the options that fio writes
    row = one_row(name)
    assert "group_reporting" not in text(name)
    assert (row["depth"], row["jobs"], row["load"]) == (4, 2, 8)
    assert not fio_sweep({name: text(name)}).findings


def test_a_mix_adds_both_directions_and_pools_their_histograms() -> None:
    job = json.loads(text("mixed.json"))["jobs"][0]
    row = one_row("mixed.json")
    read, write = job["read"], job["write"]
    assert row["throughput_per_s"] == pytest.approx(read["iops"] + write["iops"])
    assert row["read_fraction"] == pytest.approx(read["total_ios"] / (read["total_ios"] + write["total_ios"]))
    parts = [(d["iops"], d["lat_ns"]["mean"]) for d in (read, write)]
    assert row["latency_s"] == pytest.approx(sum(x * r for x, r in parts) / sum(x for x, _ in parts) * 1e-9)
    ends = sorted(d["lat_ns"]["percentile"]["99.000000"] * 1e-9 for d in (read, write))
    assert ends[0] * 0.99 <= row["latency_p99_s"] <= ends[1] * 1.01
    assert row["series"] == "4 KiB random 70/30 mix"


def test_of_cumulative_snapshots_the_last_counts() -> None:
    row = one_row("status-interval.json")
    last = max(int(part.partition(",")[0]) for part in text("status-interval.json").split('"total_ios" :')[1:])
    assert row["requests"] == last


def test_completion_latency_alone_is_used_and_said() -> None:
    sweep = fio_sweep({"x.json": text("completion-only.json")})
    assert [f.check for f in sweep.findings] == ["completion-latency-only"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("io-error.json", r"io-error\.json: job 'full' ended with error 28 \(No space left on device\)"),
        ("no-latency.json", r"recorded no latency; measure again without gtod_reduce"),
    ],
)
def test_what_is_no_point_is_refused_with_a_reason(name: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        fio_sweep({name: text(name)})
