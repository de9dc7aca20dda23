"""``audit``: what a table of measurements says against itself, with a hypothesis and the run that would settle it.

Closed sweeps are held against Little's law (:mod:`measure.auditing.littles_law`) and looked at for drift and falls past
the peak (:mod:`measure.auditing.curve_shape`), memory curves for caches and lines in flight
(:mod:`measure.auditing.memory`), open sweeps for the arrival rate that was reached; both for what a calibration needs
of them (:mod:`measure.auditing.calibration`). All of them are asked how the runs were made and what the link could
carry (:mod:`measure.auditing.runs`), whether they were steady (:mod:`measure.formats.fio.steady_state`) and which
points are outliers (:mod:`measure.repeats`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from measure.auditing.calibration import check_bins, check_saturation, check_submission
from measure.auditing.curve_shape import check_bandwidth, check_curve, check_open, closed_curves
from measure.auditing.littles_law import BlockVerdict, Diagnosis, diagnoses, ratios_by_claim
from measure.auditing.memory import check_bandwidth_curves, check_buffer_sizes, check_memory
from measure.auditing.runs import (
    FILELESS_ENGINES,
    check_arrivals,
    check_latency_kind,
    check_link,
    check_preconditioning,
    check_repeats,
    check_speed,
    check_wakeups,
    check_way,
    check_working_set,
    parse_link,
)
from measure.findings import SEVERITIES, Finding, placed
from measure.formats.fio.record import is_direct
from measure.formats.fio.steady_state import COLUMNS as STEADY
from measure.formats.fio.steady_state import check_steady
from measure.repeats import check_outliers
from measure.sweep import COMPUTED, Sweep, recorded_options
from measure.units import counted, format_bytes

_MOST_NAMED = 10


def not_checked(sweep: Sweep) -> list[str]:
    """What the audit could not look at in these data, so that its silence says nothing of it.

    >>> from measure import load_dataset
    >>> not_checked(load_dataset("004-ssd-depth"))
    ['repeats (every load was measured once)', 'drift within runs (no log of them)']
    """
    points, missing = sweep.points, []
    if not points.duplicated(["series", "load"]).any():
        missing.append("repeats (every load was measured once)")
    if "unchecked" in points and (points["unchecked"] == COMPUTED).any():
        missing.append("Little's law (a column was computed by it)")
    if not sweep.load_type.is_memory and not set(STEADY) <= set(points.columns):
        missing.append("drift within runs (no log of them)")
    return missing


def audit(sweep: Sweep, series: str | None = None, link: str | None = None) -> list[Finding]:
    """Everything the numbers say against themselves, errors first. What the importer noticed is in ``sweep.findings``.

    One finding per curve and cause; where three curves or more tell the same, one finding for all of them. The list is
    never empty: where Little's law holds, an info says how well. With ``series`` only what concerns that curve (or the
    whole table), still judged with its siblings: reads alone and writes alone tell what is wrong with a mix, and
    several block sizes what is wrong with all of them, so audit the whole sweep and not one selected curve.

    ``link`` names what the data crossed ("sata3", "pcie4x4", "ddr4-3200x6"), to hold the bandwidth against; without it,
    the one in ``sweep.provenance.details["link"]`` counts. Raises ValueError for a link that is unknown.

    >>> from measure import load_dataset
    >>> printed = load_dataset("003-ssd-read", as_published=True)
    >>> [finding.check for finding in audit(printed) if finding.severity == "error"]
    ['littles-law']
    """
    found = _every_finding(sweep, link)
    if series is not None:
        return _sorted([f for f in found if f.series in (None, series)])
    return _sorted(_merged(found))


@lru_cache(maxsize=8)
def _every_finding(sweep: Sweep, link: str | None) -> tuple[Finding, ...]:
    """What every check says of every curve; kept, as it is asked for curve by curve."""
    named = link or sweep.provenance.details.get("link")
    crossed = parse_link(str(named)) if named else None
    if sweep.load_type.is_delay:
        found = list(check_memory(sweep))
    elif sweep.load_type.is_open:
        found = list(check_open(sweep))
    elif sweep.load_type.is_bandwidth:
        found = list(check_bandwidth_curves(sweep))
    elif sweep.load_type.is_size:
        found = list(check_buffer_sizes(sweep))
    else:
        found = [*_littles_law(sweep), *check_bandwidth(sweep)]
        for curve in closed_curves(sweep, computed=True):
            found += check_curve(curve)
    if sweep.load_type.is_drive:
        found += [*_buffered(sweep), *check_working_set(sweep), *check_speed(sweep), *check_latency_kind(sweep)]
        found += [*check_arrivals(sweep), *check_way(sweep), *check_wakeups(sweep)]
        found += [*check_saturation(sweep), *check_bins(sweep), *check_submission(sweep)]
    found += [*check_repeats(sweep), *check_steady(sweep.points, sweep.load_type), *check_preconditioning(sweep.points)]
    found += check_outliers(sweep.points, sweep.load_type)
    if crossed is not None:
        found += check_link(sweep, crossed)
    return placed(found, sweep.load_type)


def _littles_law(sweep: Sweep) -> Iterator[Finding]:
    verdict, found = diagnoses(sweep)
    if not found and "unchecked" in sweep.points and sweep.points["unchecked"].eq(COMPUTED).any():
        yield Finding(
            "littles-law",
            "info",
            "N = X R cannot be checked at any point: latency or throughput was computed by it.",
            "only one of the two was recorded.",
            "measure both.",
        )
    elif not found:
        yield Finding(
            "littles-law",
            "info",
            "N = X R cannot be checked at any point: the depth is unknown, or the runs were limited in rate.",
            "the load was not recorded, or it was given in requests a second and not in requests.",
            "measure a few depths without a rate limit: qsim measure fio TARGET --depths 1,8,64 --out DIR",
        )
    if verdict is not None:
        yield _block_finding(verdict)
    holding = [d for d in found if d.cause == "holds"]
    if holding:
        deviation = np.concatenate([np.abs(d.curve.ratio - 1) for d in holding])
        yield Finding(
            "littles-law",
            "info",
            f"N = X R holds at {counted(len(deviation), 'point')} of {counted(len(holding), 'curve')}: the deviation "
            f"is {100 * np.median(deviation):.2f} % at the median, {100 * deviation.max():.2f} % at most.",
        )
    units = [d for d in found if d.cause == "unit"]
    if len(units) > 1 and len({d.factor for d in units}) == 1:
        yield _unit_finding(units)
        found = [d for d in found if d.cause != "unit"]
    for d in found:
        if d.cause != "holds":
            yield Finding(
                "littles-law",
                d.severity,
                d.evidence,
                d.hypothesis,
                d.remedy,
                d.curve.series,
                float(d.curve.load[d.curve.worst]),
            )


def _block_finding(verdict: BlockVerdict) -> Finding:
    words = ratios_by_claim(verdict)
    block = format_bytes(verdict.block_bytes)
    return Finding(
        "littles-law",
        "error",
        f"at the lowest depth X R / N is {words['before']} with blocks of {words['claimed']} as tabulated; with blocks "
        f"of {block} it is {words['after']}.",
        f"the size of the file (fio's size=) was taken for the size of a block (bs=); the block was {block}.",
        "look for bs= in the command; fio's default is 4 KiB, and its JSON tells it as bandwidth / iops.",
    )


def _unit_finding(units: Sequence[Diagnosis]) -> Finding:
    ratios = np.concatenate([d.curve.ratio for d in units])
    first, factor = units[0], units[0].factor
    after = ratios / factor
    return Finding(
        "littles-law",
        "error",
        f"X R / N is {ratios.min():.3g} to {ratios.max():.3g} over all {len(ratios)} points of {len(units)} curves; "
        f"with the latency {'divided' if factor > 1 else 'multiplied'} by {max(factor, 1 / factor):,.0f} it is "
        f"{after.min():.3f} to {after.max():.3f}.",
        first.hypothesis,
        first.remedy,
    )


def _buffered(sweep: Sweep) -> Iterator[Finding]:
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


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """One finding where three curves or more say the same but for their numbers; the first speaks for all."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for f in findings:
        says = re.sub(r"[\d.]+ ?[kmunKMGT]?(?:iB|B|s|/s)?", "#", f.hypothesis)
        groups.setdefault((f.check, f.severity, says), []).append(f)
    merged: list[Finding] = []
    for group in groups.values():
        names = list(dict.fromkeys(f.series for f in group if f.series))
        if len(names) < 3:
            merged += group
            continue
        first = group[0]
        shown = ", ".join(names[1:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
        more = f"Likewise {len(names) - 1} more curves: {shown}."
        merged.append(replace(first, message=f"{names[0]}: {first.message} {more}", series=None, load=None))
    return merged


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(
        findings, key=lambda f: (-SEVERITIES.index(f.severity), f.check, _natural_key(f.series or ""), f.load or 0.0)
    )


def _natural_key(series: str) -> list[str | int]:
    """A sort key that puts "4 KiB" before "16 KiB"."""
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", series)]
