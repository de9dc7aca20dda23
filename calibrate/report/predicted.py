"""The section of a report that shows predictions alone: the curve, and that of the changed device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from calibrate.fitting.answer import knee_sentence, method_text
from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction, grid, predict
from calibrate.prediction.what_if import Scenario
from calibrate.report.drawing import Drawing, depth_ticks, spans_decade
from calibrate.report.lines import figure_of, lines_of
from calibrate.report.view import FormattedTable, Section, View, parameter_table
from measure.units import format_duration

_CAPTION = "Lines are predictions, shades the {level:g} % bands in which a single new measurement is expected."


def predicted_section(fit: Fit, loads: Sequence[float], scenario: Scenario | None = None) -> Section:
    """Throughput and response time of ``fit`` over ``loads``, of the scenario, and what they rest on."""
    low, high = float(min(loads)), float(max(loads))
    at = np.linspace(low, high, 120) if fit.load_type.is_open else grid(low, high)
    first = "as it is" if scenario else "predicted"
    fits = {first: fit} | ({", ".join(scenario.changes): scenario.fit} if scenario else {})
    curves = {name: predict(one, at) for name, one in fits.items()}
    table = pd.concat([curve.to_frame().assign(device=name) for name, curve in curves.items()], ignore_index=True)
    title, caption = f"{fit.load_type.rate_name.capitalize()} and response time", _CAPTION.format(level=100 * fit.level)
    views = [
        View("predicted", "predicted", title, caption, table, _figure(fit, curves)),
        _points(fits, loads),
        _parameters(fit, scenario),
    ]
    method, changed = method_text(fit), () if scenario is None else scenario.assumptions
    lead = f"{method[0].upper()}{method[1:]}. {knee_sentence(fit)}."
    if scenario is not None:
        lead += f" What if: {', '.join(scenario.changes)}? {knee_sentence(scenario.fit)}."
    return Section(
        fit.series or "device",
        views,
        lead=lead,
        notes=(
            f"It assumes: {fit.assumption}.",
            *(f"Of the change it is assumed: {a}." for a in changed),
            *(f"Note: {note}." for note in fit.notes),
        ),
        load_kind=fit.load_kind,
        load_unit=fit.load_unit,
        name="predicted",
    )


def _points(fits: Mapping[str, Fit], loads: Sequence[float]) -> View:
    """What is predicted at the loads that were asked for; a column tells the device where there are two."""
    first = next(iter(fits.values()))
    level, curves = f"{100 * first.level:g} % band", [(name, predict(fit, loads)) for name, fit in fits.items()]
    table = pd.concat([curve.to_frame().assign(device=name) for name, curve in curves], ignore_index=True)
    show = first.load_type.throughput_figure
    header = (first.load_name, "device", first.load_type.rate_name, level, "response time", level)
    rows = (
        (
            first.load_type.text(c.load[i]),
            name if len(fits) > 1 else "",
            show(c.throughput_per_s[i]),
            _band(show, c.throughput_band(i)),
            format_duration(c.response_time_s[i]),
            _band(format_duration, c.response_band(i)),
        )
        for name, c in curves
        for i in range(len(loads))
    )
    text = FormattedTable.of(header, rows, words=(1,))
    return View("predicted-points", "predicted-points", "Predicted", "", table, text=text)


def _band(show: Callable[[float], str], band: tuple[float, float, float]) -> str:
    return f"[{show(band[1])}, {show(band[2])}]"


def _parameters(fit: Fit, scenario: Scenario | None) -> View:
    """The parameters with their intervals, and what leaves them open; of the device as it is where one is changed."""
    caption = f"With their {100 * fit.level:g} % intervals."
    title = "Parameters" if scenario is None else "Parameters of the device as it is"
    return View(
        "predicted-parameters",
        "predicted-parameters",
        title,
        caption,
        fit.to_frame(),
        text=parameter_table(fit.parameters, fit.sureness),
    )


def _figure(fit: Fit, curves: Mapping[str, Prediction]) -> Drawing:
    """Throughput and response time over the loads, a panel each; in logarithms where the times span a decade."""
    drawn = [line for name, curve in curves.items() for line in lines_of(curve, fit.load_type, name, name)]
    far = spans_decade(np.concatenate([curve.response_time_s for curve in curves.values()]))
    figure = figure_of(drawn, fit.load_name, log_x=fit.load_type.is_closed, log_y=far)
    if fit.load_type.is_closed:
        depth_ticks(figure, drawn[0].x)
    return figure
