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
    from calibrate.bootstrapped_knees import bootstrapped as bootstrapped
    from calibrate.comparison import Comparison as Comparison
    from calibrate.comparison import compare as compare
    from calibrate.comparison import compare_all as compare_all
    from calibrate.doubts import doubts_about as doubts_about
    from calibrate.fitting import Fit as Fit
    from calibrate.fitting import fit as fit
    from calibrate.fitting import from_datasheet as from_datasheet
    from calibrate.guesses import Guess as Guess
    from calibrate.guesses import add_guess as add_guess
    from calibrate.guesses import leaderboard as leaderboard
    from calibrate.guesses import read_revealed as read_revealed
    from calibrate.knee import Knee as Knee
    from calibrate.knees import NamedKnee as NamedKnee
    from calibrate.knees import named_knees as named_knees
    from calibrate.next.load import NextLoad as NextLoad
    from calibrate.next.load import next_load as next_load
    from calibrate.open_queue import Waiting as Waiting
    from calibrate.open_queue import waiting as waiting
    from calibrate.origin import with_origin as with_origin
    from calibrate.points import Points as Points
    from calibrate.points import points_of as points_of
    from calibrate.prediction import Curve as Curve
    from calibrate.prediction import predict as predict
    from calibrate.profiles import Profile as Profile
    from calibrate.profiles import profile_parameters as profile_parameters
    from calibrate.ratios import Difference as Difference
    from calibrate.ratios import Ratio as Ratio
    from calibrate.ratios import differences as differences
    from calibrate.ratios import ratio_of_curves as ratio_of_curves
    from calibrate.sealed_tails import tails_against as tails_against
    from calibrate.sealing import Seal as Seal
    from calibrate.sealing import read_seal as read_seal
    from calibrate.sealing import seal as seal
    from calibrate.sealing import unseen as unseen
    from calibrate.service import Goodness as Goodness
    from calibrate.service import ServiceFit as ServiceFit
    from calibrate.service import Times as Times
    from calibrate.service import fit_service as fit_service
    from calibrate.service import goodness as goodness
    from calibrate.service import of_histogram as of_histogram
    from calibrate.service import of_percentiles as of_percentiles
    from calibrate.service import of_samples as of_samples
    from calibrate.service.sources import service_times as service_times
    from calibrate.tail_objective import tail_knee as tail_knee
    from calibrate.tails import TailPoint as TailPoint
    from calibrate.tails import Tails as Tails
    from calibrate.tails import fitted_tails as fitted_tails
    from calibrate.tails import predict_tails as predict_tails
    from calibrate.tails import tails_of as tails_of
    from calibrate.whatif import Scenario as Scenario
    from calibrate.whatif import WhatIf as WhatIf
    from calibrate.whatif import what_if as what_if

_HOMES = {
    "AdaptiveResult": "calibrate.adapting",
    "adaptive": "calibrate.adapting",
    "Comparison": "calibrate.comparison",
    "compare": "calibrate.comparison",
    "compare_all": "calibrate.comparison",
    "Difference": "calibrate.ratios",
    "Ratio": "calibrate.ratios",
    "differences": "calibrate.ratios",
    "ratio_of_curves": "calibrate.ratios",
    "doubts_about": "calibrate.doubts",
    "Fit": "calibrate.fitting",
    "fit": "calibrate.fitting",
    "from_datasheet": "calibrate.fitting",
    "Guess": "calibrate.guesses",
    "add_guess": "calibrate.guesses",
    "leaderboard": "calibrate.guesses",
    "read_revealed": "calibrate.guesses",
    "Knee": "calibrate.knee",
    "NamedKnee": "calibrate.knees",
    "bootstrapped": "calibrate.bootstrapped_knees",
    "named_knees": "calibrate.knees",
    "NextLoad": "calibrate.next.load",
    "next_load": "calibrate.next.load",
    "Waiting": "calibrate.open_queue",
    "waiting": "calibrate.open_queue",
    "Points": "calibrate.points",
    "points_of": "calibrate.points",
    "Curve": "calibrate.prediction",
    "predict": "calibrate.prediction",
    "Profile": "calibrate.profiles",
    "profile_parameters": "calibrate.profiles",
    "tails_against": "calibrate.sealed_tails",
    "Seal": "calibrate.sealing",
    "read_seal": "calibrate.sealing",
    "seal": "calibrate.sealing",
    "unseen": "calibrate.sealing",
    "with_origin": "calibrate.origin",
    "Goodness": "calibrate.service",
    "ServiceFit": "calibrate.service",
    "Times": "calibrate.service",
    "fit_service": "calibrate.service",
    "goodness": "calibrate.service",
    "of_histogram": "calibrate.service",
    "of_percentiles": "calibrate.service",
    "of_samples": "calibrate.service",
    "service_times": "calibrate.service.sources",
    "tail_knee": "calibrate.tail_objective",
    "TailPoint": "calibrate.tails",
    "Tails": "calibrate.tails",
    "fitted_tails": "calibrate.tails",
    "predict_tails": "calibrate.tails",
    "tails_of": "calibrate.tails",
    "Scenario": "calibrate.whatif",
    "WhatIf": "calibrate.whatif",
    "what_if": "calibrate.whatif",
}

__all__ = [
    "AdaptiveResult",
    "Comparison",
    "Curve",
    "Fit",
    "Goodness",
    "Guess",
    "Knee",
    "NamedKnee",
    "NextLoad",
    "Points",
    "Profile",
    "Scenario",
    "Seal",
    "ServiceFit",
    "TailPoint",
    "Tails",
    "Times",
    "Waiting",
    "WhatIf",
    "adaptive",
    "add_guess",
    "bootstrapped",
    "compare",
    "compare_all",
    "doubts_about",
    "fit",
    "fit_service",
    "fitted_tails",
    "from_datasheet",
    "goodness",
    "leaderboard",
    "named_knees",
    "next_load",
    "of_histogram",
    "of_percentiles",
    "of_samples",
    "points_of",
    "predict",
    "predict_tails",
    "profile_parameters",
    "read_revealed",
    "read_seal",
    "seal",
    "service_times",
    "tail_knee",
    "tails_against",
    "tails_of",
    "unseen",
    "waiting",
    "what_if",
    "with_origin",
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
