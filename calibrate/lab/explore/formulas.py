"""The formulas with the student's numbers put in, as HTML that needs no script and no font from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dash import html
from dash.development.base_component import Component

from calibrate.lab.explore.settings import Kind, Settings
from qsim import Metrics

Part = str | Component


@dataclass(frozen=True)
class Formula:
    """A law by its name: the symbols, the same with numbers, and the result; ``source`` is who found it."""

    name: str
    symbols: tuple[Part, ...]
    numbers: tuple[Part, ...]
    result: str
    source: str


def formulas_of(settings: Settings, metrics: Metrics) -> list[Formula]:
    """The formulas of the model, in the order in which one works them out by hand."""
    first, response = _FIRST[settings.kind](settings, metrics), _RESPONSE[settings.kind](settings, metrics)
    return [*first, response, _little(settings, metrics)]


def rendered(formulas: list[Formula]) -> list[Component]:
    """A line for each."""
    return [
        html.Div(
            [
                html.Span(f.name, className="law"),
                html.Span([*f.symbols, " = ", *f.numbers, " = ", html.Strong(f.result)], className="sum"),
                html.Span(f.source, className="source"),
            ],
            className="formula",
        )
        for f in formulas
    ]


def _mm1(s: Settings, m: Metrics) -> list[Formula]:
    rho = _n(m.utilization)
    return [
        _rho(s, m),
        Formula(
            "waiting",
            ("Lq = ", _over(_squared("ρ"), "1 − ρ")),
            (_over(_squared(rho), f"1 − {rho}"),),
            _n(m.Lq),
            "M/M/1, Erlang 1909",
        ),
    ]


def _mmc(s: Settings, m: Metrics) -> list[Formula]:
    rho, c = _n(m.utilization), s.servers
    return [
        _rho(s, m),
        Formula(
            "waiting",
            ("Lq = C(c, cρ) ", _over("ρ", "1 − ρ")),
            (f"{_n(m.p_wait)} · ", _over(rho, f"1 − {rho}")),
            _n(m.Lq),
            f"C({c}, {_n(c * m.utilization)}): Erlang's probability of waiting, 1917",
        ),
    ]


def _mg1(s: Settings, m: Metrics) -> list[Formula]:
    rho, scv = _n(m.utilization), _n(s.scv)
    return [
        _rho(s, m),
        Formula(
            "waiting",
            ("Lq = ", _over(_squared("ρ"), "1 − ρ"), " · ", _over("1 + c²", "2")),
            (_over(_squared(rho), f"1 − {rho}"), " · ", _over(f"1 + {scv}", "2")),
            _n(m.Lq),
            "Pollaczek 1930, Khinchine 1932",
        ),
    ]


def _closed(s: Settings, m: Metrics) -> list[Formula]:
    z, t, c, n = _n(s.think_time), _n(s.service_time), s.servers, s.population
    knee = (s.think_time + s.service_time) * c / s.service_time
    at_most = min(n / (s.think_time + s.service_time), c / s.service_time)
    least = max(s.service_time, n * s.service_time / c - s.think_time)
    return [
        Formula(
            "knee",
            ("N* = ", _over("Z + S", "S / c")),
            (_over(f"{z} + {t}", f"{t} / {c}"),),
            _n(knee),
            "where the bounds cross; Denning & Buzen 1978",
        ),
        Formula(
            "at most",
            ("X ≤ min( ", _over("N", "Z + S"), " , ", _over("c", "S"), " )"),
            ("min( ", _over(str(n), f"{z} + {t}"), " , ", _over(str(c), t), " )"),
            _n(at_most),
            f"the exact X here is {_n(m.throughput)}",
        ),
        Formula(
            "at least",
            ("W ≥ max( S , ", _over("N·S", "c"), " − Z )"),
            (f"max( {t} , ", _over(f"{n}·{t}", str(c)), f" − {z} )"),
            _n(least),
            f"the exact W here is {_n(m.W)}",
        ),
        Formula(
            "all that circulate",
            ("N = X (W + Z)",),
            (f"{_n(m.throughput)} · ({_n(m.W)} + {z})",),
            _n(m.throughput * (m.W + s.think_time)),
            "Little's law on the whole loop",
        ),
    ]


_FIRST: Mapping[Kind, Callable[[Settings, Metrics], list[Formula]]] = {
    "mm1": _mm1,
    "mmc": _mmc,
    "mg1": _mg1,
    "closed": _closed,
}


def _response_mm1(s: Settings, m: Metrics) -> Formula:
    numbers = (_over(_n(s.service_time), f"1 − {_n(m.utilization)}"),)
    return Formula("response", ("W = ", _over("S", "1 − ρ")), numbers, _n(m.W), "M/M/1")


def _response_mmc(s: Settings, m: Metrics) -> Formula:
    symbols = ("W = S + C(c, cρ) ", _over("S", "c (1 − ρ)"))
    below = f"{s.servers} (1 − {_n(m.utilization)})"
    numbers = (f"{_n(s.service_time)} + {_n(m.p_wait)} · ", _over(_n(s.service_time), below))
    return Formula("response", symbols, numbers, _n(m.W), "service, and waiting for those who wait")


def _response_mg1(s: Settings, m: Metrics) -> Formula:
    symbols = ("W = S + ", _over("ρ S", "1 − ρ"), " · ", _over("1 + c²", "2"))
    rho, service = _n(m.utilization), _n(s.service_time)
    numbers = (f"{service} + ", _over(f"{rho} · {service}", f"1 − {rho}"), " · ", _over(f"1 + {_n(s.scv)}", "2"))
    return Formula("response", symbols, numbers, _n(m.W), "Pollaczek 1930, Khinchine 1932")


def _response_closed(s: Settings, m: Metrics) -> Formula:
    numbers = (_over(str(s.population), _n(m.throughput)), f" − {_n(s.think_time)}")
    return Formula("response", ("W = ", _over("N", "X"), " − Z"), numbers, _n(m.W), "the response time law")


_RESPONSE: Mapping[Kind, Callable[[Settings, Metrics], Formula]] = {
    "mm1": _response_mm1,
    "mmc": _response_mmc,
    "mg1": _response_mg1,
    "closed": _response_closed,
}


def _rho(s: Settings, m: Metrics) -> Formula:
    several = s.servers > 1
    symbols = ("ρ = ", _over("λ·S", "c")) if several else ("ρ = λ·S",)
    product = f"{_n(s.arrival_rate)} · {_n(s.service_time)}"
    numbers = (_over(product, str(s.servers)),) if several else (product,)
    return Formula("busy", symbols, numbers, _n(m.utilization), "the utilization law")


def _little(s: Settings, m: Metrics) -> Formula:
    rate = "λ" if s.is_open else "X"
    return Formula("Little's law", (f"L = {rate}·W",), (f"{_n(m.throughput)} · {_n(m.W)}",), _n(m.L), "Little 1961")


def _over(top: Part, bottom: Part) -> Component:
    """A fraction; the slash between is for those who hear the page."""
    return html.Span(
        [html.Span(top, className="top"), html.Span(" / ", className="heard"), html.Span(bottom, className="bottom")],
        className="fraction",
    )


def _squared(base: str) -> Component:
    return html.Span([base, html.Sup("2")])


def _n(value: float) -> str:
    return f"{value:.4g}"
