"""The formulas of ``formulas.toml`` with the student's numbers put in."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dash import html
from dash.development.base_component import Component

from calibrate.lab.explore.settings import Settings
from qsim import Metrics

_FRACTION = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class Formula:
    """A law by its name: ``sum`` is symbols = numbers, ``[top|bottom]`` a fraction, and ``source`` who found it."""

    name: str
    sum: str
    result: str
    source: str

    @property
    def parts(self) -> list[str | tuple[str, str]]:
        """Symbols and numbers as texts and fractions (top, bottom)."""
        texts, tops, bottoms = (_FRACTION.split(self.sum)[first::3] for first in range(3))
        parts: list[str | tuple[str, str]] = [texts[0]]
        for top, bottom, text in zip(tops, bottoms, texts[1:], strict=True):
            parts += [(top, bottom), text]
        return parts


def formulas_of(settings: Settings, metrics: Metrics) -> list[Formula]:
    """The formulas of the model with its numbers."""
    c, s, z, n = settings.servers, settings.service_time, settings.think_time, settings.population
    numbers = {
        "rho": metrics.utilization,
        "offered": c * metrics.utilization,
        "lam": settings.arrival_rate,
        "S": s,
        "scv": settings.scv,
        "Z": z,
        "wait": metrics.p_wait if settings.kind == "mmc" else 0.0,
        "X": metrics.throughput,
        "W": metrics.W,
        "L": metrics.L,
        "Lq": metrics.Lq,
        "knee": (z + s) * c / s,
        "most": min(n / (z + s), c / s),
        "least": max(s, n * s / c - z),
        "all": metrics.throughput * (metrics.W + z),
    }
    words = {"c": str(c), "N": str(n), **{name: f"{value:.4g}" for name, value in numbers.items()}}
    filled = [{key: text.format(**words) for key, text in row.items()} for row in _formulas()[settings.kind]]
    return [Formula(f["name"], f"{f['symbols']} = {f['numbers']} = ", f["result"], f["source"]) for f in filled]


@cache
def _formulas() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads((files("calibrate.lab.explore") / "formulas.toml").read_text("utf-8"))


def rendered(formulas: list[Formula]) -> list[Component]:
    """A line for each; the slash in a fraction is for those who hear the page."""
    return [
        html.Div(
            [
                html.Span(f.name, className="law"),
                html.Span([*map(_shown, f.parts), html.Strong(f.result)], className="sum"),
                html.Span(f.source, className="source"),
            ],
            className="formula",
        )
        for f in formulas
    ]


def _shown(part: str | tuple[str, str]) -> str | Component:
    if isinstance(part, str):
        return part
    slash = html.Span(" / ", className="heard")
    return html.Span(
        [html.Span(part[0], className="top"), slash, html.Span(part[1], className="bottom")], className="fraction"
    )
