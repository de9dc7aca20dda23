"""``qsim measure device``: a device whose truth is known, started, swept by real fio, and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import PlanOrRun, one_of, points_text
from calibrate.cli.options import ArrivalRates, LoadOrder, Ramp
from calibrate.cli.theory.laws import FILES, Law, law
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from measure.known_device.truth import Truth

HELP = """Measure a device whose truth is known: c servers and a law of service times of your choice.

nbdkit serves it, real fio drives it, and it is gone afterwards. Its truth is stored with the points: qsim compare
shows each estimate beside it. Over --depths fio keeps N requests outstanding (closed); over --arrival-rates, or
--utilizations of the peak, requests arrive as a Poisson process (open).

\b
Examples:
qsim measure device --servers 4 --service deterministic:2ms --out four
qsim measure device --service exponential:2ms --utilizations .3,.5,.7 --runtime 60s --out mm1
qsim measure device --servers 4 --service lognormal:2ms:scv=2 --queues per-server --depths 1..32 --out dies
qsim measure device --service histogram:fio.json --depths 1..16 --out played-back --dry-run
"""

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32))


def measure_device(
    *,
    servers: Annotated[int, typer.Option(metavar="C", parser=parsing.whole, help="Servers.")] = 1,
    service: Annotated[
        Law | None,
        typer.Option(metavar="LAW", parser=law, show_default="exponential:2ms",
                     help="Service times: exponential:2ms, deterministic:2ms, lognormal:2ms:scv=2, "
                     f"hyperexponential:2ms:scv=4, erlang:2ms:k=3, {FILES}."),
    ] = None,
    queues: Annotated[
        str,
        typer.Option(metavar="HOW", parser=parsing.choice("central", "per-server"),
                     help="central: one queue, the next free server takes its head; per-server: a queue each, every "
                     "request joins one at random."),
    ] = "central",
    delay_s: Annotated[
        float,
        typer.Option("--delay", metavar="TIME", parser=parsing.seconds, show_default="none",
                     help="Closed: a constant part of each latency that keeps no server busy, as of a host or a link."),
    ] = 0.0,
    depths: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="N,...", parser=parsing.depths, show_default="1..32",
                     help="Closed: outstanding requests, as 1,2,4,8 or 1..32 (doubling)."),
    ] = None,
    arrival_rates: ArrivalRates = None,
    utilizations: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="RHO,...", parser=parsing.shares, show_default=False,
                     help="Open: arrival rates as shares of the device's peak, as .3,.5,.7."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", parser=parsing.whole, show_default="enough that each is seldom busy",
                     help="Open: jobs of fio that share the arrivals."),
    ] = None,
    runtime_s: Annotated[
        float,
        typer.Option("--runtime", metavar="TIME", parser=parsing.seconds, show_default="5s", help="Time per point."),
    ] = 5.0,
    ramp_s: Ramp = 1.0,
    repeats: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Rounds over all points.")] = 1,
    order: LoadOrder = "ascending",
    seed: Annotated[
        int, typer.Option(metavar="N", parser=parsing.whole, help="Seed of the service times and of fio's addresses.")
    ] = 1,
    output: PlanOrRun,
) -> None:  # fmt: skip
    """Draw the device, plan, say what will be done, do it, print the points."""
    given = {"--depths": depths, "--arrival-rates": arrival_rates, "--utilizations": utilizations}
    if len(twice := [name for name, value in given.items() if value is not None]) > 1:
        raise wrong_usage(f"{' and '.join(twice)} were both given: a sweep varies one of them")
    output.check()

    import qsim
    from measure.fio.workload import Order
    from measure.known_device.server import truth_of
    from measure.known_device.sweep import DeviceSweep
    from measure.known_device.truth import Queueing

    truth = truth_of(
        service.distribution() if service is not None else qsim.Exponential(2e-3), servers,
        one_of(Queueing, queues), seed, delay_s=delay_s,
    )  # fmt: skip
    sweep = DeviceSweep(
        truth,
        tuple(int(n) for n in depths or (() if arrival_rates or utilizations else DEFAULT_DEPTHS)),
        tuple(arrival_rates or (rho * truth.peak_throughput_per_s for rho in utilizations or ())),
        runtime_s=runtime_s, ramp_s=ramp_s, repeats=repeats, jobs=jobs, order=one_of(Order, order),
    )  # fmt: skip
    plan = sweep.plan()
    told = f"{_truth_text(truth)}\n\n"
    if output.dry_run:
        points = [{"key": p.key, "load": p.job.load, "repeat": p.repeat, "command": p.command} for p in plan.points]
        output.show_plan(lambda: f"{plan.describe()}\n{told}" + "\n".join(plan.commands), lambda: {
            "truth": truth.to_dict(), "points": points, "commands": list(plan.commands), "seconds": plan.seconds(),
        })  # fmt: skip
        return
    opening = f"{plan.label}\n{len(plan.points)} points, about {format_duration(plan.seconds())}"
    output.measure(opening, sweep.run, lambda *measured: f"{plan.label}\n{told}{points_text(*measured)}")


def _truth_text(truth: Truth) -> str:
    """What the points must come to."""
    return (
        f"the truth: peak {format_rate(truth.peak_throughput_per_s)}; service mean "
        f"{format_duration(truth.service.mean)} and scv {truth.service.scv:.3g} (of the times drawn: "
        f"{format_duration(truth.served_mean_s, 4)} and {truth.served_scv:.3g})"
    )
