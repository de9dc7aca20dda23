"""The section of a report that shows predictions alone: the curve, and that of the changed device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from calibrate.fitting.answer import knee_sentence, method_text
from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction, grid, predict
from calibrate.prediction.what_if import Scenario
from calibrate.report.axes import latency_axis, throughput_axis
from calibrate.report.drawing import BLUE, RED, Drawing, depth_ticks, empty_figure, solid, spans_decade
from calibrate.report.view import FormattedTable, Section, View, parameter_table
from measure.loads import LOADS
from measure.units import format_duration

_CAPTION = "Lines are predictions, shades the {level:g} % bands in which a single new measurement is expected."


def predicted_section(fit: Fit, loads: Sequence[float], scenario: Scenario | None = None) -> Section:
    """Throughput and response time of ``fit`` over ``loads``, of the scenario, and what they rest on."""
    low, high = float(min(loads)), float(max(loads))
    at = np.linspace(low, high, 120) if fit.load_type.is_open else grid(low, high)
    curves = [("as it is" if scenario else "predicted", predict(fit, at), BLUE)]
    if scenario is not None:
        curves.append((", ".join(scenario.changes), predict(scenario.fit, at), RED))
    table = pd.concat([curve.to_frame().assign(device=name) for name, curve, _ in curves], ignore_index=True)
    views = []
    caption = _CAPTION.format(level=100 * fit.level)
    for column, title in (
        ("throughput_per_s", fit.load_type.rate_name.capitalize()),
        ("response_time_s", "Response time"),
    ):
        views.append(View("predicted", f"predicted-{column}", title, caption, table, _figure(fit, curves, column)))
    asked = [(fit, curves[0][0])] + ([(scenario.fit, curves[1][0])] if scenario else [])
    views += [_points(asked, loads), _parameters(fit, scenario)]
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


def _points(fits: Sequence[tuple[Fit, str]], loads: Sequence[float]) -> View:
    """What is predicted at the loads that were asked for; a column tells the device where there are two."""
    first, level = fits[0][0], f"{100 * fits[0][0].level:g} % band"
    curves = [(name, predict(fit, loads)) for fit, name in fits]
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


def _figure(fit: Fit, curves: Sequence[tuple[str, Prediction, str]], column: str) -> Drawing:
    rate = column.endswith("per_s")
    stem, unit = ("throughput", "per_s") if rate else ("response_time", "s")
    values = np.concatenate([getattr(curve, column) for _, curve, _ in curves])
    load = LOADS["queue_depth"] if fit.load_type.is_open else fit.load_type
    axis = throughput_axis(values, load) if rate else latency_axis(values)
    ends = np.concatenate([getattr(curve, f"{stem}_{end}_{unit}") for _, curve, _ in curves for end in ("low", "high")])
    far = not rate and spans_decade(ends)
    figure = empty_figure(fit.load_name, axis.title, log_x=fit.load_type.is_closed, log_y=far)
    if fit.load_type.is_closed:
        depth_ticks(figure, curves[0][1].load)
    for name, curve, colour in curves:
        low, high = (axis.of(getattr(curve, f"{stem}_{end}_{unit}")) for end in ("low", "high"))
        figure.add_band(curve.load, low, high, colour)
        figure.add_scatter(x=curve.load, y=axis.of(getattr(curve, column)), mode="lines", name=name, line=solid(colour))
    return figure
