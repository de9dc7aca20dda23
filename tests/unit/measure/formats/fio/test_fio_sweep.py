"""The reading of fio's JSON, by small documents of the test's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from measure.errors import DataError
from measure.formats.fio.runs_as_sweep import fio_sweep


def stats(mean: float, sd: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"mean": mean, "stddev": sd, **more}


def read3(iops: float, mean_ns: float, **more: Any) -> dict[str, Any]:
    section = {
        "bw_bytes": int(iops * 4096),
        "iops": iops,
        "runtime": 1000,
        "total_ios": int(iops),
        "lat_ns": stats(mean_ns),
        "clat_ns": stats(mean_ns * 0.9, percentile={"99.000000": 5e5}),
    }
    return {**section, **more}


def job(section: dict[str, Any], direction: str = "read", **more: Any) -> dict[str, Any]:
    options = {"rw": f"rand{direction}", "bs": "4k", "ioengine": "libaio", "iodepth": "4", "direct": "1"}
    return {"jobname": "j", "groupid": 0, "error": 0, "job options": options, direction: section, **more}


def document(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000, "jobs": list(jobs), **more}


def sweep_of(*documents: dict[str, Any]) -> Any:
    return fio_sweep({f"{i}.json": json.dumps(d) for i, d in enumerate(documents)})


def test_version_2_is_in_microseconds_and_kib() -> None:
    old = {
        "io_bytes": 4000,
        "bw": 4000,
        "iops": 1000.0,
        "runtime": 1000,
        "total_ios": 1000,
        "clat": stats(3800.0, percentile={"50.000000": 3500, "99.000000": 9000, "0.00": 0}),
        "lat": stats(4000.0, 100.0),
    }
    row = sweep_of({**document(job(old)), "fio version": "fio-2.17"}).points.iloc[0]
    assert row["latency_s"] == pytest.approx(4e-3)
    assert row["latency_sd_s"] == pytest.approx(1e-4)
    assert row["latency_p50_s"] == pytest.approx(3.5e-3)
    assert row["bandwidth_bytes_per_s"] == 4000 * 1024


@pytest.mark.parametrize("shape", [dict, list])
def test_global_options_may_be_an_object_or_a_list(shape: type) -> None:
    shared = {"iodepth": "16", "ioengine": "libaio", "bs": "8k"}
    general = shared if shape is dict else [{"bs": "4k"}, shared]
    own = job(read3(1000, 16e6))
    own["job options"] = {"rw": "randread"}
    row = sweep_of(document(own, **{"global options": general})).points.iloc[0]
    assert (row["load"], row["block_bytes"]) == (16, 8192)


def test_messages_around_several_documents_are_skipped() -> None:
    first = json.dumps(document(job(read3(1000, 4e6))), indent=1)
    second = json.dumps(document(job(read3(2000, 2e6)), timestamp_ms=1_700_000_060_000), indent=1)
    text = f"fio: pid=1, err=5\nnote: {{ not this }}\r[10%]{first}\n\nreport\n{second}\nRun status group 0"
    sweep = fio_sweep({"x": text})
    assert list(sweep.points["throughput_per_s"]) == [1000, 2000]
    assert list(sweep.points["repeat"]) == [0, 1]


def test_an_unfinished_document_after_a_whole_one_is_said() -> None:
    whole = json.dumps(document(job(read3(1000, 4e6))))
    sweep = fio_sweep({"x": whole + whole[: len(whole) // 2]})
    assert len(sweep) == 1
    assert [f.check for f in sweep.findings] == ["truncated-document"]


def test_a_failed_job_is_a_finding_and_never_a_number() -> None:
    sweep = sweep_of(document(job(read3(1000, 4e6))), document(job(read3(9000, 4e6), error=5)))
    assert list(sweep.points["throughput_per_s"]) == [1000]
    assert [f.check for f in sweep.findings] == ["job-failed"]
    assert "Input/output error" in sweep.findings[0].message


def test_one_unreadable_file_among_good_ones_is_a_finding() -> None:
    sweep = fio_sweep({"good": json.dumps(document(job(read3(1000, 4e6)))), "bad": "{ nothing"})
    assert [f.check for f in sweep.findings] == ["unreadable-file"]


def test_different_jobs_of_one_file_with_equal_options_in_the_name_keep_apart() -> None:
    first, second = job(read3(1000, 4e6)), {**job(read3(500, 8e6)), "jobname": "k"}
    second["job options"] = second["job options"] | {"offset": "1g"}
    assert sweep_of(document(first, second)).series == ("4 KiB random read (j)", "4 KiB random read (k)")


def test_i_o_errors_that_were_passed_over_are_said() -> None:
    sweep = sweep_of(document(job(read3(1000, 4e6), total_err=3)))
    assert [f.check for f in sweep.findings] == ["io-errors"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"fio version" : "fio-3.33", "jobs" : [', "f is cut off"),
        ('{"a": 1}', 'no "fio version"'),
        ("[]", 'no "fio version"'),
        ("null", "not fio's JSON"),
        ("a,b\n1,2", "not fio's JSON"),
        ('{"fio version": "fio-3.33", "jobs": []}', "no job is in it"),
        ('{"fio version": "fio-3.33", "jobs": [3, null]}', "no job is in it"),
    ],
)
def test_a_text_without_points_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        fio_sweep({"f": text})
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("f")
    assert "more like it" not in str(caught.value)


def test_a_unit_that_fio_never_wrote_is_refused() -> None:
    with pytest.raises(DataError, match=r"key 'lat_us', which no version of fio writes"):
        sweep_of(document(job(read3(1000, 4e6, lat_us=stats(4e6)))))


def test_reads_of_a_verifying_write_job_are_no_edit() -> None:
    made = job(read3(1000, 4e6), "write")
    made["job options"] |= {"verify": "md5"}
    made["read"] = read3(10, 4e6)
    assert len(sweep_of(document(made))) == 1


def test_no_file_at_all_is_said() -> None:
    with pytest.raises(DataError, match="name at least one file"):
        fio_sweep({})
    with pytest.raises(DataError, match=r"^f .*measure again \(and 1 more like it\)$"):
        fio_sweep(dict.fromkeys("fg", '{"fio version": "fio-3", "jobs": ['))


@pytest.mark.parametrize(("key", "count"), [("4032", -5), ("4032", float("nan")), ("4032", "many"), ("4032x", 5)])
def test_a_damaged_histogram_is_refused_and_not_counted_without_its_bin(key: str, count: Any) -> None:
    section = read3(1000.0, 4e3, lat_ns=stats(4e3, bins={"3968": 900, key: count}))
    with pytest.raises(DataError, match=f"in the bin '{key}' of its histogram.*edited or damaged"):
        sweep_of(document(job(section)))


def _at_depth(depth: int, direction: str = "read", **more: Any) -> dict[str, Any]:
    made = job(read3(1000, depth * 1e6), direction, jobname=f"{direction}{depth}", **more)
    made["job options"] |= {"iodepth": str(depth), **more.get("options", {})}
    return made


def _asked(*jobs: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(f.severity, f.series) for f in sweep_of(document(*jobs)).findings if f.check == "load-kind"]


def test_depths_of_jobs_that_ran_at_once_are_the_load_of_no_curve() -> None:
    """The job file lacks stonewall: the device held 1 + 4 + 64 requests at every "depth"."""
    (asked,) = [f for f in sweep_of(document(*map(_at_depth, (1, 4, 64)))).findings if f.check == "load-kind"]
    assert (asked.severity, "69 requests" in asked.message, "stonewall" in asked.remedy) == ("error", True, True)
    assert _asked(*(_at_depth(depth, groupid=group) for group, depth in enumerate((1, 4, 64)))) == []  # stonewall
    delayed = _at_depth(64, options={"startdelay": "30"})
    assert _asked(_at_depth(1), delayed) == []


def test_reads_beside_writes_of_another_job_are_warned_of() -> None:
    found = _asked(_at_depth(8), _at_depth(2, "write"))
    assert found == [("warning", "4 KiB random read"), ("warning", "4 KiB random write")]
    other = _at_depth(2, "write", options={"filename": "/dev/other"})
    assert _asked(_at_depth(8, options={"filename": "/dev/one"}), other) == []


def test_its_json_counts_where_it_wrote_all_of_its_formats() -> None:
    """The terse line has no depth."""
    terse = "3;fio-3.33;j;0;0;" + ";".join(["0"] * 125)
    sweep = fio_sweep({"all.txt": f"{terse}\n{json.dumps(document(job(read3(1000, 4e6))))}\n"})
    assert list(sweep.points["load"]) == [4]
    assert [f.check for f in sweep.findings] == []
