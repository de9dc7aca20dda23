"""Tails in a sealed prediction: written without what was observed, and held against what is measured afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from calibrate.service.sources import COLUMNS
from calibrate.service.times import of_histogram
from calibrate.tails.results import QUANTILES, TailPoint, Tails
from calibrate.tails.structures import Structure
from measure.sweep import Sweep, histograms

_PREDICTED = ("predicted", "low", "high")


def tails_to_dict(tails: Tails) -> dict[str, Any]:
    """JSON-ready, SI units; nothing in it was observed."""
    return {
        "points": [{"load": p.load, **{name: dict(getattr(p, name)) for name in _PREDICTED}} for p in tails.points],
        "structures": tails.structures_to_list(),
        "trust": tails.trust,
    }


def tails_from_dict(document: Mapping[str, Any]) -> Tails:
    """The inverse of ``tails_to_dict``. Raises KeyError, TypeError or ValueError where a part is missing or invalid."""
    points = tuple(
        TailPoint(float(p["load"]), True, {}, *({q: float(p[name][q]) for q in QUANTILES} for name in _PREDICTED))
        for p in document["points"]
    )
    structures = tuple(
        (Structure(int(s["servers"]), s["queues"], float(s["delay_s"])), float(s["weight"]))
        for s in document["structures"]
    )
    if not structures:
        raise ValueError("the tails name no structure")
    return Tails(points, structures, float(document["trust"]))


def tails_against(sealed: Tails, sweep: Sweep, series: str) -> Tails | None:
    """The sealed tails at the depths at which ``series`` of ``sweep`` has percentiles; None where it has none.

    Observed are the histograms, repeats together, else the percentiles of the table (means over repeats).

    >>> from calibrate import predict_tails
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> import numpy as np
    >>> from measure.formats.fio.latency_bins import Histogram
    >>> bins = np.linspace(60e-6, 140e-6, 9)
    >>> alone = Histogram(bins[:-1], bins[1:], np.array([2, 8, 20, 30, 20, 10, 6, 4]), "lat")
    >>> tails = predict_tails({1: alone}, {1: 97e-6, 16: 400e-6}, [1, 16], customers=2000)
    >>> print(tails_against(tails, sweep, "4 KiB read"))  # a published table has no histograms
    None
    """
    observed = _observed(sweep, series)
    points = tuple(replace(p, observed=observed[p.load]) for p in sealed.points if observed.get(p.load))
    return replace(sealed, points=points) if points else None


def _observed(sweep: Sweep, series: str) -> dict[float, dict[str, float]]:
    rows = sweep.points[sweep.points["series"] == series]
    found = {float(load): _of_table(rows[rows["load"] == load]) for load in rows["load"].unique()}
    by_depth: dict[float, list[Any]] = {}
    for (name, load, _), one in histograms(sweep).items():
        if name == series and load in found:
            by_depth.setdefault(load, []).append(one)
    for load, several in by_depth.items():
        times = of_histogram(several)
        found[load] = {name: times.quantile(share) for name, share in QUANTILES.items()}
    return found


def _of_table(rows: pd.DataFrame) -> dict[str, float]:
    names = {share: name for name, share in QUANTILES.items()}
    means = {names[share]: float(rows[column].mean()) for column, share in COLUMNS.items() if column in rows}
    return {name: mean for name, mean in means.items() if math.isfinite(mean)}
