"""Files of up to 1 GB are read, or refused in one sentence, within a bounded memory and time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from measure.errors import DataError
from measure.loading import load

GIB = 2**30
MIB = 2**20
BASE_MIB = 200  # Python with numpy and pandas
MOST_CPU_S = 20
CODE = """
import json, os, pathlib, sys, time
from measure.errors import DataError
from measure.loading import load
for path in sys.argv[1:]:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            raise SystemExit(path)
        continue
    try:
        found = len(load(path).points)
    except DataError as error:
        found = str(error)
    # Not ru_maxrss, which begins with the size of the program that started this one.
    peak = next(w for w in pathlib.Path("/proc/self/status").read_text().splitlines() if w.startswith("VmHWM"))
    print(json.dumps([found, int(peak.split()[1]) / 1024, time.process_time()]), flush=True)
    os._exit(0)
"""
Loaded = tuple[object, float, float]


def loaded(repository: Path, *paths: Path) -> list[Loaded]:
    """The number of points or the refusal, the peak memory in MiB and the processor time in s of loading each file."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *paths], cwd=repository, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


REQUEST = b"1, 2000, 0, 4096, 0\n"
SPARSE = {
    "a log that ends in zeros": ("x_lat.1.log", REQUEST * 8, "holds a line of more than 256 KiB"),
    "a histogram log that ends in zeros": (
        "x_clat_hist.1.log",
        b"1, 0, 4096" + b", 1" * 1856 + b"\n",
        "holds a line of more than 256 KiB",
    ),
    "JSON that ends in zeros": ("x.json", b'{"fio version": "fio-3.33", "jobs": [', "has 1 GiB, more than the 32 MiB"),
    "MLC text that ends in zeros": ("x.txt", b"Intel(R) Memory Latency Checker - v3.10\n", "more than the 32 MiB"),
    "a table that ends in zeros": ("x.csv", b"io_depth,iops,latency_us\n", "more than the 32 MiB"),
    "zeros": ("zeros", b"", "more than the 32 MiB"),
}


def test_a_long_log_is_read_in_little_memory(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "x_lat.1.log"
    block = b"".join(b"%d, %d, 0, 4096, %d\n" % (i, 80_000 + i, 4096 * i) for i in range(30_000))
    with path.open("wb") as file:
        while file.tell() < 60 * MIB:
            file.write(block)
    ((found, peak_mib, _),) = loaded(repository, path)
    assert found == 1
    assert peak_mib < BASE_MIB + 100


HOSTILE = {
    "columns": ("x.csv", b"io_depth,iops,", b"a,", b"", "columns, more than any table of measurements"),
    "rows": ("x.csv", b"io_depth,iops,latency_us\n", b"1,2,3\n", b"", "more than the 200,000 that are read as points"),
    "lines of an open cell": (
        "x.csv",
        b'depth,iops,latency_us\n1,2,"',
        b"\n",
        b"",
        "more than the 2,000,000 that are read",
    ),
    "jobs": ("x.json", b'{"fio version": "x", "jobs": [{}', b',{"a": 1}', b"]}", "more than the 10,000 that are read"),
    "open braces": ("x.json", b'{"fio version"', b'{"a":', b"", "is cut off"),
    "open documents": ("x.json", b"", b'{"fio version": "x", "jobs": [', b"", "is cut off"),
    "reports": ("x.txt", b"", b"a: (groupid=0, jobs=1): err= 0: pid=1: x\n", b"", "holds more than 10000 reports"),
    "spaces": ("x.txt", b"Intel(R) Memory Latency Checker - v3.9\nUsing", b" ", b"", "without a loaded-latency table"),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> dict[str, Loaded]:
    paths = {case: tmp_path_factory.mktemp("large") / name for case, (name, *_) in {**SPARSE, **HOSTILE}.items()}
    for case, (_, begins, _) in SPARSE.items():
        paths[case].write_bytes(begins)
        os.truncate(paths[case], GIB)  # a hole: no disk is used
    for case, (_, begins, again, ends, _) in HOSTILE.items():
        paths[case].write_bytes(begins + again * (4 * MIB // len(again)) + ends)
    return dict(zip(paths, loaded(repository, *paths.values()), strict=True))


@pytest.mark.parametrize("case", SPARSE)
def test_a_gigabyte_with_holes_is_refused_in_little_memory(refused: dict[str, Loaded], case: str) -> None:
    found, peak_mib, cpu_s = refused[case]
    assert SPARSE[case][-1] in str(found)
    assert peak_mib < BASE_MIB
    assert cpu_s < MOST_CPU_S


@pytest.mark.parametrize("case", HOSTILE)
def test_text_that_repeats_for_ever_neither_hangs_nor_fills_the_memory(refused: dict[str, Loaded], case: str) -> None:
    found, peak_mib, cpu_s = refused[case]
    assert HOSTILE[case][-1] in str(found)
    assert peak_mib < BASE_MIB + 300
    assert cpu_s < MOST_CPU_S


def test_a_hundred_thousand_columns_are_refused_before_each_is_recognised(tmp_path: Path) -> None:
    path, width = tmp_path / "x.csv", 100_000
    path.write_text(",".join(f"c{i}" for i in range(width)) + "\n" + ",".join("1" * width) + "\n")
    start_s = time.process_time()
    with pytest.raises(DataError, match="100,000 columns"):
        load(path)
    assert time.process_time() - start_s < 3


def test_a_directory_of_more_text_than_fits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measure.formats.by_format.MAX_TEXT", 3000)
    for number in range(5):
        (tmp_path / f"{number}.json").write_bytes(b'{"fio version": "x", "jobs": []}' + b" " * 1000)
    with pytest.raises(DataError, match=r"hold more than .* of text; name fewer of them"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"hold more than .* of text; name fewer of them"):
        load(sorted(tmp_path.iterdir()))
