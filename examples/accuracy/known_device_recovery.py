"""Are servers c, service S and delay Z of a device found, and are their 95 % intervals honest? Devices of known truth.

python known_device_recovery.py FOLDER [RUNS] [RUNTIME] [SEED]    20 real devices (nbdkit and fio), 2s a point:
                                                                       6 minutes; goes on where it was interrupted
python known_device_recovery.py --simulated [RUNS]                in the simulator, with fewer tools: 120 devices

Each device is random: c from 1 to 8, S from 1 to 4 ms, four laws, one queue or (one in four) a queue each, Z none,
0.05 to 0.2 ms or up to 1 ms. It is swept over depths 1, 2, 4, 8 and 32 and fitted twice: as it is, and with the delay
given as if it had been measured by itself, to 0.05 ms. What is true of S is the mean of the times drawn, and of Z the
asked delay and what fio's latency at depth 1 had beyond both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrate.models.structure import servers_and_think
from calibrate.points import ClosedFacts, LoneRequests, Points, points_of
from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import Truth, truth_of
from measure.loads import Depth
from measure.units import format_duration, parse_duration
from qsim import Closed, Delay, Deterministic, Exponential, HyperExponential, LogNormal, Station, simulate

DEPTHS = (1, 2, 4, 8, 32)
LEVEL = 0.95
HOST = 0.01  # what simulated measurements are off beside the chance of a finite run
NAMES = ("c", "S", "Z")


@dataclass(frozen=True)
class Case:
    """A device, what was seen of it, and what S and Z really were."""

    truth: Truth
    points: Points
    service_s: float
    delay_s: float


def drawn(rng: np.random.Generator) -> Truth:
    """One device."""
    service = float(rng.uniform(1e-3, 4e-3))
    laws = (
        Deterministic(service),
        Exponential(service),
        LogNormal(service, 2.0),
        HyperExponential.from_moments(service, 4.0),
    )
    delay = (0.0, float(rng.uniform(5e-5, 2e-4)), float(rng.uniform(2e-4, 1e-3)))[rng.integers(3)]
    servers = int(rng.integers(1, 9))
    queueing = "per-server" if rng.random() < 0.25 and servers > 1 else "central"
    return truth_of(laws[rng.integers(4)], servers, queueing, seed=int(rng.integers(10**6)), delay_s=delay)


def measured(truth: Truth, folder: Path, runtime_s: float) -> Case:
    """The device, swept by fio."""
    sweep = DeviceSweep(truth, DEPTHS, runtime_s=runtime_s, ramp_s=0.2).run(folder)
    rows = sweep.points
    lone = rows[rows["load"] == 1].iloc[0]
    delay = max(0.0, float(lone["latency_s"]) - truth.served_mean_s)
    return Case(truth, points_of(sweep), truth.served_mean_s, delay)


def simulated(truth: Truth, rng: np.random.Generator, runtime_s: float = 2.0) -> Case:
    """The device, simulated for as many requests as it could serve in ``runtime_s``."""
    law, servers, delay = truth.service, truth.servers, truth.delay_s
    station = Station(law, servers=servers, queues="shared" if truth.queueing == "central" else "random")
    stops = [Delay(Deterministic(delay)), station] if delay else [station]
    requests = [max(60, int(runtime_s * min(n / (law.mean + delay), servers / law.mean))) for n in DEPTHS]
    alone = law.sample(rng, requests[0]) + delay
    rates = [1 / alone.mean()]
    for depth, count in zip(DEPTHS[1:], requests[1:], strict=True):
        run = simulate(
            Closed(depth, stops),
            customers=count,
            seed=int(rng.integers(10**9)),
            warmup=0.1,
            engine="compiled",
            allow_short=True,
        )
        rates.append(float(run.throughput))
    rate, depths = np.array(rates) * np.exp(HOST * rng.standard_normal(len(rates))), np.array(DEPTHS, dtype=float)
    unknown = np.full(len(rates), np.nan)
    lone = LoneRequests(float(alone.var() / alone.mean() ** 2), float(np.quantile(alone, 0.01)))
    points = Points(
        truth.label,
        Depth(),
        depths,
        rate,
        depths / rate,
        np.ones(len(rates)),
        unknown,
        unknown,
        requests=np.array(requests, dtype=float),
        facts=ClosedFacts(lone),
    )
    return Case(truth, points, law.mean, delay)


@dataclass(frozen=True)
class Outcome:
    """Which of c, S and Z are inside their intervals, the ratio of the ends of c's and S's, a line of the table.

    ``least_ratio`` is the ratio for the mean of so many service times, were each of them seen.
    """

    inside: tuple[bool, bool, bool]
    c_ratio: float
    s_ratio: float
    least_ratio: float
    line: str


def outcome(case: Case) -> Outcome:
    """The fit of one device against the truth."""
    found = servers_and_think(case.points, LEVEL)
    true = dict(zip(NAMES, (case.truth.servers, case.service_s, case.delay_s), strict=True))
    inside, ratios, cells = [], [], []
    for name, estimate in found.items():
        low, high = estimate.low or 0.0, estimate.high or 0.0
        inside.append(low <= true[name] <= high)
        ratios.append(high / low if low else np.inf)
        scale, form = (1e3, ".2f") if estimate.unit == "s" else (1, "g")
        missed = "" if inside[-1] else " **no**"
        cells.append(f"{scale * true[name]:{form}} in [{scale * low:{form}}, {scale * high:{form}}]{missed}")
    requests = float(np.sum(case.points.requests if case.points.requests is not None else np.nan))
    least = float(np.exp(2 * 1.96 * np.sqrt(case.truth.service.scv / requests)))
    line = f"| {case.truth.label} | {' | '.join(cells)} |"
    return Outcome((inside[0], inside[1], inside[2]), ratios[0], ratios[1], least, line)


def summary(outcomes: list[Outcome], cases: list[Case]) -> Iterator[str]:
    """The shares of devices, and by law how often c was exact and how narrow S is then."""
    inside = np.array([o.inside for o in outcomes])
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(NAMES, inside.mean(axis=0), strict=True))
    yield f"inside their 95 % intervals: {shares}; all three {100 * inside.all(axis=1).mean():.0f} % of {len(cases)}"
    late = [case.points.closed.woken_late_s for case in cases if case.points.closed.woken_late_s is not None]
    if late:
        yield f"  the machine woke a sleeping program late by {format_duration(float(np.median(late)))} (median)"
    yield f"  the ends of c are a factor of {np.median([o.c_ratio for o in outcomes]):.2g} apart (median)"
    for law in (Deterministic, Exponential, LogNormal, HyperExponential):
        of = [o for o, case in zip(outcomes, cases, strict=True) if isinstance(case.truth.service, law)]
        exact = [o for o in of if o.c_ratio == 1]
        line = f"  {law.__name__}: c told exactly {len(exact)} of {len(of)}"
        if exact:
            widths = (50 * np.log(np.median([getattr(o, n) for o in exact])) for n in ("s_ratio", "least_ratio"))
            line += "; S then to ±{:.1f} %, by chance alone ±{:.1f} %".format(*widths)
        yield line


def main(arguments: list[str]) -> Iterator[str]:
    """The lines to print."""
    rng = np.random.default_rng(int(arguments[3]) if len(arguments) > 3 else 7)
    if arguments[0] == "--simulated":
        cases = [simulated(drawn(rng), rng) for _ in range(int(arguments[1]) if len(arguments) > 1 else 120)]
    else:
        runs = int(arguments[1]) if len(arguments) > 1 else 20
        runtime_s = parse_duration(arguments[2]) if len(arguments) > 2 else 2.0
        devices = [drawn(rng) for _ in range(runs)]
        cases = [measured(d, Path(arguments[0]) / f"device-{i:02}", runtime_s) for i, d in enumerate(devices)]
    outcomes = [outcome(case) for case in cases]
    if arguments[0] != "--simulated":
        yield "| device | c | S, ms | Z, ms |\n|---|---|---|---|"
        yield from (o.line for o in outcomes)
        yield ""
    yield from summary(outcomes, cases)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5 or (sys.argv[1].startswith("-") and sys.argv[1] != "--simulated"):
        raise SystemExit(__doc__)
    for text in main(sys.argv[1:]):
        sys.stdout.write(text + "\n")
