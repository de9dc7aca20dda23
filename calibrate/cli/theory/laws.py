"""Distributions as typed: ``lognormal:mean=80us,scv=2``, ``lognormal:80us:scv=2``, ``fitted:FILE``."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import qsim
from calibrate.cli import parsing
from measure.units import parse_count, parse_duration


class Law(NamedTuple):
    """A distribution as typed, and whether its times carry a unit."""

    distribution: qsim.Distribution
    has_unit: bool


LAWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "exponential": ("Exponential", ("mean",)),
    "deterministic": ("Deterministic", ("mean",)),
    "erlang": ("Erlang", ("k", "mean")),
    "gamma": ("Gamma", ("mean", "scv")),
    "hyperexponential": ("HyperExponential.from_moments", ("mean", "scv")),
    "lognormal": ("LogNormal", ("mean", "scv")),
    "weibull": ("Weibull", ("shape", "mean")),
    "burr": ("BurrXII", ("c", "k", "mean")),
    "histogram": ("", ("FILE",)),
    "fitted": ("", ("FILE",)),
}
"""By family: what makes it in qsim, and its parameters, in that order."""
_TIMES = ("mean", "shift")


def law_of(text: str) -> Law:
    """The law of a text. Raises ValueError with the way to write it, DataError where a file holds none."""
    family, _, rest = text.partition(":")
    family = family.strip().lower()
    if family not in LAWS:
        raise ValueError(
            f"distribution {parsing.not_one_of(family, tuple(LAWS))}; write it like lognormal:mean=80us,scv=2"
        )
    wanted = LAWS[family][1]
    if wanted == ("FILE",):
        return Law(_read(family, parsing.path(rest.strip())), True)
    example = f"{family}:{','.join(f'{name}=...' for name in wanted)}"
    values: dict[str, float] = {}
    has_unit = False
    parts = [p.strip() for p in rest.replace(":", ",").split(",") if p.strip()]
    for position, part in enumerate(parts):
        name, equals, number = (p.strip() for p in part.partition("="))
        if not equals and position == 0:  # the first may go without its name: the mean
            name, number = "mean", part
        if name not in (*wanted, "shift") or name in values:
            raise ValueError(f"{part!r} does not belong to the distribution {family}; write it like {example}")
        if name in _TIMES:
            values[name] = parse_duration(number, name)
            has_unit |= number[-1:].isalpha()
        else:
            values[name] = parse_count(number, name)
    if missing := [name for name in wanted if name not in values]:
        raise ValueError(f"the distribution {family} needs {' and '.join(missing)}; write it like {example}")
    base = attrgetter(LAWS[family][0])(qsim)(*(values[name] for name in wanted))
    return Law(qsim.Shifted(base=base, shift=values["shift"]) if "shift" in values else base, has_unit)


law = parsing.parser(law_of)


def _read(family: str, path: Path) -> qsim.Distribution:
    from measure.formats.law_file import read_histogram, read_law

    return read_law(path) if family == "fitted" else read_histogram(path)
