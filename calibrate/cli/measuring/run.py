"""What every measurement has in common: the plan before it, the points after it, and what an interruption leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import typer

from calibrate.cli import parsing
from calibrate.cli.console import plain, print_json, say, table
from calibrate.cli.data import print_sweep_findings
from calibrate.cli.failures import FAILED, INTERRUPTED, CommandError, wrong_usage
from calibrate.cli.measuring.plan_table import PlanTable
from calibrate.cli.option_groups import OptionGroup, shared
from calibrate.cli.options import AsJson, DryRun, SweepDirectory
from calibrate.cli.progress import Bar
from measure.units import counted, format_bandwidth, format_bytes, format_duration, format_rate, significant

if TYPE_CHECKING:
    from pandas import DataFrame

    from measure import Sweep
    from measure.fio.sweep import FioPlan
    from measure.store.directory import SweepStore
    from measure.store.measuring import Progress


def kept_in(directory: Path | None) -> SweepStore | None:
    """The sweep that is in the directory already."""
    from measure.store.directory import MANIFEST, SweepStore

    return SweepStore.read(directory) if directory is not None and (directory / MANIFEST).exists() else None


def left_text(plan: FioPlan, finished: Collection[str]) -> str:
    """How many points there are to measure, and how long they take."""
    left = sum(p.key not in finished for p in plan.points)
    kept = f" ({len(plan.points) - left} of {len(plan.points)} are there already)" if finished else ""
    if not left:
        return f"nothing is left to measure{kept}"
    return f"{left} point{'s' if left > 1 else ''}{kept}, about {format_duration(plan.seconds(finished))}"


def fio_plan_table(plan: FioPlan, finished: Collection[str] = (), then: str = "") -> PlanTable:
    """Every point of a plan with its command; ``seconds`` is for what is not finished, ``then`` what comes after."""
    rows = [
        {
            "key": p.key,
            "load": p.job.load,
            **asdict(p.job),
            "repeat": p.repeat,
            "seconds": plan.point_seconds,
            "finished": p.key in finished,
            "command": p.command,
        }
        for p in plan.points
    ]
    load = "arrivals" if plan.is_open else "depth"
    return PlanTable(
        "\n\n".join([plan.describe(), *([left_text(plan, finished)] if finished else [])]),
        rows,
        {
            load: lambda r: format_rate(r["load"]) if plan.is_open else str(r["depth"]),
            "block": lambda r: format_bytes(r["block_bytes"]),
            "pattern": lambda r: str(r["pattern"]),
            "reads": lambda r: f"{r['read_percent']} %",
            "jobs": lambda r: str(r["jobs"]),
            "repeat": lambda r: str(r["repeat"] + 1),
            "time": lambda r: "kept" if r["finished"] else format_duration(r["seconds"]),
        },
        {
            "engine": plan.engine,
            "engine_reason": plan.engine_reason,
            "runtime_s": plan.runtime_s,
            "ramp_s": plan.ramp_s,
            "fill_seconds": plan.fill_seconds(),
            "seconds": plan.seconds(finished),
        },
        plan.commands,
        f"then {then}" if then else "",
        always=(load, "time"),
    )


def varying(columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The columns that hold more than one value."""
    return {name: values for name, values in columns.items() if len(set(values)) > 1}


Result = TypeVar("Result")


@dataclass(frozen=True)
class PlanOrRun(OptionGroup):
    """Where the points are stored, or that only the plan is shown; and how."""

    out: SweepDirectory = None
    dry_run: DryRun = False
    as_json: AsJson = False

    @property
    def directory(self) -> Path:
        """The sweep directory; CommandError where none was named."""
        if self.out is None:
            raise wrong_usage("--out is missing: name the directory to keep the points in, or only look: --dry-run")
        return self.out

    def check(self) -> None:
        """CommandError where no directory for the points is named."""
        if not self.dry_run:
            _ = self.directory

    def show_plan(self, plan: PlanTable) -> None:
        """The plan on stdout, for a dry run."""
        if self.as_json:
            print_json({"dry_run": True, **plan.document()})
        else:
            say(plan.text())

    def measure(self, opening: str, run: Callable[[Path, Progress], Sweep], title: str = "") -> None:
        """Measure, and print the points under a ``title``."""
        sweep = self.run(opening, run)
        print_sweep_findings(sweep)
        if self.as_json:
            print_json(sweep_document(sweep, self.directory))
        else:
            say("\n".join([*([title] if title else []), points_text(sweep, self.directory)]))
        if failed := [finding for finding in sweep.findings if finding.check == "point-failed"]:
            raise CommandError(f"{counted(len(failed), 'point')} failed; the same command tries again", FAILED)

    def run(self, opening: str, run: Callable[[Path, Progress], Result], title: str = "measuring") -> Result:
        """What ``run`` gives, with a bar; where it is interrupted, how to resume is said."""
        out = self.directory
        with keeping(out), Bar(title, opening=f"{opening}, into {out}") as bar:
            return run(out, bar.points)


@dataclass(frozen=True)
class Consent:
    """What the user consents to: reading what exists, writing to a device by its name, erasing what it holds."""

    read: bool = False
    write: str | None = None
    erase: str | None = None


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
class DriveOptions(OptionGroup):
    """The options of every measurement of a drive."""

    size_bytes: Annotated[
        int | None, shared("SIZE", parsing.size, "Size of the test file.", "--size", shown="1GiB")
    ] = None
    allow: Annotated[
        Consent,
        shared(
            "WHAT",
            consent,
            "Consent: read (an existing file or device); write=NAME (a blank device or export, its name again); "
            "erase=NAME with it (DESTROY what it holds).",
        ),
    ] = Consent()

    @property
    def consent(self) -> Literal["read"] | None:
        """The consent to reading, as plans take it."""
        return "read" if self.allow.read else None

    def of_a_file(self) -> dict[str, Any]:
        """As plans take them that write to a test file of their own; CommandError for consent to more."""
        if self.allow.write or self.allow.erase:
            raise wrong_usage("--allow: only read goes with this command; a device is written to by qsim measure fio")
        return {"size_bytes": self.size_bytes, "consent": self.consent}


def ramp_of(runtime_s: float) -> float:
    """The time before a point that is not counted: a quarter of the point's, 1 s at most."""
    return min(1.0, runtime_s / 4)


Target: TypeAlias = Annotated[
    str, typer.Argument(metavar="TARGET", help="A directory or a new file on the drive; nbd+unix:///?socket=PATH.")
]


def one_of(literal: Any, typed: str) -> Any:
    """The word of a Literal that was typed."""
    return next(word for word in get_args(literal) if word == typed)


def check_target(target: str) -> None:
    """CommandError where none was named."""
    if not target.strip():
        raise wrong_usage("TARGET is empty; name a directory on the drive, or a file that does not exist yet")


@contextmanager
def keeping(out: Path) -> Iterator[None]:
    """Let an interruption count the stored points in ``out`` or in the sweeps right below it, and say how to resume."""
    try:
        yield
    except KeyboardInterrupt as error:
        finished = len([*out.glob("points/*.json"), *out.glob("*/points/*.json")])
        kept = f"{counted(finished, 'finished point')} in {out}" if finished else "no point was finished yet"
        raise CommandError(
            f"interrupted; {kept}; run the same command again to resume",
            INTERRUPTED,
            {"directory": str(out), "points_kept": finished},
        ) from error


def end(failed: Mapping[str, str], how_many: str, document: Mapping[str, Any] | None) -> None:
    """Print the document, where there is one; CommandError naming the parts that failed, with the document."""
    if failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise CommandError(f"{how_many} failed: {reasons}; the same command tries them again", FAILED, document)
    if document is not None:
        print_json(document)


@contextmanager
def naming_consent() -> Iterator[None]:
    """Let the refusal of a target name the options by which a user consents to it."""
    from measure.errors import UnsafeTargetError

    try:
        yield
    except UnsafeTargetError as error:
        read = "consent to its being read with --allow read"
        write = f"give its name again (--allow 'write={error.device}')"
        erase = f"give its name once more (--allow 'write={error.device},erase={error.device}')"
        raise UnsafeTargetError(error.sentence(read, write, erase)) from error


BANDWIDTH_FROM = 64 * 2**10
KNEE_FROM = 3
"""The fewest loads of a curve that is printed with its knee."""


def points_text(sweep: Sweep, out: Path) -> str:
    """The knee of one curve, the table of points, their directory, and the next command."""
    memory = sweep.load_type.is_delay or sweep.load_type.is_size
    tables = _memory_tables(sweep) if memory else [points_table(sweep)]
    found = [*_answer(sweep), *_figures(sweep)]
    following = f"saved in {out}; next: {_next(sweep, out)}"
    return "\n\n".join([*(["\n".join(found)] if found else []), *tables, following])


def _figures(sweep: Sweep) -> list[str]:
    """The latency of the idle memory and the peak bandwidth of each traffic, where they were measured."""
    details = sweep.provenance.details
    figures = [f"idle latency {format_duration(details['idle_latency_s'])}"] if "idle_latency_s" in details else []
    peaks = details.get("peaks_bytes_per_s", {})
    figures += [f"peak of {name} {format_bandwidth(peak['mean'])}" for name, peak in peaks.items()]
    return [", ".join(figures)] if figures else []


def _answer(sweep: Sweep) -> list[str]:
    """The knee and the peak of one measured curve; nothing where there are several, or points too few."""
    if len(sweep.series) > 1 or sweep.load_type.is_size or sweep.points["load"].nunique() < KNEE_FROM:
        return []
    from calibrate.fitting.answer import fit_answer
    from calibrate.fitting.curve_fit import fit
    from measure.errors import DataError

    try:
        return fit_answer(fit(sweep))
    except DataError:  # no model is for these points: they were measured, and the table shows them
        return []


def _next(sweep: Sweep, out: Path) -> str:
    """The command that such a sweep was measured for: over the load, over the block size, or from a single depth."""
    compared = f"qsim compare {out} --report report.html"
    if sweep.load_type.is_size:
        return f"qsim show {out}"
    if not sweep.load_type.is_closed:
        return compared
    points = sweep.points
    place = [points["read_fraction"], points["pattern"], points["load"]]
    several_sizes = (points["block_bytes"].groupby(place, dropna=False).nunique() > 1).any()
    several_depths = (points.groupby("series")["load"].nunique() > 1).any()
    sized = f"qsim surface {out}"
    if several_depths:
        return f"{compared}, and over the block size too: {sized}" if several_sizes else compared
    return sized if several_sizes else f"qsim predict {out} --at 1..64"


def _memory_tables(sweep: Sweep) -> Iterator[str]:
    for series, group in sweep.mean_points().groupby("series", sort=False):
        columns = {
            "buffer" if sweep.load_type.is_size else "delay": [
                format_bytes(n) if sweep.load_type.is_size else f"{n:g}" for n in group["load"]
            ],
            "bandwidth": [format_bandwidth(64 * x) for x in group["throughput_per_s"]],
            "": _reaches(group, "throughput"),
            "latency": [format_duration(r) for r in group["latency_s"]],
            " ": _reaches(group, "latency"),
        }
        yield f"{series}\n{_columns(columns)}{_interval_note(group)}"


def points_table(sweep: Sweep, *, bandwidth: bool = False) -> str:
    """All points of a drive in one table, with a column for each thing that varies between the curves.

    Blocks of 64 KiB or more have their ``bandwidth`` next to the rate; others where it is asked for.
    """
    from measure.sweep import describe_series

    points = sweep.mean_points()
    curves = points.groupby("series", sort=False)
    several = {
        "block": [_known(b, format_bytes) for b in points["block_bytes"]],
        "pattern": [str(p) for p in points["pattern"]],
        "reads": [_known(f, lambda f: f"{100 * f:.0f} %") for f in curves["read_fraction"].transform("mean")],
        "jobs": [_known(j, "{:g}".format) for j in points["jobs"]] if (points["depth"] > 1).any() else [],
    }
    columns: dict[str, Sequence[str]] = dict(varying(several))
    places = list(zip(*columns.values(), points["load"], strict=True))
    if len(set(places)) < len(points):  # only the names differ, as of engines
        columns = {"curve": [str(s) for s in points["series"]]}
    if sweep.load_type.is_open:
        if "asked_rate_per_s" in points:
            columns["asked"] = [_known(r, format_rate) for r in points["asked_rate_per_s"]]
        columns["arrivals"] = [format_rate(r) for r in points["load"]]
    else:
        columns["outstanding" if (points["jobs"] > 1).any() else "depth"] = [f"{n:g}" for n in points["load"]]
        columns["throughput"] = [format_rate(x) for x in points["throughput_per_s"]]
        columns[""] = _reaches(points, "throughput")
    if bandwidth or "block" in columns or (points["block_bytes"] >= BANDWIDTH_FROM).any():
        columns["bandwidth"] = [_known(b, format_bandwidth) for b in points["bandwidth_bytes_per_s"]]
    columns["latency"] = [format_duration(r) for r in points["latency_s"]]
    columns[" "] = _reaches(points, "latency")
    for direction in ("read", "write"):
        if (name := f"{direction}_latency_s") in points:
            means = sweep.points.groupby(["series", "load"])[name].mean()
            columns[f"{direction}s take"] = [
                _known(means[key], format_duration) for key in zip(points["series"], points["load"], strict=True)
            ]
    if points["repeats"].nunique() > 1:
        columns["repeats"] = [f"{n:g}" for n in points["repeats"]]
    columns["flagged"] = _flagged(sweep, points)
    fixed = [points[c].iloc[0] if points[c].nunique() == 1 else None for c in ("block_bytes", "pattern")]
    title = (
        sweep.series[0] if len(curves) == 1 else f"{len(curves)} curves: {describe_series(fixed[0], None, fixed[1])}"
    )
    again = "\nflagged points are measured again with --repeats auto" if any(columns["flagged"]) else ""
    return f"{title}\n{_columns(columns)}{_interval_note(points)}{again}"


def _reaches(points: DataFrame, what: str) -> list[str]:
    """How far the interval of each mean reaches, as a share of it; the side that reaches further."""
    middle = points["throughput_per_s" if what == "throughput" else "latency_s"]
    shares = (points[f"{what}_high"] - middle) / middle
    return [f"± {significant(100 * share, 2)} %" if math.isfinite(share) else "" for share in shares]


def _interval_note(points: DataFrame) -> str:
    counts = sorted({int(n) for n in points["repeats"] if n > 1})
    if not counts:
        return ""
    several = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"\n±: 95 % interval of the mean of {several} repeats (Student's t)"


def _flagged(sweep: Sweep, points: DataFrame) -> list[str]:
    """The flags of each point, with the number of flagged runs."""
    from measure.repeats import flags

    table = sweep.points.assign(flag=flags(sweep.points, closed=sweep.load_type.is_closed))
    cells = []
    for series, load in zip(points["series"], points["load"], strict=True):
        rows = table[(table["series"] == series) & (table["load"] == load)]
        counts = rows.loc[rows["flag"] != "", "flag"].value_counts(sort=False)
        cells.append(
            ", ".join(f"{flag} ({n} of {len(rows)})" if len(rows) > 1 else str(flag) for flag, n in counts.items())
        )
    return cells


def _known(value: float, show: Callable[[float], str]) -> str:
    return show(value) if math.isfinite(value) else ""


def _columns(columns: Mapping[str, Sequence[str]]) -> str:
    shown = {name: values for name, values in columns.items() if any(values)}
    return table(list(shown), list(zip(*shown.values(), strict=True)), left=int("curve" in shown))


def _means(sweep: Sweep) -> list[dict[str, Any]]:
    """The means over repeats with their intervals; null where there is one repeat only."""
    names = [
        "series",
        "load",
        "repeats",
        "throughput_per_s",
        "throughput_low",
        "throughput_high",
        "latency_s",
        "latency_low",
        "latency_high",
    ]
    return [{str(k): v for k, v in row.items()} for row in sweep.mean_points()[names].to_dict("records")]


def sweep_document(sweep: Sweep, out: Path) -> dict[str, Any]:
    """A measured sweep in JSON, SI units."""
    from measure.repeats import LEVEL

    rows = sweep.points.to_dict("records")
    kept = [{str(k): v for k, v in row.items() if plain(v) is not None} for row in rows]  # without what is not known
    return {
        "directory": str(out),
        "load_kind": sweep.load_kind,
        "load_unit": sweep.load_unit,
        "series": list(sweep.series),
        "points": kept,
        "means": _means(sweep),
        "level": LEVEL,
        "findings": [f.to_dict() for f in sweep.findings],
        "provenance": sweep.provenance.to_dict(),
    }
