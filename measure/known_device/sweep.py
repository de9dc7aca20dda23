"""A sweep of a known device by real fio: the device is started, measured over depths or arrival rates, and stopped.

The truth goes into the provenance. Before the sweep the way itself is measured (``way_s``), and the device then answers
early by that much, so that fio sees the queue's response times and not those of a socket.
"""

from __future__ import annotations

import math
import platform
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from measure.errors import ToolFailedError
from measure.fio.plan import FioPlan, plan_workloads
from measure.fio.settings import FioSettings
from measure.fio.sweep import run_fio
from measure.fio.workload import FioJob, submitters
from measure.formats.fio.json_output import parse_fio
from measure.known_device.in_python import run_in_python
from measure.known_device.server import MAX_THREADS, Truth, known_device, truth_of
from measure.machine.process import run_tool
from measure.store.measuring import Progress
from measure.sweep import Sweep
from measure.units import format_rate
from qsim.errors import InvalidParameterError, must_be

WAY_SERVICE_S = 1e-3
WAY_RUNTIME_S = 0.5
FASTEST_PER_S = 10_000.0  # what the plugin can play on a small machine, with the threads of fio
BUSY = 0.04  # the share of time that a submitting job may wait for its request


@dataclass(frozen=True)
class DeviceSweep:
    """What to measure of the device ``truth``: ``depths`` (closed) or ``arrival_rates`` in 1/s (open), not both.

    Arrivals are shared among as many jobs of fio as leave each idle for all but a few percent.

    Raises ValueError naming the setting that cannot be measured.
    """

    truth: Truth
    depths: tuple[int, ...] = ()
    arrival_rates: tuple[float, ...] = ()
    runtime_s: float = 5.0
    ramp_s: float = 1.0
    repeats: int = 1

    def __post_init__(self) -> None:
        peak, deepest = self.truth.peak_throughput_per_s, max(self.depths, default=1)
        if bool(self.depths) == bool(self.arrival_rates):
            raise InvalidParameterError("depths", "and arrival_rates are both given, or both empty", "give one of them")
        must_be(deepest <= MAX_THREADS, "depths", deepest, f"at most {MAX_THREADS}, which the device takes at once")
        if self.truth.delay_s and self.arrival_rates:
            raise ValueError("a delay tells nothing in an open sweep; leave it out, or give depths")
        if peak > FASTEST_PER_S:
            raise ValueError(
                f"the device could serve {format_rate(peak)}, and nbdkit plays at most {format_rate(FASTEST_PER_S)}; "
                "take a longer service time or fewer servers"
            )
        for rate in self.arrival_rates:
            wanted = f"above 0 and below the device's peak of {format_rate(peak)}, or the queue would grow for ever"
            must_be(0 < rate < peak, "arrival_rates", rate, wanted)

    def plan(self, uri: str = "nbd+unix:///?socket=SOCKET", way_s: float = 0.0) -> FioPlan:
        """The plan, against the device at ``uri``; without one, as it would be. Raises as ``plan_workloads``."""
        truth = replace(self.truth, early_s=way_s)
        workloads = [FioJob(depth, 1, 4096, 100, "random") for depth in self.depths]
        workloads += [FioJob.open(rate, jobs=self._submitters(rate)) for rate in self.arrival_rates]
        settings = FioSettings(
            runtime_s=self.runtime_s,
            ramp_s=self.ramp_s,
            repeats=self.repeats,
            seed=truth.seed,
            label=truth.label,
            details={"truth": truth.to_dict()},
        )
        return plan_workloads(uri, workloads, settings)

    def run(self, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
        """Measure what is missing in ``out_dir`` and return all of it; the device is gone afterwards in any case.

        nbdkit plays the device and fio drives it; over depths, where one is missing or elsewhere than on Linux, threads
        of Python do both. Raises what ``run_fio`` and ``known_device`` raise.
        """
        if self.depths and (platform.system() != "Linux" or not (shutil.which("fio") and shutil.which("nbdkit"))):
            return run_in_python(self.truth, self.depths, out_dir, self.runtime_s, self.ramp_s, on_progress)
        way_s = measured_way()
        early = replace(self.truth, early_s=way_s)
        with known_device(early, threads=max(self.depths, default=1)) as uri:
            return run_fio(self.plan(uri, way_s), out_dir, on_progress)

    def _submitters(self, rate: float) -> int:
        """Jobs enough that each is seldom busy: an M/G/1-like number outstanding, spread over them."""
        truth = self.truth
        load = rate / truth.peak_throughput_per_s
        outstanding = rate * truth.service.mean + load**2 / (1 - load) * (1 + truth.service.scv) / 2
        return min(max(submitters(rate), math.ceil(outstanding / BUSY)), math.floor(rate), 1024)


def measured_way() -> float:
    """Seconds that a request takes on its way to the device and back, waking included: the median over half a second.

    Raises ToolMissingError, ToolFailedError.
    """
    with known_device(truth_of(WAY_SERVICE_S), threads=1) as uri:
        settings = FioSettings(runtime_s=WAY_RUNTIME_S, ramp_s=0.1)
        (point,) = plan_workloads(uri, [FioJob(1, 1, 4096, 100, "random")], settings).points
        finished = run_tool(point.argv, 30.0)
    if finished.returncode != 0 or finished.timed_out:
        raise ToolFailedError(f"fio could not drive nbdkit: {finished.complaint or f'exit {finished.returncode}'}")
    median = parse_fio(finished.text, "the way")[0].latency.percentile_s(50.0)
    return max(0.0, median - WAY_SERVICE_S)
