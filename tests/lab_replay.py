"""The published measurement that the tests of the lab play back."""

from __future__ import annotations

REPLAY = "dataset-003-ssd-read"
