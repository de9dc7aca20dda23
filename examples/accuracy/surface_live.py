"""``qsim surface DIRECTORY --budget 60s`` against the full grid of the same drive: a table of explanation-surface.md.

    python surface_live.py FOLDER DIRECTORY [--budget 60] [--rounds 1]    measure the drive of DIRECTORY, then the table
    python surface_live.py FOLDER                                         the table of what FOLDER holds

A round is a run of the whole grid (4 block sizes, 5 shares of reads, 7 depths: 140 places of 1.4 s after a ramp of
0.3 s, about 4 minutes), the surface that measures itself, and the grid once more. FOLDER/grids.csv keeps each grid's
throughputs and FOLDER/surfaces.csv what was predicted after each group of places, by the surface and, from the same
points, by the baselines. Errors are those at places that the surface had not measured, against both grids; the last row
is one grid against the other. Where FOLDER holds two rounds or more, a second table explores each round's grids, as if
they were the drive, for as long as 40 places take, and is judged by the other rounds. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate.surface.explored import RAMP_S, RUNTIME_S, ExploredSurface, SurfaceRuns, explore, usual_places
from calibrate.surface.places import SurfacePoints, surface_points
from calibrate.surface.surface_comparison import SURFACE_BASELINES
from measure.sweep import Sweep

PLACE = ["block_bytes", "read_fraction", "outstanding", "jobs"]
RIVALS = {"plain Gaussian process": "gaussian", "bilinear in logarithms": "bilinear"}
TOGETHER = 35
"""Places of the grid that one fio process measures."""
REPLAYED = 44
"""Runs of a grid that is explored: 40 places, and every second corner twice."""
EACH_S = RUNTIME_S + RAMP_S


def measured_grid(directory: Path) -> pd.DataFrame:
    """The throughput at every place, measured in one random order."""
    places = usual_places()
    with tempfile.TemporaryDirectory() as store:
        run = SurfaceRuns(str(directory), places, Path(store, "grid"), {})
        try:
            for some in np.array_split(np.random.default_rng(1).permutation(len(places)), len(places) // TOGETHER):
                points = run.measure(some)
        finally:
            run.tidy()
    rows = points.places.as_rows()
    return pd.DataFrame(rows, columns=PLACE).assign(throughput_per_s=points.throughput_per_s)


def measured_surface(directory: Path, budget_s: float) -> pd.DataFrame:
    """What is predicted at every place after each group, until the time is spent."""
    places, groups = usual_places(), []
    with tempfile.TemporaryDirectory() as store:
        run = SurfaceRuns(str(directory), places, Path(store, "surface"), {})
        try:
            explore(run.measure, places, budget_s, EACH_S, on_group=lambda found: groups.append(predicted(found)))
        finally:
            run.tidy()
    return together(groups)


def together(groups: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The predictions after each group, with its number."""
    return pd.concat(groups, keys=range(len(groups)), names=["group"]).reset_index("group")


def predicted(found: ExploredSurface) -> pd.DataFrame:
    """What the surface and the baselines say of every place."""
    known, p = found.points, found.predicted
    rivals = {
        RIVALS[name]: rival(known.places, known.throughput_per_s, p.places) for name, rival in SURFACE_BASELINES.items()
    }
    bands = {"surface": p.throughput_per_s, "low": p.throughput_low_per_s, "high": p.throughput_high_per_s}
    return pd.DataFrame(p.places.as_rows(), columns=PLACE).assign(known=found.known, **bands, **rivals)


def explored(grids: pd.DataFrame) -> pd.DataFrame:
    """The same of a drive that gives what both grids of a round hold: the second where a place is measured again."""
    places, groups, chosen = usual_places(), [], []
    runs = {run: pd.DataFrame(places.as_rows(), columns=PLACE).merge(rows) for run, rows in grids.groupby("run")}

    def measure(more: Sequence[int]) -> SurfacePoints:
        rows = []
        chosen.extend(map(int, more))
        for i, place in enumerate(chosen):
            rows.append(runs["after" if place in chosen[:i] else "before"].iloc[[place]])
        points = pd.concat(rows).rename(columns={"outstanding": "load"}).assign(series="grid", pattern="random")
        points["latency_s"] = points["load"] / points["throughput_per_s"]
        points["repeat"] = points.groupby([*PLACE[:2], "load"]).cumcount()
        return surface_points(Sweep(points.drop(columns=["run", "round"])))

    def clock() -> float:
        return EACH_S * len(chosen)

    explore(
        measure, places, EACH_S * REPLAYED, EACH_S, on_group=lambda found: groups.append(predicted(found)), clock=clock
    )
    return together(groups)


def measure(folder: Path, directory: Path, budget_s: float, rounds: int) -> None:
    """Add rounds to what ``folder`` holds."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "grids.csv"
    first = int(pd.read_csv(kept)["round"].max()) + 1 if kept.exists() else 0
    for turn in range(first, first + rounds):
        parts = [
            ("grids", measured_grid(directory).assign(run="before")),
            ("surfaces", measured_surface(directory, budget_s)),
            ("grids", measured_grid(directory).assign(run="after")),
        ]
        for name, rows in parts:
            path = folder / f"{name}.csv"
            rows.assign(round=turn).to_csv(path, mode="a", header=not path.exists(), index=False)


def cell(ratios: np.ndarray) -> str:
    """Median and ninth decile of the error in percent."""
    missed = 100 * np.abs(ratios - 1)
    return f"{np.median(missed):.0f} / {np.percentile(missed, 90):.0f}"


def table(groups: pd.DataFrame, grids: pd.DataFrame) -> str:
    """A row for each number of measured places, and the errors where ``grids`` have another measurement."""
    held_out = groups[~groups["known"]].merge(grids, on=["round", *PLACE])
    columns = {"qsim surface": "surface", **RIVALS}
    text = f"| places measured | {' | '.join(columns)} | 90 % bands hold |\n|---:|{'---:|' * (len(columns) + 1)}\n"
    counts = groups.groupby(["round", "group"])["known"].sum().groupby("group").median()
    for group, rows in held_out.groupby("group"):
        x = rows["throughput_per_s"].to_numpy()
        cells = [cell(rows[column].to_numpy() / x) for column in columns.values()]
        held = 100 * ((rows["low"] <= x) & (x <= rows["high"])).mean()
        text += f"| {counts[group]:.0f} of {len(usual_places())} | {' | '.join(cells)} | {held:.0f} % |\n"
    return text


def tables(folder: Path) -> str:
    """What was measured live, the grids against each other, and the grids explored."""
    grids, groups = pd.read_csv(folder / "grids.csv"), pd.read_csv(folder / "surfaces.csv")
    runs = grids.pivot_table(index=["round", *PLACE], columns="run", values="throughput_per_s")
    again = cell((runs["before"] / runs["after"]).to_numpy())
    text = f"{table(groups, grids)}| all, the other grid itself | {again} | | | |\n"
    rounds = sorted(set(grids["round"]))
    if len(rounds) < 2:
        return text
    replays = [explored(grids[grids["round"] == one]).assign(round=one) for one in rounds]
    judges = [grids[grids["round"] != one].assign(round=one) for one in rounds]
    one, other = (runs.xs(r, level="round").stack() for r in rounds[:2])
    apart = cell((one / other).to_numpy())
    return f"{text}\n{table(pd.concat(replays), pd.concat(judges))}| all, the other round itself | {apart} | | | |\n"


def main() -> None:
    """Measure what is asked for, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    if asked.directory is not None:
        measure(asked.folder, asked.directory, asked.budget, asked.rounds)
    print(tables(asked.folder), end="")


if __name__ == "__main__":
    main()
