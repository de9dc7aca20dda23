"""The bridge between theory and hardware: fit device models to sweeps, predict, find the knee, compare, report.

>>> from calibrate import from_datasheet, predict
>>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
>>> round(drive.knee.load)
48
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrate.adapting import AdaptiveResult as AdaptiveResult
    from calibrate.adapting import adaptive as adaptive
    from calibrate.comparison import Comparison as Comparison
    from calibrate.comparison import compare as compare
    from calibrate.comparison import compare_all as compare_all
    from calibrate.fitting import Fit as Fit
    from calibrate.fitting import fit as fit
    from calibrate.fitting import from_datasheet as from_datasheet
    from calibrate.knee import Knee as Knee
    from calibrate.prediction import Curve as Curve
    from calibrate.prediction import predict as predict
    from calibrate.probe_depths import NextDepth as NextDepth
    from calibrate.probe_depths import next_depth as next_depth

_HOMES = {
    "AdaptiveResult": "calibrate.adapting",
    "adaptive": "calibrate.adapting",
    "Comparison": "calibrate.comparison",
    "compare": "calibrate.comparison",
    "compare_all": "calibrate.comparison",
    "Fit": "calibrate.fitting",
    "fit": "calibrate.fitting",
    "from_datasheet": "calibrate.fitting",
    "Knee": "calibrate.knee",
    "Curve": "calibrate.prediction",
    "predict": "calibrate.prediction",
    "NextDepth": "calibrate.probe_depths",
    "next_depth": "calibrate.probe_depths",
}

__all__ = [
    "AdaptiveResult",
    "Comparison",
    "Curve",
    "Fit",
    "Knee",
    "NextDepth",
    "adaptive",
    "compare",
    "compare_all",
    "fit",
    "from_datasheet",
    "next_depth",
    "predict",
]


def __getattr__(name: str) -> Any:
    # scipy and pandas take longer to import than the whole help text may.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
