"""The peak bandwidth that a tool listed beside a memory's curve: that of the same traffic, without any delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from measure.sweep import Sweep

MLC_TRAFFIC = {1.0: "ALL Reads", 0.75: "3:1 Reads-Writes", 0.67: "2:1 Reads-Writes", 0.5: "1:1 Reads-Writes"}
"""How MLC names the traffic of its peak injection bandwidths, by the share of reads."""


def known_peak(sweep: Sweep) -> float | None:
    """The peak (bytes/s) of the traffic of a sweep of one series; None where none is listed, or several differ.

    The probe of ``qsim measure memory`` lists one for each traffic, MLC for its usual mixes with ordinary stores.
    """
    if not sweep.load_type.is_memory:
        return None
    found = {*_of_probe(sweep), *_of_mlc(sweep)}
    return found.pop() if len(found) == 1 else None


def _of_probe(sweep: Sweep) -> Iterator[float]:
    series = sweep.series[0]
    for traffic, peak in sweep.provenance.details.get("peaks_bytes_per_s", {}).items():
        if series == traffic or series.startswith(f"{traffic},"):
            yield float(peak["mean"])


def _of_mlc(sweep: Sweep) -> Iterator[float]:
    shares = set(sweep.points["read_fraction"].dropna().round(2)) if "read_fraction" in sweep.points else set()
    if len(shares) != 1 or "non-temporal" in sweep.series[0]:
        return
    name = MLC_TRAFFIC.get(shares.pop(), "")
    for section in _sections(sweep.provenance.details):
        if name in section:
            yield float(section[name])


def _sections(details: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every list of peaks by traffic, at any depth."""
    for key, value in details.items():
        if key == "bandwidths_bytes_per_s" and isinstance(value, Mapping):
            yield from (section for section in value.values() if isinstance(section, Mapping))
        elif isinstance(value, Mapping):
            yield from _sections(value)
