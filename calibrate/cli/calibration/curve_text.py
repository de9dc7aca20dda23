"""A predicted curve as a table: loads, throughputs and bandwidths each in the unit that people measure them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.cli.console import table
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Fit, Prediction


def curve_text(fit: Fit, curve: Prediction) -> str:
    """What ``fit`` predicts; of a memory a bandwidth, as it was measured, of rates each with its prefix."""
    if fit.load_type.is_closed:
        return str(curve)
    from calibrate.load_text import load_text, throughput_text

    show, band = throughput_text(fit.load_kind), f"[{100 * curve.level:g} % band]"
    rate = fit.load_type.rate_name
    rows = [
        (load_text(fit.load_kind, row["load"]), show(row["throughput_per_s"]),
         f"[{show(row['throughput_low_per_s'])}, {show(row['throughput_high_per_s'])}]",
         format_duration(row["response_time_s"]),
         f"[{format_duration(row['response_time_low_s'])}, {format_duration(row['response_time_high_s'])}]")
        for row in curve.to_dicts()
    ]  # fmt: skip
    text = table((curve.load_name, rate, band, "response", band), rows, left=0)
    return "\n".join([text, *(f"note: {n}" for n in curve.notes)])
