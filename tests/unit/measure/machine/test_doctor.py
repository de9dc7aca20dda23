"""The doctor's list: what a measurement may need."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.machine.doctor import doctor


def test_the_doctor_says_of_what_is_missing_what_it_costs_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    parts = {p.name: p for p in doctor(tmp_path)}
    assert set(parts) == {
        "Linux",
        "fio",
        "nbdkit",
        "mlc",
        "browser",
        "cores",
        "timer",
        "huge pages",
        "io_uring",
        "numba cache",
        "free disk",
    }
    for name in ("fio", "nbdkit", "mlc", "browser"):
        assert not parts[name].present
        assert parts[name].costs
        assert parts[name].remedy
    assert all(p.detail for p in parts.values())
