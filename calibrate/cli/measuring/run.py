"""The common part of measuring commands: the plan, the run, the points after it as text and as JSON, interruptions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, get_args

import typer

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, plain
from calibrate.cli.data import print_findings
from calibrate.cli.failures import INTERRUPTED, CommandError, wrong_usage
from calibrate.cli.options import DryRun, OptionGroup, option
from calibrate.cli.progress import Bar
from measure.loads import ArrivalRate, BufferSize, ClosedLoad
from measure.units import counted, format_bandwidth, format_duration
from qsim.result import described_table

if TYPE_CHECKING:
    from measure import Sweep
    from measure.store.measuring import Progress
    from measure.suites.runs import PlannedSweep

Found = TypeVar("Found")
Row: TypeAlias = Mapping[str, Any]


@parsing.parser
def target(text: str) -> str:
    """The target: a directory, a file, a device or an address."""
    if not text.strip():
        raise ValueError("it is empty; name a directory on the drive, or a file that does not exist yet")
    return text


TARGET_HELP = "A directory or a new file on the drive; nbd+unix:///?socket=PATH."
Target: TypeAlias = Annotated[str, typer.Argument(metavar="TARGET", parser=target, help=TARGET_HELP)]


def planned(
    text: str, rows: Sequence[Row], facts: Row, commands: Sequence[str] = (), *, key: str = "points"
) -> CommandResult:
    """A plan before it is measured: in words with its commands, and as JSON with its points (or sweeps) in SI units."""
    return CommandResult(
        lambda: "\n\n".join([text, *(["\n".join(commands)] if commands else [])]),
        lambda: {"dry_run": True, key: rows, **({"commands": commands} if commands else {}), **facts},
    )


def planned_sweeps(heading: str, sweeps: Sequence[PlannedSweep], last: str, facts: Row) -> CommandResult:
    """A plan of several sweeps: a row each with its directory, points, seconds and purpose; then the whole."""
    rows = [{"directory": s.directory, "points": s.count, "seconds": s.seconds, "purpose": s.purpose} for s in sweeps]
    cells = [(s.directory, str(s.count), minutes(s.seconds), s.purpose) for s in sweeps]
    parts = (heading, described_table(["sweep", "points", "time"], cells), last)
    return planned("\n\n".join(part for part in parts if part), rows, facts, key="sweeps")


def minutes(seconds: float) -> str:
    """A time for people: "4.5 min", "38 s"."""
    return f"{seconds / 60:.2g} min" if seconds >= 90 else format_duration(seconds, 2)


@dataclass(frozen=True)
class PlanOrRun(OptionGroup):
    """Options for the directory of the points, for a dry run, and for output."""

    out: Path | None = option("DIR", parsing.path, "Directory of the points; run the command again to resume.")
    dry_run: DryRun = False

    @property
    def directory(self) -> Path:
        """The sweep directory; CommandError where none is given."""
        if self.out is None:
            raise wrong_usage("--out is missing: name the directory to keep the points in, or only look: --dry-run")
        return self.out

    def check(self) -> None:
        """Raise CommandError where no directory is given for a run that is not a dry run."""
        if not self.dry_run:
            _ = self.directory

    def measure(
        self, plan: CommandResult, opening: str, run: Callable[[Path, Progress], Sweep], title: str = ""
    ) -> CommandResult:
        """The plan, for a dry run; else measure: the points under a ``title``."""
        if self.dry_run:
            return plan
        sweep, out = self.run(opening, run), self.directory
        print_findings(sweep.findings)
        failed = sum(finding.check == "point-failed" for finding in sweep.findings)
        return CommandResult(
            lambda: "\n".join([*([title] if title else []), points_text(sweep, out)]),
            lambda: sweep_document(sweep, out),
            failed=CommandError(f"{counted(failed, 'point')} failed; the same command tries again") if failed else None,
        )

    def run(self, opening: str, run: Callable[[Path, Progress], Found], title: str = "measuring") -> Found:
        """The result of ``run``, with a progress bar; on an interruption, a line on how to resume."""
        with keeping(self.out) as out, Bar(title, opening=f"{opening}, into {out}") as bar:
            return run(out, bar.points)


@contextmanager
def keeping(out: Path | None) -> Iterator[Path]:
    """The directory of the points, or a temporary one.

    An interruption counts the stored points in ``out`` or in the sweeps right below it, and says how to resume.
    """
    if out is None:
        with tempfile.TemporaryDirectory(prefix="qsim-") as folder:
            yield Path(folder) / "sweep"
        return
    try:
        yield out
    except KeyboardInterrupt as error:
        finished = len([*out.glob("points/*.json"), *out.glob("*/points/*.json")])
        kept = f"{counted(finished, 'finished point')} in {out}" if finished else "no point was finished yet"
        raise CommandError(
            f"interrupted; {kept}; run the same command again to resume",
            INTERRUPTED,
            {"directory": str(out), "points_kept": finished},
        ) from error


def failing_parts(failed: Mapping[str, str], how_many: str) -> CommandError | None:
    """The failure that names the parts that failed."""
    if not failed:
        return None
    reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
    return CommandError(f"{how_many} failed: {reasons}; the same command tries them again")


def one_of(literal: Any, typed: str) -> Any:
    """The typed word, checked against a Literal."""
    return next(word for word in get_args(literal) if word == typed)


def ramp_of(runtime_s: float) -> float:
    """The ramp before a point, seconds: a quarter of the point's time, at most 1 s."""
    return min(1.0, runtime_s / 4)


@dataclass(frozen=True)
class Consent:
    """The user's consent: to read an existing target, to write to a device by its name, to erase its data."""

    read: bool = False
    write: str | None = None
    erase: str | None = None

    def __str__(self) -> str:
        """As it is typed; empty where nothing is allowed."""
        named = (f"{word}={name}" for word, name in (("write", self.write), ("erase", self.erase)) if name)
        return ",".join([*(["read"] if self.read else []), *named])

    def settings(self) -> dict[str, Any]:
        """The consent as keyword arguments of a plan's settings."""
        return {"consent": "read" if self.read else None, "write_device": self.write, "erase": self.erase}


@parsing.parser
def consent(text: str) -> Consent:
    """``read``, ``write=sdb``, ``write=sdb,erase=sdb``."""
    given: dict[str, Any] = {}
    for part in text.split(","):
        word, equals, name = (p.strip() for p in part.partition("="))
        if word not in ("read", "write", "erase") or bool(name) == (word == "read") or bool(equals) != bool(name):
            raise ValueError(f"invalid consent {part.strip()!r}: expected read, write=NAME or erase=NAME")
        given[word] = name or True
    return Consent(**given)


@dataclass(frozen=True)
class FileOptions(OptionGroup):
    """The options of measurements that write only to their own test file."""

    size_bytes: int | None = option("SIZE", parsing.size, "Size of the test file.", "--size", shown="1GiB")
    allow: Consent = option("WHAT", consent, "Consent: read (an existing file or device).", default=Consent())

    def settings(self) -> dict[str, Any]:
        """The options as keyword arguments of a plan's settings; CommandError for consent to more than reading."""
        if self.allow.write or self.allow.erase:
            raise wrong_usage("--allow: only read goes with this command; a device is written to by qsim measure fio")
        return {"size_bytes": self.size_bytes, "consent": "read" if self.allow.read else None}


@dataclass(frozen=True)
class DriveOptions(FileOptions):
    """The options of measurements that may write to a drive."""

    allow: Consent = option(
        "WHAT",
        consent,
        "Consent: read (an existing file or device); write=NAME (a blank device or export, its name again); "
        "erase=NAME with it (DESTROY what it holds).",
        default=Consent(),
    )

    def settings(self) -> dict[str, Any]:
        """The options as keyword arguments of a plan's settings."""
        return {"size_bytes": self.size_bytes, **self.allow.settings()}


KNEE_FROM = 3  # the least number of loads of a curve that is printed with its knee
MEANS = [
    *("series", "load", "repeats"),
    *("throughput_per_s", "throughput_low", "throughput_high"),
    *("latency_s", "latency_low", "latency_high"),
    *("load_origin", "throughput_origin", "latency_origin"),
    *("load_published", "throughput_published_per_s", "latency_published_s"),
]


def points_text(sweep: Sweep, out: Path) -> str:
    """The knee of one curve, the table of points, their directory, and the next command."""
    answer = "\n".join([*_answer(sweep), *_figures(sweep)])
    parts = (answer, points_table(sweep), f"saved in {out}; next: {_next(sweep, out)}")
    return "\n\n".join(part for part in parts if part)


def sweep_document(sweep: Sweep, out: Path) -> dict[str, Any]:
    """A measured sweep in JSON, SI units; unknown values, and intervals of single repeats, are null."""
    from measure.repeats import LEVEL

    points, means = (table.to_dict("records") for table in (sweep.points, sweep.mean_points()[MEANS]))
    return {
        "directory": str(out),
        **sweep.load_type.to_dict(),
        "series": list(sweep.series),
        "points": [{str(k): v for k, v in row.items() if plain(v) is not None} for row in points],
        "means": means,
        "level": LEVEL,
        "findings": [f.to_dict() for f in sweep.findings],
        "provenance": sweep.provenance.to_dict(),
    }


def points_table(sweep: Sweep, left_out: Collection[float] = ()) -> str:
    """All points in one table, with their workload where there are several; intervals where points were repeated."""
    from calibrate.report.measured.measured_data import measured
    from calibrate.report.measured.shown_columns import text_of, with_ends, with_origin

    found, load = measured(sweep), sweep.load_type
    several = len(found.series) > 1
    found.table.loc[found.table["load"].isin(list(left_out)), "outlier"] = "left out"
    results = [c for c in ("throughput_per_s", "bandwidth_bytes_per_s", "latency_s") if found.known(c)]
    if found.memory:  # cache lines are not shown as requests
        results.remove("throughput_per_s")
    loads = with_origin(found, ["load"])
    columns = [*(["series"] if several else []), *loads, *with_ends(found, results), "outlier"]
    drawn = text_of(found, found.table[columns], "arrivals" if isinstance(load, ArrivalRate) else load.symbol)
    repeats = sorted({int(n) for n in found.table["repeats"] if n > 1})
    between = " to ".join(str(n) for n in dict.fromkeys(repeats[:1] + repeats[-1:]))
    note = [f"±: 95 % interval of the mean of {between} repeats (Student's t)"] if repeats else []
    return "\n".join([*([] if several else found.series), drawn.text(), *note])


def _figures(sweep: Sweep) -> list[str]:
    """The latency of the idle memory and the peak bandwidth of each traffic, where they were measured."""
    details = sweep.provenance.details
    figures = [f"idle latency {format_duration(details['idle_latency_s'])}"] if "idle_latency_s" in details else []
    peaks = details.get("peaks_bytes_per_s", {})
    figures += [f"peak of {name} {format_bandwidth(peak['mean'])}" for name, peak in peaks.items()]
    return [f"measured by themselves: {', '.join(figures)}"] if figures else []


def _answer(sweep: Sweep) -> list[str]:
    """The knees and the peak of one measured curve, the knees of several; nothing where points are too few."""
    if isinstance(sweep.load_type, BufferSize) or sweep.points.groupby("series")["load"].nunique().min() < KNEE_FROM:
        return []
    from calibrate.fitting.calibrating import fit
    from calibrate.fitting.fit_answer import fit_answer, knees_labelled
    from measure.errors import DataError

    try:
        fits = [(name, fit(sweep, series=name)) for name in sweep.series]
    except DataError:  # no model fits these points; the table shows them
        return []
    return fit_answer(fits[0][1]) if len(fits) == 1 else knees_labelled(fits)


def _next(sweep: Sweep, out: Path) -> str:
    """The command that such a sweep was measured for: over the load, over the block size, or from a single depth."""
    if isinstance(sweep.load_type, BufferSize):
        return f"qsim show {out}"
    if not isinstance(sweep.load_type, ClosedLoad) or (sweep.points.groupby("series")["load"].nunique() > 1).any():
        return f"qsim compare {out} --report report.html"
    return f"qsim surface {out}" if sweep.points["block_bytes"].nunique() > 1 else f"qsim predict {out} --at 1..64"
