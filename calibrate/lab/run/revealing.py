"""What is revealed at the end: residuals of the sealed prediction, the audit, who guessed best, and the report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calibrate.fitting.curve_fit import Fit, fit
from calibrate.lab.run.event_log import GUESSES, PREDICTION, REPORT, TAKEN_BACK
from calibrate.lab.run.orders import Order
from calibrate.lab.run.worker_messages import drawn_curve
from calibrate.prediction.comparison import Comparison, compare
from calibrate.report.page import write_report
from calibrate.sealing.guesses import MODEL, Revealed, Row, leaderboard, off_text, read_revealed
from calibrate.sealing.sealed_prediction import read_seal, unseen
from measure.errors import DataError
from measure.findings import Finding, Severity
from measure.sweep import Sweep
from measure.units import counted

MOST_NAMES = 3
_AUDIT_WORDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


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
        "outcome": outcome(rows, observed) if rows else why_none,
        "curve": drawn_curve(sealed.fits[0], order),
        "knee": {"load": observed.knee.load, "low": observed.knee.low, "high": observed.knee.high},
        "residuals": _residuals(comparison),
        "audit": [{"severity": f.severity, "text": str(f).removeprefix(f"[{f.severity}] ")} for f in comparison.audit],
        "audit_found": _audit_found(comparison.audit),
        "leaderboard": [
            {**row.to_dict(), "is_model": is_model(row), "missed": off_text(row.knee_ratio) if row.knee_ratio else ""}
            for row in rows
        ],
    }


def is_model(row: Row) -> bool:
    """Whether the row is that of the sealed prediction: nobody may take a name that begins like this."""
    return row.name.startswith(f"{MODEL} (")


def outcome(rows: Sequence[Row], observed: Fit) -> str:
    """What was guessed, what was measured, and how close the best guess and the model came."""
    load, knee, show = observed.load_type, observed.knee, observed.load_type.estimated_text

    def close(row: Row) -> str:
        return f"{show(row.knee or 0.0)} ({off_text(row.knee_ratio or 1.0)})"

    people = [row for row in rows if row.rank is not None and not is_model(row)]
    guesses = sorted(row.knee or 0.0 for row in people)
    range_text = f" ({show(knee.low, 2)} to {show(knee.high, 2)})" if knee.low and knee.high else ""
    measured = load.place(f"{show(knee.load or 0.0)}{range_text}")
    if not people:
        parts = [f"Nobody guessed. The knee was measured at {measured}."]
    else:
        ends = " to ".join(dict.fromkeys((show(guesses[0]), show(guesses[-1]))))
        count = "1 guess puts" if len(people) == 1 else f"{len(people)} guesses put"
        parts = [f"{count} the knee at {load.place(ends)}; it was measured at {measured}."]
        best = [row for row in people if row.rank == people[0].rank]
        names = [f"{row.name} with {close(row)}" for row in best[:MOST_NAMES]]
        more = [f"{len(best) - MOST_NAMES} more"] if len(best) > MOST_NAMES else []
        parts.append(f"Closest: {' and '.join(filter(None, (', '.join((names + more)[:-1]), (names + more)[-1])))}.")
    parts += [
        f"The model {row.state if row.rank is None else f'predicted {close(row)}'}." for row in rows if is_model(row)
    ]
    return " ".join(parts)


def _audit_found(findings: Sequence[Finding]) -> str:
    """How many of each kind, the worst first: ``1 warning, 2 notes``."""
    count = Counter(f.severity for f in findings)
    return ", ".join(counted(count[s], word) for s, word in _AUDIT_WORDS.items() if count[s]) or "nothing to report"


def _leaderboard(directory: Path, sweep: Sweep, observed: Fit) -> tuple[list[Row], str]:
    """The rows, or why there are none (no guess can be judged without a knee)."""
    paths = [path for path in (directory / GUESSES, directory / PREDICTION) if path.exists()]
    try:
        # The model sealed its prediction after the first points, so it is judged by the others.
        others = unseen(read_seal(directory / PREDICTION), sweep, drop=True)
        return leaderboard(_standing(directory, paths), observed, others), ""
    except DataError as error:
        return [], str(error)


def _standing(directory: Path, paths: Sequence[Path]) -> Revealed:
    revealed, note = read_revealed(paths), directory / TAKEN_BACK
    gone = set(json.loads(note.read_text("utf-8"))) if note.exists() else set()
    return replace(revealed, entries=tuple(e for e in revealed.entries if e.commitment not in gone))


def _residuals(done: Comparison) -> list[dict[str, Any]]:
    columns = (done.points.load, done.held_out, done.residual_throughput_pct, done.residual_response_pct)
    names = ("load", "held_out", "throughput_pct", "response_pct")
    return [dict(zip(names, row, strict=True)) for row in zip(*(c.tolist() for c in columns), strict=True)]
