"""What is revealed at the end: the answer that ranks the guesses, the model's residuals, the audit and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibrate.lab.run.duel import judge, predicted_load
from calibrate.lab.run.event_log import PREDICTION, REPORT
from calibrate.lab.run.orders import Order
from calibrate.prediction.comparison import Comparison, compare
from calibrate.report.page import write_report
from calibrate.sealing.sealed_prediction import read_seal
from measure.findings import Finding, Severity
from measure.sweep import Sweep
from measure.units import counted

_AUDIT_WORDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def reveal(sweep: Sweep, directory: Path, order: Order) -> dict[str, Any]:
    """Compare the sealed prediction with ``sweep``, write the report, and return what the page shows, JSON-ready.

    Raises DataError where there are too few points, MeasureError where the report cannot be written.
    """
    sealed = read_seal(directory / PREDICTION).fits[0]
    comparison = compare(sweep, fitted=sealed)
    write_report([comparison], directory / REPORT, title=order.label)
    return {
        "verdict": comparison.verdict(),
        "judged": judge(order, sweep, sealed.used).to_dict(),
        "model": predicted_load(order, sealed),
        "residuals": _residuals(comparison),
        "audit": [{"severity": f.severity, "text": str(f).removeprefix(f"[{f.severity}] ")} for f in comparison.audit],
        "audit_found": _audit_found(comparison.audit),
    }


def _audit_found(findings: Sequence[Finding]) -> str:
    """How many of each kind, the worst first: ``1 warning, 2 notes``."""
    count = Counter(f.severity for f in findings)
    return ", ".join(counted(count[s], word) for s, word in _AUDIT_WORDS.items() if count[s]) or "nothing to report"


def _residuals(done: Comparison) -> list[dict[str, Any]]:
    columns = (done.points.load, done.held_out, done.residual_throughput_pct, done.residual_response_pct)
    names = ("load", "held_out", "throughput_pct", "response_pct")
    return [dict(zip(names, row, strict=True)) for row in zip(*(c.tolist() for c in columns), strict=True)]
