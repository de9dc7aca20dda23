"""What one fio record says against itself: a depth that counted for nothing, a run that drifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from measure.findings import Finding
from measure.formats.fio.record import SYNC_ENGINES, FioRecord
from measure.formats.fio.windows import Window
from measure.units import format_duration, format_rate

#: Windows that are needed before a trend is called one, and the change of throughput that matters.
FEWEST_WINDOWS = 4
DRIFT = 0.15
_STEADIER = 2.0


def check_record(record: FioRecord) -> Iterator[Finding]:
    """Findings on one record; the importer adds the curve and the load."""
    yield from _depth_ignored(record)
    yield from drift_within(record.windows, record.source)


def _depth_ignored(record: FioRecord) -> Iterator[Finding]:
    asked = record.options.get("iodepth", "1").strip()
    if record.engine not in SYNC_ENGINES or record.depth != 1 or asked in ("1", "") or not record.options:
        return
    explicit = "ioengine" in record.options
    yield Finding(
        "depth-ignored", "warning",
        f"{record.source}: job {record.job!r} asked for iodepth={asked} with the engine {record.engine}"
        f"{'' if explicit else ' (the default)'}, which keeps one request outstanding; the load is taken as "
        f"{record.jobs}.",
        "the depth was meant and a synchronous engine was left in place.",
        "run again with --ioengine=io_uring or --ioengine=libaio (and --direct=1), or with --numjobs in place of the "
        "depth.",
    )  # fmt: skip


def drift_within(windows: Sequence[Window], source: str) -> Iterator[Finding]:
    """Whether throughput or latency went somewhere during the run, by its windows.

    The first third is held against the last. A change counts where it is larger than 15 % and larger than twice what
    the windows scatter within the thirds, so that a noisy run is not called a drifting one.
    """
    if len(windows) < FEWEST_WINDOWS:
        return
    third = max(2, len(windows) // 3)
    told = []
    for what, values, show in (
        ("throughput", np.array([w.throughput_per_s for w in windows]), format_rate),
        ("latency", np.array([w.latency_s for w in windows]), format_duration),
    ):
        first, last = values[:third], values[-third:]
        change = float(last.mean() / first.mean() - 1)
        noise = float(np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / third) / first.mean())
        if abs(change) > DRIFT and abs(change) > _STEADIER * noise:
            told.append(f"the {what} goes from {show(float(first.mean()))} to {show(float(last.mean()))} "
                        f"({100 * change:+.0f} %)")  # fmt: skip
    if told:
        length = windows[-1].end_s - windows[0].start_s
        yield Finding(
            "drift-within-run", "warning",
            f"{source}: over the {length:.3g} s of the run, by {len(windows)} windows, {' and '.join(told)}.",
            "a write cache that fills, throttling, or a file that was not preconditioned: the mean is of no steady "
            "state.",
            "run again with --ramp_time=60 and --time_based --runtime=120, or with --ss=iops_slope:0.3% --ss_dur=30.",
        )  # fmt: skip
