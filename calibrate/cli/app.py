"""The command line ``qsim``: the table of its commands; each is imported when it runs or shows its help."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from calibrate.cli.console import complain, print_json
from calibrate.cli.failures import (
    DONE,
    EXIT_CODES,
    INTERRUPTED,
    CommandError,
    failure_of,
    option_name,
    refused_parameter,
    wrong_usage,
)
from calibrate.cli.interrupts import stopping_cleanly
from qsim.errors import InvalidParameterError

Table = Mapping[str, Mapping[str, str]]
CONTEXT = {"help_option_names": ["-h", "--help"]}
_UNITS = ("_bytes", "_percent", "_per_repeat", "_per_s", "_s")


class OptionErrorMixin:
    """A command, or a group with options: errors of the library name the option that the user typed."""

    params: list[Any]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except InvalidParameterError as error:
            raise refused_parameter(error, self._option(error.parameter)) from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with this package's wording of defaults, where typer uses parentheses."""
        for parameter in self.params:
            if isinstance(shown := getattr(parameter, "show_default", None), str):
                parameter._get_default_string = lambda shown=shown, **_: shown
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def _option(self, parameter: str) -> str:
        """The option of a library parameter, ``--runtime`` for ``runtime_s``; without one, the parameter."""
        options = {p.name: option_name(p) for p in self.params if p.name}
        if "service" in options:
            options.setdefault("service_time", options["service"])
        names = (parameter, *(parameter.removesuffix(unit) for unit in _UNITS))
        return next((options[n] for name in names for n in (name, f"{name}s") if n in options), parameter)


class Command(OptionErrorMixin, TyperCommand):
    """One command, whose options obey the rules declared above its function."""

    def invoke(self, ctx: Any) -> Any:
        """Check the rules, then run the command."""
        from calibrate.cli.options import check_rules, rules_of

        check_rules(rules_of(self.callback) if self.callback else (), ctx)
        return super().invoke(ctx)


class LazyGroup(TyperGroup):
    """A group of the commands in ``table``: panel of the help -> name -> ``module:function``.

    An empty place stands for a group that is registered with typer itself. The help of a command is its module's
    ``HELP``, or ``HELP_ADD`` for a function ``add`` that shares its module.
    """

    table: ClassVar[Table] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return [name for panel in self.table.values() for name in panel]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now; None where there is none."""
        for panel, homes in self.table.items():
            if homes.get(cmd_name) and cmd_name not in self.commands:
                self.commands[cmd_name] = _command(cmd_name, homes[cmd_name], panel)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command named first in the arguments; CommandError with near names for an unknown one."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = " or ".join(get_close_matches(args[0].lower(), self.list_commands(ctx)))
            guess = f"; did you mean {near}?" if near else ""
            raise wrong_usage(f"unknown command {args[0]!r}{guess} (see {ctx.command_path} --help)")
        return super().resolve_command(ctx, args)


def _command(name: str, home: str, panel: str) -> Any:
    from calibrate.cli.options import for_typer

    module_name, _, function = home.partition(":")
    module = import_module(module_name)
    help_ = folded(getattr(module, f"HELP_{function.upper()}", None) or module.HELP)
    run = for_typer(getattr(module, function))
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, cls=Command, help=help_, context_settings=CONTEXT, rich_help_panel=panel or None)(run)
    return typer.main.get_command(alone)


def folded(text: str) -> str:
    """Join the lines of each paragraph, so that the terminal wraps them; paragraphs after ``\\b`` stay unchanged.

    Square brackets are escaped where they would be read as markup.
    """
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)


class ReaderGoneError(Exception):
    """Raised where the reader of stdout has gone; for a BrokenPipeError click would exit with 1."""


class Commands(LazyGroup):
    """The group ``qsim`` itself: panel of the help -> name -> where the command is."""

    table: ClassVar[Table] = {
        "Begin": {
            "knee": "calibrate.cli.calibration.knee:knee",
            "demo": "calibrate.cli.teaching.demo:demo",
            "doctor": "calibrate.cli.measuring.datasets:doctor",
            "datasets": "calibrate.cli.measuring.datasets:datasets",
        },
        "Theory": {
            "solve": "calibrate.cli.theory.solve:solve",
            "simulate": "calibrate.cli.theory.solve:simulate",
            "network": "calibrate.cli.theory.network:network",
            "trace": "calibrate.cli.theory.trace:trace",
        },
        "Measuring": {
            "measure": "",
            "watch": "calibrate.cli.calibration.watch:watch",
            "audit": "calibrate.cli.measuring.audit:audit",
            "show": "calibrate.cli.measuring.show:show",
        },
        "Calibration": {
            "compare": "calibrate.cli.calibration.compare:compare",
            "change": "calibrate.cli.calibration.change:change",
            "fit": "calibrate.cli.calibration.fit:fit",
            "predict": "calibrate.cli.calibration.predict:predict",
            "surface": "calibrate.cli.calibration.surface:surface",
            "fleet": "calibrate.cli.calibration.fleet:fleet",
            "fit-service": "calibrate.cli.calibration.fit_service:fit_service",
        },
        "Teaching": {"lab": "calibrate.cli.teaching.lab:lab", "course": "calibrate.cli.teaching.course:course"},
    }

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **extra: Any) -> Any:
        """Run the command line and exit with its code: those of ``EXIT_CODES``."""
        given = list(sys.argv[1:] if args is None else args)
        extra.pop("standalone_mode", None)
        _never_fail_to_encode()
        try:
            if sys.stdout is None:
                raise CommandError("stdout is closed, so that no result can be printed; send it to a file or a pipe")
            with stopping_cleanly():
                code = super().main(args=given, prog_name=prog_name or "qsim", standalone_mode=False, **extra)
            if code == INTERRUPTED:  # before the command began, where the parser makes it a code without a word
                raise KeyboardInterrupt
            _flush()
        except (BrokenPipeError, ReaderGoneError):
            code = _reader_gone()
        except SystemExit as ended:  # click and rich exit with 1 where the reader of a help has gone
            code = _reader_gone() if isinstance(ended.__context__, BrokenPipeError) else ended.code
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the one place that answers for every command)
            code = _report(error, as_json="--json" in given)
        sys.exit(code if isinstance(code, int) else DONE)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named; an interruption gets its line like every other failure."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise failure_of(error) from error
        except BrokenPipeError as error:
            raise ReaderGoneError from error


def _report(error: BaseException, *, as_json: bool) -> int:
    """Report the failure: one line on stderr, and with --json an error document on stdout."""
    failure = failure_of(error)
    if os.environ.get("QSIM_DEBUG"):
        traceback.print_exception(error)
    complain(f"error: {failure.message}")
    named = {"message": failure.message, "exit_code": failure.exit_code, **failure.fields}
    try:
        if as_json:
            print_json({"error": named, **failure.details})
        _flush()
    except OSError:  # a full disk was reported; Python must not fail again at exit
        _reader_gone()
    return failure.exit_code


def _flush() -> None:
    """Flush stdout while a failure can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _reader_gone() -> int:
    """End silently where the reader of stdout has gone (``qsim ... | head``), which is not a failure."""
    silent = os.open(os.devnull, os.O_WRONLY)
    if sys.__stdout__ is not None:
        os.dup2(silent, sys.__stdout__.fileno())
    return DONE


def _never_fail_to_encode() -> None:
    """Print question marks, not an error, in a terminal without Unicode."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


HELP = """Measure a drive, a memory or a service, describe it as a queue, predict its curve and its knee, and hold the
prediction against the hardware.

\b
Begin with:
qsim knee .                             the knee of this drive, in fifteen seconds
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

MEASURE_HELP = "Measure a drive (fio), a device whose truth is known, or this machine's memory; every point is stored."


class Measuring(LazyGroup):
    """``qsim measure``: one command a tool."""

    table: ClassVar[Table] = {
        "": {
            "fio": "calibrate.cli.measuring.fio:measure_fio",
            "drive": "calibrate.cli.measuring.fio:measure_drive",
            "memory": "calibrate.cli.measuring.memory:measure_memory",
            "mlc": "calibrate.cli.measuring.memory:measure_mlc",
            "device": "calibrate.cli.measuring.device:measure_device",
            "command": "calibrate.cli.measuring.command:measure_command",
            "suite": "calibrate.cli.measuring.suite:measure_suite",
        }
    }


app = typer.Typer(
    name="qsim",
    cls=Commands,
    help=folded(HELP),
    epilog=EPILOG,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)
measuring = typer.Typer(cls=Measuring, rich_markup_mode="rich", context_settings=CONTEXT)


def _version(wanted: bool) -> None:
    if wanted:
        from qsim.installed import version

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
    _help_when_alone(ctx)


@measuring.callback(invoke_without_command=True)
def _group(ctx: typer.Context) -> None:
    """Print help when no subcommand is given."""
    _help_when_alone(ctx)


app.add_typer(measuring, name="measure", help=MEASURE_HELP, rich_help_panel="Measuring")
