"""The default model beside the baselines, over closed sweeps that others measured: the first tables of accuracy.md.

python accuracy.py          prints the tables over docs/data, and over ../shared/field-data where it is present
python accuracy.py DIR...   prints them over the sweeps in DIR alone: directories of fio's JSON, or of tables (a
                                 CSV file for each device: iodepth, iops, latency_us)

Every predictor is calibrated on the same points of a sweep, the measured depths nearest to those of a column, and is
judged by the same others below depth 512. A sweep with too few depths for a column is left out of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from accuracy_devices import Device, Held, held_share, read_devices
from numpy.typing import NDArray

from calibrate import Prediction, fit, predict
from calibrate.prediction.baselines import BASELINES, Baseline

Array = NDArray[np.float64]
Predictor = Callable[[Device, tuple[float, ...], Array], Array]
"""Predicted throughputs (m,) of a device calibrated on these of its depths, at other depths (m,)."""

PAIRS = ((1.0, 32.0), (4.0, 32.0))
TRIPLES = ((1.0, 4.0, 32.0), (1.0, 8.0, 64.0))
COLUMNS = {", ".join(f"{n:g}" for n in use): (use,) for use in (*PAIRS, *TRIPLES)}
"""What is calibrated on, by the name of a column."""

NEAR = 1.25
"""A knee within this factor of that from all points counts as found."""

COLLECTED = Path(__file__).resolve().parents[2] / "docs" / "data"
FIELD = Path(__file__).resolve().parents[3] / "shared" / "field-data"

RESAMPLED, INTERVAL = 1000, (5, 95)


def baseline(function: Baseline) -> Predictor:
    """A baseline as a predictor."""

    def predicted(device: Device, used: tuple[float, ...], loads: Array) -> Array:
        chosen = device.points.choose(used)
        return function(chosen.load, chosen.throughput_per_s, chosen.response_time_s, loads)[0]

    return predicted


_CURVES: dict[tuple[int, tuple[float, ...]], tuple[Device, Prediction]] = {}


def default_curve(device: Device, used: tuple[float, ...]) -> Prediction:
    """The default model's prediction at every held-out depth, with its 90 % band; computed once for each device."""
    key = id(device), used
    if key not in _CURVES:  # the device is stored too, so that no other takes its id
        _CURVES[key] = device, predict(fit(device.sweep, used), held_out(device, used)[0])
    return _CURVES[key][1]


def default_model(device: Device, used: tuple[float, ...], loads: Array) -> Array:
    """The default model as a predictor of held-out depths."""
    curve = default_curve(device, used)
    return curve.throughput_per_s[np.searchsorted(curve.load, loads)]


PREDICTORS: Mapping[str, Predictor] = {
    **{name: baseline(function) for name, function in BASELINES["queue_depth"].items()},
    "default model": default_model,
}


def held_out(device: Device, used: tuple[float, ...]) -> tuple[Array, Array]:
    """The other depths below 512, ascending, and their throughputs, (m,) each."""
    rest = device.points.at(~device.points.mask(used))
    return rest.load, rest.throughput_per_s


def judged(devices: Sequence[Device], use: Sequence[float]) -> list[tuple[Device, tuple[float, ...]]]:
    """The devices with as many different depths near ``use``, and others to be judged by; and those depths."""
    near = [(d, d.nearest(use)) for d in devices]
    return [(d, used) for d, used in near if len(used) == len(use) < len(d.points)]


def errors(devices: Sequence[Device], use: Sequence[float], predictor: Predictor) -> list[Array]:
    """Absolute errors of held-out throughputs in percent, an array for each device that has the depths ``use``."""
    found = []
    for device, used in judged(devices, use):
        loads, measured = held_out(device, used)
        found.append(100 * np.abs(predictor(device, used, loads) / measured - 1))
    return found


def pooled(devices: Sequence[Device], uses: Sequence[Sequence[float]], predictor: Predictor) -> list[Array]:
    """``errors`` over several choices of depths, still an array for each device."""
    by_device = [[e for use in uses for e in errors([device], use, predictor)] for device in devices]
    return [np.concatenate(found) for found in by_device if found]


def inside(devices: Sequence[Device], uses: Sequence[Sequence[float]]) -> list[Held]:
    """Whether each held-out throughput lies inside the default model's 90 % band, an array for each device."""
    found: dict[int, list[Held]] = {}
    for device, used in (one for use in uses for one in judged(devices, use)):
        curve, measured = default_curve(device, used), held_out(device, used)[1]
        held = (curve.throughput_low_per_s <= measured) & (measured <= curve.throughput_high_per_s)
        found.setdefault(id(device), []).append(held)
    return [np.concatenate(held) for held in found.values()]


def share(by_device: Sequence[Array], percent: float) -> str:
    """A percentile over all points, and where it lies in 90 % of resamples of the devices (bootstrap)."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(len(by_device), size=(RESAMPLED, len(by_device)))
    spread = [np.percentile(np.concatenate([by_device[i] for i in some]), percent) for some in drawn]
    low, high = np.percentile(spread, INTERVAL)
    return f"{np.percentile(np.concatenate(by_device), percent):.1f} [{low:.1f}, {high:.1f}]"


def table(devices: Sequence[Device]) -> str:
    """A row for each predictor, a column for each choice of depths: median / p90 of the errors in percent."""
    plain = PREDICTORS["plain bound"]
    columns = {name: uses for name, uses in COLUMNS.items() if pooled(devices, uses, plain)}
    if not columns:
        return "no closed sweep has 3 or more depths near 1 and 32\n"
    head = ["median / p90 error, % [90 % over devices]", *(f"depths {name}" for name in columns)]
    rows = [
        [name, *(f"{share(e, 50)} / {share(e, 90)}" for e in (pooled(devices, u, p) for u in columns.values()))]
        for name, p in PREDICTORS.items()
    ]
    counts = [f"{sum(map(len, e))} of {len(e)}" for e in (pooled(devices, u, plain) for u in columns.values())]
    bands = [held_share(inside(devices, uses)) for uses in columns.values()]
    found = [f"{100 * np.mean(knees(devices, uses[0])):.0f} %" for uses in columns.values()]
    rows += [
        ["inside the default model's 90 % bands", *bands],
        [f"its knee within a factor {NEAR} of all points'", *found],
        ["held-out points, of sweeps", *counts],
    ]
    lines = [head, ["---"] + ["---:"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def knees(devices: Sequence[Device], use: Sequence[float]) -> list[bool]:
    """Whether the knee from the depths ``use`` is near the one from all points, for each device that has them."""
    every = [(fit(d.sweep, used).knee.load, fit(d.sweep, d.depths).knee.load) for d, used in judged(devices, use)]
    return [bool(abs(np.log(few / all_)) <= np.log(NEAR)) for few, all_ in every if few and all_]


def halves(devices: Sequence[Device]) -> str:
    """What the bands hold in each half of the devices, all choices of depths together."""
    parts = [held_share(inside(devices[i::2], (*PAIRS, *TRIPLES))) for i in (0, 1)]
    return f"Inside the 90 % bands: {parts[0]} in one half of these sweeps, {parts[1]} in the other.\n"


def figures(devices: Sequence[Device]) -> str:
    """The table, and what the bands hold in each half."""
    return f"{table(devices)}\n{halves(devices)}" if len(devices) > 1 else table(devices)


@cache
def collected() -> tuple[Device, ...]:
    """Every sweep of docs/data/drives and docs/data/drives-later."""
    return tuple(d for folder in ("drives", "drives-later") for d in read_devices(COLLECTED / folder))


@cache
def field() -> tuple[Device, ...]:
    """Every sweep of raw fio runs in ../shared/field-data; none where it is absent."""
    parents = [FIELD / "fio-plot-samples", FIELD]
    folders = [f for parent in parents if parent.is_dir() for f in sorted(parent.iterdir()) if f.is_dir()]
    return tuple(
        d for f in folders if f.parent.name == parents[0].name or f.name == "nvme-samples" for d in read_devices(f)
    )


def in_short() -> str:
    """A few lines for the README."""

    def median(use: Sequence[float], predictor: Predictor) -> str:
        return f"{share(pooled(collected(), (use,), predictor), 50)} %"

    uses = (TRIPLES[1], PAIRS[0])
    rows = [
        f"| {name} | {' | '.join(median(use, p) for use in uses)} |\n"
        for name, p in PREDICTORS.items()
        if name != "Universal Scalability Law"  # nowhere the best at the median
    ]
    bands = " | ".join(held_share(inside(collected(), (use,))) for use in uses)
    rows.append(f"| inside the 90 % bands of **qsim** | {bands} |\n")
    return (
        f"| median error of held-out throughputs, {len(collected())} sweeps of others "
        f"| from depths 1, 8, 64 | from 1, 32 |\n"
        f"|---|---:|---:|\n{''.join(rows).replace('default model', '**qsim**')}"
    )


def everything() -> str:
    """All tables."""
    there = f"\nRaw runs of others:\n\n{figures(field())}" if field() else f"\nRaw runs are not present ({FIELD}).\n"
    return f"{figures(collected())}{there}"


if __name__ == "__main__":
    given = [d for folder in sys.argv[1:] for d in read_devices(Path(folder))]
    sys.stdout.write(figures(given) if sys.argv[1:] else everything())
