"""What is fuzzed: each reader, the outputs to start from, and the modules whose reading it covers."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
DATA = TESTS / "golden" / "data"
MAX_BYTES = 16_384


def fio_json(content: bytes) -> object:
    from measure.formats.fio.json_output import parse_fio
    from measure.formats.fio.runs_as_sweep import sweep_of_all
    from measure.text_files import decode

    return sweep_of_all(parse_fio(decode(content, "f"), "f"))


def fio_normal(content: bytes) -> object:
    from measure.formats.fio.runs_as_sweep import sweep_of_all
    from measure.formats.fio.text_output import parse_normal
    from measure.text_files import decode

    return sweep_of_all(parse_normal(decode(content, "f"), "f"))


def mlc(content: bytes) -> object:
    from measure.formats.mlc import mlc_sweep
    from measure.text_files import decode

    text = decode(content, "f")
    return mlc_sweep({"f": text})


def csv(content: bytes) -> object:
    from measure.formats.tables.table import csv_sweep
    from measure.text_files import decode

    return csv_sweep(decode(content, "f"), name="f")


def command(content: bytes) -> object:
    from measure.formats.command_output import CommandOutput, command_sweep
    from measure.text_files import decode

    return command_sweep({"N = 2": CommandOutput(decode(content, "f"), 2.0)}, "N", "f")


def curves(content: bytes) -> object:
    from measure.formats.mess_curves import curves_sweep
    from measure.text_files import decode

    return curves_sweep({"bwlat_50.txt": decode(content, "f")})


def log(content: bytes) -> object:
    return _as_file("x_lat.1.log", content)


def histogram_log(content: bytes) -> object:
    return _as_file("x_clat_hist.1.log", content)


def histograms(content: bytes) -> object:
    from measure.formats.fio.json_output import parse_fio
    from measure.text_files import decode

    for record in parse_fio(decode(content, "f"), "f"):
        if (found := record.latency.histogram) is not None:
            assert (found.lower_s < found.upper_s).all()
            assert found.total > 0
    return None


def histogram_file(content: bytes) -> object:
    from measure.formats.law_file import read_histogram

    path = Path(_folder()) / "histogram"
    path.write_bytes(content)
    return read_histogram(path)


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
    from calibrate import predict
    from calibrate.cli.files import read_fits

    path = Path(_folder()) / "fit.json"
    path.write_bytes(content)
    return [predict(found, at=[1.0, 8.0]) for found in read_fits(path)]


def words(content: bytes) -> object:
    """What is typed on the command line: traffic, mixes. They refuse with a ValueError."""
    from measure.errors import DataError
    from measure.memory.traffic import parse_traffics
    from measure.units import parse_mix

    text = content.decode("utf-8", "replace")
    parse_mix(text)
    try:
        return parse_traffics(text)
    except ValueError as error:
        raise DataError(" ".join(str(error).split())[:200]) from error  # what was typed is repeated whole


def load(content: bytes) -> object:
    return _as_file("anything", content)


def columns(content: bytes) -> object:
    from measure.formats.tables.column_names import parse_columns

    return parse_columns(content.decode("utf-8", "replace"))


def watched(content: bytes) -> object:
    return _as_file("watch.csv", content)


def server(content: bytes) -> object:
    return _as_file("run.txt", content)


def network_file(content: bytes) -> object:
    from calibrate.cli.theory.network import read_network

    return read_network(_written("app.toml", content))


def latencies(content: bytes) -> object:
    from calibrate.service.observed_times import parse_latencies
    from measure.text_files import decode

    return parse_latencies(decode(content, "f"), "f")


def biolatency(content: bytes) -> object:
    from calibrate.service.observed_times import times_or_sweep

    return times_or_sweep(_written("biolatency.txt", content))


def law_file(content: bytes) -> object:
    from measure.formats.law_file import read_law

    law = read_law(_written("law.json", content))
    assert law.mean > 0
    return law


def sealed(content: bytes) -> object:
    """A sealed prediction, sealed again after the damage."""
    from calibrate.sealing import read_seal, sha256_of

    try:
        document = json.loads(content)
        content = json.dumps({**document, "sha256": sha256_of(document)}).encode()
    except (TypeError, ValueError, RecursionError):
        pass
    return read_seal(_written("seal.json", content))


def _written(name: str, content: bytes) -> Path:
    path = Path(_folder()) / name
    path.write_bytes(content)
    return path


def _as_file(name: str, content: bytes) -> object:
    from measure import load as load_file

    return load_file(_written(name, content))


@cache
def _folder() -> str:
    """One folder for all inputs (making one each takes longer than the parsing), gone when the process ends."""
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=IN_MEMORY)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108

BETWEEN_FILES = b"\n===\n"

STORE_FILES = ("sweep.json", "points/a.json", "points/b.json", "raw/a.json", "raw/b.json")


@dataclass(frozen=True)
class Target:
    """A reader, the outputs to start from, the modules that it covers, and what makes more inputs to start from."""

    parser: Callable[[bytes], object]
    golden: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    more: Callable[[], Iterator[bytes]] = lambda: iter(())

    def seeds(self) -> list[bytes]:
        """The inputs to start from."""
        paths = [p for pattern in self.golden for p in sorted(TESTS.glob(pattern)) if p.is_file()]
        return [p.read_bytes()[:MAX_BYTES] for p in paths] + list(self.more())


def _stores() -> Iterator[bytes]:
    raws = {
        "fio": [p.read_bytes() for p in sorted((DATA / "fio").glob("*.json")) if p.stat().st_size < MAX_BYTES - 2000],
        "mlc": [p.read_bytes() for p in sorted((DATA / "mlc").glob("*"))],
        "memory": list(_probe_records()),
    }
    from measure.fio.fio_command import FioJob

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
    chaser = {"hops": 100, "elapsed_ns": 9000, "cpu_ns": 9000, "loaded_hops": 90, "loaded_ns": 8000}
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
            "buffer_bytes": 2**26,
            "chaser_cpu": 0,
            "loader_cpus": [1],
            "huge_page_shares": [1.0, None],
            "trials": [trial],
        }
        yield json.dumps({"schema": SCHEMA, **{k: v for k, v in record.items() if k in known}}).encode()


def _fits() -> Iterator[bytes]:
    from calibrate import fit as fit_sweep
    from calibrate import from_datasheet
    from measure.datasets import load_dataset

    yield json.dumps(_with_few_draws(from_datasheet(idle_latency=80e-6, peak_iops=600e3).to_dict())).encode()
    for name in ("003-ssd-read", "001-memory"):
        sweep = load_dataset(name, as_published=True)
        found = fit_sweep(sweep, series=sweep.series[0])
        yield json.dumps({"schema": "qsim-fits/3", "fits": [_with_few_draws(found.to_dict())]}).encode()


def _with_few_draws(fit: dict[str, Any]) -> dict[str, Any]:
    """The fit with 20 rows of its table of weights: a change then meets every part of the document."""
    table = fit["table"]
    if len(table["weight"]) <= 20:
        return fit
    few = {name: rows[:: len(rows) // 20][:20] for name, rows in table.items() if isinstance(rows, list)}
    few["weight"] = [1 / 20] * 20
    return {**fit, "table": {**table, **few}}


def _words() -> Iterator[bytes]:
    yield from (b"pcie4 x4", b"ddr4-3200x2", b"10gbit/s", b"3:1,read,write", b"a,b:8766", b"70/30", b"70% reads")


def _seals() -> Iterator[bytes]:
    from calibrate import fit as fit_sweep
    from calibrate.fitting.fit import Fit
    from calibrate.sealing import seal
    from measure.datasets import load_dataset

    path = Path(_folder()) / "seal-to-start-from.json"
    path.unlink(missing_ok=True)
    sweep = load_dataset("003-ssd-read")
    found = Fit.from_dict(_with_few_draws(fit_sweep(sweep, series=sweep.series[0]).to_dict()))
    seal([found], [[1.0, 8.0, 64.0]], path)
    yield path.read_bytes()


_NETWORK = b"""[stations]
cpu = {service = "5ms", servers = 2}
disk = {service = "8ms", visits = 3}
[customers]
reads = 10
"""
_RECORD = (
    b"time_s,reads_per_s,writes_per_s,read_latency_s,write_latency_s,outstanding\n"
    b"1.0,100,0,0.01,,1\n2.0,110,0,0.01,,1.1\n3.0,100,0,0.01,,1\n"
)


def _laws() -> Iterator[bytes]:
    from measure.formats.law_file import write_law
    from qsim import Exponential, LogNormal

    for law in (Exponential(1e3), LogNormal(1e-3, 2.0)):
        path = Path(_folder()) / f"{type(law).__name__}-to-start-from.json"
        path.unlink(missing_ok=True)
        write_law(law, path, {})
        yield path.read_bytes()


FIO = "measure.formats.fio"
TOOL_TEXTS = sorted((TESTS / "data" / "servers" / "field").iterdir())
"""An output of each load generator that the table of tools reads."""
TARGETS: dict[str, Target] = {
    "fio_json": Target(fio_json, ("golden/data/fio/*", "data/fio-others/*.json"), (f"{FIO}.record",)),
    "fio_normal": Target(
        fio_normal, ("golden/data/fio-text/report*", "data/fio-others/client.txt", "data/fio-others/fio-2*")
    ),
    "fio_terse": Target(load, ("data/fio-others/terse*",)),
    "mlc": Target(mlc, ("golden/data/mlc/*",)),
    "csv": Target(
        csv,
        ("golden/data/curves/*", "data/tables/*", "data/pasted/*"),
        ("measure.formats.tables.cells", "measure.formats.tables.records"),
    ),
    "command": Target(
        command,
        ("golden/data/fio/json-plus.json", "data/servers/*"),
        ("measure.formats.command_output",),
        lambda: iter((b'{"throughput": 812.4, "latency": 0.0025}\n', b"warm\niops;lat_us;p99_us\n800;2500;9000\n")),
    ),
    "curves": Target(curves, ("golden/data/curves/*",)),
    "log": Target(log, ("golden/data/fio-logs/*lat*", "golden/data/fio-logs/*/*lat*"), (f"{FIO}.logs",)),
    "histogram_log": Target(histogram_log, ("golden/data/fio-logs/*hist*",)),
    "histograms": Target(histograms, ("golden/data/fio/*",)),
    "histogram_file": Target(histogram_file, ("golden/data/fio/*",)),
    "interval_logs": Target(
        interval_logs, ("golden/data/fio-logs/*",), more=lambda: iter((b"100, 50, 0, 0\n200, 51, 1, 0\n",))
    ),
    "probe_record": Target(probe_record, (), ("measure.memory.record",), _probe_records),
    "store": Target(store, (), ("measure.store.directory", "measure.known_device.device_sweep"), _stores),
    "fit": Target(fit, (), ("calibrate.cli.files",), _fits),
    "law_file": Target(law_file, (), ("measure.formats.law_file",), _laws),
    "sealed": Target(sealed, (), ("calibrate.sealing",), _seals),
    "network_file": Target(
        network_file, ("data/*.toml",), ("calibrate.cli.theory.network",), lambda: iter((_NETWORK,))
    ),
    "server": Target(
        server, ("data/servers/*", "data/servers/*/*"), ("measure.formats.servers", "measure.formats.load_tools")
    ),
    "sample_log": Target(
        server, ("data/servers/field/jmeter.csv", "data/servers/locust/*"), ("measure.formats.servers",)
    ),
    **{f"tool {path.stem}{path.suffix}": Target(server, (f"data/servers/field/{path.name}",)) for path in TOOL_TEXTS},
    "watched": Target(watched, ("data/sysstat/*",), ("measure.formats.block_device_counts",), lambda: iter((_RECORD,))),
    "load": Target(load, ("golden/data/*/*",), ("measure.formats.by_format",)),
    "columns": Target(
        columns,
        (),
        ("measure.formats.tables.column_names",),
        lambda: iter((b"load=io_depth,latency=lat:us,throughput=iops",)),
    ),
    "biolatency": Target(biolatency, ("data/biolatency*",)),
    "words": Target(words, (), (), _words),
    "latencies": Target(
        latencies,
        (),
        ("calibrate.service.observed_times",),
        lambda: iter((b"latency_us\n80\n95\n120\n", b"80us\n0.1ms\n2s\n")),
    ),
}
OWN: dict[str, str] = {
    "calibrate.lab.explore.explore_page": "a file of the package",
    "calibrate.lab.exercises": "written and read by a notebook of the lab alone",
    "calibrate.lab.run.event_log": "written and read by the running lab alone",
    "calibrate.lab.run.orders": "written and read by the running lab alone",
    "calibrate.lab.run.session": "written and read by the running lab alone",
    "measure.datasets": "files of the package",
    "measure.machine.own_file": "the mark of a test file: anything but ours is no mark",
    "measure.store.directory": "a value through JSON and back",
    "measure.text_files": "what the readers read by",
}
"""Modules that read without a target, and why."""
