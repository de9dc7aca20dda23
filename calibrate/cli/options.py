"""The options that several commands share, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.option_groups import OptionGroup

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document in SI units to stdout, and nothing else.")
]

Details: TypeAlias = Annotated[
    bool, typer.Option("--details", help="Also print every parameter with its interval, and every point.")
]

DATA_HELP = (
    "What a tool wrote: a sweep directory, fio JSON (or a directory of it), MLC text, a CSV table. Several files of "
    "one format are read as one sweep."
)
Data: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Dataset: TypeAlias = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="A published table instead of DATA; see qsim datasets.")
]
Columns: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="SPEC",
        help="Columns of a CSV table by role, with units: load=qd,latency=lat:us.",
    ),
]  # fmt: skip
AsPublished: TypeAlias = Annotated[
    bool,
    typer.Option("--as-published", help="Take a dataset as printed, without the corrections that its audit proves."),
]
IdleLatency: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--idle-latency", metavar="TIME", parser=parsing.seconds, show_default=False,
        help="Data sheet: latency of one request alone, as 80us.",
    ),
]  # fmt: skip
PeakIops: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--peak-iops", metavar="RATE", parser=parsing.per_second, show_default=False,
        help="Data sheet, or beside one measured point (--use 1): peak requests a second, as 600k.",
    ),
]  # fmt: skip
Use: TypeAlias = Annotated[
    parsing.Numbers | None,
    typer.Option(
        "--use", metavar="LOADS", parser=parsing.used_loads, show_default=False,
        help="The loads to calibrate on, as 1,32, or all. Default: all; qsim compare, which holds the others out: "
        "depths 1 and 32, with six or more 1, 8 and 64 (or the nearest); of other loads the smallest, a middle one and "
        "the largest.",
    ),
]  # fmt: skip
At: TypeAlias = Annotated[
    parsing.Numbers | None,
    typer.Option(
        "--at", metavar="LOADS", parser=parsing.loads, show_default=False,
        help="The loads to predict at, as 1,8,64 or 1..256 (doubling).",
    ),
]  # fmt: skip
Series: TypeAlias = Annotated[
    str | None, typer.Option("--series", metavar="NAME", help="Only this curve. Default: every curve.")
]
DeviceModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", show_default=False,
        help="The device model. For queue depths: p-norm with onset (the default; with a decline where a point shows "
        "one), p-norm with onset and decline, p-norm, random routing, delay + M/M/4, general service (delay + G/4, or "
        "'delay + G/4, a queue each'), host limit, asymptotic bounds, universal scalability law. For a memory's "
        "delays: delay law (the default), no queueing. For curves of latency over bandwidth: latency curve (the "
        "default), latency of a queue. For arrival rates: M/G/c or 'M/G/c, a queue each' (the default: whichever "
        "misses the points calibrated on less), M/M/1, M/D/1, M/G/1, M/M/4, G/G/c. A name that is unknown lists all.",
    ),
]  # fmt: skip
Level: TypeAlias = Annotated[
    float | None,
    typer.Option("--level", metavar="SHARE", parser=parsing.level, show_default="0.9",
                 help="The level of intervals and bands."),
]  # fmt: skip
Peak: TypeAlias = Annotated[
    float | None,
    typer.Option("--peak", metavar="BANDWIDTH", parser=parsing.bandwidth, show_default=False,
                 help="A memory's peak bandwidth, as 120GB/s, where a bandwidth test shows it (qsim measure memory "
                 "--peak): sharpens the curve, and lets it reach bandwidths beyond the highest measured."),
]  # fmt: skip
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", parser=parsing.seed, show_default="0",
                 help="The seed of everything that is drawn."),
]  # fmt: skip
Objective: TypeAlias = Annotated[
    parsing.Objective | None,
    typer.Option("--slo", metavar="TIME", parser=parsing.objective, show_default=False,
                 help="An objective for the mean response time, as 1ms, or for a tail, as p99=1ms (p50, p95, p99, "
                 "p99.9; from the histograms of DATA): also print the largest load that meets it, with its interval."),
]  # fmt: skip
Share: TypeAlias = Annotated[
    float | None,
    typer.Option("--share", metavar="PART", parser=parsing.share, show_default=False,
                 help="Also print the load that gives this share of the peak throughput, as 0.9 or 90%, with its "
                 "interval."),
]  # fmt: skip
Knees: TypeAlias = Annotated[
    bool,
    typer.Option("--knees", help="Also print the knee by every definition, with intervals (over repeats too, where "
                 "each point was measured several times)."),
]  # fmt: skip


@dataclass(frozen=True)
class KneeOptions(OptionGroup):
    """Which knees are printed, and for which objectives."""

    slo: Objective = None
    share: Share = None
    knees: Knees = False

    @property
    def asked(self) -> bool:
        """Whether knees are to be printed at all."""
        return self.knees or self.slo is not None or self.share is not None


Report: TypeAlias = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", parser=parsing.path, show_default=False,
                 help="Also write a page to look at: one HTML file that opens offline."),
]  # fmt: skip
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an earlier file of the same kind (never another file).")
]
ArrivalRates: TypeAlias = Annotated[
    parsing.Numbers | None,
    typer.Option("--arrival-rates", metavar="RATES", parser=parsing.rates, show_default=False,
                 help="Open: arrivals a second, as 500,1k,20k/s; many jobs with the engine psync share them."),
]  # fmt: skip
Ramp: TypeAlias = Annotated[
    float,
    typer.Option("--ramp", metavar="TIME", parser=parsing.seconds, show_default="1s",
                 help="Time before each point that is not counted."),
]  # fmt: skip
LoadOrder: TypeAlias = Annotated[
    str,
    typer.Option("--order", metavar="ORDER", parser=parsing.choice("ascending", "descending", "random"),
                 help="Order of the loads: ascending, descending or random."),
]  # fmt: skip
FailOn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--fail-on", metavar="SEVERITY", parser=parsing.choice("info", "warning", "error"),
        help="Exit with 3 where the audit finds anything of this severity or worse: info, warning, error.",
    ),
]  # fmt: skip
SweepDirectory: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", parser=parsing.path, show_default=False,
        help="Directory of the points; run the same command again to resume.",
    ),
]  # fmt: skip
DryRun: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        "--plan",
        help="Print the points, the commands and the time they will take; run and write nothing.",
    ),
]
