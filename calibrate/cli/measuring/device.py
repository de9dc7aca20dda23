"""``qsim measure device``: a known device, started, swept by real fio, and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.measuring.run import PlanOrRun, one_of, planned, ramp_of
from calibrate.cli.options import ArrivalRates, conflicts, option
from calibrate.cli.theory.queue_models import Law, law
from measure.units import counted, format_duration, format_rate

if TYPE_CHECKING:
    from measure.known_device.server import Truth

ONE = "a sweep varies one of them"
DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32))


@conflicts("--depths", "--arrival-rates", "--utilizations", because=ONE)
@conflicts("--arrival-rates", "--utilizations", because=ONE)
def measure_device(
    *,
    servers: int = option("C", parsing.whole, "Servers.", default=1, shown=True),
    service: Law | None = option(
        "LAW",
        law,
        "Service times, as exponential:2ms, lognormal:2ms:scv=2, erlang:2ms:k=3, histogram:FILE or fitted:FILE.",
        shown="exponential:2ms",
    ),
    queues: str = option(
        "HOW",
        parsing.choice("central", "per-server"),
        "central: one queue for all servers; per-server: one each, joined at random.",
        default="central",
        shown=True,
    ),
    delay_s: float = option(
        "TIME", parsing.seconds, "Closed: latency outside the servers.", "--delay", default=0.0, shown="none"
    ),
    depths: parsing.Numbers | None = option(
        "N,...", parsing.depths, "Closed: queue depths, as 1,4,16 or 1..32.", shown="1, 2, 4, ... 32"
    ),
    arrival_rates: ArrivalRates = None,
    utilizations: parsing.Numbers | None = option("RHO,...", parsing.shares, "Open: the same as shares of the peak."),
    runtime_s: float = option("TIME", parsing.seconds, "Time per point.", "--runtime", default=5.0, shown="5s"),
    repeats: int = option("N", parsing.whole, "Rounds over all points.", default=1, shown=True),
    seed: int = option("N", parsing.whole, "Seed of the random times.", default=1, shown=True),
    output: PlanOrRun,
) -> CommandResult:
    """Measure a device whose truth is known: c servers and a law of service times of your choice.

    nbdkit serves it and fio drives it. Its truth is stored with the points: qsim compare shows it next to each
    estimate.

    \b
    Examples:
    qsim measure device --servers 4 --service deterministic:2ms --out four
    qsim measure device --service exponential:2ms --utilizations .3,.5,.7 --runtime 60s --out mm1
    qsim measure device --servers 4 --service lognormal:2ms:scv=2 --queues per-server --depths 1..32 --out dies
    """
    import qsim
    from measure.known_device.device_sweep import DeviceSweep
    from measure.known_device.server import Queueing, truth_of

    truth = truth_of(
        service.distribution if service is not None else qsim.Exponential(2e-3),
        servers,
        one_of(Queueing, queues),
        seed,
        delay_s=delay_s,
    )
    sweep = DeviceSweep(
        truth,
        tuple(int(n) for n in depths or (() if arrival_rates or utilizations else DEFAULT_DEPTHS)),
        tuple(arrival_rates or (rho * truth.peak_throughput_per_s for rho in utilizations or ())),
        runtime_s=runtime_s,
        ramp_s=ramp_of(runtime_s),
        repeats=repeats,
    )
    plan = sweep.plan()
    rows = [{"key": p.key, "load": p.job.load, "repeat": p.repeat, "command": p.command} for p in plan.points]
    facts = {"truth": truth.to_dict(), "seconds": plan.seconds()}
    shown = planned(f"{plan.describe()}\n{_truth_text(truth)}", rows, facts, plan.commands)
    opening = f"{plan.label}\n{counted(len(plan.points), 'point')}, about {format_duration(plan.seconds(), 2)}"
    return output.measure(shown, opening, sweep.run, f"{plan.label}\n{_truth_text(truth)}\n")


def _truth_text(truth: Truth) -> str:
    return (
        f"the truth: peak {format_rate(truth.peak_throughput_per_s)}; service mean "
        f"{format_duration(truth.service.mean)} and scv {truth.service.scv:.3g} (of the times drawn: "
        f"{format_duration(truth.served_mean_s, 4)} and {truth.served_scv:.3g})"
    )
