"""Distributions as typed: ``lognormal:mean=80us,scv=2``, ``lognormal:80us:scv=2``, ``fitted:FILE``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import qsim
from calibrate.cli import parsing
from measure.units import parse_count, parse_duration


@dataclass(frozen=True)
class Law:
    """A distribution as typed: ``lognormal:mean=80us,scv=2``, ``deterministic:80us``, or one that is in ``file``."""

    text: str
    family: str
    values: Mapping[str, float]
    has_unit: bool
    file: Path | None = None

    def distribution(self) -> qsim.Distribution:
        """The distribution itself. Raises DataError where its file holds none."""
        if self.file is not None:
            return _read(self.family, self.file)
        v = dict(self.values)
        shift = v.pop("shift", None)
        name, wanted = LAWS[self.family]
        base: qsim.Distribution = attrgetter(name)(qsim)(*(v[n] for n in wanted))
        return base if shift is None else qsim.Shifted(base=base, shift=shift)


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
    """The law of a text. Raises ValueError with the way to write it."""
    family, _, rest = text.partition(":")
    family = family.strip().lower()
    if family not in LAWS:
        raise ValueError(
            f"distribution {parsing.not_one_of(family, tuple(LAWS))}; write it like lognormal:mean=80us,scv=2"
        )
    wanted = LAWS[family][1]
    if wanted == ("FILE",):
        made = Law(text, family, {}, True, parsing.path(rest.strip()))
        made.distribution()  # raises for a file that holds no law
        return made
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
    made = Law(text, family, values, has_unit)
    made.distribution()  # raises ValueError for parameters that this family cannot have
    return made


law = parsing.parser(law_of)


def _read(family: str, path: Path) -> qsim.Distribution:
    from measure.formats.law_file import read_histogram, read_law

    return read_law(path) if family == "fitted" else read_histogram(path)
