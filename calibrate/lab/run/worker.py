"""The measuring process: ``python -m calibrate.lab.run.worker DIRECTORY``, started only by the lab.

It is a process of its own so that the page stays quick while it works, and so that stopping it is killing it: fio and
nbdkit end with it, and every finished point is stored. Everything is imported before anything is measured.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from calibrate.lab.folder import DISK
from calibrate.lab.run import event_log
from calibrate.lab.run.duel import judge, predicted_load, true_rows
from calibrate.lab.run.event_log import POINT_S, RAMP_S, EventLog, EventWriter, first_loads
from calibrate.lab.run.orders import DISK_BYTES, Device, Order, has_fio
from calibrate.prediction.comparison import compare
from calibrate.prediction.comparison_answer import missed_sentences
from calibrate.report.page import write_report
from calibrate.report.predicted import arrivals_in_words
from calibrate.sealing import read_seal
from measure.errors import MeasureError
from measure.machine.files import write_durably
from measure.sweep import Sweep

if TYPE_CHECKING:
    from measure.known_device.server import Truth

MOST_SEEDS = 10_000
MEMORY_TRAFFIC = "mix"


def measure(writer: EventWriter) -> Sweep:
    """Measure the missing points, report each, and return the whole sweep. Raises what the measurements raise."""
    sweep = _MEASUREMENTS[writer.order.device](writer)
    writer.add(sweep)
    return sweep


def _disk(writer: EventWriter) -> Sweep:
    """The quick sweep of ``qsim knee`` on a file in the lab's folder: the model's depths, then all others.

    fio measures each of the two in one process, which prints its points at its end; the kernel's counters show them
    before. qsim's own probe measures where fio is not installed. The file is filled once, and gone afterwards.
    """
    from measure.fio.fio_command import PROBE
    from measure.fio.fio_sweep import plan_fio, run_fio
    from measure.machine.own_file import remove_leftover

    order, plan = writer.order, None
    try:
        for loads in (first_loads(order), order.loads):
            plan = plan_fio(
                writer.directory.parents[1] / DISK,
                [int(n) for n in loads],
                runtime_s=POINT_S - RAMP_S,
                ramp_s=RAMP_S,
                engine="auto" if has_fio() else PROBE,
                size_bytes=DISK_BYTES,
                keep=True,
                label=order.label,
            )
            sweep = run_fio(plan, writer.sweep_directory, writer.progress, together=True, watch=writer.watch)
            writer.add(sweep)
    finally:
        if plan is not None and plan.file is not None:
            remove_leftover(plan.file)
    return sweep


def _known(writer: EventWriter) -> Sweep:
    """A device with the truth that the order drew; its first depths are a sweep of their own, which then goes on.

    nbdkit plays it and fio drives it; where one is missing, and elsewhere than on Linux, threads of Python do both.
    """
    from measure.known_device.device_sweep import DeviceSweep

    order, truth = writer.order, _truth(writer.order)

    def measured(loads: Sequence[float]) -> Sweep:
        ordered = DeviceSweep(truth, tuple(int(n) for n in loads), runtime_s=POINT_S, ramp_s=RAMP_S)
        sweep = ordered.run(writer.sweep_directory, writer.progress)
        writer.add(sweep)
        return sweep

    measured(first_loads(order))
    return measured(order.loads)


def _truth(order: Order) -> Truth:
    from measure.known_device.server import truth_of
    from qsim import Exponential

    return truth_of(Exponential(order.service_s), order.servers, "central", order.seed)


CLOSED_POINT_S, OPEN_POINT_S, OPEN_RAMP_S = 3.0, 12.0, 1.0


def _queue(writer: EventWriter) -> Sweep:
    """A known queue: three depths of a closed test, from which the model seals its prediction, then the arrivals."""
    from calibrate.fitting.calibrating import fit
    from calibrate.fitting.fit_file import with_origin
    from measure.known_device.device_sweep import DeviceSweep

    order, truth = writer.order, _truth(writer.order)
    if not writer.is_sealed:
        depths = (1, 4, 16)
        writer.send("progress", text="a closed test, which the model sees", seconds_left=0.0)
        test = DeviceSweep(truth, depths, runtime_s=CLOSED_POINT_S, ramp_s=RAMP_S)
        closed = test.run(writer.directory / event_log.CLOSED)
        writer.seal(with_origin(fit(closed, depths), closed))
    planned = DeviceSweep(truth, arrival_rates=order.loads, runtime_s=OPEN_POINT_S, ramp_s=OPEN_RAMP_S)
    return planned.run(writer.sweep_directory, writer.progress)


def _memory(writer: EventWriter) -> Sweep:
    """The built-in probe. Delays are shuffled against drift, by a seed that takes the first points first."""
    from measure.memory.probe import MemoryPlan, plan_memory, run_memory

    order, first = writer.order, set(first_loads(writer.order))

    def begins_well(plan: MemoryPlan) -> bool:
        loaded = [p.delay for p in plan.points() if p.kind == "loaded"]
        return set(loaded[: len(first)]) == first

    plan = plan_memory(order.loads, traffic=MEMORY_TRAFFIC, repeats=3, seconds_per_repeat=POINT_S / 5)
    shuffled = (replace(plan, seed=seed) for seed in range(1, MOST_SEEDS))
    return run_memory(next(p for p in shuffled if begins_well(p)), writer.sweep_directory, writer.progress)


def _replay(writer: EventWriter) -> Sweep:
    """An earlier sweep point by point, as if it were measured now."""
    order = writer.order
    sweep = order.source().load().select(order.series)
    first = first_loads(order)
    wanted = [*first, *(n for n in order.loads if n not in first)]
    for done, load in enumerate(wanted):
        left = len(wanted) - done
        writer.send("progress", text=f"replaying {order.load_type.at(load)}", seconds_left=left * POINT_S)
        time.sleep(0.0 if load in writer.loads else POINT_S)
        here = sweep.points[sweep.points["load"].isin(wanted[: done + 1])]
        so_far = replace(sweep, points=here)
        writer.add(so_far)
    return sweep


_MEASUREMENTS: Mapping[Device, Callable[[EventWriter], Sweep]] = {
    "memory": _memory,
    "disk": _disk,
    "known": _known,
    "mm1": _queue,
    "mmc": _queue,
    "replay": _replay,
}


FAILED, STOPPED = 1, 130


def main(directory: Path) -> int:
    """Measure the order in ``directory``, then compute the reveal; returns the exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        order = Order.read(directory / event_log.ORDER)
        sent = [(e["load"], e["repeat"]) for e in EventLog(directory / event_log.EVENTS).of_kind("point")]
        writer = EventWriter(order, directory, sent, _write)
        sweep = measure(writer)
        writer.send("progress", text="working out what is revealed", seconds_left=0.0)
        result = reveal(sweep, directory, order)
        write_durably(directory / event_log.RESULT, json.dumps(result, allow_nan=False).encode())
        writer.send("measured")
    except KeyboardInterrupt:
        return STOPPED
    except (MeasureError, ValueError, OSError) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return FAILED
    return 0


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def reveal(sweep: Sweep, directory: Path, order: Order) -> dict[str, Any]:
    """Compare the sealed prediction with ``sweep``, write the report, and return the page's data, JSON-ready.

    Raises DataError where there are too few points, MeasureError where the report cannot be written.
    """
    sealed = read_seal(directory / event_log.PREDICTION).fits[0]
    comparison = compare(sweep) if order.is_queue else compare(sweep, fitted=sealed)
    write_report([comparison], directory / event_log.REPORT, title=order.label)
    judged, model = judge(order, sweep), predicted_load(order, sealed)
    said = arrivals_in_words(sealed, sweep) if order.is_queue else " ".join(missed_sentences([comparison]))
    return {
        "verdict": f"{said} The report has the rest.",
        "judged": asdict(judged),
        "model": model,
        "truth": true_rows(order),
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
