"""The closed device model of a data sheet, before any run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrate.curve_models import SHARPNESS_LOG_SD, SHARPNESS_MEDIAN, PNorm
from calibrate.estimates import LEVEL, estimates
from calibrate.fitted import KEPT_DRAWS, Fit
from calibrate.posterior import Array, balanced

BEFORE = "before any measurement: two points of a run (depth 1 and 32) replace these assumptions"
SOFT = (
    "depth 1 comes out a little above the sheet's latency: p is not known, and the softer the knee, the earlier the "
    "curve leaves its asymptote"
)


def _lone_latency(model: PNorm, draws: Array) -> float:
    """The median response time of a lone request, in seconds."""
    return float(np.median(1 / model.throughput(draws, np.ones(1))))


def from_datasheet(
    idle_latency: float,
    peak_iops: float,
    *,
    sharpness: float = SHARPNESS_MEDIAN,
    tolerance: float = 0.1,
    level: float = LEVEL,
    seed: int = 0,
) -> Fit:
    """The closed device model before any run: ``idle_latency`` in seconds and ``peak_iops`` in 1/second.

    Nothing is measured, so the bands say only what is assumed: the sheet's two figures to within ``tolerance``
    (relative standard deviation), and a knee sharpness around ``sharpness`` as uncertain as it is over public
    devices. Raises ValueError for a figure that is not positive.
    """
    for name, value in (("idle_latency", idle_latency), ("peak_iops", peak_iops), ("sharpness", sharpness)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, not {value!r}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in 0 <= tolerance < 1, not {tolerance!r}")
    if idle_latency * peak_iops < 1:
        raise ValueError(
            f"idle_latency x peak_iops = {idle_latency * peak_iops:.3g} outstanding requests, less than one: a device "
            "that answers in that time can do more than that rate; check the units (seconds, requests a second)"
        )
    rng = np.random.default_rng(seed)
    model = PNorm()
    mode = np.array([idle_latency * peak_iops, peak_iops, sharpness])
    scatter = balanced(rng, KEPT_DRAWS // 2, 4)
    factors = np.exp(scatter[:, :3] * [tolerance, tolerance, SHARPNESS_LOG_SD])
    peaks, crossings = peak_iops * factors[:, 1], idle_latency * peak_iops * factors[:, 0] * factors[:, 1]
    draws = np.column_stack([np.maximum(crossings, 1.0), peaks, sharpness * factors[:, 2]])
    told = estimates(model, draws, {"p": SHARPNESS_LOG_SD}, level)
    sheet = f"from the data sheet, assumed right to {100 * tolerance:g} %"
    return Fit(
        model=model.name, assumption=model.assumption, load_kind="queue_depth", load_unit="requests",
        series="data sheet", used=(), used_throughput_per_s=(), used_noise=(),
        used_response_s=(), used_response_noise=(),
        parameters={
            name: replace(e, note="assumed, not measured" if name == "p" else sheet, identified=name != "p")
            for name, e in told.items()
        },
        mode=mode, draws=draws,
        error_draws=model.error_prior.median * np.exp(model.error_prior.log_sd * scatter[:, 3]),
        level=level,
        notes=(BEFORE, SOFT) if _lone_latency(model, draws) > 1.005 * idle_latency else (BEFORE,),
        source="data sheet",
    )  # fmt: skip
