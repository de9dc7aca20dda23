"""How well memory curves are predicted from three and from four points, beside baselines: the table of
explanation-models.md.

python accuracy_memory.py [DIRECTORY ...] [--priors]

The dataset 001-memory comes with the package. Each DIRECTORY holds more, as MLC and Mess wrote it, in files and
directories that ``measure.load`` reads. Every curve with a delay counts twice: the delay law predicts both axes from
the delay, and the latency curve the latency from the measured bandwidth. The priors are learned from the *other*
devices; those in the models are the same of all devices, which ``--priors`` prints. Errors are |predicted / observed
- 1| in percent at points that were not calibrated on: the median over points / over devices / the 90th percentile.
The last column is the rival of the delay law: loaders as customers who think (``thinking_loaders``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from calibrate import predict
from calibrate.fitting.calibrating import fit_points
from calibrate.models.curves import CurveModel
from calibrate.models.memory_models import CURVE_PRIORS, DelayLaw, MemoryCurve, Priors
from calibrate.next import fourth_point, to_calibrate_on
from calibrate.points import Points, points_of
from calibrate.prediction.baselines import BASELINES, three_parameter_queue
from measure import load, load_dataset
from measure.errors import DataError
from measure.loads import Bandwidth, InjectedDelay
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES

FEWEST = 6
"""Curves with fewer points are left out: too little is left to predict."""

WIDER = 1.2
"""So many times wider than over the other devices is a prior made: ten devices are few."""

UNKNOWN = 1.5
"""Standard deviation of the logarithm of what is learned, in the fits that it is learned from."""


SCATTER = 0.03
"""The standard deviation of the logarithms that the rival allows its three or four points."""

START = (0.5, 1.0, 2.0)
"""Loaders, in multiples of X R without a delay, from which the rival's search starts."""


@dataclass(frozen=True)
class Curve:
    """A measured curve of a device."""

    device: str
    points: Points


@dataclass(frozen=True)
class Missed:
    """Held-out points of one curve: |predicted / observed - 1| in percent by method, those inside, seconds of a fit."""

    device: str
    percent: dict[str, np.ndarray]
    inside: np.ndarray
    seconds: float


def curves(directories: Sequence[Path]) -> Iterator[Curve]:
    """The dataset's curves and those of what the directories hold; what cannot be read is reported."""
    sweeps: list[tuple[str, Sweep]] = [("001-memory", load_dataset("001-memory"))]
    for path in (path for directory in directories for path in sorted(directory.iterdir())):
        try:
            sweeps.append((path.stem, load(path)))
        except DataError as error:
            sys.stderr.write(f"left out: {error}\n")
    for device, sweep in sweeps:
        for points in (points_of(sweep, series) for series in sweep.series):
            if len(points) >= FEWEST:
                yield Curve(device, points)


def along_bandwidth(curve: Curve) -> Curve:
    """The same curve with its bandwidth as the load."""
    points = curve.points
    order = np.argsort(points.throughput_per_s, kind="stable")
    ordered = points.at(order)
    return Curve(
        curve.device, replace(ordered, load_type=Bandwidth(), load=ordered.throughput_per_s * CACHE_LINE_BYTES)
    )


Told = tuple[str, np.ndarray]
"""A device, and the logarithms that one of its curves leaves of what three points leave open."""


def told_of_law(curve: Curve) -> Told:
    """a / L0, B over the highest throughput, and q: of the delay law fitted to a whole curve with wide priors."""
    wide = DelayLaw({"a": (0.2, UNKNOWN), "B": (1.15, 0.3), "q": (1.5, UNKNOWN)})
    _, _, idle, queueing, peak, overlap = wide.weights(curve.points).most_probable
    return curve.device, np.log([queueing / idle, peak / curve.points.throughput_per_s.max(), overlap])


def told_of_curve(curve: Curve) -> Told:
    """b, w and B over the highest bandwidth: of the latency curve fitted to a whole curve with wide priors."""
    wide = MemoryCurve({"b": (0.3, UNKNOWN), "w": (0.06, UNKNOWN), "B": (1.02, 0.05)})
    _, climb, wall, peak = wide.weights(curve.points).most_probable
    return curve.device, np.log([climb, wall, peak / curve.points.load.max()])


def learned_law(told: Sequence[Told]) -> Priors:
    """The delay law's priors by the curves of some devices."""
    return dict(zip("aBq", _priors(told), strict=True))


def learned_curve(told: Sequence[Told]) -> Priors:
    """The latency curve's priors by the curves of some devices."""
    climb, wall, headroom = _priors(told)
    return {"b": climb, "w": wall, "B": (headroom[0], CURVE_PRIORS["B"][1])}


def _priors(told: Sequence[Told]) -> list[tuple[float, float]]:
    """Medians and widened standard deviations of the logarithms; devices count alike."""
    devices = [np.array([logs for d, logs in told if d == device]) for device in sorted({d for d, _ in told})]
    middle = np.median([np.median(rows, axis=0) for rows in devices], axis=0)
    variance = np.mean([np.mean((rows - middle) ** 2, axis=0) for rows in devices], axis=0)
    return [(float(m), float(s)) for m, s in zip(np.exp(middle), WIDER * np.sqrt(variance), strict=True)]


def _loaders(known: np.ndarray, delay: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Throughput and latency at each ``delay``: N loaders who think for Z0 + kappa d, on a p-norm's X(n).

    N = (X - X / n) (R + Z0 + kappa d): one of those present is the thread that measures the latency, which never waits.
    Loaders fetch ahead, so that Z0 may be as low as -R1. ``known`` are the logarithms of N, Z0 + R1, kappa, R1, Xmax
    and p.
    """
    loaders, longer, per_delay, idle, peak, sharpness = np.exp(known)

    def rate(present: np.ndarray) -> np.ndarray:
        return present / idle / (1 + (present / (idle * peak)) ** sharpness) ** (1 / sharpness)

    low, high = np.full(len(delay), 1e-9 * loaders), np.full(len(delay), 1e3 * loaders)
    for _ in range(70):
        present = np.sqrt(low * high)
        cycle = present / rate(present) + longer - idle + per_delay * delay
        more = rate(present) * (1 - 1 / present) * cycle > loaders
        low, high = np.where(more, low, present), np.where(more, present, high)
    return rate(low), low / rate(low)


def thinking_loaders(
    delay: np.ndarray, throughput: np.ndarray, response: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Throughput and latency at the delays ``at``, by ``_loaders`` fitted to the points by least relative squares."""
    order = np.argsort(delay)
    d, x, r = delay[order], throughput[order], response[order]
    middle = x[0] * r[0] / (x[1] - 1 / r[1]) / d[1]

    def left(known: np.ndarray, start: np.ndarray) -> np.ndarray:
        found_x, found_r = _loaders(known, d)
        told = (known - start) / np.array([2.0, 1.0, np.inf, np.inf, 0.1, 1.0])
        return np.concatenate([np.log(found_x / x) / SCATTER, np.log(found_r / r) / SCATTER, told])

    def found(times: float) -> tuple[float, np.ndarray]:
        start = np.log([times * x[0] * r[0], r.min(), times * middle, r.min(), 1.05 * x.max(), 3.0])
        fit = least_squares(left, start, args=(start,), max_nfev=300)
        return float(fit.cost), fit.x

    return _loaders(min((found(times) for times in START), key=lambda one: one[0])[1], at)


def missed(curve: Curve, model: CurveModel, axis: str, fourth: bool, known: bool = False) -> Missed | None:
    """Of one curve from three points, or with a ``fourth``; None where it has none. ``known``: the peak is given, and
    not measured."""
    points = curve.points
    use = to_calibrate_on(points)
    if known:
        use = [float(points.load[np.argmin(np.abs(points.load - s * points.load[-1]))]) for s in (0.0, 0.6, 0.9)]
    if len(set(use)) < 3:
        return None
    peak = float(points.load.max()) if known else None
    if fourth:
        more = fourth_point(fit_points(points.choose(use), model), points.load.tolist())
        if more is None:
            return None
        use = sorted([*use, more])
    chosen, held = points.choose(use), points.at(~points.mask(use))
    begun = time.process_time()
    fit = fit_points(chosen, model, peak_per_s=peak)
    seconds = time.process_time() - begun
    made = predict(fit, held.load)
    observed, predicted, low, high = (
        (held.throughput_per_s, made.throughput_per_s, made.throughput_low_per_s, made.throughput_high_per_s)
        if axis == "throughput"
        else (held.response_time_s, made.response_time_s, made.response_time_low_s, made.response_time_high_s)
    )
    by_method = {"qsim": predicted}
    for name, baseline in BASELINES[points.load_type.kind].items():
        if known and baseline is three_parameter_queue:
            continue  # it takes no peak, and has no answer beyond its own
        both = baseline(chosen.load, chosen.throughput_per_s, chosen.response_time_s, held.load)
        by_method[name] = both[0 if axis == "throughput" else 1]
    if isinstance(points.load_type, InjectedDelay):
        both = thinking_loaders(chosen.load, chosen.throughput_per_s, chosen.response_time_s, held.load)
        by_method["chain"] = both[0 if axis == "throughput" else 1]
    percent = {name: 100 * np.abs(found / observed - 1) for name, found in by_method.items()}
    return Missed(curve.device, percent, (low <= observed) & (observed <= high), seconds)


def of_the_dataset() -> list[tuple[str, list[Missed]]]:
    """What is missed of the dataset's curves over a delay, by what is predicted from what, with the models' priors."""
    every = [c for c in curves(()) if isinstance(c.points.load_type, InjectedDelay)]
    found = []
    for fourth, axis in ((f, axis) for f in (False, True) for axis in ("throughput", "response")):
        what = f"{'bandwidth' if axis == 'throughput' else 'latency'}, from {3 + fourth} delays"
        each = [missed(c, DelayLaw(), axis, fourth) for c in every]
        found.append((what, [one for one in each if one is not None]))
    return found


def rivals() -> str:
    """The table of the dataset's curves over a delay: median / 90th percentile of the errors over points."""
    methods = ("qsim", "chain", "interpolation", "three-parameter queue")
    lines = [f"| predicted, from | points | {' | '.join(methods)} |", f"|---|---:|{'---:|' * len(methods)}"]
    for what, found in of_the_dataset():
        pooled = [np.concatenate([one.percent[method] for one in found]) for method in methods]
        cells = [f"{np.median(p):.1f} / {np.percentile(p, 90):.1f}" for p in pooled]
        lines.append(f"| {what} | {len(pooled[0])} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def row(what: str, found: Sequence[Missed]) -> str:
    """A row of the table: medians over points and devices, the 90th percentile, what the bands hold, a fit's time."""

    def of(method: str) -> tuple[float, float, float]:
        by_device: dict[str, list[np.ndarray]] = {}
        for one in found:
            by_device.setdefault(one.device, []).append(one.percent[method])
        pooled = np.concatenate([one.percent[method] for one in found])
        devices = [float(np.median(np.concatenate(rows))) for rows in by_device.values()]
        return float(np.median(pooled)), float(np.median(devices)), float(np.percentile(pooled, 90))

    methods = ("qsim", "interpolation", "three-parameter queue", "chain")
    cells = [" / ".join(f"{v:.1f}" for v in of(m)) if m in found[0].percent else "" for m in methods]
    inside = 100 * np.concatenate([one.inside for one in found]).mean()
    milliseconds = 1e3 * float(np.median([one.seconds for one in found]))
    count = sum(len(f.inside) for f in found)
    cells = [str(count), cells[0], f"{inside:.0f}", *cells[1:], f"{milliseconds:.0f} ms"]
    return f"| {what} | {' | '.join(cells)} |"


def table(directories: Sequence[Path] = ()) -> str:
    """The table; without directories of the dataset's curves alone, with the priors of the models."""
    every = list(curves(directories))
    over_delay = [c for c in every if isinstance(c.points.load_type, InjectedDelay)]
    over_bandwidth = [along_bandwidth(c) for c in every]
    devices = sorted({c.device for c in every})
    law, latency = ([told_of_law(c) for c in over_delay], [told_of_curve(c) for c in over_bandwidth])
    laws, latencies = {d: DelayLaw() for d in devices}, {d: MemoryCurve() for d in devices}
    if len(devices) > 2:
        laws = {d: DelayLaw(learned_law([t for t in law if t[0] != d])) for d in devices}
        latencies = {d: MemoryCurve(learned_curve([t for t in latency if t[0] != d])) for d in devices}
    lines = [
        "| predicted, from | points | qsim | in 90 % | interpolation | three-parameter queue | chain | a fit |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    cases = (
        ("latency, from 3 bandwidths", over_bandwidth, latencies, "response", False, False),
        ("latency, from 4 bandwidths", over_bandwidth, latencies, "response", True, False),
        ("latency, from 3 bandwidths and the peak", over_bandwidth, latencies, "response", False, True),
        ("bandwidth, from 3 delays", over_delay, laws, "throughput", False, False),
        ("latency, from 3 delays", over_delay, laws, "response", False, False),
        ("bandwidth, from 4 delays", over_delay, laws, "throughput", True, False),
        ("latency, from 4 delays", over_delay, laws, "response", True, False),
    )
    for what, some, models, axis, fourth, known in cases:
        found = [missed(c, models[c.device], axis, fourth, known) for c in some]  # type: ignore[index]
        lines.append(row(what, [one for one in found if one is not None]))
    return "\n".join(lines) + "\n"


def priors(directories: Sequence[Path]) -> str:
    """What the models' priors are by all devices."""
    every = list(curves(directories))
    law = learned_law([told_of_law(c) for c in every if isinstance(c.points.load_type, InjectedDelay)])
    return f"{law}\n{learned_curve([told_of_curve(along_bandwidth(c)) for c in every])}\n"


if __name__ == "__main__":
    where = [Path(argument) for argument in sys.argv[1:] if argument != "--priors"]
    sys.stdout.write(priors(where) if "--priors" in sys.argv else table(where))
