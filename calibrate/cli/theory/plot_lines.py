"""Where the lines of ``qsim plot`` come from: a model solved over an option, files of fits, measured sweeps."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.cli import parsing
from calibrate.cli.console import warn
from calibrate.cli.failures import wrong_usage
from calibrate.cli.theory.plot import Varied
from calibrate.cli.theory.queue_models import queue_of
from calibrate.cli.theory.queue_options import Given
from calibrate.report.lines import Kind, Line

if TYPE_CHECKING:
    from calibrate import Fit
    from measure import Sweep
    from qsim import Metrics

QUANTITIES: Mapping[str, tuple[str, Kind]] = {
    "W": ("W", "time"),
    "Wq": ("Wq", "time"),
    "X": ("throughput", "rate"),
    "L": ("L", "number"),
    "Lq": ("Lq", "number"),
    "rho": ("utilization", "share"),
    "P(wait)": ("p_wait", "share"),
    "P(block)": ("p_block", "share"),
}
"""Symbol -> (name in Metrics, kind). Beside them p50, p99.9 and so on, the quantiles of the response time."""
MEASURED = ("W", "X", "L")
"""What fits and sweeps tell."""
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_PLAIN = {re.sub(r"\W", "", symbol).lower(): symbol for symbol in QUANTITIES}
_SIMULATED = 9


@parsing.parser
def quantity(text: str) -> str:
    """``W``, ``Lq``, ``pwait`` or ``p99``, as it is written in legends."""
    plain = re.sub(r"[^\w.]", "", text).lower()
    if plain in _PLAIN:
        return _PLAIN[plain]
    if (share := _QUANTILE.fullmatch(plain)) and 0 < float(share[1]) < 100:
        return plain
    raise ValueError(f"{parsing.not_one_of(text, tuple(QUANTITIES))}, and quantiles such as p99")


def theory(given: Given, over: Varied, each: Varied | None, y: Sequence[str], x: str | None) -> list[Line]:
    """A line for each of ``y`` and each value of ``each``, by formula; ``x`` is a quantity in place of the option."""
    import qsim

    lines, left_out, refused = [], 0, ""
    for name, fixed in _curves(given, each):
        solved: list[tuple[float, Metrics]] = []
        for value, number in zip(over.values, over.numbers, strict=True):
            queue = queue_of(Given(given.model, {**fixed, over.option: value}))
            try:
                solved.append((number, qsim.solve(queue)))
            except qsim.UnstableQueueError as error:
                refused = str(error)
            except qsim.NoFormulaError as error:
                raise wrong_usage(f"{error.reason}, so there is no line of it") from error
        if not solved:
            raise wrong_usage(f"no value of --vary gives a steady state: {refused}")
        left_out += len(over.values) - len(solved)
        at = np.array([_value(m, x) for _, m in solved] if x else [n for n, _ in solved])
        lines += [Line(name, s, kind_of(s), at, np.array([_value(m, s) for _, m in solved])) for s in y]
    if left_out:
        warn(f"{left_out} points are left out, where there is no steady state: {refused}")
    return lines


def simulated(
    given: Given,
    over: Varied,
    each: Varied | None,
    y: Sequence[str],
    x: str | None,
    customers: int,
    seed: int,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Line]:
    """Points of the same curves by simulation, each with its 95 % interval, at some of the values.

    Values without a steady state, and runs too short for one, are left out and said.
    """
    import qsim

    curves = _curves(given, each)
    places = sorted({round(i) for i in np.linspace(0, len(over.values) - 1, min(len(over.values), _SIMULATED))})
    lines: list[Line] = []
    short = 0
    for c, (name, fixed) in enumerate(curves):
        found: list[tuple[float, Metrics]] = []
        for done, i in enumerate(places):
            progress((c + done / len(places)) / len(curves))
            queue = queue_of(Given(given.model, {**fixed, over.option: over.values[i]}))
            try:
                found.append((over.numbers[i], qsim.simulate(queue, customers=customers, seed=seed + i)))
            except qsim.UnstableQueueError:
                continue
            except qsim.SteadyStateError:
                short += 1
            except qsim.NoEngineError as error:
                raise wrong_usage(f"--simulate: {error}") from error
        lines += [_points(name, s, x, found) for s in y if found]
    progress(1.0)
    if short:
        warn(f"{short} points are not simulated: {customers:,} customers are too few for a steady state there")
    if not lines:
        raise wrong_usage(f"--simulate: {customers:,} customers are too few at every value; take more")
    return lines


def _points(name: str, symbol: str, x: str | None, found: Sequence[tuple[float, Metrics]]) -> Line:
    at = np.array([_value(m, x) if x else n for n, m in found])
    low, high = np.array([_interval(m, symbol) for _, m in found]).T
    value = np.array([_value(m, symbol) for _, m in found])
    label = ", ".join(part for part in (name, "simulated") if part)
    return Line(label, symbol, kind_of(symbol), at, value, low, high, measured=True, curve=name)


def _interval(metrics: Metrics, symbol: str) -> tuple[float, float]:
    if symbol in QUANTITIES:
        return metrics.interval(QUANTITIES[symbol][0])
    return metrics.quantile_interval(float(symbol[1:]) / 100)


def _curves(given: Given, each: Varied | None) -> list[tuple[str, dict[str, Any]]]:
    if each is None:
        return [("", dict(given.values))]
    return [
        (f"{each.option} {number:g}", {**given.values, each.option: value})
        for value, number in zip(each.values, each.numbers, strict=True)
    ]


def kind_of(symbol: str) -> Kind:
    """What kind of quantity a symbol stands for."""
    return QUANTITIES[symbol][1] if symbol in QUANTITIES else "time"


def _value(metrics: Metrics, symbol: str) -> float:
    if symbol in QUANTITIES:
        return float(getattr(metrics, QUANTITIES[symbol][0]))
    try:
        return metrics.quantile(float(symbol[1:]) / 100)
    except ValueError as error:
        raise wrong_usage(f"{symbol}: {error}") from error


def of_fit(fit: Fit, y: Sequence[str], x: str | None, name: str, up_to: float = 0.0) -> list[Line]:
    """The predicted curve of a fit with its band, over what it was calibrated on and at least ``up_to``."""
    from calibrate.report.plots import curve_of, lines_of

    return lines_of(curve_of(fit, up_to), y, x, name, fit.series)


def of_sweep(sweep: Sweep, y: Sequence[str], x: str | None, series: Sequence[str], name: str) -> list[Line]:
    """The measured points of each curve, means over repeats with their intervals."""
    points, lines = sweep.mean_points(), []
    for one in series:
        rows = points[points["series"] == one].sort_values("load")
        rate, latency = rows["throughput_per_s"].to_numpy(float), rows["latency_s"].to_numpy(float)
        ends = [rows[c].to_numpy(float) for c in ("latency_low", "latency_high", "throughput_low", "throughput_high")]
        known = all(bool(np.isfinite(e).all()) for e in ends)
        w_low, w_high, x_low, x_high = ends if known else [None] * 4
        columns = {"W": (latency, w_low, w_high), "X": (rate, x_low, x_high), "L": (rate * latency, None, None)}
        places = rows["load"].to_numpy(float) if x is None else columns[x][0]
        label = ", ".join(part for part in (name, one) if part)
        lines += [Line(label, s, kind_of(s), places, *columns[s], measured=True, curve=one) for s in y]
    return lines


def measured_only(y: Sequence[str], x: str | None) -> None:
    """CommandError where a quantity is asked of fits or sweeps that only a model tells."""
    for symbol in (*y, *([] if x is None else [x])):
        if symbol not in MEASURED:
            raise wrong_usage(f"{symbol} is not in fits and sweeps; they have {', '.join(MEASURED)}")


def named(line: Line, name: str) -> Line:
    """The line as one of ``name``."""
    return replace(line, name=", ".join(part for part in (name, line.name) if part))


def finite(lines: Sequence[Line]) -> list[Line]:
    """The lines that have a value to draw; CommandError where none has."""
    kept = [line for line in lines if any(map(math.isfinite, line.y))]
    if not kept:
        raise wrong_usage(f"--y: {', '.join(dict.fromkeys(line.symbol for line in lines))} is not known of this model")
    return kept
