"""``qsim demo``: the main job on this machine, in a few minutes: measure, calibrate, predict, compare, report."""

from __future__ import annotations

import os
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.calibration.knee import RAMP_S
from calibrate.cli.console import print_json, remark, say
from calibrate.cli.failures import FAILED, INTERRUPTED, CommandError
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import AsJson
from calibrate.cli.outputs import check_report_path, free_report_path
from calibrate.cli.progress import Bar
from measure.machine.system import user_number
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Comparison
    from measure import Sweep

HELP = """Measure this machine, predict its curves from a few points, and write report.html.

The knee of its disk, with fio or qsim's own probe where fio is missing, in a test file in a temporary folder that
is removed at the end; then its memory. Where no disk has a knee up to depth 256, a device of known truth is measured
too. Takes a minute or two. The measurements are stored in ./qsim-demo.

\b
Examples:
qsim demo
qsim demo --quick --out try --report try.html
"""

STEPS = 4
DIRECTORY, REPORT = Path("qsim-demo"), Path("report.html")
NO_KNEE_FROM = 256
"""A disk whose throughput still grows at this depth has no knee that a demo could show."""
SERVERS, SERVICE_S, DEVICE_DEPTHS = 4, 2e-3, (1, 2, 4, 8, 16, 32)
"""Of the device of known truth."""


@dataclass(frozen=True)
class Pace:
    """Seconds for all depths of the disk, the points of the memory, and seconds for each depth of the device."""

    disk_s: float
    delays: Sequence[float]
    repeats: int
    seconds_per_repeat: float
    device_s: float


FULL = Pace(21.0, (0, 20, 50, 100, 200, 300, 500, 700, 1000, 1700, 2500), 3, 0.2, 1.5)
QUICK = Pace(6.0, (0, 50, 200, 500, 2500), 1, 0.1, 0.5)


def demo(
    out: Path | None = option("DIR", parsing.path, "Directory of the measurements.", shown="qsim-demo"),
    report: Path | None = option("FILE", parsing.path, "The page; a numbered name if taken.", shown="report.html"),
    quick: bool = flag("--quick", "Fewer and shorter points, once each: seconds, not minutes."),
    as_json: AsJson = False,
) -> None:
    """Run the four steps and print the verdicts."""
    from calibrate.cli.measuring.audit import audit_text
    from calibrate.fitting.answer import labelled
    from calibrate.prediction.answer import answer, last_lines
    from calibrate.prediction.comparison import compare_all
    from measure.auditing.all_checks import not_checked

    started = time.monotonic()
    pace = QUICK if quick else FULL
    directory = out if out is not None else _free_directory(DIRECTORY)
    page = report if report is not None else free_report_path(REPORT)
    check_report_path(page)
    sweeps: dict[str, Sweep] = {}
    skipped: dict[str, str] = {}
    with _resumable(directory):
        for step, name, measured in (
            ("[1/4]", "disk", _disk),
            ("[1/4]", "device", _device),
            ("[2/4]", "memory", _memory),
        ):
            if name == "device" and "disk" in sweeps and not _without_knee(sweeps["disk"]):
                continue
            result = measured(pace, directory / name, step)
            if isinstance(result, str):
                skipped[name] = result
                remark(f"{step} {name}: left out: {result}")
            else:
                sweeps[name] = result
    if not sweeps:
        raise CommandError("nothing could be measured: " + "; ".join(f"{k}: {v}" for k, v in skipped.items()), FAILED)

    remark(f"[3/{STEPS}] calibrating on a few points, predicting the others")
    compared = {name: compare_all(sweep) for name, sweep in sweeps.items()}
    remark(f"[4/{STEPS}] writing {page}")
    _write(compared, sweeps, page)

    if as_json:
        print_json(_document(compared, skipped, directory, page))
        return
    for name, (done, _) in compared.items():
        audit = labelled("AUDIT", audit_text([f for c in done for f in c.audit], not_checked(sweeps[name])))
        say("\n".join([f"{name}: {answer(done)[0]}", *answer(done)[1:], *last_lines(done), audit, ""]))
    for name, reason in skipped.items():
        say(f"{name}: not measured: {reason}\n")
    say(f"report: {page}")
    say(f"measurements: {directory} (look again: qsim compare {directory / next(iter(sweeps))})")
    remark(f"done in {format_duration(time.monotonic() - started)}")


def _memory(pace: Pace, out: Path, step: str) -> Sweep | str:
    from measure.memory.probe import plan_memory, run_memory

    try:
        plan = plan_memory(pace.delays, repeats=pace.repeats, seconds_per_repeat=pace.seconds_per_repeat)
    except ValueError as error:  # one core, or no room for buffers larger than the caches
        return str(error)
    opening = f"{step} memory: {len(plan.delays)} delays with the built-in probe, about {_about(plan.seconds())}"
    with Bar("memory", opening=opening) as bar:
        return run_memory(plan, out, bar.points)


def _disk(pace: Pace, out: Path, step: str) -> Sweep | str:
    """The sweep of the disk in the first suitable temporary folder, or why there is none."""
    from calibrate.cli.calibration.knee import BUDGET, measure_knee, plan_knee
    from measure.errors import ToolFailedError, UnsafeTargetError

    reasons: list[str] = []
    for place in _places():
        try:
            with _private_folder(place, out) as folder:
                end = time.monotonic() + BUDGET * pace.disk_s
                return measure_knee(plan_knee(str(folder), pace.disk_s), out, end, before=f"{step} disk: ")
        except ToolFailedError as error:
            return str(error)
        except (UnsafeTargetError, OSError) as error:
            reasons.append(str(error))
    return "no folder on a real disk was found; " + "; ".join(dict.fromkeys(reasons))


def _without_knee(disk: Sweep) -> bool:
    """Whether the disk's throughput still grows at ``NO_KNEE_FROM``; it is said where it does."""
    from calibrate.cli.calibration.knee import still_grows

    deepest = disk.points["load"].max()
    if deepest < NO_KNEE_FROM or not still_grows(disk):
        return False
    remark(f"the disk has no knee up to depth {deepest:g}: here is the device of known truth, whose knee is known")
    return True


def _device(pace: Pace, out: Path, step: str) -> Sweep | str:
    """A device of known truth, by nbdkit and fio or by threads."""
    from measure.known_device.server import truth_of
    from measure.known_device.sweep import DeviceSweep

    planned = DeviceSweep(truth_of(SERVICE_S, SERVERS), DEVICE_DEPTHS, runtime_s=pace.device_s, ramp_s=RAMP_S)
    opening = f"{step} device: {len(DEVICE_DEPTHS)} depths of {planned.truth.label}"
    with Bar("device", opening=opening) as bar:
        return planned.run(out, bar.points)


@contextmanager
def _private_folder(place: Path, out: Path) -> Iterator[Path]:
    """A folder of qsim's in ``place``, removed at the end when it is empty again.

    Its name depends on ``out`` alone, so that a demo that goes on measures the same file as before. Raises OSError
    where a folder of that name is somebody else's.
    """
    folder = place / f"qsim-demo-{user_number()}-{zlib.crc32(os.fsencode(out.resolve())):08x}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if status.st_uid != user_number() or not stat.S_ISDIR(status.st_mode):
            raise
    try:
        yield folder
    finally:
        with suppress(OSError):  # not empty: another run is in it
            folder.rmdir()


def _places() -> list[Path]:
    """Where a test file may go, the likeliest first: the temporary folders, then here."""
    places = (Path(tempfile.gettempdir()), Path("/var/tmp"), Path.cwd())  # noqa: S108  (only a private folder in it)
    return [p for p in dict.fromkeys(p.resolve() for p in places) if p.is_dir()]


def _write(
    compared: Mapping[str, tuple[list[Comparison], dict[str, str]]], sweeps: Mapping[str, Sweep], page: Path
) -> None:
    from calibrate.report.compared import compared_section, evidence_of
    from calibrate.report.page import write_sections

    titles = {
        "disk": "The disk of this machine",
        "device": "A device of known truth",
        "memory": "The memory of this machine",
    }
    sections = [
        compared_section(titles[name], [evidence_of(c, sweeps[name]) for c in done], refused)
        for name, (done, refused) in compared.items()
    ]
    write_sections(sections, page, title="qsim demo: this machine, measured and predicted")


def _document(
    compared: Mapping[str, tuple[list[Comparison], dict[str, str]]], skipped: Mapping[str, str], out: Path, page: Path
) -> dict[str, Any]:
    from calibrate.cli.calibration.compare import comparison_document

    return {
        **{name: comparison_document(done, refused) for name, (done, refused) in compared.items()},
        "skipped": skipped,
        "report": str(page),
        "directory": str(out),
    }


@contextmanager
def _resumable(directory: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        message = f"interrupted; the finished points are in {directory}; resume with: qsim demo --out {directory}"
        raise CommandError(message, INTERRUPTED, {"directory": str(directory)}) from error


def _free_directory(path: Path) -> Path:
    """``path``, or the first numbered name that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _about(seconds: float) -> str:
    return f"{max(1, round(seconds))} s"
