"""The command line ``qsim``: the table of its commands; each is imported when it runs or shows its help."""

from __future__ import annotations

import os
import sys
import traceback
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from inspect import getdoc
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
from calibrate.cli.interrupts import interrupted, stopping_cleanly
from qsim.errors import InvalidParameterError

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
    """A group of commands, each imported when it is named; the docstring of its function is its help."""

    panels: ClassVar[Mapping[str, str]] = {}
    """Panel -> the names of its commands, with blanks between them."""

    @abstractmethod
    def function_of(self, name: str) -> Any:
        """The function of the command of that name, imported now; None where there is none."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, panel by panel."""
        return " ".join(self.panels.values()).split()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now; None where there is none."""
        if cmd_name not in self.commands and (function := self.function_of(cmd_name)) is not None:
            from calibrate.cli.options import for_typer

            panel = next(panel for panel, names in self.panels.items() if cmd_name in names.split())
            looks: dict[str, Any] = {"help": folded(getdoc(function) or ""), "rich_help_panel": panel or None}
            alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
            alone.command(cmd_name, cls=Command, context_settings=CONTEXT, **looks)(for_typer(function))
            self.commands[cmd_name] = typer.main.get_command(alone)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command named first in the arguments; CommandError with near names for an unknown one."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = " or ".join(get_close_matches(args[0].lower(), self.list_commands(ctx)))
            guess = f"; did you mean {near}?" if near else ""
            raise wrong_usage(f"unknown command {args[0]!r}{guess} (see {ctx.command_path} --help)")
        return super().resolve_command(ctx, args)


def folded(text: str) -> str:
    """Join the lines of each paragraph, so that the terminal wraps them; paragraphs after ``\\b`` stay unchanged."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(part if part.startswith("\b") else " ".join(part.split()) for part in paragraphs)


class ReaderGoneError(Exception):
    """Raised where the reader of stdout has gone; for a BrokenPipeError click would exit with 1."""


class Commands(LazyGroup):
    """The group ``qsim`` itself."""

    panels: ClassVar[Mapping[str, str]] = {
        "Begin": "knee demo doctor datasets",
        "Theory": "solve simulate network trace",
        "Measuring": "measure watch audit show",
        "Calibration": "compare change fit predict surface fleet fit-service",
        "Teaching": "lab course",
    }

    def function_of(self, name: str) -> Any:  # noqa: PLR0912  (a branch a command)
        """The function of a command, imported now; None where there is none."""
        found: Any = None
        match name:
            case "knee":
                from calibrate.cli.calibration.knee import knee as found
            case "demo":
                from calibrate.cli.teaching.demo import demo as found
            case "doctor":
                from calibrate.cli.measuring.datasets import doctor as found
            case "datasets":
                from calibrate.cli.measuring.datasets import datasets as found
            case "solve":
                from calibrate.cli.theory.solve import solve as found
            case "simulate":
                from calibrate.cli.theory.solve import simulate as found
            case "network":
                from calibrate.cli.theory.network import network as found
            case "trace":
                from calibrate.cli.theory.trace import trace as found
            case "watch":
                from calibrate.cli.calibration.watch import watch as found
            case "audit":
                from calibrate.cli.measuring.audit import audit as found
            case "show":
                from calibrate.cli.measuring.show import show as found
            case "compare":
                from calibrate.cli.calibration.compare import compare as found
            case "change":
                from calibrate.cli.calibration.change import change as found
            case "fit":
                from calibrate.cli.calibration.fit import fit as found
            case "predict":
                from calibrate.cli.calibration.predict import predict as found
            case "surface":
                from calibrate.cli.calibration.surface import surface as found
            case "fleet":
                from calibrate.cli.calibration.fleet import fleet as found
            case "fit-service":
                from calibrate.cli.calibration.fit_service import fit_service as found
            case "lab":
                from calibrate.cli.teaching.lab import lab as found
            case "course":
                from calibrate.cli.teaching.course import course as found
        return found

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
    if interrupted() and not isinstance(error, CommandError):  # an import that is cut short fails as any other
        failure = failure_of(KeyboardInterrupt())
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

    panels: ClassVar[Mapping[str, str]] = {"": "fio drive memory mlc device command suite"}

    def function_of(self, name: str) -> Any:
        """The function of a command, imported now; None where there is none."""
        found: Any = None
        match name:
            case "fio":
                from calibrate.cli.measuring.fio import measure_fio as found
            case "drive":
                from calibrate.cli.measuring.fio import measure_drive as found
            case "memory":
                from calibrate.cli.measuring.memory import measure_memory as found
            case "mlc":
                from calibrate.cli.measuring.memory import measure_mlc as found
            case "device":
                from calibrate.cli.measuring.device import measure_device as found
            case "command":
                from calibrate.cli.measuring.command import measure_command as found
            case "suite":
                from calibrate.cli.measuring.suite import measure_suite as found
        return found


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
