"""Where the tests find their data."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden" / "data"
KNOWN_ANSWERS = TESTS / "data" / "known_answers.json"
