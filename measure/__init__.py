"""Measuring devices: run the tools, read what they print, keep it untouched, and check it.

``load(path)`` reads whatever a tool wrote, ``audit(sweep)`` checks it against Little's law, and the
measurements themselves are in :mod:`measure.fio.sweep` and :mod:`measure.memory.probe`. Everything here is in SI units.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from measure.auditing.all_checks import audit as audit
    from measure.datasets import dataset_names as dataset_names
    from measure.datasets import load_dataset as load_dataset
    from measure.errors import DataError as DataError
    from measure.errors import MeasureError as MeasureError
    from measure.findings import Finding as Finding
    from measure.fio.request_samples import samples as samples
    from measure.formats.fio.sweep import histograms as histograms
    from measure.loading import load as load
    from measure.sweep import Provenance as Provenance
    from measure.sweep import Sweep as Sweep

_HOMES = {
    "audit": "measure.auditing.all_checks",
    "Provenance": "measure.sweep",
    "Sweep": "measure.sweep",
    "load_dataset": "measure.datasets",
    "dataset_names": "measure.datasets",
    "DataError": "measure.errors",
    "MeasureError": "measure.errors",
    "Finding": "measure.findings",
    "histograms": "measure.formats.fio.sweep",
    "samples": "measure.fio.request_samples",
    "load": "measure.loading",
}

__all__ = [
    "DataError",
    "Finding",
    "MeasureError",
    "Provenance",
    "Sweep",
    "audit",
    "dataset_names",
    "histograms",
    "load",
    "load_dataset",
    "samples",
]


def __getattr__(name: str) -> Any:
    # Importing pandas takes longer than the whole help text may, so a name's home is imported when it is first used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
