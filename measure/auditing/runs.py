"""Checks of how the runs were made: repeats that disagree, caches that answered, which latency was measured.

Of a known device its log tells arrivals that are not Poisson, and time lost on the way.

Nothing moves faster than its bus. A link's payload rate is its signalling rate less the line code: 8b/10b on SATA, SAS
up to 12 Gb/s and PCIe 1 and 2, 128b/130b on PCIe 3 to 5 (PCI Express Base Specification 5.0, section 4.2), 242B/256B
flits on PCIe 6. Protocol headers take some 5 to 10 % more, so a bandwidth near the limit is at the link's peak and one
above it never crossed the link. A memory bus moves 8 bytes a transfer and channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.findings import Finding
from measure.formats.fio.record import is_direct, parse_fio_size
from measure.repeats import each_series
from measure.sweep import WOKEN_LATE, Sweep, recorded_caches, recorded_options
from measure.units import counted, format_bytes, format_duration, format_rate
from qsim.errors import InvalidParameterError

_DISAGREE, _DISAGREE_BADLY = 0.10, 0.30  # the relative standard deviation between the repeats of one point
_USUAL_BLOCK = 4096  # of ``qsim measure fio``
_SMALL_FILE_BYTES = 2**30
"""A file that fits the DRAM of a drive, or a cache of the host, is no sample of the device."""
FILELESS_ENGINES = ("null", "nbd", "rbd", "http", "net")
"""Engines that read no file of this machine, so that no page cache stands before them."""

_LATE_SHARE, _LEAST_LATE_S = 0.1, 1e-4  # reported from this share of a latency on, and from so much
_MEMORY_TOOLS = {"qsim memory probe": "memory", "mlc": "mlc"}


def check_repeats(sweep: Sweep) -> Iterator[Finding]:
    """Points that were measured again and came out otherwise: the worst of each curve."""
    points = sweep.mean_points()
    for series, group in each_series(points[points["repeats"] > 1]):
        spread = group["throughput_spread"].to_numpy(float)
        if not np.isfinite(spread).any():
            continue
        worst = int(np.nanargmax(spread))
        if spread[worst] < _DISAGREE:
            continue
        row = group.iloc[worst]
        measured = sweep.points[(sweep.points["series"] == series) & (sweep.points["load"] == row["load"])]
        rates = measured["throughput_per_s"]
        # Our own repeats of one point have files that differ in the number of the repeat only.
        sources = measured["source"].dropna().astype(str).str.replace(r"\.r\d+(?=\.json$)", "", regex=True).unique()
        changed = "the device changed between the runs (write cache, temperature, other programs)"
        if len(sources) > 1:
            changed += f", or these are runs of different things: {', '.join(map(str, sources[:3]))}"
        yield Finding(
            "repeats-disagree",
            "error" if spread[worst] > _DISAGREE_BADLY else "warning",
            f"{int(row['repeats'])} repeats give {format_rate(rates.min())} to {format_rate(rates.max())}, a standard "
            f"deviation of {100 * spread[worst]:.0f} %.",
            f"{changed}.",
            f"measure this load five times in a row{_again(sweep, row)}, and compare the first with the last.",
            series,
            float(row["load"]),
        )


def _again(sweep: Sweep, row: pd.Series) -> str:
    """The command that measures a point five times, in brackets; empty where no command measures the like."""
    if sweep.load_type.is_drive and sweep.load_type.option:
        command = f"fio TARGET {sweep.load_type.option} {row['load']:g}{_workload(row)}"
    elif sweep.load_type.is_delay and sweep.provenance.tool in _MEMORY_TOOLS:
        command = f"{_MEMORY_TOOLS[sweep.provenance.tool]} {sweep.load_type.option} {row['load']:g}"
    else:
        return ""
    return f" (qsim measure {command} --repeats 5 --out DIR)"


def _workload(row: pd.Series) -> str:
    """The options of a point's block, share of reads and pattern, as far as they are known and not the usual ones."""
    block, read = row["block_bytes"], row["read_fraction"]
    options = [] if pd.isna(block) or block == _USUAL_BLOCK else [f"--block {format_bytes(block).replace(' ', '')}"]
    options += [] if pd.isna(read) or read == 1 else [f"--read {100 * read:g}"]
    options += ["--pattern sequential"] if row["pattern"] == "sequential" else []
    return "".join(f" {option}" for option in options)


def check_buffered(sweep: Sweep) -> Iterator[Finding]:
    """Runs whose recorded options show no direct I/O went through the page cache."""
    for options in recorded_options(sweep.provenance.details):
        engine = options.get("ioengine", "psync")
        if not is_direct(options) and engine not in FILELESS_ENGINES and options:
            yield Finding(
                "buffered",
                "warning",
                f"the recorded options do not hold direct=1 (ioengine {engine}).",
                "reads and writes went through the page cache, so memory was measured with the device.",
                "run again with --direct=1.",
            )
            return


def check_working_set(sweep: Sweep) -> Iterator[Finding]:
    """A file that is small enough for a cache between the program and the device.

    Direct I/O goes past the caches of the CPU and of the system, so there it is the drive's own that is in doubt.
    """
    for options in recorded_options(sweep.provenance.details):
        size = parse_fio_size(options.get("size", options.get("filesize", "")))
        if size is None or size >= _SMALL_FILE_BYTES or options.get("ioengine", "psync") in FILELESS_ENGINES:
            continue
        caches = recorded_caches(sweep.provenance.details)
        name, cache = next(((n, c) for n, c in caches.items() if size <= c), ("", math.nan))
        fits = f" and fits the {name} cache of {format_bytes(cache)}" if name else ""
        yield Finding(
            "small-file",
            "warning" if name and not is_direct(options) else "info",
            f"the file has {format_bytes(size)}{fits}; a drive's own memory holds 1 GiB and more.",
            "a cache of the host or of the drive may have answered part of the requests.",
            f"run again with --size={4 * _SMALL_FILE_BYTES // 2**30}g (or four times the memory where direct=0) and "
            "compare.",
        )
        return


def check_wakeups(sweep: Sweep) -> Iterator[Finding]:
    """Points at which the machine woke a sleeping program so late that their latencies hold much of it."""
    if WOKEN_LATE not in sweep.points:
        return
    late = sweep.points[WOKEN_LATE]
    busy = sweep.points[(late > _LATE_SHARE * sweep.points["latency_s"]) & (late > _LEAST_LATE_S)]
    for series, group in each_series(busy):
        worst = group.iloc[int((group[WOKEN_LATE] / group["latency_s"]).argmax())]
        yield Finding(
            "busy-machine",
            "warning",
            f"at {len(group)} of {int((sweep.points['series'] == series).sum())} runs a sleeping program woke late by "
            f"more than {100 * _LATE_SHARE:g} % of the latency that was measured; the worst: "
            f"{format_duration(float(worst[WOKEN_LATE]))} (mean) against {format_duration(float(worst['latency_s']))}.",
            "other work kept the processors busy, so that requests waited for one after the device had answered.",
            "measure again when the machine is idle, or with priority (sudo chrt -r 20 qsim ...).",
            series,
            float(worst["load"]),
        )


def check_latency_kind(sweep: Sweep) -> Iterator[Finding]:
    """Points of total and points of completion latency in one table."""
    if "latency_of" not in sweep.points:
        return
    counts = sweep.points["latency_of"].value_counts()
    if len(counts) > 1:
        words = {"lat": "total latency (lat)", "clat": "completion latency (clat)"}
        mixed = " and ".join(f"{counted(int(counts[k]), 'point')} of {words[k]}" for k in words if k in counts)
        why = "some runs were made with disable_lat or gtod_reduce."
        remedy = "leave those runs out, or measure them again."
        yield Finding("latency-definitions", "warning", f"the table mixes {mixed}.", why, remedy)


WAY_SHARE, WAY_LEAST_S = 0.1, 2e-4  # what the way may add to a latency, beyond what the device makes up for
GAPS_OFF, GAPS_ERRORS = 0.1, 4.0  # how far, and by how many standard errors, the gaps may be off those of Poisson


def not_poisson(sweep: Sweep) -> NDArray[np.bool_]:
    """True (n,) for the rows of an open sweep at which requests did not arrive as a Poisson process, by a device's log.

    Gaps of a Poisson process are exponential: their squared coefficient of variation is 1, and that of n of them has a
    standard error of 2 / sqrt(n) (by the delta method, from the moments of the exponential law).
    """
    if not sweep.load_type.is_open or not {"served_gap_scv", "served_requests"} <= set(sweep.points):
        return np.zeros(len(sweep.points), dtype=bool)
    off = np.abs(sweep.points["served_gap_scv"].to_numpy(float) - 1)
    error = 2 / np.sqrt(np.fmax(sweep.points["served_requests"].to_numpy(float), 1.0))
    return np.asarray((off > GAPS_OFF) & (off > GAPS_ERRORS * error))  # False where nothing was logged


def check_arrivals(sweep: Sweep) -> Iterator[Finding]:
    """Open points of a known device at which requests did not arrive as the Poisson process that was asked for."""
    found = sweep.points[not_poisson(sweep)]
    for series, group in each_series(found):
        worst = group.iloc[int(np.abs(group["served_gap_scv"].to_numpy(float) - 1).argmax())]
        yield Finding(
            "not-poisson",
            "warning",
            f"at {counted(len(group), 'point')} the gaps between the arrivals that the device logged are not those of "
            "a Poisson process, whose squared coefficient of variation is 1; the worst: "
            f"{worst['served_gap_scv']:.3g} over {worst['served_requests']:,.0f} requests.",
            "other work kept fio from the CPUs, so that requests came late and together, and waited longer than M/M/1 "
            "and its relatives say.",
            "measure again when the machine is idle, or give it priority (sudo chrt -r 20 qsim ...); these "
            "points are left out of a calibration, unless --use names them.",
            series,
            float(worst["load"]),
        )


def check_way(sweep: Sweep) -> Iterator[Finding]:
    """Points of a known device whose latency is not the device's own: the way to it, or a busy machine, added to it."""
    if "served_response_s" not in sweep.points:
        return
    rows = sweep.points.dropna(subset=["served_response_s"])
    added = rows["latency_s"] - rows["served_response_s"]
    late = rows[(added > WAY_SHARE * rows["served_response_s"]) & (added > WAY_LEAST_S)]
    for series, group in each_series(late):
        worst = group.iloc[int((group["latency_s"] / group["served_response_s"]).argmax())]
        yield Finding(
            "way-to-device",
            "warning",
            f"at {counted(len(group), 'point')} fio's latency exceeds the response time that the device itself logged "
            f"by more than {100 * WAY_SHARE:g} %; the worst: {format_duration(worst['latency_s'])} against "
            f"{format_duration(worst['served_response_s'])}.",
            "other work kept the threads of fio or of the device from the CPUs.",
            "measure again when the machine is idle, or with longer service times.",
            series,
            float(worst["load"]),
        )


_PCIE_GBITS = {1: 2.0, 2: 4.0, 3: 8 * 128 / 130, 4: 16 * 128 / 130, 5: 32 * 128 / 130, 6: 64 * 242 / 256}
_USB_BYTES_PER_S = {"2": 60e6, "2.0": 60e6, "3.0": 500e6, "3.1": 1.212e9, "3.2": 2.424e9}
_TRANSFER_BYTES = 8
_FASTEST_DRIVE_S = 4e-6
"""A read of a drive takes longer than this on any link; shorter ones were served by memory."""


@dataclass(frozen=True)
class Link:
    """A link by name, with the bytes a second that it can carry one way."""

    name: str
    bytes_per_s: float


_LINKS: Mapping[str, Callable[..., Link]] = {
    r"pcie?(?:gen)?([1-6])(?:\.0)?(?:x|-x)(1|2|4|8|16)": lambda generation, lanes: Link(
        f"PCIe {generation} x{lanes}", _PCIE_GBITS[int(generation)] * 1e9 / 8 * int(lanes)
    ),
    r"sata([1-3])?": lambda generation: Link(f"SATA {generation or 3}", 75e6 * 2 ** int(generation or 3)),
    r"sas([1-4])": lambda generation: Link(f"SAS {generation}", 150e6 * 2 ** int(generation)),
    r"usb(2|2\.0|3\.[0-2])": lambda version: Link(f"USB {version}", _USB_BYTES_PER_S[version]),
    r"(\d{1,3})(?:gbe|gbit/s|gb/s)": lambda gbits: Link(f"{gbits} Gbit/s Ethernet", int(gbits) * 1e9 / 8),
    r"(?:lp)?ddr[2-6]-?(\d{3,5})(?:x(\d{1,2}))?": lambda millions, channels: Link(
        f"{counted(int(channels or 1), 'memory channel')} at {millions} MT/s",
        int(millions) * 1e6 * _TRANSFER_BYTES * int(channels or 1),
    ),
}


def parse_link(text: str) -> Link:
    """The link that ``text`` names: generation and lanes, speed, or transfers a second and channels.

    Raises ValueError naming the text and what would be understood.

    >>> round(parse_link("pcie4 x4").bytes_per_s / 1e6), round(parse_link("sata3").bytes_per_s / 1e6)
    (7877, 600)
    """
    plain = re.sub(r"[\s_]+", "", text.lower()).removeprefix("nvme")
    for pattern, link in _LINKS.items():
        if match := re.fullmatch(pattern, plain):
            return link(*match.groups())
    examples = "sata3, sas3, pcie4x4, usb3.1, 25GbE or ddr4-3200x6"
    raise InvalidParameterError("link", f"{text!r} is unknown", f"name it like {examples}", value=text)


def check_link(sweep: Sweep, link: Link) -> Iterator[Finding]:
    """Whether a curve moved more than the link carries, and whether it stops at the link's limit."""
    for series, group in each_series(sweep.mean_points()):
        moved = group["bandwidth_bytes_per_s"].to_numpy(float)
        if not np.isfinite(moved).any():
            continue
        most = int(np.nanargmax(moved))
        share = moved[most] / link.bytes_per_s
        rate = f"{moved[most] / 1e6:,.0f} MB/s"
        load = float(group["load"].iloc[most])
        carries = f"{link.name} carries {link.bytes_per_s / 1e6:,.0f} MB/s one way"
        if share > 1:
            why = "a cache served the requests, or a unit is wrong."
            remedy = "measure with a larger buffer, and check the units."
            if sweep.load_type.is_closed:
                why = (
                    "the data did not cross the link: the page cache, a cache of the host or of the controller, "
                    "compression, or reads and writes counted together on a link that carries both ways at once."
                )
                remedy = "run again with --direct=1 on a file larger than every cache."
            text = f"{rate} were measured, and {carries}."
            yield Finding("above-the-link", "error", text, why, remedy, series, load)
        elif share > 0.85:
            text = f"the peak of {rate} is {100 * share:.0f} % of what {carries}."
            why = "the link is the bottleneck, one server with a sharp knee."
            remedy = (
                "smaller blocks move the bottleneck back into the drive: qsim measure fio TARGET --block 4KiB,16KiB "
                "--out DIR."
            )
            yield Finding("at-the-link", "info", text, why, remedy, series, load)


def check_speed(sweep: Sweep) -> Iterator[Finding]:
    """Latencies that no drive has, where nobody said that a memory or a null device was measured."""
    if sweep.provenance.tool != "fio":
        return
    for series, group in each_series(sweep.points):
        engines = set(group["engine"].dropna()) if "engine" in group else set()
        if engines & {"null", "nbd", "mmap", "libpmem", "dev-dax"}:
            continue
        first = group.sort_values("load").iloc[0]
        if first["latency_s"] < _FASTEST_DRIVE_S:
            yield Finding(
                "faster-than-a-drive",
                "warning",
                f"a request takes {first['latency_s'] * 1e6:.2f} us at {sweep.load_type.at(first['load'])}; the "
                "fastest drives take some 5 us.",
                "the page cache, a RAM disk or a null device answered.",
                "run again with --direct=1 on a file of a real file system, and look at what --filename is (lsblk).",
                series,
                float(first["load"]),
            )
