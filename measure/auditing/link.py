"""Throughput against what the link to the device can carry: nothing moves faster than its bus.

A link's payload rate is its signalling rate less the line code: 8b/10b on SATA, SAS up to 12 Gb/s and PCIe 1 and 2,
128b/130b on PCIe 3 to 5 (PCI Express Base Specification 5.0, section 4.2), 242B/256B flits on PCIe 6. Protocol headers
take some 5 to 10 % more, so a bandwidth near the limit is at the link's peak and one above it never crossed the link.
A memory bus moves 8 bytes a transfer and channel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from measure.findings import Finding
from measure.sweep import Sweep
from measure.units import counted
from qsim.errors import InvalidParameterError

_PCIE_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 8e9 / 8 * 128 / 130, 4: 16e9 / 8 * 128 / 130,
                          5: 32e9 / 8 * 128 / 130, 6: 64e9 / 8 * 242 / 256}  # fmt: skip
_SATA_BYTES_PER_S = {1: 150e6, 2: 300e6, 3: 600e6}
_SAS_BYTES_PER_S = {1: 300e6, 2: 600e6, 3: 1200e6, 4: 2400e6}
_USB_BYTES_PER_S = {"2": 60e6, "2.0": 60e6, "3.0": 500e6, "3.1": 1.212e9, "3.2": 2.424e9}
_TRANSFER_BYTES = 8
_EXAMPLES = "sata3, sas3, pcie4x4, usb3.1, 25GbE or ddr4-3200x6"
#: A read of a drive takes longer than this on any link; shorter ones were served by memory.
_FASTEST_DRIVE_S = 4e-6


@dataclass(frozen=True)
class Link:
    """A link by name, with the bytes a second that it can carry one way."""

    name: str
    bytes_per_s: float


_LINKS: Mapping[str, Callable[..., Link]] = {
    r"pcie?(?:gen)?([1-6])(?:\.0)?(?:x|-x)(1|2|4|8|16)": lambda generation, lanes: Link(
        f"PCIe {generation} x{lanes}", _PCIE_LANE_BYTES_PER_S[int(generation)] * int(lanes)
    ),
    r"sata([1-3])?": lambda generation: Link(f"SATA {generation or 3}", _SATA_BYTES_PER_S[int(generation or 3)]),
    r"sas([1-4])": lambda generation: Link(f"SAS {generation}", _SAS_BYTES_PER_S[int(generation)]),
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
    raise InvalidParameterError("link", f"{text!r} is unknown", f"name it like {_EXAMPLES}", value=text)


def check_link(sweep: Sweep, link: Link) -> Iterator[Finding]:
    """Whether a curve moved more than the link carries, and whether it stops at the link's limit."""
    for series, group in sweep.mean_points().groupby("series", sort=False):
        moved = group["bandwidth_bytes_per_s"].to_numpy(float)
        if not np.isfinite(moved).any():
            continue
        most = int(np.nanargmax(moved))
        share = moved[most] / link.bytes_per_s
        told = f"{moved[most] / 1e6:,.0f} MB/s"
        load = float(group["load"].iloc[most])
        carries = f"{link.name} carries {link.bytes_per_s / 1e6:,.0f} MB/s one way"
        if share > 1:
            yield Finding(
                "above-the-link", "error", f"{told} were measured, and {carries}.",
                "the data did not cross the link: the page cache, a cache of the host or of the controller, "
                "compression, or reads and writes counted together on a link that carries both ways at once."
                if sweep.load_type.is_closed else
                "a cache served the requests, or a unit is wrong.",
                "run again with --direct=1 on a file larger than every cache." if sweep.load_type.is_closed else
                "measure with a larger buffer, and check the units.",
                str(series), load,
            )  # fmt: skip
        elif share > 0.85:
            yield Finding(
                "at-the-link", "info", f"the peak of {told} is {100 * share:.0f} % of what {carries}.",
                "the link is the bottleneck, one server with a sharp knee.",
                "smaller blocks move the bottleneck back into the drive: qsim measure fio TARGET --block 4KiB,16KiB "
                "--out DIR.", series=str(series), load=load,
            )  # fmt: skip


def check_speed(sweep: Sweep) -> Iterator[Finding]:
    """Latencies that no drive has, where nobody said that a memory or a null device was measured."""
    if sweep.provenance.tool != "fio":
        return
    for series, group in sweep.points.groupby("series", sort=False):
        engines = set(group["engine"].dropna()) if "engine" in group else set()
        if engines & {"null", "nbd", "mmap", "libpmem", "dev-dax"}:
            continue
        first = group.sort_values("load").iloc[0]
        if first["latency_s"] < _FASTEST_DRIVE_S:
            yield Finding(
                "faster-than-a-drive", "warning",
                f"a request takes {first['latency_s'] * 1e6:.2f} us at load {first['load']:g}; the fastest drives take "
                "some 5 us.",
                "the page cache, a RAM disk or a null device answered.",
                "run again with --direct=1 on a file of a real file system, and look at what --filename is (lsblk).",
                str(series), float(first["load"]),
            )  # fmt: skip
