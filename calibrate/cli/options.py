"""The options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from calibrate.cli import parsing
from calibrate.cli.option_groups import shared

Details: TypeAlias = Annotated[bool, typer.Option("--details", help="Also print every parameter and every point.")]

DATA_HELP = "What a tool wrote: a sweep directory, fio JSON, MLC text, a CSV table. Several files are one sweep."
Data: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Dataset: TypeAlias = Annotated[
    str | None, shared("NAME", None, "A published table instead of DATA; see qsim datasets.")
]
Columns: TypeAlias = Annotated[
    str | None, shared("SPEC", None, "Columns of a table by role, with units: load=qd,latency=lat:us.")
]
IdleLatency: TypeAlias = Annotated[
    float | None, shared("TIME", parsing.seconds, "Data sheet: latency of one request alone, as 80us.")
]
PeakIops: TypeAlias = Annotated[
    float | None,
    shared("RATE", parsing.per_second, "Data sheet, or with one measured point: peak requests a second, as 600k."),
]
Use: TypeAlias = Annotated[
    parsing.Numbers | None, shared("LOADS", parsing.used_loads, "Calibrate on these loads, as 1,32, or all.")
]
At: TypeAlias = Annotated[
    parsing.Numbers | None,
    shared("LOADS", parsing.loads, "The loads to predict at, as 1,8,64 or 1..256 (doubling).", "--at", "--clients"),
]
Series: TypeAlias = Annotated[str | None, shared("NAME", None, "Only this curve. Default: every curve.")]
DeviceModel: TypeAlias = Annotated[
    str | None, shared("NAME", None, "The device model; without it the data decide. An unknown name lists all.")
]
Objective: TypeAlias = Annotated[
    parsing.Objective | None,
    shared(
        "TIME",
        parsing.objective,
        "Also print the largest load within this mean response time, as 1ms, or tail, as p99=1ms.",
    ),
]
ArrivalRates: TypeAlias = Annotated[
    parsing.Numbers | None, shared("RATES", parsing.rates, "Open: arrivals a second, as 500,1k,20k/s.")
]
FailOn: TypeAlias = Annotated[
    str | None,
    shared(
        "SEVERITY",
        parsing.choice("info", "warning", "error"),
        "Exit with 3 on findings of this severity: info, warning or error.",
        shown=True,
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", "--plan", help="Print the points, commands and time; run nothing.")
]
