"""The datasets that come with the package: what each table is, where it is from, and what is wrong with it.

The tables are those of five course reports in which students measured their own machines. The numbers are facts and
stand as printed, mistakes included: several of them break Little's law, and finding out why is a lesson of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from measure.loads import LoadKind


@dataclass(frozen=True)
class DatasetInfo:
    """One table of the catalogue.

    ``columns`` and ``units`` are what :func:`measure.load` needs to read it. ``curve`` is False where the table has no
    throughput or no load, so that it cannot become a Sweep; ``why_no_curve`` then says what there is instead.
    """

    name: str
    title: str
    source: str
    device: str
    host_cpu: str
    tool: str
    varied: str
    anomaly: str
    load_kind: LoadKind = "queue_depth"
    columns: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    curve: bool = True
    why_no_curve: str = ""


_LAPTOP_000 = "Intel Core i7-1195G7"
_SABRENT = "Sabrent Rocket 4 Plus NVMe SSD"

CATALOGUE: tuple[DatasetInfo, ...] = (
    DatasetInfo(
        name="000-ssd", title="A laptop's SSD over depth, read mix and a size", source="course report 000",
        device="laptop SSD", host_cpu=_LAPTOP_000, tool="fio, libaio",
        varied="size 16, 64, 128 KB; reads 100, 75, 50, 0 %; depth 1, 4, 16",
        anomaly="The size is that of the file, not of a block: with blocks of 4 KiB Little's law holds at depth 1. "
                "A file of that size holds too few blocks to fill the depth. Writes went to the page cache.",
        columns={"depth": "io_depth", "block": "data_size_KB", "read_percent": "read_pct",
                 "read_bandwidth": "read_bw_KBps", "write_bandwidth": "write_bw_KBps",
                 "read_latency": "read_lat_us", "write_latency": "write_lat_ns"},
    ),
    DatasetInfo(
        name="000-memory", title="A laptop's memory under injected delay, buffers of 4 and 64 KB",
        source="course report 000", device="memory of a laptop", host_cpu=_LAPTOP_000,
        tool="Intel MLC --loaded_latency -b4k, -b64k",
        varied="buffer 4, 64 KB; reads 100, 75, 50, 0 %; injected delay 0 to 20000 cycles",
        anomaly="Latencies of 1.5 to 17 ns: the buffers fit a cache, so this curve is not of the DRAM.",
        load_kind="injected_delay",
        columns={"delay": "delay", "buffer": "data_size_KB", "read_percent": "read_pct", "latency": "latency_ns",
                 "bandwidth": "bandwidth_MBps"},
    ),
    DatasetInfo(
        name="001-ssd", title="Samsung PM961 over depth, block size and mix", source="course report 001",
        device="Samsung PM961 NVMe SSD", host_cpu="Intel Core i7-7700HQ", tool="fio, posixaio, direct=1, under WSL",
        varied="block 4, 32 KB; read, write, mixed; depth 1 to 1024",
        anomaly="Reads obey Little's law; writes lack up to a quarter of the depth; of the mixed runs only one "
                "direction was tabulated.",
        columns={"depth": "io_depth", "block": "block_size_KB", "mix": "mix", "latency": "latency_us",
                 "bandwidth": "bandwidth_KBps"},
    ),
    DatasetInfo(
        name="001-memory", title="DDR4 under injected delay, two strides, five mixes", source="course report 001",
        device="DDR4 memory", host_cpu="Intel Core i7-7700HQ", tool="Intel MLC --loaded_latency, on Windows",
        varied="stride 64, 256 B; five read-write mixes; injected delay 0 to 20000 cycles",
        anomaly="", load_kind="injected_delay",
        columns={"delay": "inject_delay", "block": "access_size_B", "mix": "mix", "latency": "latency_ns",
                 "bandwidth": "bandwidth_MBps"},
    ),
    DatasetInfo(
        name="002-ssd-tails", title="Latency percentiles of a laptop's SSD over depth", source="course report 002",
        device="laptop SSD", host_cpu="", tool="fio", varied="read, write; depth 1 to 32",
        anomaly="The labels read and write are swapped against the report's own baselines.",
        curve=False, why_no_curve="it has percentiles of the latency but no throughput and no mean",
    ),
    DatasetInfo(
        name="002-ssd-baseline", title="Latency of a laptop's SSD at depth 1", source="course report 002",
        device="laptop SSD", host_cpu="", tool="fio", varied="4 KiB random and 128 KiB sequential reads and writes",
        anomaly="",
        curve=False, why_no_curve="it has latencies at depth 1 but no throughput and no other load",
    ),
    DatasetInfo(
        name="003-ssd-read", title="Toshiba KXG60 reads over depth and block size", source="course report 003",
        device="Toshiba KXG60ZNV256G NVMe SSD", host_cpu="", tool="fio, libaio, direct=1",
        varied="block 4, 16, 32, 128 KiB; depth 4 to 1024",
        anomaly="The latencies are in microseconds, not in the printed milliseconds. A printed MB is 1000 KiB.",
        columns={"depth": "queue_depth", "block": "block_size_KiB", "read_percent": "100", "latency": "latency_ms",
                 "throughput": "iops_k", "bandwidth": "bandwidth_MBps"},
        units={"throughput": "k/s"},
    ),
    DatasetInfo(
        name="004-ssd-depth", title="Sabrent Rocket 4 Plus over depth", source="course report 004",
        device=_SABRENT, host_cpu="", tool="fio on Windows, direct not set", varied="depth 1 to 1024 at 16 KB",
        anomaly="The latency printed falls to half of what depth and throughput imply. Throughput falls past its peak.",
        columns={"depth": "queue_depth", "block": "16KiB", "latency": "latency_us", "throughput": "iops",
                 "bandwidth": "MBps"},
    ),
    DatasetInfo(
        name="004-ssd-block-size", title="Sabrent Rocket 4 Plus at depth 1 over block size",
        source="course report 004", device=_SABRENT, host_cpu="", tool="fio on Windows, direct not set",
        varied="block 4 to 512 KB at depth 1", anomaly="",
        columns={"depth": "1", "block": "block_size_KB", "latency": "latency_us", "throughput": "iops",
                 "bandwidth": "MBps"},
    ),
    DatasetInfo(
        name="004-ssd-mix", title="Sabrent Rocket 4 Plus at depth 1 over the read mix", source="course report 004",
        device=_SABRENT, host_cpu="", tool="fio on Windows, direct not set",
        varied="reads 100 to 0 % at depth 1, 16 KB", anomaly="",
        columns={"depth": "1", "block": "16KiB", "read_percent": "read_pct", "read_throughput": "read_iops",
                 "read_latency": "read_latency_us", "read_bandwidth": "read_MBps", "write_throughput": "write_iops",
                 "write_latency": "write_latency_us", "write_bandwidth": "write_MBps"},
    ),
)  # fmt: skip
