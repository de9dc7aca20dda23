"""Distributions of times: between arrivals, of service, of thinking.

Each is a frozen value with its mean, its squared coefficient of variation (scv, which together with the load
sets how long queues get), its distribution function, and a sampler.  Times are in any unit, as long as one model
uses the same unit throughout.

>>> round(HyperExponential.from_moments(mean=2.0, scv=4.0).scv, 9)
4.0
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from qsim.distributions.base import Distribution
from qsim.distributions.continuous import BurrXII, Gamma, LogNormal, Weibull
from qsim.distributions.empirical import Empirical
from qsim.distributions.exponential import Deterministic, Erlang, Exponential, HyperExponential
from qsim.distributions.mixtures import Mixture, Shifted

__all__ = [
    "BurrXII",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "LogNormal",
    "Mixture",
    "Shifted",
    "Weibull",
    "law_from_dict",
    "law_to_dict",
]


def law_to_dict(law: Distribution) -> dict[str, Any]:
    """A law as plain data for JSON: ``family`` and the parameters of its constructor."""
    kept = {f.name: _plain(getattr(law, f.name)) for f in fields(law)}  # type: ignore[arg-type]
    return {"family": type(law).__name__, **kept}


def law_from_dict(values: Mapping[str, Any]) -> Distribution:
    """The inverse of ``law_to_dict``. Raises ValueError for an unknown family or parameters."""
    family = globals().get(str(values.get("family")))
    if not (isinstance(family, type) and issubclass(family, Distribution) and family is not Distribution):
        raise ValueError(f"the law {values.get('family')!r} is unknown")
    made: Distribution = family(**{k: _law(v) for k, v in values.items() if k != "family"})
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Distribution):
        return law_to_dict(value)
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _law(value: Any) -> Any:
    if isinstance(value, Mapping):
        return law_from_dict(value)
    if isinstance(value, bool | str):
        raise ValueError(f"a law takes numbers, not {json.dumps(value)}")
    return tuple(_law(v) for v in value) if isinstance(value, list) else value
