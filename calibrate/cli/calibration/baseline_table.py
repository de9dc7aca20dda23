"""The tables of ``qsim compare --baselines``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrate.cli.console import say, table

if TYPE_CHECKING:
    from calibrate import Comparison


def say_baselines(done: Sequence[Comparison]) -> None:
    """A table for each curve, on stdout."""
    for comparison in done:
        curve = f"{comparison.series}: " if len(done) > 1 else ""
        say(f"\n\n{curve}{baseline_table(comparison)}")


def baseline_table(comparison: Comparison) -> str:
    """What the model and each baseline miss on the same held-out points: median and p90 in percent, a row each."""
    if not comparison.baselines:
        return "no baselines: they are calibrated on points of these data, and judged by points held out of them"
    rows = [
        (one.name, _percent(one.throughput_median_pct), _percent(one.throughput_p90_pct),
         _percent(one.response_median_pct), _percent(one.response_p90_pct), one.why)
        for one in (comparison.model_error, *comparison.baselines)
    ]  # fmt: skip
    count = int(comparison.held_out.sum())
    missed = f"missed at {count} held-out point{'s' if count > 1 else ''}"
    header = (missed, "throughput, median", "p90", "response, median", "p90", "")
    shown = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    left = [header[i] in (missed, "") for i in shown]
    return table([header[i] for i in shown], [[row[i] for i in shown] for row in rows], left)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"
