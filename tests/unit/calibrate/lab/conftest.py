"""What several unit tests of the lab ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from calibrate.lab.folder import LabFolder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[LabFolder]:
    """A lab's folder, open for the test."""
    from calibrate.lab.folder import opened

    with opened(tmp_path / "lab") as kept:
        yield kept
