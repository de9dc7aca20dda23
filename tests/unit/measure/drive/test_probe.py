"""The probe's closed loop on a file: what it counts, where it reads and writes, what it prints."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measure.drive import ceiling, circulate, main, measured, sections
from measure.fio.plan import plan_fio
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.latency_bins import bin_edges
from measure.formats.fio.steady_state import read_interval_logs
from measure.machine.own_file import _try_direct_io
from measure.machine.safety import why_no_drive

BLOCK, BLOCKS = 4096, 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(BLOCK * BLOCKS))
    return path


def loop(path: Path, threads: int = 4, **options):
    descriptor = os.open(path, os.O_RDWR)
    try:
        return circulate(descriptor, threads, BLOCK, BLOCK * BLOCKS, **options)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("threads", [1, 4])
def test_littles_law_holds_of_what_was_counted(file, threads):
    found = loop(file, threads, seconds=0.2, ramp_s=0.05)
    requests, total_ns = found.totals[0, :2]
    assert found.totals[1, 0] == 0
    # A thread is never without a request; at either end of the time, one of each is cut off.
    longest_ns = bin_edges(np.flatnonzero(found.bins[0])[-1])[1]
    assert abs(total_ns / 1e9 - threads * found.seconds) <= 2 * threads * longest_ns / 1e9
    assert found.bins.sum() == requests
    assert found.throughput_per_s == pytest.approx(requests / 0.2)


def test_the_share_of_reads_is_the_one_asked_for(file):
    found = loop(file, seconds=0.2, read_share=0.7)
    reads, writes = found.totals[:, 0]
    error = np.sqrt(0.7 * 0.3 / (reads + writes))
    assert abs(reads / (reads + writes) - 0.7) < 5 * error


@pytest.mark.parametrize("threads", [1, 3])
def test_a_sequential_pass_writes_every_block(file, threads):
    loop(file, threads, read_share=0.0, sequential=True, seconds=60.0, requests=-(-BLOCKS // threads))
    written = np.frombuffer(file.read_bytes(), np.uint8).reshape(BLOCKS, -1)
    assert (written != 0).any(axis=1).all()
    assert len({row.tobytes() for row in written}) > 1  # nothing that a drive could store once


def test_random_blocks_cover_the_file_and_nothing_beyond(file):
    with file.open("ab") as grown:
        grown.write(bytes(BLOCK * BLOCKS))
    loop(file, read_share=0.0, seconds=60.0, requests=20 * BLOCKS)
    written = np.frombuffer(file.read_bytes(), np.uint8).reshape(2 * BLOCKS, -1).any(axis=1)
    assert written[:BLOCKS].all()
    assert not written[BLOCKS:].any()


def test_it_prints_what_the_reader_of_fio_takes(file, tmp_path):
    argv = [
        "--output-format=json+",
        "--readonly",
        "--name=p",
        "--rw=randread",
        "--iodepth=3",
        f"--bs={BLOCK}",
        f"--filename={file}",
        f"--size={BLOCK * BLOCKS}",
        "--time_based=1",
        "--runtime=200ms",
        "--ramp_time=50ms",
        f"--write_iops_log={tmp_path}/run",
        "--log_avg_msec=20",
    ]
    (workload,) = sections(argv)
    job = measured(workload)
    (record,) = parse_fio(json.dumps({"fio version": "probe", "jobs": [job]}), "p")
    assert (record.block_bytes, record.pattern, record.depth) == (BLOCK, "random", 3)
    assert record.throughput_per_s * record.latency.mean_s == pytest.approx(3, rel=0.3)
    counted = record.latency.histogram
    assert counted is not None
    assert counted.total == record.requests
    assert counted.mean_s == pytest.approx(record.latency.mean_s, rel=0.016)
    assert counted.quantile(0.5) == pytest.approx(record.latency.percentile_s(50.0), rel=0.02)
    assert record.cpu_s > 0
    assert float(record.options["ceiling_per_s"]) > 0
    intervals = read_interval_logs([(tmp_path / "run_iops.1.log").read_text()])
    assert len(intervals) == 10
    assert np.mean(intervals.throughput_per_s) == pytest.approx(record.throughput_per_s, rel=0.01)


def test_sections_run_one_after_another_and_share_what_stands_before_them():
    found = list(
        sections(["--bs=512", "--name=a", "--rw=read", "--stonewall", "--name=b", "--rw=write", "--numjobs=2"])
    )
    assert [(w.name, w.number("bs"), w.threads, w.read_share) for w in found] == [
        ("a", 512, 1, 1.0),
        ("b", 512, 2, 0.0),
    ]


def test_a_request_that_fails_ends_the_run_with_one_line(file, capsys):
    size = 4 * BLOCK * BLOCKS  # more than the file holds
    argv = [f"--filename={file}", f"--size={size}", "--name=p", "--rw=randread", "--time_based=1", "--runtime=5s"]
    assert main([*argv, f"--bs={BLOCK}"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert f"of {BLOCK} bytes" in captured.err


def test_the_ceiling_is_lower_for_large_blocks():
    assert ceiling(1, 2**20) < ceiling(1, 4096)


def test_on_macos_the_page_cache_is_turned_off_by_a_call(file, tmp_path, monkeypatch):
    """The path of macOS on this system: no flag of open, but fcntl's F_NOCACHE on each file that is measured."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.delattr("os.O_DIRECT", raising=False)
    monkeypatch.setattr("fcntl.fcntl", lambda _, command, value: calls.append((command, value)))
    assert why_no_drive() == ""
    assert "qsim measure drive" in why_no_drive(by_probe=False)
    plan = plan_fio(tmp_path / "new", (1, 2), engine="probe", size_bytes=2**20, runtime_s=0.2)
    assert plan.file is not None
    _try_direct_io(replace(plan.file, path=file))
    assert calls == [(48, 1)]
    argv = [f"--filename={file}", f"--size={BLOCK * BLOCKS}", "--name=p", "--rw=randread", "--time_based=1"]
    (workload,) = sections([*argv, "--runtime=100ms", f"--bs={BLOCK}"])
    assert measured(workload)["read"]["total_ios"] > 0
    assert calls == [(48, 1)] * 2
