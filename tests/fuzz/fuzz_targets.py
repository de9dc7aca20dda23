"""What is fuzzed: each parser, the golden outputs to start from, and what makes more inputs to start from."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "golden" / "data"
MAX_BYTES = 16_384


def fio_json(content: bytes) -> object:
    from measure.formats.fio.json_output import parse_fio
    from measure.formats.fio.sweep import sweep_of_all
    from measure.text_files import decode

    return sweep_of_all(parse_fio(decode(content, "f"), "f"))


def fio_terse(content: bytes) -> object:
    from measure.formats.fio.sweep import sweep_of_all
    from measure.formats.fio.terse_output import parse_terse
    from measure.text_files import decode

    return sweep_of_all(parse_terse(decode(content, "f"), "f"))


def fio_normal(content: bytes) -> object:
    from measure.formats.fio.normal_output import parse_normal
    from measure.formats.fio.sweep import sweep_of_all
    from measure.text_files import decode

    return sweep_of_all(parse_normal(decode(content, "f"), "f"))


def mlc(content: bytes) -> object:
    from measure.formats.mlc import mlc_figures, mlc_sweep
    from measure.text_files import decode

    text = decode(content, "f")
    mlc_figures(text)
    return mlc_sweep({"f": text})


def csv(content: bytes) -> object:
    from measure.formats.tables.table import csv_sweep
    from measure.text_files import decode

    return csv_sweep(decode(content, "f"), name="f")


def curves(content: bytes) -> object:
    from measure.formats.mess_curves import curves_sweep
    from measure.text_files import decode

    return curves_sweep({"bwlat_50.txt": decode(content, "f")})


def log(content: bytes) -> object:
    return _as_file("x_lat.1.log", content)


def histogram_log(content: bytes) -> object:
    return _as_file("x_clat_hist.1.log", content)


def requests(content: bytes) -> object:
    from measure.formats.fio.logs import read_latency_log

    path = Path(_folder()) / "x_lat.1.log"
    path.write_bytes(content)
    log = read_latency_log(path)
    assert (log.latency_s >= 0).all()
    assert len(log) > 0
    return log


def histograms(content: bytes) -> object:
    from measure.formats.fio.json_output import parse_fio
    from measure.formats.fio.latency_bins import histogram
    from measure.text_files import decode

    for record in parse_fio(decode(content, "f"), "f"):
        if record.latency.bins_s:
            found = histogram(record)
            assert (found.lower_s < found.upper_s).all()
            assert found.total > 0
    return None


def histogram_file(content: bytes) -> object:
    from measure.formats.law_file import read_histogram

    path = Path(_folder()) / "histogram"
    path.write_bytes(content)
    return read_histogram(path)


def settled(content: bytes) -> object:
    from measure.fio.settings import read_settled

    return read_settled(content.decode("utf-8", "replace"))


def interval_logs(content: bytes) -> object:
    from measure.formats.fio.steady_state import read_interval_logs

    return read_interval_logs(content.decode("ascii", "replace").split("==="))


def probe_record(content: bytes) -> object:
    from measure.memory.record import parse_record

    return parse_record(content.decode("utf-8", "replace"), "f").rows("f")


def store(content: bytes) -> object:
    """A sweep directory of ours: its manifest, two records and two raw files, one behind the other."""
    from measure import load as load_directory

    folder = Path(_folder()) / "store"
    for part, name in zip(content.split(BETWEEN_FILES), STORE_FILES, strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(part)
    try:
        return load_directory(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fit(content: bytes) -> object:
    from calibrate.cli.fit_files import read_fits
    from calibrate.fitting.predicted_curve import predict

    path = Path(_folder()) / "fit.json"
    path.write_bytes(content)
    return [predict(found, at=[1.0, 8.0]) for found in read_fits(path)]


def words(content: bytes) -> object:
    """What is typed on the command line: links, traffic, mixes. They refuse with a ValueError."""
    from measure.auditing.runs import parse_link
    from measure.errors import DataError
    from measure.memory.traffic import parse_traffics
    from measure.units import parse_mix

    text = content.decode("utf-8", "replace")
    parse_mix(text)
    refusals: list[ValueError] = []
    for parse in (parse_link, parse_traffics):
        try:
            parse(text)
        except ValueError as error:
            refusals.append(error)
    if refusals:
        raise DataError(" ".join(str(refusals[0]).split())[:200])  # what was typed is repeated whole
    return None


def load(content: bytes) -> object:
    return _as_file("anything", content)


def columns(content: bytes) -> object:
    from measure.formats.tables.columns import parse_columns

    return parse_columns(content.decode("utf-8", "replace"))


def _as_file(name: str, content: bytes) -> object:
    from measure import load as load_file

    path = Path(_folder()) / name
    path.write_bytes(content)
    return load_file(path)


@cache
def _folder() -> str:
    """One folder for all inputs (making one each takes longer than the parsing), gone when the process ends.

    The fuzzer ends its process without a word to Python: there it is the parent that removes it.
    """
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=os.environ.get(PLACE, IN_MEMORY))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


PLACE = "QSIM_FUZZ_FOLDER"
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108

BETWEEN_FILES = b"\n===\n"
_SETTLED = json.dumps(
    {
        "fio version": "fio-3.33",
        "jobs": [
            {
                "read": {"runtime": 5000},
                "steadystate": {"attained": 1, "criterion": "1.0%", "data": {"iops": [100, 101]}},
            }
        ],
    }
).encode()
STORE_FILES = ("sweep.json", "points/a.json", "points/b.json", "raw/a.json", "raw/b.json")


@dataclass(frozen=True)
class Target:
    """A parser, the golden outputs to start from, and what makes more inputs to start from."""

    parser: Callable[[bytes], object]
    golden: tuple[str, ...] = ()
    more: Callable[[], Iterator[bytes]] = lambda: iter(())

    def seeds(self) -> list[bytes]:
        """The inputs to start from."""
        paths = [p for pattern in self.golden for p in sorted(DATA.glob(pattern)) if p.is_file()]
        return [p.read_bytes()[:MAX_BYTES] for p in paths] + list(self.more())


def _stores() -> Iterator[bytes]:
    raws = {
        "fio": [p.read_bytes() for p in sorted((DATA / "fio").glob("*.json")) if p.stat().st_size < MAX_BYTES - 2000],
        "mlc": [p.read_bytes() for p in sorted((DATA / "mlc").glob("*"))],
        "memory": list(_probe_records()),
    }
    from measure.fio.workload import FioJob

    requests_of: dict[str, dict[str, Any]] = {
        "fio": {**asdict(FioJob(1, 1, 4096, 100, "random")), "load": 1, "repeat": 0},
        "mlc": {
            "mode": "loaded-latency",
            "mix": "R",
            "buffer_bytes": 2**27,
            "stride_bytes": 64,
            "delays": [0, 50],
            "repeat": 0,
        },
        "memory": {"kind": "loaded", "delay_iterations": 0},
    }
    notes = {
        "ended_at": "2026-01-01T00:00:05+00:00",
        "intervals": {"end_s": [0.1, 0.2, 0.3, 0.4], "throughput_per_s": [100.0, 101.0, 99.0, 100.0]},
        "settled": {"attained": True, "seconds": 3.0, "criterion": "1%", "throughput_per_s": [100.0]},
        "preconditioned": 1.0,
    }
    for tool, outputs in raws.items():
        for raw in outputs:
            manifest = {"schema": "qsim-sweep/1", "tool": tool, "settings": {}, "provenance": {"tool": tool}}
            record = {"command": tool, "started_at": "2026-01-01T00:00:00+00:00", "request": requests_of[tool]}
            good = {"status": "ok", "raw": "a.json", "sequence": 0, **record, **notes}
            bad = {"status": "failed", "raw": "b.json", "reason": "it hung", "sequence": 1, **record}
            parts = [json.dumps(part).encode() for part in (manifest, good, bad)]
            yield BETWEEN_FILES.join([*parts, raw, b"half"])[:MAX_BYTES]


def _probe_records() -> Iterator[bytes]:
    chaser = {
        "hops": 100,
        "elapsed_ns": 9000,
        "cpu_ns": 9000,
        "loaded_hops": 90,
        "loaded_ns": 8000,
        "chunk_ns_per_hop": {"0.5": 90.0},
    }
    trial = {
        "started_at": "2026-01-01T00:00:00+00:00",
        "chaser": chaser,
        "loaders": [{"bursts": 10, "elapsed_ns": 9000, "cpu_ns": 8900}],
    }
    from measure.memory.record import SCHEMA, ProbeRecord

    known = set(ProbeRecord.__dataclass_fields__)
    for kind in ("loaded", "idle", "peak"):
        record = {
            "kind": kind,
            "delay_iterations": 0,
            "spin_ns_per_iteration": 1.0,
            "traffic": "read",
            "burst_lines": 64,
            "updated_lines": 0,
            "streamed_lines": 0,
            "buffer_bytes": 2**26,
            "chaser_cpu": 0,
            "loader_cpus": [1],
            "huge_page_shares": [1.0, None],
            "trials": [trial],
            "discarded": [],
        }
        yield json.dumps({"schema": SCHEMA, **{k: v for k, v in record.items() if k in known}}).encode()


def _fits() -> Iterator[bytes]:
    from calibrate import fit as fit_sweep
    from calibrate import from_datasheet
    from measure.datasets import load_dataset

    yield json.dumps(from_datasheet(idle_latency=80e-6, peak_iops=600e3).to_dict()).encode()
    for name in ("003-ssd-read", "001-memory"):
        sweep = load_dataset(name, as_published=True)
        found = fit_sweep(sweep, series=sweep.series[0])
        yield json.dumps({"schema": "qsim-fits/3", "fits": [found.to_dict()]}).encode()[:MAX_BYTES]


def _words() -> Iterator[bytes]:
    yield from (b"pcie4 x4", b"ddr4-3200x2", b"10gbit/s", b"3:1,read,nt-write", b"a,b:8766", b"70/30", b"70% reads")


TARGETS: dict[str, Target] = {
    "fio_json": Target(fio_json, ("fio/*",)),
    "fio_terse": Target(fio_terse, ("fio-text/terse*",)),
    "fio_normal": Target(fio_normal, ("fio-text/report*",)),
    "mlc": Target(mlc, ("mlc/*",)),
    "csv": Target(csv, ("curves/*",)),
    "curves": Target(curves, ("curves/*",)),
    "log": Target(log, ("fio-logs/*lat*", "fio-logs/*/*lat*")),
    "histogram_log": Target(histogram_log, ("fio-logs/*hist*",)),
    "requests": Target(requests, ("fio-logs/*lat*", "fio-logs/*/*lat*")),
    "histograms": Target(histograms, ("fio/*",)),
    "histogram_file": Target(histogram_file, ("fio/*",), lambda: iter((b"latency_s,count\n1e-4,5\n2e-4,3\n",))),
    "settled": Target(settled, ("fio/*",), lambda: iter((_SETTLED,))),
    "interval_logs": Target(interval_logs, ("fio-logs/*",), lambda: iter((b"100, 50, 0, 0\n200, 51, 1, 0\n",))),
    "probe_record": Target(probe_record, (), _probe_records),
    "store": Target(store, (), _stores),
    "fit": Target(fit, (), _fits),
    "load": Target(load, ("*/*",)),
    "columns": Target(columns, (), lambda: iter((b"load=io_depth,latency=lat:us,throughput=iops",))),
    "words": Target(words, (), _words),
}
