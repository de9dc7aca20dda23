"""The files of a run, in its directory."""

from __future__ import annotations

ORDER = "order.json"
EVENTS = "events.jsonl"
TOLD = "told.json"
SWEEP = "sweep"
GUESSES = "guesses.json"
TAKEN_BACK = "taken_back.json"
PREDICTION = "prediction.json"
RESULT = "result.json"
REPORT = "report.html"
