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
    from calibrate.fitting.curve_fit import Fit as Fit
    from calibrate.fitting.curve_fit import fit as fit
    from calibrate.fitting.curve_fit import from_datasheet as from_datasheet
    from calibrate.fitting.fit_warnings import doubts_about as doubts_about
    from calibrate.fitting.origin import with_origin as with_origin
    from calibrate.fitting.predicted_curve import Prediction as Prediction
    from calibrate.fitting.predicted_curve import predict as predict
    from calibrate.knees.definitions import NamedKnee as NamedKnee
    from calibrate.knees.definitions import named_knees as named_knees
    from calibrate.knees.knee import Knee as Knee
    from calibrate.next.adaptive_sweep import AdaptiveResult as AdaptiveResult
    from calibrate.next.adaptive_sweep import adaptive as adaptive
    from calibrate.next.load import NextLoad as NextLoad
    from calibrate.next.load import next_load as next_load
    from calibrate.points import Points as Points
    from calibrate.points import points_of as points_of
    from calibrate.prediction.bootstrapped_knees import bootstrapped as bootstrapped
    from calibrate.prediction.comparison import Comparison as Comparison
    from calibrate.prediction.comparison import compare as compare
    from calibrate.prediction.comparison import compare_all as compare_all
    from calibrate.prediction.open_queue import WaitingNumbers as WaitingNumbers
    from calibrate.prediction.open_queue import waiting as waiting
    from calibrate.prediction.profiles import Profile as Profile
    from calibrate.prediction.profiles import profile_parameters as profile_parameters
    from calibrate.prediction.ratios import ParameterDifference as ParameterDifference
    from calibrate.prediction.ratios import Ratio as Ratio
    from calibrate.prediction.ratios import differences as differences
    from calibrate.prediction.ratios import ratio_of_curves as ratio_of_curves
    from calibrate.prediction.what_if import Scenario as Scenario
    from calibrate.prediction.what_if import WhatIf as WhatIf
    from calibrate.prediction.what_if import what_if as what_if
    from calibrate.sealing.guesses import Guess as Guess
    from calibrate.sealing.guesses import add_guess as add_guess
    from calibrate.sealing.guesses import leaderboard as leaderboard
    from calibrate.sealing.guesses import read_revealed as read_revealed
    from calibrate.sealing.sealed_prediction import SealedPrediction as SealedPrediction
    from calibrate.sealing.sealed_prediction import read_seal as read_seal
    from calibrate.sealing.sealed_prediction import seal as seal
    from calibrate.sealing.sealed_prediction import unseen as unseen
    from calibrate.sealing.sealed_tails import tails_against as tails_against
    from calibrate.service import GoodnessOfFit as GoodnessOfFit
    from calibrate.service import ServiceFit as ServiceFit
    from calibrate.service import Times as Times
    from calibrate.service import fit_service as fit_service
    from calibrate.service import goodness as goodness
    from calibrate.service import of_histogram as of_histogram
    from calibrate.service import of_percentiles as of_percentiles
    from calibrate.service import of_samples as of_samples
    from calibrate.service.sources import service_times as service_times
    from calibrate.tails.objective import tail_knee as tail_knee
    from calibrate.tails.percentiles import TailPoint as TailPoint
    from calibrate.tails.percentiles import Tails as Tails
    from calibrate.tails.percentiles import fitted_tails as fitted_tails
    from calibrate.tails.percentiles import predict_tails as predict_tails
    from calibrate.tails.percentiles import tails_of as tails_of

_HOMES = {
    "AdaptiveResult": "calibrate.next.adaptive_sweep",
    "adaptive": "calibrate.next.adaptive_sweep",
    "Comparison": "calibrate.prediction.comparison",
    "compare": "calibrate.prediction.comparison",
    "compare_all": "calibrate.prediction.comparison",
    "ParameterDifference": "calibrate.prediction.ratios",
    "Ratio": "calibrate.prediction.ratios",
    "differences": "calibrate.prediction.ratios",
    "ratio_of_curves": "calibrate.prediction.ratios",
    "doubts_about": "calibrate.fitting.fit_warnings",
    "Fit": "calibrate.fitting.curve_fit",
    "fit": "calibrate.fitting.curve_fit",
    "from_datasheet": "calibrate.fitting.curve_fit",
    "Guess": "calibrate.sealing.guesses",
    "add_guess": "calibrate.sealing.guesses",
    "leaderboard": "calibrate.sealing.guesses",
    "read_revealed": "calibrate.sealing.guesses",
    "Knee": "calibrate.knees.knee",
    "NamedKnee": "calibrate.knees.definitions",
    "bootstrapped": "calibrate.prediction.bootstrapped_knees",
    "named_knees": "calibrate.knees.definitions",
    "NextLoad": "calibrate.next.load",
    "next_load": "calibrate.next.load",
    "WaitingNumbers": "calibrate.prediction.open_queue",
    "waiting": "calibrate.prediction.open_queue",
    "Points": "calibrate.points",
    "points_of": "calibrate.points",
    "Prediction": "calibrate.fitting.predicted_curve",
    "predict": "calibrate.fitting.predicted_curve",
    "Profile": "calibrate.prediction.profiles",
    "profile_parameters": "calibrate.prediction.profiles",
    "tails_against": "calibrate.sealing.sealed_tails",
    "SealedPrediction": "calibrate.sealing.sealed_prediction",
    "read_seal": "calibrate.sealing.sealed_prediction",
    "seal": "calibrate.sealing.sealed_prediction",
    "unseen": "calibrate.sealing.sealed_prediction",
    "with_origin": "calibrate.fitting.origin",
    "GoodnessOfFit": "calibrate.service",
    "ServiceFit": "calibrate.service",
    "Times": "calibrate.service",
    "fit_service": "calibrate.service",
    "goodness": "calibrate.service",
    "of_histogram": "calibrate.service",
    "of_percentiles": "calibrate.service",
    "of_samples": "calibrate.service",
    "service_times": "calibrate.service.sources",
    "tail_knee": "calibrate.tails.objective",
    "TailPoint": "calibrate.tails.percentiles",
    "Tails": "calibrate.tails.percentiles",
    "fitted_tails": "calibrate.tails.percentiles",
    "predict_tails": "calibrate.tails.percentiles",
    "tails_of": "calibrate.tails.percentiles",
    "Scenario": "calibrate.prediction.what_if",
    "WhatIf": "calibrate.prediction.what_if",
    "what_if": "calibrate.prediction.what_if",
}

__all__ = [
    "AdaptiveResult",
    "Comparison",
    "Fit",
    "GoodnessOfFit",
    "Guess",
    "Knee",
    "NamedKnee",
    "NextLoad",
    "Points",
    "Prediction",
    "Profile",
    "Scenario",
    "SealedPrediction",
    "ServiceFit",
    "TailPoint",
    "Tails",
    "Times",
    "WaitingNumbers",
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
