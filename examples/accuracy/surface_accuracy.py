"""How well surfaces and lines over block sizes are predicted: the table of explanation-surface.md.

python surface_accuracy.py              the table of what comes with qsim
python surface_accuracy.py DATA ...     the same rows for your own sweeps, as measure.load reads them

Cells are means over devices of the median error / the ninth decile, in percent, and the share inside 90 % bands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate.models.curves import DECLINE_FROM
from calibrate.surface import (
    Places,
    SurfaceComparison,
    SurfacePoints,
    compare_surface,
    corners,
    fit_surface,
    surface_points,
)
from calibrate.surface.places import conditions
from calibrate.surface.surface_comparison import SURFACE_BASELINES, plain_gaussian_process
from measure import load, load_dataset
from measure.errors import DataError
from measure.sweep import Sweep

ASKED = (0, 1, 2, 4)
DATA = Path(__file__).resolve().parents[2] / "docs" / "data"
HEAD = "| | corners | 1 more | 2 more | 4 more | rises | floor |\n|---|---:|---:|---:|---:|---:|---:|\n"
OURS = "qsim surface"
RISE = 1e-3

Devices = dict[str, list[SurfacePoints]]
"""The surfaces, or lines, of each device."""


def plain_line(places: Places, throughput: np.ndarray, at: Places) -> np.ndarray:
    """N / X = alpha + beta b by least squares of relative errors, neither negative."""
    from scipy.optimize import nnls

    times = places.outstanding / throughput
    columns = np.column_stack([np.ones(len(times)), places.block_bytes]) / times[:, None]
    scale = columns.max(axis=0)
    alpha, beta = nnls(columns / scale, np.ones(len(times)))[0] / scale
    return np.asarray(at.outstanding / (alpha + beta * at.block_bytes))


def sweeps(data: Sequence[str]) -> Iterator[tuple[str, Sweep]]:
    """(name, sweep) of DATA, or of the datasets; the three tables of 004 are one drive, so one surface."""
    for path in data:
        yield path.rstrip("/").rpartition("/")[2], load(path)
    if data:
        return
    for name in ("000-ssd", "001-ssd", "003-ssd-read"):
        yield name, load_dataset(name)
    parts = [load_dataset(f"004-ssd-{part}") for part in ("depth", "block-size", "mix")]
    points = pd.concat([p.points for p in parts], ignore_index=True)
    points["read_fraction"] = points["read_fraction"].fillna(1.0)  # at 16 KiB they agree with the reads of the third
    yield "004-ssd", replace(parts[0], points=points, name="004-ssd")


def surfaces(data: Sequence[str]) -> Iterator[tuple[str, SurfacePoints]]:
    """Those that are surfaces, each pattern and each size of a file one of its own."""
    for name, sweep in sweeps(data):
        for pattern in sorted(set(conditions(sweep))):
            try:
                points = surface_points(sweep, pattern)
            except DataError as error:
                sys.stderr.write(f"left out: {error}\n")
                continue
            if len(points) > (least := int(corners(points.places).sum()) + max(ASKED)):
                yield name, points
            else:
                sys.stderr.write(f"left out: {name}: {len(points)} points, and to judge takes more than {least}\n")


def lines(half: str) -> Devices:
    """The sweeps over three block sizes or more in docs/data/blocks of one half, ``tuned`` or ``unseen``."""
    found: Devices = {}
    for path in sorted((DATA / "blocks").glob(f"{half}-*/*.csv")):
        for _, group in pd.read_csv(path).groupby(["series", "iodepth"], sort=False):
            mean = group.groupby("block_size_bytes")[["iops", "iodepth", "read_percent"]].mean()
            if len(mean) > 2:
                rate, depth = mean["iops"].to_numpy(), mean["iodepth"].to_numpy(float)
                ones = np.ones(len(mean))
                places = Places(mean.index.to_numpy(float), mean["read_percent"].to_numpy() / 100, depth, ones)
                points = SurfacePoints(places, rate, depth / rate, ones, np.nan * ones, source=path.stem)
                found.setdefault(path.stem, []).append(points)
    return found


def grids() -> Devices:
    """The devices in docs/data/blocks that were measured at several depths: block size x depth, each pattern apart."""
    found: Devices = {}
    for path in sorted((DATA / "blocks").glob("*/*.csv")):
        for pattern, group in pd.read_csv(path).fillna({"pattern": ""}).groupby("pattern"):
            if group["iodepth"].nunique() > 1:
                mean = group.groupby(["block_size_bytes", "read_percent", "iodepth"])["iops"].mean().reset_index()
                rate, depth, ones = mean["iops"].to_numpy(), mean["iodepth"].to_numpy(float), np.ones(len(mean))
                share = mean["read_percent"].to_numpy() / 100
                places = Places(mean["block_size_bytes"].to_numpy(float), share, depth, ones)
                points = SurfacePoints(places, rate, depth / rate, ones, np.nan * ones, str(pattern), path.stem)
                found.setdefault(path.stem, []).append(points)
    return found


def reads_and_writes() -> Devices:
    """The drives of docs/data that were read and written: surfaces over the share of reads and the depth."""
    found: Devices = {}
    tables = {path.stem: load(path) for path in sorted(DATA.glob("drives*/*.csv"))}
    for name in [n.removesuffix("read") for n in tables if n.endswith("read") and f"{n[:-4]}write" in tables]:
        both = [tables[name + way].points.assign(read_fraction=share) for way, share in (("read", 1.0), ("write", 0.0))]
        points = pd.concat(both, ignore_index=True)
        found[name] = [surface_points(replace(tables[name + "read"], points=points, name=name))]
    return found


def rows(label: str, devices: Devices, *, line: bool = False) -> str:
    """A row for qsim, with the steps in which its rms error rises, and one for each baseline, from the same points."""
    compared = {name: [_compared(p, line) for p in each] for name, each in devices.items()}
    rivals = dict(SURFACE_BASELINES) | ({"plain line": plain_line} if line else {})
    steps = np.concatenate([np.diff([_rms(c) for c in each]) for of in compared.values() for each in of])
    last = dict(zip((OURS, "plain Gaussian process"), floor(devices), strict=True))
    text = ""
    for name, rival in {OURS: None, **rivals}.items():
        cells = []
        for k in range(len(ASKED)):
            found = [_missed([c[k] for c in each if c[k].judged.any()], rival) for each in compared.values()]
            known = np.array([f for f in found if f is not None])
            inside = f", {known[:, 2].mean():.0f} %" if rival is None else ""
            cells.append(f"{known[:, 0].mean():.1f} / {known[:, 1].mean():.0f}{inside}")
        rises = f"{(steps > RISE).sum()} of {len(steps)}" if rival is None else ""
        text += f"| {label}: {name} | {' | '.join(cells)} | {rises} | {last.get(name, '')} |\n"
    return text


def floor(devices: Devices) -> tuple[str, str]:
    """What is missed of a point that is no corner where all others are known: by the surface, by the plain process.

    Of the surfaces that have a point to judge where two were asked for.
    """
    found = []
    for each in devices.values():
        errors = []
        for surface in (s for s in each if len(s) > int(corners(s.places).sum()) + 2):
            points = surface.at(surface.places.outstanding < DECLINE_FROM)
            for i in np.flatnonzero(~corners(points.places)):
                others = np.arange(len(points)) != i
                known, one = points.at(others), points.at(~others)
                told = fit_surface(points, others).predict(one.places).throughput_per_s
                plain = plain_gaussian_process(known.places, known.throughput_per_s, one.places)
                errors.append(np.abs([told, plain] / one.throughput_per_s - 1)[:, 0])
        if errors:
            found.append(100 * np.median(errors, axis=0))
    ours, plain = np.mean(found, axis=0)
    return f"{ours:.1f}", f"{plain:.1f}"


def table(data: Sequence[str] = ()) -> str:
    """The rows of all surfaces and, without DATA, of those in docs/data and of both halves of its block sizes."""
    found: Devices = {}
    for name, points in surfaces(data):
        found.setdefault(name, []).append(points)
    if not found:
        raise SystemExit("no surface has enough points; measure more block sizes, shares of reads or depths")
    text = HEAD + rows(f"{len(found)} drives", found)
    if not data:
        others = {"reads and writes, {} drives": reads_and_writes(), "block size x depth, {} devices": grids()}
        for label, devices in others.items():
            text += rows(label.format(len(devices)), devices)
            found |= devices
        text += rows(f"all these surfaces, {len(found)} devices", found)
    for half, label in (("tuned", "block sizes"), ("unseen", "block sizes, unseen")) if not data else ():
        devices = lines(half)
        text += rows(f"{label}, {len(devices)} devices", devices, line=True)
    return text


def _compared(points: SurfacePoints, line: bool) -> list[SurfaceComparison]:
    sizes = points.places.values("block_bytes")
    use = {"block_bytes": [float(sizes[0]), float(sizes[-1])]} if line else None
    return [compare_surface(points, use, ask=k) for k in ASKED]


def _missed(compared: list[SurfaceComparison], rival: object) -> tuple[float, float, float] | None:
    """Median and ninth decile of the error over the judged points, in percent, and the share inside the bands."""
    if not compared:
        return None
    errors = []
    for c in compared:
        at, known = c.points.at(c.judged), c.points.at(c.used)
        x = c.predicted.throughput_per_s[c.judged]
        if callable(rival):
            x = rival(known.places, known.throughput_per_s, at.places)
        errors.append(100 * np.abs(x / at.throughput_per_s - 1))
    pooled, inside = np.concatenate(errors), np.concatenate([c.inside[c.judged] for c in compared])
    return float(np.median(pooled)), float(np.percentile(pooled, 90)), float(100 * inside.mean())


def _rms(compared: SurfaceComparison) -> float:
    """Of the logarithm of the error over all points below the depths that are not judged; 0 where measured."""
    missed = np.log1p(compared.error_pct / 100) * ~compared.used
    return float(np.sqrt(np.mean(missed[compared.judged | compared.used] ** 2)))


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1:]))
