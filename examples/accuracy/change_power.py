"""How often ``qsim change`` sees a loss, and one where there is none: the tables of explanation-change.md.

python change_power.py                    synthetic sweeps: what moves between them, noise, repeats, more old sweeps
python change_power.py --disk DIR         a drive against itself, 20 pairs of short sweeps with fio (10 minutes), and
                                          against itself throttled to 95, 90 and 70 % of its peak, a third of the pairs
python change_power.py --device           a device of known truth against one whose service takes 5, 10, 30 % longer

Every cell is made by ``calibrate.change``, its audit included, as the command calls it; ``--workers -1``: on all cores.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate import Change, change
from calibrate.changes.change import Verdict, changed
from calibrate.fleet.workers import processes, spread
from calibrate.points import LOCAL, SERVICE
from measure.fio.fio_sweep import plan_fio, run_fio
from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import truth_of
from measure.loads import ArrivalRate, Clients, Depth, Load
from measure.sweep import Sweep
from qsim import MM1, MMcN, solve

LOAD = np.array([1.0, 4, 8, 16, 32, 64])
HEALTHY = np.array([100.0, 380, 600, 640, 560, 420])
NOISE, REPEATS, LOST, LOST_AT = (0.01, 0.02, 0.05, 0.1, 0.2), (1, 3, 5), 0.25, 16
DRAWS = 100
VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "undecided")
SERVICE_S = 2e-3
SERVER_S, RATE_NOISE, QUEUE_NOISE, CALLED = 10e-3, 1e-3, (0.01, 0.02, 0.05), ("slower", "faster")
USERS = Clients((10, 30, 60, 90, 120, 200), think=1.0)
OTHER_LOADS = (
    ("arrivals", ArrivalRate((10, 30, 50, 65, 75, 85)), ArrivalRate((10, 30, 40, 50, 55, 60))),
    ("users who think for 1 s", USERS, USERS),
)


@dataclass(frozen=True)
class Moves:
    """What moves between sweeps of one device, and within one: relative standard deviations."""

    whole: float = 0.0
    """Of a sweep at all loads."""
    each: float = 0.0
    """Of a sweep at each load."""
    drift: float = 0.0
    """From the first run of a sweep to its last."""
    wander: float = 0.0
    """Of a wandering level, of which one run has nine tenths of the one before."""
    heavy: bool = False
    """Whether runs scatter by Student's t with 3 degrees of freedom."""
    adjacent: bool = False
    """Whether the repeats of a load are measured one after another, not in rounds."""


MOVES = {
    "nothing": Moves(),
    "±2 % as a whole": Moves(whole=0.02),
    "±3 % as a whole": Moves(whole=0.03),
    "±2 % at each load": Moves(each=0.02),
    "±3 % at each load": Moves(each=0.03),
    "a drift of 5 % within a sweep": Moves(drift=0.05),
    "a level that wanders by 3 %": Moves(wander=0.03),
    "the same, repeats together": Moves(wander=0.03, adjacent=True),
    "±3 %, runs with heavy tails": Moves(whole=0.03, heavy=True),
}


@dataclass(frozen=True)
class Pairs:
    """Some comparisons of a device with itself, of which the new one has lost a share at depth ``LOST_AT``."""

    noise: Sequence[float]
    repeats: int
    lost: float = 0.0
    old_sweeps: int = 1
    moves: Moves = field(default_factory=Moves)
    draws: int = DRAWS


def drawn(pairs: Pairs, noise: float, lost: float, random: np.random.Generator) -> Sweep:
    """A sweep over ``LOAD``: its rows stand in the order of measuring."""
    moves, repeats, loads = pairs.moves, pairs.repeats, len(LOAD)
    runs = repeats * loads
    scatter = random.standard_t(3, runs) / np.sqrt(3) if moves.heavy else random.standard_normal(runs)
    away = noise * scatter + moves.whole * random.standard_normal()
    away += moves.drift * random.standard_normal() * np.linspace(0, 1, runs) + moves.wander * _wandering(runs, random)
    place = np.repeat(np.arange(loads), repeats) if moves.adjacent else np.tile(np.arange(loads), repeats)
    away += moves.each * random.standard_normal(loads)[place]
    rates = HEALTHY * np.where(LOAD == LOST_AT, 1 - lost, 1.0)
    throughput = (rates[place] * np.exp(away)).round(3)
    points = {"series": "made", "load": LOAD[place], "throughput_per_s": throughput}
    table = pd.DataFrame({**points, "latency_s": LOAD[place] / throughput})
    return Sweep(table.assign(repeat=table.groupby("load").cumcount()), load_type=Depth())


def _wandering(runs: int, random: np.random.Generator) -> np.ndarray:
    steps, level = random.standard_normal(runs), np.empty(runs)
    level[0] = steps[0]
    for k in range(1, runs):
        level[k] = 0.9 * level[k - 1] + np.sqrt(1 - 0.9**2) * steps[k]
    return level


def changes(pairs: Pairs) -> list[Change]:
    """The comparisons; the noises take turns."""
    random, found = np.random.default_rng(1), []
    for k in range(pairs.draws):
        noise = pairs.noise[k % len(pairs.noise)]
        old = [drawn(pairs, noise, 0.0, random) for _ in range(pairs.old_sweeps)]
        found.append(change(old, drawn(pairs, noise, pairs.lost, random)))
    return found


def alarms(pairs: Pairs) -> float:
    """The share of comparisons, in percent, that call a device changed."""
    return float(100 * np.mean([c.verdict in ("slower", "faster") for c in changes(pairs)]))


def loss(pairs: Pairs) -> tuple[float, float]:
    """The share in percent that call the load with the loss slower, and the loss that they say would have been seen."""
    found = [next(c for c in one.loads if c.load == LOST_AT) for one in changes(pairs)]
    seen = [np.inf if c.detectable_pct is None else c.detectable_pct for c in found]
    return float(100 * np.mean([c.speed < 0 for c in found])), float(np.median(seen))


def alarm_table(draws: int, workers: int = 1) -> Iterator[str]:
    """A row for all that moves, a column for each number of repeats; the noises of ``NOISE`` take turns."""
    work = [Pairs(NOISE, repeats, moves=moves, draws=draws) for moves in MOVES.values() for repeats in REPEATS]
    with processes(workers) as executor:
        found = iter(spread(alarms, work, executor))
    yield "| what moves, beside runs by 1 to 20 % | 1 run | 3 repeats | 5 repeats |\n|---|---:|---:|---:|"
    for name in MOVES:
        yield f"| {name} | {' | '.join(f'{next(found):.0f}' for _ in REPEATS)} |"


def loss_table(draws: int, workers: int = 1) -> Iterator[str]:
    """A row for each noise: how often a quarter lost at one load is found, and the loss that would be seen."""
    varied = MOVES["±3 % as a whole"]
    work = [Pairs([noise], repeats, LOST, moves=varied, draws=draws) for noise in NOISE for repeats in REPEATS]
    with processes(workers) as executor:
        found = iter(spread(loss, work, executor))
    yield "| noise of a run | 1 run | 3 repeats | 5 repeats |\n|---|---:|---:|---:|"
    for noise in NOISE:
        cells = [f"{share:.0f} ({_from(seen)})" for share, seen in (next(found) for _ in REPEATS)]
        yield f"| {100 * noise:g} % | {' | '.join(cells)} |"


def _from(seen: float) -> str:
    return f"from {seen:.0f} % on" if np.isfinite(seen) else "none"


def queue_sweep(kind: Load, noise: float, speed: float, random: np.random.Generator) -> Sweep:
    """A server of 10 ms, ``speed`` times as fast, at the kind's loads; ``noise`` is that of its response times."""
    service_s = SERVER_S / speed
    if isinstance(kind, Clients):
        seen = [solve(MMcN(round(users), kind.think, service_s)) for users in kind.values]
    else:
        seen = [solve(MM1(rate, 1 / service_s)) for rate in kind.values]
    scatter = np.exp(noise * random.standard_normal(len(seen)))
    rates = np.array([m.throughput for m in seen]) * np.exp(RATE_NOISE * random.standard_normal(len(seen)))
    times = np.array([m.W for m in seen]) * scatter
    table = pd.DataFrame({"load": kind.values, "throughput_per_s": rates, "latency_s": times})
    return Sweep(table.assign(series="made"), load_type=replace(kind, values=()))


def changed_of_queues(kind: Load, lost: float, draws: int) -> dict[str, int]:
    """How many of ``draws`` pairs that vary by 3 % as a whole are called slower or faster, by what each is judged."""
    random, found = np.random.default_rng(1), Counter[str]()
    for k in range(draws):
        noise, (before, after) = QUEUE_NOISE[k % len(QUEUE_NOISE)], 1 + 0.03 * random.standard_normal(2)
        old = queue_sweep(kind, noise, before, random)
        new = queue_sweep(kind, noise, (1 - lost) * after, random)
        runs = [
            {"throughput": np.array([s.points["throughput_per_s"]]), "response time": np.array([s.points["latency_s"]])}
            for s in (old, new)
        ]
        found["speed"] += change(old, new).verdict in CALLED
        for plain in runs[0]:
            assumed = SERVICE if isinstance(kind, Clients) else LOCAL  # as for the sweeps
            judged = changed("made", kind, np.array(kind.values), runs[:1], runs[1], between=assumed, judged=(plain,))
            found[plain] += judged.verdict in CALLED
    return found


def queue_table(draws: int) -> str:
    """A row for each kind of load: percent called changed that are not, and percent found of a quarter lost."""
    by = ("speed", "response time", "throughput")
    lines = [f"| pairs of one server of 10 ms | by {' | by '.join(by)} |", "|---|---:|---:|---:|"]
    for name, busy, light in OTHER_LOADS:
        for what, kind, lost in (("±3 %: called changed", busy, 0.0), ("a quarter lost: found", light, LOST)):
            found = changed_of_queues(kind, lost, draws)
            lines.append(f"| {name}, {what} | {' | '.join(f'{100 * found[one] / draws:.0f}' for one in by)} |")
    return "\n".join(lines)


def old_table(draws: int, workers: int) -> Iterator[str]:
    """A row for each number of old sweeps: false alarms, and the loss that would be seen."""
    sizes, counts = (0.005, 0.01, 0.03), (1, 2, 3, 5, 8, 12)
    work = [Pairs([0.005], 3, old_sweeps=n, moves=Moves(whole=w), draws=draws) for n in counts for w in sizes]
    with processes(workers) as executor:
        false, seen = (iter(spread(what, work, executor)) for what in (alarms, loss))
    yield "| old sweeps | of a device that moves by 0.5 % | by 1 % | by 3 % |\n|---:|---:|---:|---:|"
    for n in counts:
        yield f"| {n} | {' | '.join(f'{next(seen)[1]:.0f} % ({next(false):.0f})' for _ in sizes)} |"


def shares(changes: Iterable[Change]) -> dict[str, float]:
    """The share of each verdict in percent."""
    counts = Counter(c.verdict for c in changes)
    return {verdict: 100 * counts[verdict] / counts.total() for verdict in VERDICTS}


def row(name: str, changes: Iterable[Change]) -> str:
    """A row of a table."""
    found = list(changes)
    seen = np.median([c.detectable_pct if c.detectable_pct is not None else 100.0 for c in found])
    return f"| {name} | {' | '.join(f'{v:.0f}' for v in shares(found).values())} | {seen:.2g} |"


def disk_sweep(folder: Path, most_per_s: float | None = None) -> Sweep:
    """A sweep of a drive, four depths of 0.8 s, three times; fio sends at most so many requests a second."""
    plan = plan_fio(folder, (1, 4, 16, 64), runtime_s=0.8, ramp_s=0.2, repeats=3, size_bytes=2**28)
    if most_per_s is not None:
        limit = f"--rate_iops={round(most_per_s)}"
        plan = replace(plan, points=tuple(replace(p, argv=(*p.argv, limit)) for p in plan.points))
    with tempfile.TemporaryDirectory() as store:
        return run_fio(plan, Path(store, "sweep"), together=True)


def disk_table(folder: Path, pairs: int) -> Iterator[str]:
    """A row for the drive against itself, sweep after sweep, and one for each loss of its peak."""
    sweeps = [disk_sweep(folder) for _ in range(pairs + 1)]
    yield row("this drive against itself", [change(old, new) for old, new in pairwise(sweeps)])
    for loss in (0.05, 0.1, 0.3):
        found = []
        for _ in range(max(pairs // 3, 1)):
            healthy = disk_sweep(folder)
            peak = float(healthy.mean_points()["throughput_per_s"].max())
            found.append(change(healthy, disk_sweep(folder, (1 - loss) * peak)))
        yield row(f"this drive, throttled to {100 * (1 - loss):g} % of its peak", found)


def device_sweep(slower: float) -> Sweep:
    """A sweep of four servers of 2 ms, whose service takes longer by that share."""
    device = DeviceSweep(truth_of(SERVICE_S * (1 + slower), 4), (1, 2, 4, 8, 16), runtime_s=0.8, ramp_s=0.2, repeats=3)
    with tempfile.TemporaryDirectory() as store:
        return device.run(Path(store, "sweep"))


def device_table(pairs: int) -> Iterator[str]:
    """A row for each loss; every sweep is compared with one of the healthy device that was measured before it."""
    for slower in (0.0, 0.05, 0.1, 0.3):
        found = [change(device_sweep(0.0), device_sweep(slower)) for _ in range(pairs)]
        yield row(f"known device, service {100 * slower:g} % longer", found)


def main() -> None:
    """Print the tables that were asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--disk", type=Path)
    options.add_argument("--device", action="store_true")
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--draws", type=int, default=DRAWS)
    options.add_argument("--workers", type=int, default=1)
    asked = options.parse_args()
    if asked.disk is not None:
        for line in disk_table(asked.disk, asked.pairs):
            print(line, flush=True)
    if asked.device:
        print("\n".join(device_table(asked.pairs)))
    if asked.disk is None and not asked.device:
        for table in (alarm_table, loss_table, old_table):
            for line in table(asked.draws, asked.workers):
                print(line, flush=True)
            print(flush=True)
        print(queue_table(asked.draws))


if __name__ == "__main__":
    main()
