"""``qsim measure drive``: a drive over queue depths by qsim's own probe, where fio is not installed."""

from __future__ import annotations

from calibrate.cli import parsing
from calibrate.cli.measuring.run import (
    DriveOptions,
    PlanOrRun,
    Target,
    check_target,
    fio_plan_table,
    kept_in,
    left_text,
    naming_consent,
    one_of,
    ramp_of,
)
from calibrate.cli.option_groups import option

HELP = """Measure a drive with qsim's own probe, for where fio is not installed; each point is stored as it finishes.

Threads keep N requests outstanding by direct reads or writes (closed). The probe measures how many requests it could
hand over, and warns where a point needs more than half of that. The points are read like those of qsim measure fio,
which also varies jobs and arrival rates.

TARGET: as for qsim measure fio, without network block devices.

\b
Examples:
qsim measure drive . --out sweep
qsim measure drive /mnt/drive --depths 1,4,16,64 --block 4KiB,64KiB --read 100,70 --out mixed
"""

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32, 64))


def measure_drive(
    *,
    target: Target,
    depths: parsing.Numbers = option(
        "N,...", parsing.depths, "Queue depths, as 1,2,4,8 or 1..64 (doubling).", default=DEFAULT_DEPTHS, shown="1..64"
    ),
    block_bytes: parsing.Numbers = option(
        "SIZE,...", parsing.sizes, "Block sizes.", "--block", default=parsing.Numbers((4096,)), shown="4KiB"
    ),
    read_percent: parsing.Numbers = option(
        "PCT,...",
        parsing.percents,
        "Shares of reads: 100 reads, 0 writes.",
        "--read",
        default=parsing.Numbers((100,)),
        shown="100",
    ),
    pattern: parsing.Words = option(
        "PATTERN,...",
        parsing.choices("random", "sequential"),
        "Addresses: random, sequential or both.",
        default=parsing.Words(("random",)),
        shown="random",
    ),
    runtime_s: float = option("TIME", parsing.seconds, "Time per point.", "--runtime", default=5.0, shown="5s"),
    repeats: int = option("N", parsing.whole, "Rounds over all points.", default=1, shown=True),
    drive: DriveOptions,
    output: PlanOrRun,
) -> None:
    """Plan, say what will be done, do it, print the points."""
    check_target(target)
    output.check()

    from measure.fio.command import PROBE
    from measure.fio.settings import FioSettings
    from measure.fio.sweep import plan_workloads, run_fio
    from measure.fio.workload import Pattern, combinations

    workloads = combinations(
        [int(n) for n in depths],
        block_bytes=[int(b) for b in block_bytes],
        read_percent=[int(p) for p in read_percent],
        pattern=[one_of(Pattern, p) for p in pattern],
    )
    with naming_consent():
        settings = FioSettings(
            runtime_s,
            ramp_of(runtime_s),
            engine=PROBE,
            repeats=repeats,
            size_bytes=drive.size_bytes,
            consent=drive.consent,
            write_device=drive.allow.write,
            erase=drive.allow.erase,
        )
        plan = plan_workloads(target, workloads, settings)
    kept = kept_in(output.out)
    finished = kept.finished() if kept is not None else frozenset[str]()
    if output.dry_run:
        output.show_plan(fio_plan_table(plan, finished))
        return
    output.measure(left_text(plan, finished), lambda out, bar: run_fio(plan, out, bar))
