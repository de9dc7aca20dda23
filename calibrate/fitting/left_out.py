"""Points that ``qsim knee`` leaves out of its fit, and what the other commands say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pandas as pd

from calibrate.fitting.fit import Fit, fit
from measure.formats.fio.steady_state import COLUMNS as STEADY
from measure.repeats import FEWEST_POINTS, flag_outliers
from measure.sweep import Sweep


def on_course(sweep: Sweep) -> list[float]:
    """The loads of one curve without those that are unsteady or off its course.

    A point is left out where the audit flags it against its neighbours, or where its run was not steady and the other
    points predict another throughput. The lightest load stays: it alone tells the idle latency, of which the others are
    no witness.
    """
    points = sweep.points.sort_values("load")
    loads = list(dict.fromkeys(points["load"].tolist()))
    off = set(points["load"][flag_outliers(points) == "curve"]) - {loads[0]}
    if not off:
        unsteady = (n for n in _unsteady(points) if n != loads[0])
        off = set(islice((n for n in unsteady if not _as_the_others_say(sweep, n, loads)), 1))
    kept = [n for n in loads if n not in off]
    return kept if len(kept) >= FEWEST_POINTS - 1 else loads


def _as_the_others_say(sweep: Sweep, load: float, loads: Sequence[float]) -> bool:
    """Whether the throughput at a load lies in the band that the points at the other ``loads`` predict."""
    _, low, high = fit(sweep, [n for n in loads if n != load]).predict([load]).throughput_band(0)
    points = sweep.points
    return low <= float(points["throughput_per_s"][points["load"] == load].mean()) <= high


def _unsteady(points: pd.DataFrame) -> list[float]:
    """Loads of runs that were not steady by SNIA's definition, the worst first."""
    if not set(STEADY) <= set(points):
        return []
    unsteady = points[points["steady"].eq(False)].sort_values("throughput_range", ascending=False)
    return list(dict.fromkeys(unsteady["load"].tolist()))


def with_unsteady_named(made: Fit, sweep: Sweep) -> Fit:
    """A fit in doubt, with a note that says so, where it used an unsteady point that ``qsim knee`` leaves out."""
    if made.series not in sweep.series or not _unsteady(sweep.points[sweep.points["series"] == made.series]):
        return made
    kept = on_course(sweep.select(made.series))
    off = [n for n in made.used if n not in kept]
    if not off:
        return made
    are, them = ("is", "it") if len(off) == 1 else ("are", "them")
    place = f"{made.load_type.at(*off)} {are} off the course of the other points"
    note = f"{place}, and not every run was steady; qsim knee leaves {them} out, and so does {use_of(kept)}"
    return replace(made, doubted=made.doubted or place, notes=(*made.notes, note))


def use_of(loads: Sequence[float]) -> str:
    """The option that calibrates on these loads: ``--use 1,2,4``."""
    return f"--use {','.join(f'{n:g}' for n in sorted(loads))}"
