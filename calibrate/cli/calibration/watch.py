"""``qsim watch``: the activity of a device every second, and its position on the fitted curve."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import plain, remark, say, warn
from calibrate.cli.failures import CommandError, wrong_usage
from calibrate.cli.options import flag, option
from measure.loads import ClosedLoad
from measure.units import format_bandwidth, format_bytes, format_duration, format_rate, parse_duration, plain_number

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit
    from calibrate.watched import WatchedCurves
    from measure.formats.block_device_counts import DeviceInterval
    from measure.watching import Lost

WHY = {"gone": "is gone", "reset": "counts from zero again; this interval is left out"}

LEAST_S, MOST_S = 0.1, 3600.0
HEADER = (
    f"{'device':10s}{'rate':>10s}{'bandwidth':>11s}{'response':>10s}{'X R':>6s}{'seen':>6s}{'reads':>7s}{'%util':>7s}"
    f"{'of peak':>9s}"
)
HEADER_EVERY = 20
ENDING_S = 0.05  # seconds: an interval that ends within this time before --for is the last one


@parsing.parser
def interval_s(text: str) -> float:
    """``1s``, within what the kernel's counters allow."""
    found = parse_duration(text)
    if not LEAST_S <= found <= MOST_S:
        raise ValueError(f"{text} is out of reach; give 0.1s to 1h")
    return found


def watch(
    *,
    devices: Annotated[
        list[str],
        typer.Argument(metavar="DEVICE...", help="Block devices or partitions: nvme0n1, /dev/sda1, /dev/mapper/root."),
    ],
    fit_file: Path | None = option("FILE", parsing.path, "The device's curve, a file of qsim fit.", "--fit"),
    every: float = option("TIME", interval_s, "How long an interval is.", default=1.0, shown="1s"),
    for_: float | None = option("TIME", parsing.seconds, "End after this time.", "--for"),
    record: Path | None = option("FILE", parsing.path, "Also store every interval in a new CSV file."),
    as_json: bool = flag("--json", "Print a JSON document in SI units for each interval, on a line of its own."),
) -> None:
    """Watch a device at work: throughput, response time, requests outstanding, and where that is on its curve.

    Reads the kernel's counters (/proc/diskstats) every second. Nothing is written to the device, no request is sent to
    it, and no root is needed. Ctrl-C ends it.

    \b
    Examples:
    qsim watch nvme0n1
    qsim watch nvme0n1 --fit fit.json
    qsim watch sda sdb --for 1h --record watched.csv
    qsim watch nvme0n1 --for 10s --json
    """
    if for_ is not None and for_ < every:
        raise wrong_usage(f"--for {format_duration(for_)} is shorter than an interval, {format_duration(every)}")

    from calibrate.cli.files import new_record
    from calibrate.watched import WatchedCurves
    from measure.formats.block_device_counts import pooled, record_header, record_line
    from measure.watching import Lost
    from measure.watching import watch as watched

    curves = WatchedCurves(None if fit_file is None else _known(fit_file))
    whole: dict[str, DeviceInterval] = {}
    highest: dict[str, DeviceInterval] = {}
    lines, warned = 0, set[str]()
    with ExitStack() as stack:
        keep = stack.enter_context(new_record(record, record_header(), "--record")) if record else None
        try:
            for found in _until(watched(devices, every), for_):
                name = found.device
                if isinstance(found, Lost):
                    warn(f"{name} {WHY[found.why]}")
                    continue
                curves.add(found)
                whole[name] = pooled([whole[name], found]) if name in whole else found
                highest[name] = max(highest.get(name, found), found, key=lambda i: i.throughput_per_s)
                if keep is not None:
                    keep(record_line(found))
                if as_json:
                    say(json.dumps(plain({**found.to_dict(), **curves.facts(found)}), allow_nan=False))
                    continue
                if lines % HEADER_EVERY == 0:
                    say(HEADER)
                lines += 1
                say(_line(found, curves))
                if name not in warned and (missing := curves.missing(name)):
                    warned.add(name)
                    remark(missing)
        except KeyboardInterrupt:
            if for_ is not None or not whole:
                raise
    if not whole:
        raise CommandError(f"{', '.join(devices)} vanished before an interval was over")
    if not as_json:
        say("\n".join(["", *(line for name in whole for line in _summed(whole[name], highest[name], curves))]))
        if record is not None:
            say(f"\nMORE    qsim fit {record}: the curve;   qsim show {record}: the steady stretches")


def _known(file: Path) -> Fit:
    """The curve in a file; CommandError for another kind, and for several."""
    from calibrate.cli.files import read_fits

    fits = read_fits(file)
    if len(fits) > 1:
        raise wrong_usage(f"--fit {file} holds {len(fits)} curves; keep one: qsim fit DATA --series NAME --out FILE")
    if not isinstance(fits[0].load_type, ClosedLoad):
        raise wrong_usage(f"--fit {file} is no curve over requests outstanding; fit a sweep over the depth")
    return fits[0]


def _until(looks: Iterator[list[DeviceInterval | Lost]], seconds: float | None) -> Iterator[DeviceInterval | Lost]:
    end = None if seconds is None else time.monotonic() + seconds
    for found in looks:
        yield from found
        if end is not None and time.monotonic() >= end - ENDING_S:
            return


def _line(interval: DeviceInterval, curves: WatchedCurves) -> str:
    """An interval as a line of 76 characters below ``HEADER``; ``*`` where samples disagree with Little's law."""
    from calibrate.watched import response_text

    name = f"{interval.device[:9]:10s}"
    if not interval.requests:
        return f"{name}{'idle':>10s}"
    share = curves.facts(interval)["peak_share"]
    seen = plain_number(interval.in_flight, 2) + ("" if interval.agrees else "*")
    return (
        f"{name}{format_rate(interval.throughput_per_s):>10s}"
        f"{format_bandwidth((interval.read_bytes + interval.written_bytes) / interval.seconds):>11s}"
        f"{response_text(interval).replace('less than ', '<'):>10s}"
        f"{plain_number(interval.outstanding, 2):>6s}{seen:>6s}"
        f"{f'{100 * interval.read_share:.0f} %':>7s}{f'{100 * min(interval.busy_share, 1):.0f}':>7s}"
        f"{'' if share is None else f'{100 * share:.0f} %':>9s}"
    )


def _summed(whole: DeviceInterval, highest: DeviceInterval, curves: WatchedCurves) -> list[str]:
    now, _, where = curves.sentence(whole).partition(": ")
    lines = [f"{whole.device}, {format_duration(whole.seconds)}: {now}"]
    if not whole.requests:
        return lines
    reads = f"{format_rate(whole.reads / whole.seconds)} reads at {_each(whole.read_s, whole.reads)}"
    writes = f"{format_rate(whole.writes / whole.seconds)} writes at {_each(whole.write_s, whole.writes)}"
    size = f"; {format_bytes(512 * round(whole.block_bytes / 512))} each" if whole.block_bytes > 0 else ""
    return [
        *lines,
        *(f"{'' if k else 'CURVE':8s}{part}" for k, part in enumerate(where.split("; "))),
        f"MOST    {format_rate(highest.throughput_per_s)} at {format_duration(highest.response_time_s)}",
        *_littles_law(whole),
        f"APART   {reads}; {writes}{size}",
    ]


def _littles_law(whole: DeviceInterval) -> list[str]:
    """Both sides of Little's law, and why they disagree where they do, or why nobody can tell."""
    outstanding, looks = plain_number(whole.outstanding, 2), plain_number(whole.in_flight, 2)
    error = plain_number(whole.seen_error, 2)
    lines = [f"LITTLE  X R = {outstanding} outstanding; looks saw {looks} ± {error} in the device"]
    if not whole.agrees:
        late = f"{100 * whole.late_looks_share:.0f} % waited for a free processor"
        lines += [f"        they disagree: of the looks {late};", "        X R counts every request"]
    elif whole.seen_error > whole.outstanding:
        lines.append(f"        undecided: these looks tell no difference below {error}; watch longer")
    return lines


def _each(seconds: float, count: float) -> str:
    return format_duration(seconds / count) if count else "-"
