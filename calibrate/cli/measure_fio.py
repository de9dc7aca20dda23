"""``qsim measure fio``: a drive over queue depths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.data import tell_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring import directory, keeping, points_text, sweep_document
from calibrate.cli.options import AsJson, DryRun, SweepDirectory
from calibrate.cli.progress import Bar
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.errors import UnsafeTargetError

HELP = """Measure a drive with fio over queue depths, each point kept as it is finished.

TARGET is a directory on the drive, or a file that does not exist yet: qsim creates a test file, fills it once, and
removes it at the end. A file that exists is never written to, and read only with --allow-read; a block device is
written to only with --write-device.

\b
Examples:
qsim measure fio /mnt/drive --depths 1..64 --out sweep
qsim measure fio /mnt/drive --depths 1,4,16,64 --block 16KiB --read 70 --out mixed
qsim measure fio /dev/nvme1n1 --allow-read --out whole-drive --dry-run
"""

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32, 64))


def measure_fio(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A directory or a new file on the drive; nbd+unix:///?socket=PATH.")
    ],
    depths: Annotated[
        parsing.Numbers,
        typer.Option(metavar="N,...", parser=parsing.depths, show_default="1..64",
                     help="Queue depths, as 1,2,4,8 or 1..64 (doubling)."),
    ] = DEFAULT_DEPTHS,
    block_bytes: Annotated[
        int, typer.Option("--block", metavar="SIZE", parser=parsing.size, show_default="4KiB", help="Block size.")
    ] = 4096,
    read_percent: Annotated[
        int,
        typer.Option("--read", metavar="PCT", parser=parsing.whole, help="Share of reads: 100 reads, 0 writes."),
    ] = 100,
    pattern: Annotated[
        str,
        typer.Option(metavar="PATTERN", parser=parsing.choice("random", "sequential"),
                     help="Addresses: random or sequential."),
    ] = "random",
    out: SweepDirectory = None,
    runtime_s: Annotated[
        float,
        typer.Option("--runtime", metavar="TIME", parser=parsing.seconds, show_default="5s", help="Time per point."),
    ] = 5.0,
    ramp_s: Annotated[
        float, typer.Option("--ramp", metavar="TIME", parser=parsing.seconds, show_default="1s",
                            help="Time before each point that is not counted.")
    ] = 1.0,
    size_bytes: Annotated[
        int | None,
        typer.Option("--size", metavar="SIZE", parser=parsing.size, show_default="1GiB for a new file",
                     help="How much of the target is used."),
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Rounds over all depths.")] = 1,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="fio's I/O engine: auto, io_uring, libaio, posixaio.")
    ] = "auto",
    jobs: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Jobs, each at the depth.")] = 1,
    order: Annotated[
        str,
        typer.Option(metavar="ORDER",
                     parser=parsing.choice("ascending", "descending", "random"),
                     help="Order of the depths: ascending, descending or random."),
    ] = "ascending",
    seed: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Seed of fio's addresses.")] = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the test file.")] = False,
    allow_read: Annotated[
        bool, typer.Option("--allow-read", help="Consent to reading a file or block device that exists.")
    ] = False,
    write_device: Annotated[
        str | None,
        typer.Option("--write-device", metavar="/dev/NAME", show_default=False,
                     help="Consent to DESTROYING what this block device holds: its name, typed a second time."),
    ] = None,
    arrival_rates: Annotated[
        str | None,
        typer.Option(metavar="RATES", show_default=False, help="Open loop: not in this version, and refused."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Plan, say what will be done, do it, print the points."""
    if arrival_rates is not None:
        raise wrong_usage("--arrival-rates (open loop) is not in this version; measure over --depths (closed loop)")
    if not target.strip():
        raise wrong_usage("TARGET is empty; name a directory on the drive, or a file that does not exist yet")
    where = None if dry_run and out is None else directory(out)

    from measure.errors import UnsafeTargetError
    from measure.fio import plan_fio, run_fio

    try:
        plan = plan_fio(
            target, [int(n) for n in depths], block_bytes=block_bytes, read_percent=read_percent,
            pattern="sequential" if pattern == "sequential" else "random", runtime_s=runtime_s, ramp_s=ramp_s,
            size_bytes=size_bytes, repeats=repeats, engine=engine, jobs=jobs, seed=seed,
            order="random" if order == "random" else "descending" if order == "descending" else "ascending",
            keep=keep, consent="read" if allow_read else None, write_device=write_device,
        )  # fmt: skip
    except UnsafeTargetError as error:
        raise _naming_the_options(error) from error
    if dry_run or where is None:
        if as_json:
            points = [
                {"key": p.key, "depth": p.job.depth, "repeat": p.repeat, "command": p.command} for p in plan.points
            ]
            print_json({"dry_run": True, "points": points, "commands": list(plan.commands), "seconds": plan.seconds()})
        else:
            say(plan.describe() + "\n\n" + "\n".join(plan.commands))
        return
    opening = f"{len(plan.points)} points, about {format_duration(plan.seconds())}, engine {plan.engine}, into {where}"
    with keeping(where), Bar("measuring", opening=opening) as bar:
        sweep = run_fio(plan, where, bar.points)
    tell_findings(sweep)
    if as_json:
        print_json(sweep_document(sweep, where))
    else:
        say(points_text(sweep, where))


def _naming_the_options(error: UnsafeTargetError) -> UnsafeTargetError:
    """The refusal with the options by which a user consents here."""
    text = str(error).replace("consent to its being read", "consent to its being read with --allow-read")
    text = text.replace("give its name again as the device to write (", "give its name again (--write-device ")
    return type(error)(text)
