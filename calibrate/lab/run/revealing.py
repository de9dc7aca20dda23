"""What is revealed at the end: residuals of the sealed prediction, the audit, who guessed best, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calibrate.fitting.curve_fit import Fit, fit
from calibrate.lab.run.files import GUESSES, PREDICTION, REPORT, TAKEN_BACK
from calibrate.lab.run.orders import Order
from calibrate.lab.run.worker_messages import drawn_curve
from calibrate.prediction.comparison import Comparison, compare
from calibrate.report.page import write_report
from calibrate.sealing.guesses import Revealed, leaderboard, read_revealed
from calibrate.sealing.sealed_prediction import read_seal, unseen
from measure.errors import DataError
from measure.sweep import Sweep


def reveal(sweep: Sweep, directory: Path, order: Order) -> dict[str, Any]:
    """Hold everything that was sealed in ``directory`` against ``sweep``, write the report, return what to show.

    JSON-ready. Raises DataError where the points are too few, MeasureError where the report cannot be written.
    """
    sealed = read_seal(directory / PREDICTION)
    comparison = compare(sweep, fitted=sealed.fits[0])
    observed = fit(sweep, sorted({float(n) for n in sweep.points["load"]}))
    write_report([comparison], directory / REPORT, title=order.label)
    rows, why_none = _leaderboard(directory, sweep, observed)
    return {
        "verdict": comparison.verdict(),
        "curve": drawn_curve(sealed.fits[0], order),
        "knee": {"load": observed.knee.load, "low": observed.knee.low, "high": observed.knee.high},
        "residuals": _residuals(comparison),
        "audit": [{"severity": f.severity, "text": str(f)} for f in comparison.audit],
        "leaderboard": rows,
        "no_leaderboard": why_none,
    }


def _leaderboard(directory: Path, sweep: Sweep, observed: Fit) -> tuple[list[dict[str, Any]], str]:
    """The rows, or why there are none (no guess can be judged without a knee)."""
    paths = [path for path in (directory / GUESSES, directory / PREDICTION) if path.exists()]
    try:
        # The model sealed its prediction after the first points, so it is judged by the others.
        others = unseen(read_seal(directory / PREDICTION), sweep, drop=True)
        return [row.to_dict() for row in leaderboard(_standing(directory, paths), observed, others)], ""
    except DataError as error:
        return [], str(error)


def _standing(directory: Path, paths: Sequence[Path]) -> Revealed:
    """What was sealed in ``paths`` without what was taken back."""
    revealed, note = read_revealed(paths), directory / TAKEN_BACK
    gone = set(json.loads(note.read_text("utf-8"))) if note.exists() else set()
    return replace(revealed, entries=tuple(e for e in revealed.entries if e.commitment not in gone))


def _residuals(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {"load": float(load), "held_out": bool(held), "throughput_pct": float(x), "response_pct": float(r)}
        for load, held, x, r in zip(
            comparison.points.load, comparison.held_out, comparison.residual_throughput_pct,
            comparison.residual_response_pct, strict=True,
        )
    ]  # fmt: skip
