"""What supports a comparison: what other models miss on the same points."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import pandas as pd

from calibrate.prediction.comparison import Comparison
from calibrate.prediction.fit_ladder import Rung
from calibrate.report.view import FormattedTable, View

LEAST_PCT = 0.01
"""Errors below this many percent are drawn there: an exact fit has no place on a logarithmic axis."""


def ladder_view(comparison: Comparison) -> View:
    """What each model misses on the same points."""
    models = comparison.models
    in_sample = attrgetter(f"in_sample_mape_{'response' if comparison.is_open else 'throughput'}_pct")
    header = ("", "model", "calibration error", "held-out error, throughput", "response", "assumes")
    rows = (
        (
            str(m.rank),
            m.name,
            *map(_percent, (in_sample(m), m.held_out_mape_throughput_pct, m.held_out_mape_response_pct)),
            m.assumption,
        )
        for m in models
    )
    return View(
        "ladder",
        "models",
        "Other models on the same points",
        f"Ranked by mean error at the held-out points; {comparison.fit.model} was fixed before they were looked at.",
        _ladder_table(models),
        None,
        FormattedTable.of(header, rows, words=(1, 5)),
    )


def _ladder_table(models: Sequence[Rung]) -> pd.DataFrame:
    parts = ("in_sample_mape", "held_out_mape")
    kept = ("rank", *(f"{part}_{what}_pct" for part in parts for what in ("throughput", "response")), "assumption")
    return pd.DataFrame([{"model": m.name, **{name: getattr(m, name) for name in kept}} for m in models])


def _percent(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {LEAST_PCT:g} %" if value < LEAST_PCT else f"{value:.3g} %"
