"""``qsim demo``: the main workflow on this machine in a few minutes: measure, calibrate, predict, compare, report."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import calibrate
import measure
from calibrate.cli import parsing
from calibrate.cli.calibration.compare import comparison_document
from calibrate.cli.calibration.knee import BUDGET, measure_knee, plan_knee, still_grows
from calibrate.cli.console import CommandResult, remark
from calibrate.cli.data import audit_text
from calibrate.cli.failures import CommandError
from calibrate.cli.measuring.run import keeping, minutes, ramp_of
from calibrate.cli.options import flag, option, page_in
from calibrate.cli.progress import Bar
from measure.loads.memory_loads import DEFAULT_DELAYS, QUICK_DELAYS
from measure.units import format_duration
from qsim.result import labelled

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.report.view import Section

STEPS = 4
NO_KNEE_FROM = 256  # a disk whose throughput still grows at this depth has no knee that a demo could show
SERVERS, SERVICE_S, DEVICE_DEPTHS = 4, 2e-3, (1, 2, 4, 8, 16, 32)  # depths of the known device
SHARES, CLOSED = (0.4, 0.6, 0.75, 0.85), (1, 4, 16)
"""Arrival rates at the known device as shares of its peak, and the depths that predict what they see."""
Compared: TypeAlias = "Mapping[str, tuple[list[Comparison], dict[str, str]]]"


@dataclass(frozen=True)
class Pace:
    """Seconds for all depths of the disk, the points of the memory, and seconds for each depth of the device."""

    disk_s: float
    delays: Sequence[float]
    repeats: int
    seconds_per_repeat: float
    device_s: float


FULL = Pace(21.0, DEFAULT_DELAYS, 3, 0.2, 1.5)
QUICK = Pace(6.0, QUICK_DELAYS, 1, 0.1, 0.5)


def demo(
    out: Path = option(
        "DIR", parsing.path, "Directory of the points and report.html.", default=Path("qsim-demo"), shown="qsim-demo"
    ),
    quick: bool = flag("--quick", "Fewer and shorter points, once each: seconds, not minutes."),
) -> CommandResult:
    """Measure this machine, predict its curves from a few points, and write a report.

    The knee of its disk, with fio or qsim's own probe where fio is missing, in a test file in a temporary folder that
    is removed at the end; then its memory. Where no disk has a knee up to depth 256, a device of known truth is
    measured too, and with fio and nbdkit also under Poisson arrivals, which its closed test predicts. Takes a minute or
    two. The points and report.html are stored in ./qsim-demo; run the same command again to resume.

    \b
    Examples:
    qsim demo
    qsim demo --quick --out try
    """
    started = time.monotonic()
    pace, page = QUICK if quick else FULL, page_in(out)
    sweeps: dict[str, measure.Sweep] = {}
    skipped: dict[str, str] = {}
    with keeping(out):
        for step, name, measured in (
            ("[1/4]", "disk", _disk),
            ("[1/4]", "device", _device),
            ("[1/4]", "arrivals", _arrivals),
            ("[2/4]", "memory", _memory),
        ):
            if name == "device" and "disk" in sweeps and not _without_knee(sweeps["disk"]):
                continue
            if name == "arrivals" and not ("device" in sweeps and shutil.which("fio") and shutil.which("nbdkit")):
                continue
            result = measured(pace, out / name, step)
            if isinstance(result, str):
                skipped[name] = result
                remark(f"{step} {name}: left out: {result}")
            else:
                sweeps[name] = result
    if not sweeps:
        raise CommandError("nothing could be measured: " + "; ".join(f"{k}: {v}" for k, v in skipped.items()))

    remark(f"[3/{STEPS}] calibrating on a few points, predicting the others")
    compared = {name: calibrate.compare_all(sweep) for name, sweep in sweeps.items() if name != "arrivals"}
    remark(f"[4/{STEPS}] writing {page.report}")
    written = page.write(lambda: _sections(compared, sweeps), "qsim demo: this machine, measured and predicted")
    remark(f"done in {format_duration(time.monotonic() - started)}")
    return CommandResult(
        lambda: _text(compared, sweeps, skipped, out),
        lambda: {
            **{name: comparison_document(*found) for name, found in compared.items()},
            **({"arrivals": {"verdict": _strangers(sweeps)}} if "arrivals" in sweeps else {}),
            "skipped": skipped,
            "directory": str(out),
        },
        written,
    )


def _text(compared: Compared, sweeps: Mapping[str, measure.Sweep], skipped: Mapping[str, str], out: Path) -> str:
    """The verdict on each sweep, what is missing, and the next command."""
    from calibrate.prediction.comparison_answer import answer, last_lines
    from measure.auditing.all_checks import not_checked

    blocks = []
    for name, (done, _) in compared.items():
        found = [f for c in done for f in c.audit]
        audit = labelled("AUDIT", audit_text(found, not_checked(sweeps[name]), str(out / name)))
        blocks.append("\n".join([f"{name}: {answer(done)[0]}", *answer(done)[1:], *last_lines(done), audit]))
    blocks += [f"{name}: not measured: {reason}" for name, reason in skipped.items()]
    if "arrivals" in sweeps:
        said = audit_text(measure.audit(sweeps["arrivals"]), not_checked(sweeps["arrivals"]), str(out / "arrivals"))
        blocks.append(f"strangers at the known device: {_strangers(sweeps)}\n{labelled('AUDIT', said)}")
    return "\n\n".join([*blocks, f"measurements: {out} (look again: qsim compare {out / next(iter(compared))})"])


def _memory(pace: Pace, out: Path, step: str) -> measure.Sweep | str:
    from measure.memory.probe import plan_memory, run_memory

    try:
        plan = plan_memory(pace.delays, repeats=pace.repeats, seconds_per_repeat=pace.seconds_per_repeat)
    except ValueError as error:  # one core, or no room for buffers larger than the caches
        return str(error)
    opening = f"{step} memory: {len(plan.delays)} delays with the built-in probe, about {minutes(plan.seconds())}"
    with Bar("memory", opening=opening) as bar:
        return run_memory(plan, out, bar.points)


def _disk(pace: Pace, out: Path, step: str) -> measure.Sweep | str:
    """The sweep of the disk in the first suitable temporary folder, or why there is none."""
    from measure.errors import ToolFailedError, UnsafeTargetError

    reasons: list[str] = []
    places = (Path(tempfile.gettempdir()), Path("/var/tmp"), Path.cwd())  # noqa: S108  (a file of qsim's own in it)
    for place in dict.fromkeys(p.resolve() for p in places if p.is_dir()):
        end = time.monotonic() + BUDGET * pace.disk_s
        try:
            return measure_knee(plan_knee(str(place), pace.disk_s), out, end, before=f"{step} disk: ")
        except ToolFailedError as error:
            return str(error)
        except (UnsafeTargetError, OSError) as error:
            reasons.append(str(error))
    return "no folder on a real disk was found; " + "; ".join(dict.fromkeys(reasons))


def _without_knee(disk: measure.Sweep) -> bool:
    """Whether the disk's throughput still grows at ``NO_KNEE_FROM``; it is said where it does."""
    deepest = disk.points["load"].max()
    if deepest < NO_KNEE_FROM or not still_grows(disk):
        return False
    remark(f"the disk has no knee up to depth {deepest:g}: here is the device of known truth, whose knee is known")
    return True


def _device(pace: Pace, out: Path, step: str) -> measure.Sweep | str:
    """A device of known truth, by nbdkit and fio or by threads."""
    from measure.known_device.device_sweep import DeviceSweep
    from measure.known_device.server import truth_of

    ramp_s = ramp_of(pace.device_s)
    planned = DeviceSweep(truth_of(SERVICE_S, SERVERS), DEVICE_DEPTHS, runtime_s=pace.device_s, ramp_s=ramp_s)
    opening = f"{step} device: {len(DEVICE_DEPTHS)} depths of {planned.truth.label}"
    with Bar("device", opening=opening) as bar:
        return planned.run(out, bar.points)


def _strangers(sweeps: Mapping[str, measure.Sweep]) -> str:
    """How well the known device's closed test predicted its arrivals."""
    from calibrate.report.predicted import arrivals_in_words

    return arrivals_in_words(calibrate.fit(sweeps["device"], CLOSED), sweeps["arrivals"])


def _arrivals(pace: Pace, out: Path, step: str) -> measure.Sweep | str:
    """The same device under Poisson arrivals."""
    from measure.known_device.device_sweep import DeviceSweep
    from measure.known_device.server import truth_of

    truth = truth_of(SERVICE_S, SERVERS)
    rates = tuple(share * truth.peak_throughput_per_s for share in SHARES)
    planned = DeviceSweep(truth, arrival_rates=rates, runtime_s=4 * pace.device_s, ramp_s=ramp_of(pace.device_s))
    with Bar("arrivals", opening=f"{step} arrivals: {len(rates)} rates at the same device") as bar:
        return planned.run(out, bar.points)


def _sections(compared: Compared, sweeps: Mapping[str, measure.Sweep]) -> list[Section]:
    from calibrate.report.compared import compared_section, views_of
    from calibrate.report.predicted import arrivals_view
    from calibrate.report.view import Section

    titles = {
        "disk": "The disk of this machine",
        "device": "A device of known truth",
        "arrivals": "The same device under Poisson arrivals",
        "memory": "The memory of this machine",
    }
    sections = {
        name: compared_section(titles[name], [views_of(c) for c in done], refused)
        for name, (done, refused) in compared.items()
    }
    if "arrivals" in sweeps:
        view = arrivals_view(calibrate.fit(sweeps["device"], CLOSED), sweeps["arrivals"])
        sections["arrivals"] = Section(
            titles["arrivals"], [view], lead="The closed test above predicts what strangers see"
        )
    return [sections[name] for name in titles if name in sections]
