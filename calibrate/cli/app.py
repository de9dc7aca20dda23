"""The command line ``qsim``: the table of its commands; each is imported when it runs or shows its help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

from calibrate.cli.command_table import CONTEXT, LazyGroup, NamesOptions, Table, folded
from calibrate.cli.failures import EXIT_CODES
from calibrate.cli.root import Root
from qsim.installed import version

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

SEAL_HELP = "Seal guesses of a knee before the measurement, and reveal them after it. Predictions: qsim predict --seal."

MEASURE_HELP = "Measure a drive (fio), a device whose truth is known, or this machine's memory; every point is stored."


class Course(NamesOptions, LazyGroup):
    """``qsim course``: measures, and has commands for the labs."""

    table: ClassVar[Table] = {
        "For the class": {
            "handouts": "calibrate.cli.teaching.hand_ins:handouts",
            "hand-in": "calibrate.cli.teaching.hand_ins:hand_in",
            "grade": "calibrate.cli.teaching.hand_ins:grade",
        }
    }


class Commands(Root):
    """The commands themselves: panel of the help -> name -> where it is."""

    table: ClassVar[Table] = {
        "Begin": {
            "demo": "calibrate.cli.teaching.demo:demo",
            "doctor": "calibrate.cli.measuring.doctor:doctor",
            "datasets": "calibrate.cli.measuring.datasets:datasets",
        },
        "Theory": {
            "solve": "calibrate.cli.theory.solve:solve",
            "simulate": "calibrate.cli.theory.simulate:simulate",
            "network": "calibrate.cli.theory.network:network",
            "trace": "calibrate.cli.theory.trace:trace",
            "transient": "calibrate.cli.theory.transient:transient",
            "plot": "calibrate.cli.theory.plot:plot",
            "bench": "calibrate.cli.theory.bench:bench",
        },
        "Measuring": {
            "measure": "",
            "watch": "calibrate.cli.calibration.watch:watch",
            "audit": "calibrate.cli.measuring.audit:audit",
            "show": "calibrate.cli.measuring.show:show",
        },
        "Calibration": {
            "compare": "calibrate.cli.calibration.compare:compare",
            "fit": "calibrate.cli.calibration.fit:fit",
            "predict": "calibrate.cli.calibration.predict:predict",
            "surface": "calibrate.cli.calibration.surface:surface",
            "fleet": "calibrate.cli.calibration.fleet:fleet",
            "fit-service": "calibrate.cli.calibration.fit_service:fit_service",
        },
        "Teaching": {
            "lab": "calibrate.cli.teaching.lab:lab",
            "course": "calibrate.cli.teaching.course:course",
            "seal": "",
        },
    }
    below: ClassVar[Mapping[str, type[LazyGroup]]] = {"course": Course}


class Measuring(LazyGroup):
    """``qsim measure``: one command a tool."""

    table: ClassVar[Table] = {
        "": {
            "fio": "calibrate.cli.measuring.fio:measure_fio",
            "memory": "calibrate.cli.measuring.memory:measure_memory",
            "mlc": "calibrate.cli.measuring.mlc:measure_mlc",
            "device": "calibrate.cli.measuring.device:measure_device",
            "suite": "calibrate.cli.measuring.suite:measure_suite",
        }
    }


class Sealing(LazyGroup):
    """``qsim seal``: guesses of a class."""

    table: ClassVar[Table] = {
        "": {
            "add": "calibrate.cli.teaching.seal:add",
            "show": "calibrate.cli.teaching.seal:show",
            "reveal": "calibrate.cli.teaching.seal:reveal",
        }
    }


app = typer.Typer(
    name="qsim", cls=Commands, help=folded(HELP), epilog=EPILOG, add_completion=False,
    rich_markup_mode="rich", pretty_exceptions_enable=False, context_settings=CONTEXT,
)  # fmt: skip
measuring = typer.Typer(cls=Measuring, rich_markup_mode="rich", context_settings=CONTEXT)
sealing = typer.Typer(cls=Sealing, rich_markup_mode="rich", context_settings=CONTEXT)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qsim {version()}")
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


app.add_typer(measuring, name="measure", help=MEASURE_HELP, rich_help_panel="Measuring")
app.add_typer(sealing, name="seal", help=SEAL_HELP, rich_help_panel="Teaching")
