"""The command line ``qsim``: every command with its help; what a command needs is imported when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from calibrate.cli.calibration import compare, fit, fit_service, predict, surface
from calibrate.cli.failures import EXIT_CODES
from calibrate.cli.help_text import folded
from calibrate.cli.measuring import (
    audit,
    datasets,
    doctor,
    show,
)
from calibrate.cli.measuring import (
    device as measure_device,
)
from calibrate.cli.measuring import (
    fio as measure_fio,
)
from calibrate.cli.measuring import (
    memory as measure_memory,
)
from calibrate.cli.measuring import (
    mlc as measure_mlc,
)
from calibrate.cli.measuring import (
    suite as measure_suite,
)
from calibrate.cli.root import Command, Root
from calibrate.cli.teaching import course, demo, lab, seal
from calibrate.cli.theory import bench, network, plot, simulate, solve, trace

HELP = """Measure a drive or a memory, describe it as a queue, predict its curve and its knee, and hold the prediction
against the hardware.

\b
Begin with:
qsim demo                               measure this machine, write a report
qsim compare --dataset 003-ssd-read     the same with a published table
qsim solve mm1 --arrival-rate 16 --service-rate 20
"""

EPILOG = "\n".join(
    [
        "Exit codes:",
        *(f"{code:>5}  {meaning}" for code, meaning in EXIT_CODES.items()),
        "",
        "Results go to stdout, progress and warnings to stderr; --json prints one JSON document in SI units.",
        "",
        "QSIM_DEBUG=1 shows where an error came from; NO_COLOR=1 is honoured.",
    ]
)

MEASURE_HELP = "Measure a drive (fio), a device whose truth is known, or this machine's memory; every point is kept."

_CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="qsim", cls=Root, help=folded(HELP), epilog=EPILOG, add_completion=False,
    rich_markup_mode="rich", pretty_exceptions_enable=False, context_settings=_CONTEXT,
)  # fmt: skip
measuring = typer.Typer(rich_markup_mode="rich", context_settings=_CONTEXT)
sealing = typer.Typer(rich_markup_mode="rich", context_settings=_CONTEXT)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"qsim {version('qsim')}")
        raise typer.Exit()


def _help_when_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and leave.")
    ] = False,
) -> None:
    """Only --version lives here."""
    _help_when_alone(ctx)


@measuring.callback(invoke_without_command=True)
@sealing.callback(invoke_without_command=True)
def _group(ctx: typer.Context) -> None:
    """Nothing lives here."""
    _help_when_alone(ctx)


def _add(to: typer.Typer, name: str, command: Callable[..., Any], help_: str) -> None:
    to.command(name, cls=Command, help=folded(help_), context_settings=_CONTEXT)(command)


_add(app, "demo", demo.demo, demo.HELP)
_add(app, "doctor", doctor.doctor, doctor.HELP)
_add(app, "solve", solve.solve, solve.HELP)
_add(app, "simulate", simulate.simulate, simulate.HELP)
_add(app, "network", network.network, network.HELP)
_add(app, "trace", trace.trace, trace.HELP)
_add(app, "plot", plot.plot, plot.HELP)
app.add_typer(measuring, name="measure", help=MEASURE_HELP)
_add(measuring, "fio", measure_fio.measure_fio, measure_fio.HELP)
_add(measuring, "device", measure_device.measure_device, measure_device.HELP)
_add(measuring, "memory", measure_memory.measure_memory, measure_memory.HELP)
_add(measuring, "mlc", measure_mlc.measure_mlc, measure_mlc.HELP)
_add(measuring, "suite", measure_suite.measure_suite, measure_suite.HELP)
_add(app, "audit", audit.audit, audit.HELP)
_add(app, "show", show.show, show.HELP)
_add(app, "surface", surface.surface, surface.HELP)
_add(app, "fit", fit.fit, fit.HELP)
_add(app, "fit-service", fit_service.fit_service, fit_service.HELP)
_add(app, "predict", predict.predict, predict.HELP)
_add(app, "compare", compare.compare, compare.HELP)
app.add_typer(sealing, name="seal", help=seal.HELP)
_add(sealing, "add", seal.add, seal.HELP_ADD)
_add(sealing, "show", seal.show, seal.HELP_SHOW)
_add(sealing, "reveal", seal.reveal, seal.HELP_REVEAL)
_add(app, "course", course.course, course.HELP)
_add(app, "datasets", datasets.datasets, datasets.HELP)
_add(app, "lab", lab.lab, lab.HELP)
_add(app, "bench", bench.bench, bench.HELP)
