"""Devices of known truth, calibrated under one kind of load and predicted under each other.

    python any_load.py                         the tables, from docs/data/any-load/measured.csv
    python any_load.py FILE                    the tables, from another measurement
    python any_load.py --points                each prediction
    python any_load.py --measure FOLDER        measure anew (any_load_live.py), and write FOLDER/measured.csv

Each device is calibrated on three points of a kind, the fewest, the fourth and the most, and held against all of each
other kind: the mean response time and its 90 % band. The baselines take N* = R1 Xpeak of the same points for servers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from known_database import service_s

from calibrate.fitting.calibrating import fit_points
from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import Array
from calibrate.models.choice import ANY_LOAD, model_for
from calibrate.points import ClosedFacts, LoneRequests, OpenFacts, Points, points_of
from measure.loads import ArrivalRate, Clients, Depth, Load
from measure.sweep import Sweep
from qsim import MMc, MMcN, solve

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "any-load" / "measured.csv"
CALM_S = 60e-6
"""A repeat counts if the machine woke programs later than this on average, or if it is the calmest one."""

THINK_S = 0.1
USED = (0, 3, 5)
UP_TO = 0.8
DISK = ("disk", "closed", "disk", "poisson")
LOCUST_OWN = "Locust's own client"
"""Users who think under a client that itself adds a tenth to an answer: shown, and left out of the last rows."""

BEYOND, PACED_AND_BEYOND = "beyond", "paced with one rate beyond the peak"
"""Even gaps at 1.3 times the peak, and the calibration that has its capacity beside three rates that were served."""

LOADS: dict[str, Load] = {
    "closed": Depth(),
    "thinking": Clients(think=THINK_S, noun="users"),
    **dict.fromkeys(("Locust", LOCUST_OWN), Clients(think=THINK_S, noun="users")),
    "poisson": ArrivalRate(),
    "paced": ArrivalRate(gaps="paced"),
    PACED_AND_BEYOND: ArrivalRate(gaps="paced"),
}
TRUE_SERVICE_S = {"drive": 3e-3, "service": 10e-3, "database": 10e-3}


@dataclass(frozen=True)
class Measured:
    """A device under one kind of load."""

    device: str
    kind: str
    points: Points

    @property
    def servers(self) -> int:
        """In truth."""
        return int(self.device.split("-")[1])

    @property
    def service_s(self) -> float:
        """In truth."""
        kind, _, law = self.device.split("-")
        return service_s(law, TRUE_SERVICE_S[kind]) if kind == "database" else TRUE_SERVICE_S[kind]

    @property
    def peak_per_s(self) -> float:
        """In truth."""
        return self.servers / self.service_s

    @property
    def below(self) -> Array:
        """Which points are at 80 % of the peak or below; of a closed load all are, as they have no steep part."""
        if self.kind == "closed" or self.device == "disk":
            return np.ones(len(self.points), dtype=bool)
        return self.points.throughput_per_s <= (UP_TO + 0.01) * self.peak_per_s


def measured(table: pd.DataFrame) -> Iterator[Measured]:
    """Each device under each load, of the repeats that the machine did not disturb."""
    is_beyond = table["kind"] == BEYOND
    for (device, kind), rows in table[~is_beyond].groupby(["device", "kind"], sort=False):
        late = rows["woken_late_s"].fillna(0.0)
        calmest = late.groupby(rows["load"]).transform("min")
        calm = rows[(late <= CALM_S) | (late == calmest)]
        yield Measured(str(device), str(kind), _points(calm, LOADS[str(kind)]))
        beyond = table[is_beyond & (table["device"] == device)]
        if kind == "paced" and len(beyond):
            both = _points(pd.concat([calm, beyond]), LOADS[PACED_AND_BEYOND])
            yield Measured(str(device), PACED_AND_BEYOND, both)


def _points(rows: pd.DataFrame, load: Load) -> Points:
    """As the readers give them. wrk's mean latency has answers of requests that it did not send: N / X is taken."""
    sent = rows.assign(series="measured", repeat=rows.groupby("load").cumcount())
    if isinstance(load, ArrivalRate):
        came = rows.groupby("load")["throughput_per_s"].transform("mean")
        sent["load"] = came.where(rows["kind"] != BEYOND, rows["load"])
    is_service = rows["device"].str.startswith(("service", "database")).all()
    if is_service:  # of services the readers give no numbers of requests
        sent = sent.drop(columns="requests")
    if isinstance(load, Depth) and is_service:
        sent["latency_s"], load = sent["load"] / sent["throughput_per_s"], Clients(noun="connections")
    points = points_of(Sweep(sent.drop(columns=["device", "kind", "woken_late_s"]), load))
    if isinstance(load, Depth):  # fio has histograms
        lone = rows[rows["load"] == 1]
        scv = float(((lone["latency_sd_s"] / lone["latency_s"]) ** 2).mean())
        points = replace(points, facts=ClosedFacts(LoneRequests(scv, float(lone["latency_s"].min()))))
    if isinstance(load, ArrivalRate):
        points = replace(points, facts=OpenFacts(of_service=True, capacity_per_s=points.capacity_per_s))
    return points


@dataclass(frozen=True)
class Judged:
    """Predicted over measured response times (m,) of a device, by model, and which are inside their bands (m,)."""

    seen: Measured
    asked: Measured
    ratio: dict[str, Array]
    inside: Array
    never_waits: bool
    """Whether the calibration shows no queue, and so nothing of the peak: the answer then calls it assumed."""

    @property
    def of_slow_client(self) -> bool:
        """Whether Locust's own client measured either kind of load."""
        return LOCUST_OWN in (self.seen.kind, self.asked.kind)


def judged(seen: Measured, asked: Measured) -> Judged:
    """The loads of ``asked`` from three points of ``seen``."""
    fit, loads, truth = calibrated(seen), asked.points.load, asked.points.response_time_s
    found = fit.predict(replace(LOADS[asked.kind], values=tuple(loads)), refuse=False)
    inside = (found.response_time_low_s <= truth) & (truth <= found.response_time_high_s)
    ratio = {
        "qsim": found.response_time_s / truth,
        "M/G/c": _queue(fit, asked.kind, loads, general=True) / truth,
        "M/M/c": _queue(fit, asked.kind, loads, general=False) / truth,
        "X R for N": _by_mean(_three(seen.points), asked.kind, loads) / truth,
    }
    return Judged(seen, asked, ratio, inside, bool(fit.never_waits))


def calibrated(seen: Measured, model: str | None = None) -> Fit:
    """From three points."""
    points = _three(seen.points)
    return fit_points(points, model_for(points, model))


def _three(points: Points) -> Points:
    return points.at(np.isin(np.arange(len(points)), USED))


def _queue(fit: Fit, kind: str, loads: Array, *, general: bool) -> Array:
    """N* = R1 Xpeak servers; a ``general`` law of service and of gaps stretches the wait."""
    peak = fit.parameters["Xmax"].estimate
    servers = max(round(fit.parameters["R1"].estimate * peak), 1)
    service = servers / peak
    if kind == "closed":
        return np.maximum(service, loads / peak)
    if isinstance(LOADS[kind], Clients):
        queues = [MMcN(int(n), THINK_S, service, servers) for n in loads]
        return np.array([float(solve(queue).W) for queue in queues])
    known = fit.points.closed.alone if fit.points is not None else None
    gaps = LOADS[kind]
    variability = 0.5 * (gaps.gap_scv + (1.0 if known is None else known.scv)) if general else 1.0  # type: ignore[attr-defined]
    waits = [float(solve(MMc(rate, 1 / service, servers)).Wq) if rate < peak else math.inf for rate in loads]
    return service + variability * np.array(waits)


def _by_mean(points: Points, kind: str, loads: Array) -> Array:
    """X R is taken for a number outstanding, in the fit and in what is asked."""
    number = np.maximum(points.throughput_per_s * points.response_time_s, 1.0)
    as_closed = replace(points, load_type=Depth(), load=number, facts=ClosedFacts())
    numbers = np.geomspace(1, 1e4, 400)
    response = fit_points(as_closed, model_for(as_closed, None)).predict(numbers).response_time_s
    if kind == "closed":
        return np.interp(loads, numbers, response)
    if isinstance(LOADS[kind], Clients):
        return np.interp(loads, numbers / response * (response + THINK_S), response)
    rate = np.maximum.accumulate(numbers / response)
    return np.where(loads < rate[-1], np.interp(loads, rate, response), math.inf)


def table(data: Path = DATA) -> str:
    """The regenerated part of docs/accuracy-tables.md."""
    found = list(measured(pd.read_csv(data)))
    known = [m for m in found if m.device != "disk"]
    parts = [
        _errors(pairs(known)),
        _ends(known),
        _same_kind(known),
        *([_disk(found)] if len(found) > len(known) else []),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def pairs(found: Sequence[Measured]) -> list[Judged]:
    """Every kind of load of a device from every other."""
    alike = [(a, b) for a in found for b in found if a.device == b.device and b.kind != PACED_AND_BEYOND]
    return [judged(a, b) for a, b in alike if LOADS[a.kind] != LOADS[b.kind]]


def _errors(all_of_them: Sequence[Judged]) -> Iterator[str]:
    yield "| device, from → to | points | qsim: median / worst to 80 % | in band | M/G/c | M/M/c | X R for N |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    groups: dict[str, list[Judged]] = {}
    for one in all_of_them:
        tool, _, law = one.seen.device.split("-")
        groups.setdefault(f"{tool}, {law}, {one.seen.kind} → {one.asked.kind}", []).append(one)
    precise = [one for one in all_of_them if not one.of_slow_client]
    last = {
        "**all whose calibration shows a queue**": [
            one for one in precise if not one.never_waits and one.seen.kind != PACED_AND_BEYOND
        ],
        "**no queue in the calibration** (service, constant, paced → closed, thinking)": [
            one for one in precise if one.never_waits
        ],
        "**the same with one rate beyond the peak**": [one for one in precise if one.seen.kind == PACED_AND_BEYOND],
        "**all from and to Locust's own client**": [one for one in all_of_them if one.of_slow_client],
    }
    groups |= {name: some for name, some in last.items() if some}
    for name, some in groups.items():
        below = np.concatenate([j.asked.below for j in some])
        inside = 100 * np.concatenate([j.inside for j in some]).mean()
        off = [100 * np.concatenate([abs(j.ratio[model] - 1) for j in some]) for model in some[0].ratio]
        own, *others = (f"{np.median(v):.1f} / {v[below].max():.0f}" for v in off)
        yield f"| {name} | {below.size} | {own} % | {inside:.0f} % | {' | '.join(others)} |"


def _ends(found: Sequence[Measured]) -> Iterator[str]:
    """Idle latencies and peaks against the truth."""
    yield "| calibrated under | idle latency: median / worst | peak: median / worst | peak inside its interval |"
    yield "|---|---:|---:|---:|"
    for kind in LOADS:
        some = [m for m in found if m.kind == kind]
        fits = [calibrated(m) for m in some]
        idle = [abs(f.parameters["R1"].estimate / m.service_s - 1) for f, m in zip(fits, some, strict=True)]
        peaks = [f.parameters["Xmax"] for f in fits]
        off = [abs(p.estimate / m.peak_per_s - 1) for p, m in zip(peaks, some, strict=True)]
        held = sum((p.low or 0) <= m.peak_per_s <= (p.high or math.inf) for p, m in zip(peaks, some, strict=True))
        cells = [f"{100 * np.median(v):.0f} / {100 * max(v):.0f} %" for v in (idle, off)]
        yield f"| {kind} | {' | '.join(cells)} | {held} of {len(some)} |"


def _same_kind(found: Sequence[Measured]) -> Iterator[str]:
    """The other rates of fio, by the chain and by the model that open sweeps of fio have."""
    yield "| other rates of fio's Poisson jobs | median / worst | in band |"
    yield "|---|---:|---:|"
    some = [m for m in found if m.kind == "poisson"]
    for name, model in (("chain", ANY_LOAD), ("M/G/c", "M/G/c")):
        off, inside = [], []
        for m in some:
            held = ~np.isin(np.arange(len(m.points)), USED)
            loads, truth = m.points.load[held], m.points.response_time_s[held]
            got = calibrated(m, model).predict(replace(LOADS["poisson"], values=tuple(loads)), refuse=False)
            off.append(abs(got.response_time_s / truth - 1))
            inside.append((got.response_time_low_s <= truth) & (truth <= got.response_time_high_s))
        every = 100 * np.concatenate(off)
        yield f"| {name} | {np.median(every):.1f} / {every.max():.0f} % | {100 * np.concatenate(inside).mean():.0f} % |"


def _disk(found: Sequence[Measured]) -> Iterator[str]:
    """The machine's own disk; from its rates nothing is predicted, as the response falls with them."""
    yield "| this machine's disk | points | qsim: median / worst | in band |"
    yield "|---|---:|---:|---:|"
    for one in [judged(a, b) for a in found for b in found if (a.device, a.kind, b.device, b.kind) == DISK]:
        off = 100 * abs(one.ratio["qsim"] - 1)
        inside = 100 * one.inside.mean()
        yield (
            f"| {one.seen.kind} → {one.asked.kind} | {off.size} | {np.median(off):.0f} / {off.max():.0f} % "
            f"| {inside:.0f} % |"
        )


def each_point() -> Iterator[str]:
    """Each prediction."""
    for one in pairs([m for m in measured(pd.read_csv(DATA)) if m.device != "disk"]):
        for i, load in enumerate(one.asked.points.load):
            off = ", ".join(f"{model} {100 * (ratio[i] - 1):+.0f} %" for model, ratio in one.ratio.items())
            time_ms, held = 1e3 * one.asked.points.response_time_s[i], "" if one.inside[i] else ", outside its band"
            yield f"{one.seen.device} {one.seen.kind} -> {one.asked.kind} {load:g}: {time_ms:.2f} ms; {off}{held}"


def main(arguments: list[str]) -> str:
    """The text to print."""
    if arguments[:1] == ["--measure"]:
        from any_load_live import measure

        measure(Path(arguments[1])).to_csv(Path(arguments[1], "measured.csv"), index=False, float_format="%.6g")
        return f"measured {arguments[1]}/measured.csv"
    return "\n".join(each_point()) if arguments == ["--points"] else table(*map(Path, arguments))


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]) + "\n")
