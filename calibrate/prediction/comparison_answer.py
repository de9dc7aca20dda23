"""Comparisons in words, in the order in which they are printed: three lines, a table, and what to do next.

One curve has a table of its points, several have a row each. The worst point is the one missed by the largest factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrate.fitting.fit_answer import (
    assumed_peak,
    common_load,
    fit_text,
    knee_cell,
    knee_heading,
    knee_lines,
    knee_sentence,
    knee_word,
    knees_labelled,
    ninety_word,
    peak_figure,
    second_cell,
    second_heading,
)
from calibrate.inference.parameters import quantity
from calibrate.points import Z90
from measure.findings import curve_name
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ClosedLoad, InjectedDelay, MemoryLoad
from measure.origin import can_judge, foot_lines, marked_figure, reason_of, word_of
from measure.units import (
    Figure,
    band_beside,
    counted,
    format_duration,
    format_percent,
    measured_and_predicted,
    missed_text,
    significant,
)
from qsim.result import labelled, table, without_empty

if TYPE_CHECKING:
    from calibrate.fitting.predicted_curve import Knee
    from calibrate.inference.parameters import Array
    from calibrate.next import NextLoad
    from calibrate.points import Points
    from calibrate.prediction.comparison import Comparison
    from calibrate.prediction.truth import TruthCheck

MOST_POINTS = 9
"""The most points of a curve that are shown."""

FLAGGED = frozenset({"outlier", "drift-within-run"})
"""Checks of the audit on single runs, which measuring again may correct."""

HIDES = 0.06
"""Noise beyond this share stands in a note below the first line: predictions usually miss by less."""

WIDE = 2.0
"""Bands whose ends differ by more than this factor are wide."""


def answer(done: Sequence[Comparison]) -> list[str]:
    """The first lines: what was predicted from which points, the knee, and the errors at the held-out points.

    For one curve, the first line says where its points do not reach the knee, and a last note what their noise hides.
    """
    heading, hidden = _heading(done), ""
    if len(done) > 1:
        knees = knees_labelled([(c.series, c.fit) for c in done])[:1]
    else:
        *first, last = knee_lines(done[0].fit)
        peak = assumed_peak(done[0].fit)
        knees = [*first, f"{last}; peak {peak}" if peak else last]
        hidden = hidden_by_noise(done[0])
        delays = isinstance(done[0].points.load_type, InjectedDelay)
        heading += "; its knee is not reached" if delays and done[0].knee.load is None else ""
        hidden = " ".join(filter(None, (done[0].fit.never_waits, hidden)))
    note = [labelled("NOTE", hidden)] if hidden else []
    return [heading, *knees, labelled("MISSED", _missed(done)), *note]


def answer_table(done: Sequence[Comparison], most: int | None = MOST_POINTS) -> str:
    """The points of one curve, ``most`` of them (None: all), or a row for each of several of one kind of load."""
    return points_table(done[0], most) if len(done) == 1 else table(*curve_rows(done))


def last_lines(done: Sequence[Comparison]) -> list[str]:
    """The last lines: held-out points inside their bands, the worst point, a known truth, what to measure next."""
    lines = [labelled("SURE?", _sure(done))]
    if worst := worst_text(done, named=len(done) > 1):
        lines.append(labelled("WORST", worst))
    if len(done) == 1 and done[0].truth is not None:
        lines.append(labelled("TRUTH", done[0].truth.sentence().rstrip(".")))
    if following := next_text([(c.series, c.next, c.knee) for c in done]):
        lines.append(labelled("NEXT", following))
    return lines


def missed_sentences(done: Sequence[Comparison]) -> tuple[str, str]:
    """How many held-out points lie inside their bands, and what the prediction misses: a sentence each."""
    return f"{_sure(done)}.", f"The prediction misses {_missed(done)}."


def _heading(done: Sequence[Comparison]) -> str:
    """The curve or the number of curves, and what each was predicted from."""
    if len(done) == 1:
        who = done[0].fit.details.get(ORIGIN_OF_KIND)
        return f"{', '.join(filter(None, (curve_name(done[0].series), _basis(done[0]))))}{f'; {who}' if who else ''}"
    ways = {_basis(c) for c in done}
    if len(ways) == 1:
        return f"{counted(len(done), 'curve')}, each {ways.pop()}"
    counts = sorted({len(c.fit.used) for c in done})
    some = "points" if counts[-1] != 1 else "point"
    used = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{counted(len(done), 'curve')}, each predicted from {used} of its {some}"


def hidden_by_noise(comparison: Comparison) -> str:
    """What the noise of a curve's points hides: the device at rest, errors within the noise; empty for little noise."""
    most, within = float(np.nan_to_num(comparison.points.spread).max()), noise_of_a_point([comparison])
    sentences = []
    if comparison.fit.doubted and most > HIDES:
        differ = f"repeats of a point have a standard deviation of up to {format_percent(100 * most)}"
        sentences.append(f"These runs do not show the device at rest: {differ}.")
    if within is not None and within > HIDES:
        sentences.append(f"Errors below {format_percent(100 * within)} cannot be told from the noise of a point.")
    return " ".join(sentences)


def noise_of_a_point(done: Sequence[Comparison]) -> float | None:
    """Half the 90 % interval of a held-out point's own mean, by its repeats: the median; None without repeats."""
    errors = np.concatenate([(c.points.spread / np.sqrt(c.points.repeats))[c.held_out] for c in done])
    known = errors[np.isfinite(errors)]
    return Z90 * float(np.median(known)) if len(known) else None


def _basis(comparison: Comparison) -> str:
    fit = comparison.fit
    if not fit.used:
        return f"predicted from {fit.basis}"
    if not comparison.held_out.any():
        return "fitted to its only point" if len(comparison.points) == 1 else "fitted to all of its points"
    if not comparison.is_own_kind:
        load = comparison.points.load_type
        whose = f" ({load.plural}{load.who})" if load.who else ""
        return f"predicted from {fit.listed}, with another kind of load{whose}"
    elsewhere = ", which are left out" if comparison.left_out else " of another run"
    where = " alone" if comparison.calibrated_here else elsewhere
    return f"predicted from {fit.listed}{where}"


def _missed(done: Sequence[Comparison]) -> str:
    """The mean errors at the held-out points of all curves."""
    held = sum(int(c.held_out.sum()) for c in done)
    if not held:
        if all(len(c.points) == 1 for c in done):
            return "unknown: one point checks nothing; measure a second"
        return "unknown: every point was used to calibrate; leave some out with --use"
    parts, unscored, scored = list[str](), list[str](), list[float]()
    for name, which in (("throughput", "throughput"), ("response time", "response"))[done[0].is_open :]:
        errors = np.concatenate([np.abs(getattr(c, f"residual_{which}_pct")[c.held_out]) for c in done])
        known = errors[np.isfinite(errors)]
        if len(known):
            scored.append(float(known.mean()))
            parts.append(f"{name} by {mean_text(scored[-1])}")
        if len(known) < held:
            column = "throughput_origin" if which == "throughput" else "latency_origin"
            origins = {o for c in done for o in c.measured[column][c.held_out] if not can_judge(o)}
            how = " and ".join(sorted({f"{word_of(o)} as {reason_of(o)}" for o in origins}))
            where = f" at {counted(held - len(known), 'point')}" if len(known) else ""
            unscored.append(f"; {which} {how}{where}: not scored")
    repeats = _repeat_noise([c.points for c in done])
    of, within = f"{'mean of ' if held > 1 else ''}{counted(held, 'held-out point')}", noise_of_a_point(done)
    noise = ""
    if within is not None and scored and max(scored) <= 100 * within:
        noise = f", no more than the noise of a point (±{format_percent(100 * within)})"
    return f"{', '.join(parts) or 'unknown'} ({of}){noise}{''.join(unscored)}{repeats}"


def _repeat_noise(points: Sequence[Points]) -> str:
    """The median spread of repeats, which may hide one load whose repeats disagree, and the most; empty without."""
    typical = [n for p in points if (n := p.repeat_noise_pct()) is not None]
    if not typical:
        return ""
    most = max(100 * float(np.nanmax(p.spread)) for p in points if np.isfinite(p.spread).any())
    median = format_percent(float(np.median(typical)))
    return f"; repeats have a standard deviation of {median} (median; {format_percent(most)} at most)"


def mean_text(percent: float, factor: str = "a factor of {}") -> str:
    """A mean error in words, beyond 100 % as a factor.

    >>> mean_text(9.61), mean_text(110.0)
    ('9.6 %', 'a factor of 2.1')
    """
    return format_percent(percent) if percent <= 100 else factor.format(significant(1 + percent / 100, 2))


def _widths(comparison: Comparison) -> Array:
    """The ratio of the ends of the band at every point (m,)."""
    p = comparison.predicted
    return np.where(
        comparison.judges_response,
        p.response_time_high_s / p.response_time_low_s,
        p.throughput_high_per_s / p.throughput_low_per_s,
    )


def _sure(done: Sequence[Comparison]) -> str:
    doubtful, doubt = sum(c.fit.contradicted for c in done), ""
    if doubtful:
        which = "" if doubtful == len(done) else f" of {doubtful} of {len(done)} curves"
        doubt = f"Doubtful: the data{which} contradict themselves. "
    inside = np.concatenate([c.inside[c.held_out] for c in done])
    if not len(inside):
        return f"{doubt}No point is held out, so nothing checks the prediction"
    level = f"{100 * done[0].predicted.level:g} %"
    count, total = int(inside.sum()), len(inside)
    wide = float(np.median(np.concatenate([_widths(c)[c.held_out] for c in done])))
    if total == 1:
        found = f"The held-out point is {'inside' if count else 'outside'} its {level} band"
    else:
        only = "Only " if all(c.fit.refuted for c in done) else ""
        share = f"{only}{count} of {total}" if count < total else "Both" if total == 2 else f"All {total}"
        where = f"is inside its {level} band" if count == 1 else f"are inside their {level} bands"
        found = f"{share} held-out points {where}"
    found += _of_response(done)
    if wide > WIDE:
        width = (
            f"typically a factor of {significant(wide, 2)} from end to end"
            if math.isfinite(wide)
            else "most have no end"
        )
        but = "although" if count < total and all(c.fit.refuted for c in done) else "but"
        found += f", {but} the bands are wide: {width}"
    else:
        found += f", typically ±{format_percent(100 * (np.sqrt(wide) - 1))} wide"
    return f"{doubt}{found}{_sure_of_users(done)}"


def _of_response(done: Sequence[Comparison]) -> str:
    """That the bands are those of response times, among users who think, where both are predicted."""
    judged = all(c.judges_response[c.held_out].all() and not c.is_open for c in done)
    return " of response time" if judged else ""


def _sure_of_users(done: Sequence[Comparison]) -> str:
    """How sure the two knees of a curve of users who think are, which the width of no band tells."""
    c = done[0]
    if len(done) > 1 or not c.fit.load_type.thinking_s or c.knee.load is None or c.fit.ninety.load is None:
        return ""
    start, ninety = knee_word(c.fit), ninety_word(c.fit)
    if start == ninety:
        return f"; where queueing starts and 90 % of the peak are both {start}"
    return f"; where queueing starts is {start}, 90 % of the peak {ninety}"


def worst_text(done: Sequence[Comparison], *, named: bool) -> str:
    """The held-out point with the largest error factor: measured, predicted, and the band; empty without one.

    That is of the figure that judges the point; of a memory, which no law ties, of bandwidth or latency.
    """
    found = []
    for c in done:
        of_memory = isinstance(c.points.load_type, MemoryLoad)
        for of_response, judged in ((False, ~c.judges_response), (True, c.judges_response | of_memory)):
            errors = c.residual_response_pct if of_response else c.residual_throughput_pct
            miss = np.where(c.held_out & judged, np.abs(np.log1p(errors / 100)), np.nan)
            if np.isfinite(miss).any():
                i = int(np.nanargmax(miss))
                found.append((float(miss[i]), c, i, of_response))
    if not found:
        return ""
    _, c, i, of_response = max(found, key=lambda one: one[0])
    load, points = c.points.load_type, c.points
    show: Figure = load.throughput_figure
    measured, missed = points.throughput_per_s[i], c.residual_throughput_pct[i]
    predicted: tuple[float, float, float | None] = c.predicted.throughput_band(i)
    if of_response:
        show, predicted = format_duration, c.predicted.response_band(i)
        measured, missed = points.response_time_s[i], c.residual_response_pct[i]
    falls = isinstance(load, ClosedLoad) and not of_response and missed > 0
    falls = falls and measured < points.throughput_per_s[:i].max(initial=0.0)
    where = f"{f'{c.series}, ' if named else ''}{load.place_of(float(points.load[i]))}"
    both = measured_and_predicted(show, float(measured), *predicted)
    return f"{where}: {both}, {missed_text(missed)}{'; throughput falls there' if falls else ''}"


def next_text(wanted: Sequence[tuple[str, NextLoad | None, Knee]]) -> str:
    """What to measure next, the load that helps most of the curves; empty where no load shows a gain.

    Each curve has its name, the advice, and the knee that is printed.
    """
    advised = [(name, one, knee) for name, one, knee in wanted if one is not None and one.gain(knee)]
    if not advised:
        return ""
    places = [one.where for _, one, _ in advised]
    place = max(places, key=places.count)
    of_place = [each for each in advised if each[1].where == place]
    name, best, knee = max(of_place, key=lambda each: each[1].half_width_now - each[1].half_width_then)
    gain = best.gain(knee)
    if len(wanted) == 1:
        return f"Measure {place}: {gain}"
    if len(of_place) == 1:
        return f"Measure {place} of {name}: {gain}"
    of = "every curve" if len(of_place) == len(wanted) else f"{len(of_place)} of {len(wanted)} curves"
    return f"Measure {place} for {of}: {gain} ({name})"


def curve_rows(done: Sequence[Comparison]) -> tuple[list[str], list[list[str]]]:
    """A row for each curve of one kind of load: the knee, the peak, the errors, the points in band; with a header.

    Columns that are empty are left out.
    """
    rows = []
    for c in done:
        s = c.summary()
        x, r = s.held_out_mape_throughput_pct, s.held_out_mape_response_pct
        inside = c.inside[c.held_out]
        errors = ((r,) if c.is_open else (x, r)) if len(inside) else ()
        missed = ["not scored" if v is None else mean_text(v, "{} x") for v in errors]
        scored = f"{int(inside.sum())} of {len(inside)}" if len(inside) else ""
        figures = (knee_cell(c.fit), peak_figure(c.fit, "-"), second_cell(c.fit))
        rows.append((c.series, *figures, " / ".join(missed) or "none held out", scored))
    missed_heading = "MISSED R" if done[0].is_open else "MISSED X / R"
    load = common_load([c.fit.load_type for c in done])
    header = ("", knee_heading(load), "PEAK", second_heading(load), missed_heading, "IN BAND")
    return without_empty(header, rows)


def points_rows(comparison: Comparison, shown: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of measured and predicted values, with bands, at the points ``shown``."""
    points, p = comparison.points, comparison.predicted
    load, figures = points.load_type, comparison.measured.to_dict("records")
    x, r, rate = points.throughput_per_s.tolist(), points.response_time_s.tolist(), load.throughput_figure
    rows = []
    for i in shown:
        row = [marked_figure(figures[i], "load", load.text)]
        if not comparison.is_open:  # else throughput equals arrivals
            row.append(marked_figure(figures[i], "throughput_per_s", rate))
            row.append(band_beside(rate, x[i], *p.throughput_band(i), to="-"))
            row.append(missed_text(comparison.residual_throughput_pct[i]))
        row.append(marked_figure(figures[i], "latency_s", format_duration))
        row.append(band_beside(format_duration, r[i], *p.response_band(i), to="-"))
        row.append(missed_text(comparison.residual_response_pct[i]))
        held = "" if comparison.inside[i] else "outside its band"
        rows.append([*row, held if comparison.held_out[i] else "calibrated on"])
    half = ["PREDICTED (band)", "ERROR"]
    throughput = [] if comparison.is_open else [load.rate_name.upper(), *half]
    return [load.symbol.upper(), *throughput, "RESPONSE", *half, ""], rows


def points_table(comparison: Comparison, most: int | None = None) -> str:
    """``points_rows`` of every point, or of ``most`` of them spread over the curve."""
    count = len(comparison.points)
    shown = list(range(count))
    if most is not None and count > most:
        shown = np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist()
    header, rows = points_rows(comparison, shown)
    more = count - len(shown)
    left = [False] * (len(header) - 1) + [True]
    more_text = [f"... and {counted(more, 'point')} more (--details)"] if more else []
    return "\n".join([table(header, rows, left), *more_text, *foot_lines(comparison.measured)])


def short_text(comparison: Comparison) -> str:
    """The ``repr`` of a comparison: the answer, and whether its data contradict themselves."""
    wrong = dict.fromkeys(f.check for f in comparison.audit if f.contradicts)
    doubts = [labelled("AUDIT", f"these data contradict themselves ({', '.join(wrong)}): see measure.audit(sweep)")]
    return "\n".join([*answer([comparison]), *last_lines([comparison]), *(doubts if wrong else [])])


def long_text(comparison: Comparison, *, points: bool = True) -> str:
    """The ``str`` of a comparison: the fit, every point unless they stand elsewhere, the known truth, the verdict."""
    c = comparison
    parts = [fit_text(c.fit, f"{c.series}: {c.split} ({c.fit.model})"), *([points_table(c)] if points else [])]
    if c.truth is not None:
        parts.append(table(*truth_rows(c.truth), left=(True, False, False, True, True)))
    return "\n\n".join(part for part in (*parts, c.verdict()) if part)


def verdict(c: Comparison) -> str:
    """The result in a few sentences: the knee, the errors, a known truth, flagged runs, the audit, the next load."""
    flagged = sorted({f.check for f in c.audit if f.check in FLAGGED})
    errors = [f for f in c.audit if f.severity == "error"]
    following, heading = next_text([("", c.next, c.knee)]), _heading([c])
    parts = (
        hidden_by_noise(c),
        f"{knee_sentence(c.fit)}.",
        f"{heading if curve_name(c.series) else f'{heading[0].upper()}{heading[1:]}'}.",
        f"Missed: {_missed([c])}." if c.held_out.any() else "",
        f"{_sure([c])}.",
        "" if c.truth is None else c.truth.sentence(),
        f"Some runs are flagged ({', '.join(flagged)}), and no model can be expected to hit them." if flagged else "",
        f"The audit finds {counted(len(errors), 'error')} in the data: {errors[0].hypothesis or errors[0].message}"
        if errors
        else "",
        f"{following}." if following else "",
    )
    return " ".join(part for part in parts if part)


def truth_rows(check: TruthCheck) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the estimates against the truth."""
    rows = []
    for a in check.quantities:
        interval = "" if a.inside is None else f"[{quantity(a.low, a.unit)}, {quantity(a.high, a.unit)}]"
        outcome = "" if a.inside is None else "inside" if a.inside else "OUTSIDE"
        rows.append([a.name, quantity(a.truth, a.unit), quantity(a.estimate, a.unit), interval, outcome])
    return ["", "truth", "estimate", "interval", ""], rows
