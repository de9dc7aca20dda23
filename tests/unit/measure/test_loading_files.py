"""``load``: files known by their content, directories, and refusals that name the file and the remedy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from places import GOLDEN

from measure.errors import DataError
from measure.loading import load

TABLE = "io_depth,latency_us,iops\n1,100,10000\n8,200,40000\n"
MLC = (
    "Intel(R) Memory Latency Checker - v3.10\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t120.00\t6400.0\n"
)


def _fio(depth: int, iops: float, lat_us: float, rw: str = "randread") -> str:
    stats = {
        "iops": iops,
        "bw_bytes": round(iops * 4096),
        "total_ios": round(iops * 5),
        "io_bytes": round(iops * 5) * 4096,
        "runtime": 5000,
        "lat_ns": {"mean": lat_us * 1e3, "stddev": 1.0},
    }
    options = {"rw": rw, "bs": "4k", "iodepth": str(depth), "ioengine": "libaio", "direct": "1"}
    job = {"jobname": "t", "groupid": 0, "error": 0, "job options": options, "read": stats}
    return json.dumps({"fio version": "fio-3.33", "timestamp": 1, "jobs": [job]})


def _write(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("name", [b"misleading.xyz", b"caf\xe9.csv"])
@pytest.mark.parametrize(("text", "points"), [(TABLE, 2), (MLC, 1), (_fio(4, 1000.0, 4000.0), 1)])
def test_the_content_and_not_the_name_tells_the_format(tmp_path: Path, text: str, points: int, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_text(text)
    sweep = load(path)
    assert len(sweep) == points
    assert sweep.raw == (path,)
    assert len(load(str(path))) == points


def test_powershells_utf16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mlc.txt"
    path.write_bytes(MLC.encode("utf-16"))
    assert len(load(path)) == 1


def test_declared_columns_reach_the_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n;t;x\n1;5;200\n")
    sweep = load(path, {"load": "n", "latency": "t", "throughput": "x"}, {"latency": "ms", "throughput": "/s"})
    assert sweep.points["latency_s"].iloc[0] == 5e-3


def test_several_fio_files_are_one_curve(tmp_path: Path) -> None:
    _write(tmp_path, **{"a.json": _fio(1, 1000.0, 1000.0), "b.json": _fio(4, 2000.0, 2000.0)})
    for given in ([tmp_path / "a.json", tmp_path / "b.json"], tmp_path):
        sweep = load(given)
        assert sweep.points["load"].tolist() == [1, 4]
        assert sweep.series == ("4 KiB random read",)


def test_a_directory_reads_what_it_can_and_reports_each_other_file(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "good.json": _fio(1, 1000.0, 1000.0),
            "cut.json": _fio(2, 1000.0, 1000.0)[:80],
            "empty.json": "",
            "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0",
            "notes.txt": "remember the milk",
            "t.csv": TABLE,
            ".hidden": b"\0",
            "zipped.gz": b"\x1f\x8b\0\0",
        },
    )
    sweep = load(tmp_path)
    assert sweep.points["load"].tolist() == [1]
    told = {
        name: f.severity
        for f in sweep.findings
        for name in ("cut", "empty", "picture", "notes", "t.csv", "zipped")
        if name in f.message
    }
    assert told == {
        "cut": "error",
        "empty": "warning",
        "zipped": "warning",
        "picture": "info",
        "notes": "info",
        "t.csv": "info",
    }


PAIRS = "101200.5 181.25\n60300.7 121.1\n640.5 99.7\n"
MESS = "read_pct_rounded,pause,bandwidth_mean,latency_mean\n100,450,15.5,94.9\n100,45,78.1,126.8\n"
BESIDE = {
    "analysis.ipynb": '{"cells": [{"outputs": ["Inject Latency Bandwidth"]}], "x": {"fio version": "3"}}',
    "plot.py": "import os, sys\nprint(1, 2)\n",
    "README.md": "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "figure.png": b"\x89PNG\r\n\x1a\n\0\0\0",
    "paper.pdf": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n",
    "settings.json": '{"a": 1}',
    "notes.txt": "Dear all, this is what we measured,\nwith love, the lab\n",
}


@pytest.mark.parametrize(
    ("data", "kind", "points"),
    [
        ({"bwlat_70.txt": PAIRS, "bwlat_100.txt": PAIRS}, "bandwidth", 6),
        ({"mess.csv": MESS}, "injected_delay", 2),
        ({"mlc.txt": MLC}, "injected_delay", 1),
        ({"a.json": _fio(1, 1000.0, 1000.0), "b.json": _fio(4, 2000.0, 2000.0)}, "queue_depth", 2),
        ({"t.csv": TABLE}, "queue_depth", 2),
    ],
)
def test_a_notebook_a_script_a_readme_and_pictures_beside_the_data_are_left_out_and_named(
    tmp_path: Path, data: dict[str, str], kind: str, points: int
) -> None:
    _write(tmp_path, **data, **BESIDE)
    sweep = load(tmp_path)
    assert (sweep.load_type.kind, len(sweep)) == (kind, points)
    (finding,) = [f for f in sweep.findings if f.check in ("files-left-out", "unreadable-file")]
    assert finding.severity == "info"
    assert finding.message == (
        "7 files left out: README.md (no measurement), analysis.ipynb (no measurement), figure.png (no measurement), "
        "notes.txt (no measurement), paper.pdf (no measurement), plot.py (no measurement), settings.json (no "
        "measurement)."
    )


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        ({"bwlat_70.txt": PAIRS}, {"bwlat_60.txt": PAIRS.replace("121.1", "12#.1")}, "bwlat_60.txt is neither"),
        ({"bwlat_70.txt": PAIRS}, {"bwlat_60.txt": PAIRS * 9 + "12 oops\n"}, "'oops' in line 28 is not a number"),
        ({"a.csv": MESS}, {"b.csv": MESS + "100,20"}, "b.csv: line 4, the last, is cut off"),
        ({"mlc.txt": MLC}, {"cut.txt": MLC[:-20]}, "cut.txt: the loaded-latency table ends before its first row"),
        ({"mlc.txt": MLC}, {"cut.txt": MLC[:50]}, "cut.txt: MLC's output, but without a loaded-latency table"),
        ({"a.csv": TABLE}, {"b.csv": TABLE + "16,fast,1\n"}, "b.csv: 'fast' in line 4"),
        ({"a.csv": TABLE}, {"k6.json": '{"metrics": {"http_reqs": {"rate": 8'}, "k6.json is JSON that was cut off"),
    ],
)
def test_one_damaged_file_is_named_and_loses_no_other(
    tmp_path: Path, good: dict[str, str], bad: dict[str, str], says: str
) -> None:
    _write(tmp_path / "good", **good)
    _write(tmp_path / "all", **good, **bad)
    sweep = load(tmp_path / "all")
    assert sweep.points["load"].tolist() == load(tmp_path / "good").points["load"].tolist()
    (finding,) = [f for f in sweep.findings if f.severity == "warning"]
    assert says in finding.message


@pytest.mark.parametrize("folder", ["", "text/"])
def test_curves_over_another_load_are_left_out_and_named(tmp_path: Path, folder: str) -> None:
    _write(tmp_path, **{"mess.csv": MESS})
    _write(tmp_path / folder, **{"bwlat_70.txt": PAIRS, "bwlat_50.txt": PAIRS})
    sweep = load(tmp_path)
    assert (sweep.load_type.kind, len(sweep)) == ("injected_delay", 2)
    (finding,) = [f for f in sweep.findings if f.check == "files-left-out"]
    assert (
        finding.message
        == "2 files left out: bwlat_50.txt (over bandwidth in B/s), bwlat_70.txt (over bandwidth in B/s)."
    )


def test_a_copy_of_a_run_is_no_repeat(tmp_path: Path) -> None:
    """Two runs alike to the letter are one, copied: as repeats they would show no noise."""
    runs = {name: _fio(8, rate, 8 / rate * 1e6) for name, rate in (("a.json", 4e4), ("c.json", 4e4), ("b.json", 4.1e4))}
    _write(tmp_path, **runs)
    sweep = load(tmp_path)
    assert sorted(sweep.points["throughput_per_s"]) == [40_000, 41_000]
    (finding,) = [f for f in sweep.findings if f.check == "files-left-out"]
    assert finding.message == "1 file left out: c.json (a copy)."


def test_subdirectories_are_curves_under_their_own_names_and_never_repeats(tmp_path: Path) -> None:
    _write(tmp_path / "old-drive", **{"a.json": _fio(1, 1000.0, 1000.0)})
    _write(tmp_path / "new-drive", **{"a.json": _fio(1, 9000.0, 110.0)})
    sweep = load(tmp_path)
    assert sweep.series == ("new-drive: 4 KiB random read", "old-drive: 4 KiB random read")
    assert sweep.points["repeat"].tolist() == [0, 0]


def test_many_unreadable_files_are_summed_up(tmp_path: Path) -> None:
    _write(tmp_path, **{"a.json": _fio(1, 1000.0, 1000.0)}, **{f"{i}.log": "" for i in range(50)})
    assert "30 more files could not be read" in load(tmp_path).findings[-1].message


def test_two_formats_by_name_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, **{"a.json": _fio(1, 1000.0, 1000.0), "b.csv": TABLE})
    with pytest.raises(DataError, match="fio JSON and table cannot be one sweep"):
        load([tmp_path / "a.json", tmp_path / "b.csv"])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x1f\x8b\x08\0\1", "is compressed by gzip; unpack it"),
        (b"PK\x03\x04\x14\0", "an archive or a workbook; unpack it, or save the sheet as CSV"),
        (b"\x7fELF\0\0\0\1", "is binary"),
        (bytes(range(1, 32)) * 40, "is binary"),
        (b"\xff\xfe\x00", "is damaged"),
        (b'{"some": "json"}', "is JSON of no tool that is read"),
        (b"fio: pid=7, err=28/file:x.c:1, func=io_u, error=No space left on device", "no JSON result"),
        (b"sha256: verify failed at file d.0.0 offset 4096, length 4096", "data verification that failed"),
        (b"hello", "is neither"),
    ],
)
def test_a_file_that_is_no_measurement_is_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "mine.dat"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as refusal:
        load(path)
    assert "mine.dat" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_an_empty_folder_a_pipe_and_nothing_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for given, says in (
        (tmp_path / "gone.json", "does not exist"),
        (tmp_path / "folder", "nothing that can be read"),
        (tmp_path / "pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ([], "no file was named"),
        ("", "is empty"),
        ([tmp_path / "a", tmp_path / "a"], "named twice"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(DataError, match=says):
            load(given)


def test_delays_in_cycles_and_in_nanoseconds_are_not_joined(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "a.csv": "delay_ns,latency_ns,bandwidth_MBps\n1,100,900\n",
            "b.csv": "delay,latency_ns,bandwidth_MBps\n1,100,900\n",
        },
    )
    with pytest.raises(DataError, match="loads in cycles and in ns"):
        load([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:  # root, as which tests may run, would be let in
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("measure.text_files.os.open", refuse)
    with pytest.raises(DataError, match=r"secret\.csv cannot be read: Permission denied; check its permissions"):
        load(tmp_path / "secret.csv")


def test_a_sweep_of_an_unknown_tool_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps({"schema": "qsim-sweep/1", "tool": "abacus"}))
    with pytest.raises(DataError, match="'abacus'"):
        load(tmp_path)


def test_a_damaged_sweep_of_ours_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(DataError, match=r"sweep\.json cannot be read"):
        load(tmp_path)


def test_every_golden_file_is_read_or_refused_in_one_sentence() -> None:
    refusals: dict[str, str] = {}
    paths = sorted(p for p in GOLDEN.rglob("*.*") if p.is_file())
    for path in paths:
        try:
            load(path)
        except DataError as error:
            refusals[path.name] = str(error)
    assert set(refusals) == {
        ".gitattributes",
        "avg_iops.1.log",
        "avg_lat.1.log",
        "io-error.json",
        "no-latency.json",
        "run_slat.1.log",
    }
    assert len(paths) > 40
    assert not {name: said for name, said in refusals.items() if name not in said or "\n" in said}
