"""A fit in a few lines: the knee, the peak and the idle latency, each with its interval and its sureness."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any

from calibrate.fitting.readings import STAYS_BELOW, USUAL, measured_near, stays_below
from calibrate.inference.parameters import ROUGH, how_sure, quantity
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ArrivalRate, ClosedLoad, Depth, InjectedDelay, Outstanding
from measure.repeats import TIE
from measure.units import Figure, format_bandwidth, format_duration, format_percent, interval_text, with_interval
from qsim.result import labelled, table, without_empty

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit
    from calibrate.fitting.predicted_curve import Knee
    from calibrate.inference.parameters import Estimate
    from measure.loads import Load

ABOVE = 1.015
"""A measured throughput above this times the peak is named beside it."""

QUEUEING, NINETY = "QUEUEING STARTS", "90 % OF PEAK AT"
"""Labels of the two knees of a closed load: N* = R1 Xpeak, and N90."""


def knee_figure(fit: Fit, to: str = " to ", knee: Knee | None = None) -> str:
    """The knee, or another ``knee``, with its interval, over delays as a bandwidth; empty where it is not reached."""
    k = fit.knee if knee is None else knee
    if k.load is None:
        return ""
    if isinstance(fit.load_type, InjectedDelay):
        ends = k.throughput_low_per_s, k.throughput_high_per_s
        return with_interval(fit.load_type.throughput_figure, k.throughput_per_s, *ends, to=to)
    return with_interval(fit.load_type.figure, k.load, k.low, k.high, to=to)


def knee_word(fit: Fit, knee: Knee | None = None) -> str:
    """The sureness of the knee, or of another ``knee`` of the fit; where that has no load, a doubt alone."""
    k = fit.knee if knee is None else knee
    if k.load is None:
        return "doubtful" if fit.contradicted else ""
    if isinstance(fit.load_type, ClosedLoad):  # a factor of it may be rough, or throughput still rise
        narrow = len(fit.used) > 1 and k.low is not None and k.high is not None and k.high < ROUGH * k.low
        word = fit.sureness(k.identified or narrow, k.low, k.high)
        return "rough" if word == "sure" and not k.identified else word
    if not isinstance(fit.load_type, InjectedDelay):
        return _of_the_peak(fit, fit.sureness(k.identified, k.low, k.high))
    measured = any(fit.curve_parameters[name].identified for name in ("L0", "a", "B"))
    return fit.sureness(k.identified and measured, k.throughput_low_per_s, k.throughput_high_per_s)


def at_load(load: Load, figure: str) -> str:
    """An estimated load in words: ``depth 2.2``, ``12 clients``; a rate or a delay unchanged."""
    return load.place(figure) if isinstance(load, ClosedLoad) else figure


def knee_line(fit: Fit) -> str:
    """The knee in a line: ``depth 2.2 (2.0 to 2.9), sure: 76 k/s at 29 µs``."""
    k = fit.knee
    if k.load is None:
        return f"none: {k.note}"
    if never_approached(fit):
        least = f"; at {k.low:.2g} outstanding or more" if k.low is not None else ""
        return f"unknown: the peak was never approached{least}"
    return _place(fit, k) if k.sharp else f"{_place(fit, k)}; the bend is soft, no sharp knee"


def ninety_line(fit: Fit) -> str:
    """The load at 90 % of the peak: ``depth 4.6 (1.7 and more), rough: 230 k/s at 20 µs``."""
    k = fit.ninety
    if k.load is None:
        ends = interval_text(*(None if end is None else fit.load_type.figure(end, 2) for end in (k.low, k.high)))
        return f"{k.note} ({ends}), {ninety_word(fit)}" if ends else k.note
    peak = fit.asymptotes[1].estimate if isinstance(fit.load_type, ClosedLoad) else None
    less = stays_below(fit, k.throughput_per_s)
    if not peak or (not less and k.throughput_per_s <= USUAL * (1 + TIE) * peak):
        return _place(fit, k)
    share = format_percent(100 * k.throughput_per_s / peak)
    return f"{_place(fit, k)}, {'only' if less else 'already'} {share} of the peak"


def ninety_word(fit: Fit) -> str:
    """The sureness of the load at 90 % of the peak, or of its interval alone."""
    k = fit.ninety
    ends_alone = k.load is None and (k.low is not None or k.high is not None)
    return fit.sureness(False, None, None) if ends_alone else knee_word(fit, k)


def _place(fit: Fit, k: Knee) -> str:
    """A knee and what is had there; for large blocks with the bandwidth."""
    load, time = fit.load_type, format_duration(k.response_time_s, 2)
    there = f"a response time of {time}" if isinstance(load, ArrivalRate) else f"{time} an access"
    if isinstance(load, ClosedLoad):
        rates = (load.throughput_figure(k.throughput_per_s, 2), load.moved_text(fit.block_bytes, k.throughput_per_s))
        there = f"{', '.join(filter(None, rates))} at {time}"
    word = knee_word(fit, k)
    why = reason_of_ninety(fit, word) if k is fit.ninety else reason(fit, word, k.low, k.high)
    return f"{at_load(load, knee_figure(fit, knee=k))}, {explained(word, why)}: {there}"


def _of_the_peak(fit: Fit, word: str) -> str:
    """The sureness of a figure that stands on the peak: ``assumed`` where no point tells it."""
    return "assumed" if fit.never_waits and word in ("sure", "rough") else word


def explained(word: str, why: str) -> str:
    """The ``word`` of a figure, with the reason where there is one: ``rough as throughput still rises at depth 64``."""
    return f"{word} as {why}" if why else word


def reason(
    fit: Fit, word: str, low: float | None, high: float | None, *, near: bool = True, of_peak: bool = True
) -> str:
    """Why a figure is rough in spite of a narrow interval; ``near``: points show it, ``of_peak``: it stands on that."""
    if word != "rough" or low is None or high is None or high >= ROUGH * low:
        return ""
    reasons = {
        "the held-out points refute the curve": fit.refuted,
        "the curve misses its own points": fit.is_far_off,
        fit.doubted: bool(fit.doubted),
    }
    if of_peak and isinstance(fit.load_type, ClosedLoad) and fit.used:
        reasons[f"throughput still rises at {fit.load_type.at(max(fit.used))}"] = fit.rises
        reasons["no load near it was measured"] = not near
        reasons["the idle latency or the peak is rough"] = True
    return next((why for why, holds in reasons.items() if holds), "")


def reason_of_ninety(fit: Fit, word: str) -> str:
    """``reason`` for the load at 90 % of the peak; where the predicted curve stays below that, however wide it is."""
    k = fit.ninety
    if k.load is None:
        return ""
    if word == "rough" and stays_below(fit, k.throughput_per_s):
        return STAYS_BELOW
    return reason(fit, word, k.low, k.high, near=measured_near(fit, k.load, k.low, k.high))


def knees_document(fit: Fit) -> dict[str, Any]:
    """Both knees in JSON, each with how sure it is and why not, and what leaves the whole fit in doubt, if anything."""
    knee, ninety, start, word = fit.knee, fit.ninety, knee_word(fit), ninety_word(fit)
    return {
        "knee": {**knee.to_dict(), "sure": start, "reason": reason(fit, start, knee.low, knee.high)},
        "knee90": {**ninety.place(), "sure": word, "reason": reason_of_ninety(fit, word)},
        "doubted": fit.doubted,
    }


def knee_lines(fit: Fit) -> list[str]:
    """For a closed load, where queueing starts and the load at 90 % of the peak; for others the knee."""
    if not isinstance(fit.load_type, ClosedLoad) or fit.knee.load is None or never_approached(fit):
        return [labelled("KNEE", knee_line(fit))]
    return [f"{QUEUEING} {knee_line(fit)}", f"{NINETY} {ninety_line(fit)}"]


def knee_sentence(fit: Fit) -> str:
    """``Queueing starts at depth 2.2 (2.0 to 2.9), sure: 76 k/s at 29 µs; 90 % of the peak at ...``."""
    if fit.knee.load is None:
        return f"No knee was found: {fit.knee.note}"
    if not isinstance(fit.load_type, ClosedLoad):
        return f"The knee: {knee_line(fit)}"
    return f"{QUEUEING.capitalize()} at {knee_line(fit)}; 90 % of the peak at {ninety_line(fit)}"


def peak_figure(fit: Fit, to: str = " to ") -> str:
    """The peak throughput with its interval; empty where the model has none."""
    found = _peak(fit)
    if found is None or found.estimate is None:
        return ""
    show: Figure = format_bandwidth if found.unit == "B/s" else fit.load_type.throughput_figure
    return with_interval(show, found.estimate, found.low, found.high, to=to)


def peak_line(fit: Fit) -> str:
    """The peak with its sureness."""
    found = _peak(fit)
    if found is None or found.estimate is None:
        return ""
    if never_approached(fit):  # the highest measured throughput is its lower bound
        return f"at least {fit.load_type.throughput_figure(max(fit.used_throughput_per_s))}"
    moved = "" if found.unit == "B/s" else fit.load_type.moved_text(fit.block_bytes, found.estimate)
    most = 0.0 if found.unit == "B/s" else max(fit.used_throughput_per_s, default=0.0)
    above = f"up to {fit.load_type.throughput_figure(most)} measured" if most > ABOVE * found.estimate else ""
    word = _peak_word(fit, found)
    said = explained(word, reason(fit, word, found.low, found.high))
    return ", ".join(part for part in (peak_figure(fit), moved, above, said) if part)


def assumed_peak(fit: Fit) -> str:
    """The peak with its interval and, where the points do not tell it, that it is assumed: beside other figures."""
    figure = peak_figure(fit)
    return f"{figure}, assumed" if figure and peak_word(fit) == "assumed" else figure


def peak_word(fit: Fit) -> str:
    """The sureness of the peak in one word; empty where the model has none."""
    found = _peak(fit)
    return "" if found is None or found.estimate is None else _peak_word(fit, found).partition(":")[0]


def _peak(fit: Fit) -> Estimate | None:
    return fit.curve_parameters.get("B" if "B" in fit.curve_parameters else "Xmax")


def _peak_word(fit: Fit, found: Estimate) -> str:
    """The sureness of the peak; where that of a memory, or one that is given, is beyond every point, their reach."""
    word, reached = fit.sureness(found.identified, found.low, found.high), max(fit.used_throughput_per_s, default=0.0)
    word = "rough" if word == "sure" and isinstance(fit.load_type, ClosedLoad) and fit.rises else word
    word = _of_the_peak(fit, word)
    beyond = bool(fit.used) and found.low is not None and found.low > reached
    if word == "doubtful" or not beyond or not (isinstance(fit.load_type, InjectedDelay) or fit.known_peak_per_s):
        return word
    return f"assumed: these points reach {fit.load_type.throughput_figure(reached)}"


def figure_word(fit: Fit, name: str, found: Estimate) -> str:
    """The sureness of the parameter ``name``; that of N* and of the peak as in the first lines."""
    if name == "N*" and fit.knee.load is not None and isinstance(fit.load_type, ClosedLoad):
        return knee_word(fit)
    return _peak_word(fit, found) if name == "Xmax" else fit.sureness(found.identified, found.low, found.high)


def never_approached(fit: Fit) -> bool:
    """Whether a watched load stayed so low that it gives only a lower bound of the peak."""
    found = fit.curve_parameters.get("Xmax")
    if not isinstance(fit.load_type, Outstanding) or found is None:
        return False
    return len(fit.used) < 2 or how_sure(found.identified, found.low, found.high) != "sure"


def idle_word(fit: Fit) -> str:
    """The sureness of the latency of a lone request; empty where the model has none."""
    found = _idle(fit)
    return "" if found is None else fit.sureness(found.identified, found.low, found.high)


def _idle(fit: Fit) -> Estimate | None:
    """What a lone request takes; of a queue that never sleeps its service."""
    found = fit.curve_parameters
    return next((found[name] for name in ("R1", "L0", "S") if name in found and "setup" not in found), None)


def idle_figure(fit: Fit, to: str = " to ") -> str:
    """The latency of a lone request, with its interval; empty where the model has none."""
    found = _idle(fit)
    if found is None or found.estimate is None:
        return ""
    return with_interval(format_duration, found.estimate, found.low, found.high, to=to)


def fit_answer(fit: Fit) -> list[str]:
    """The lines of one fit, below a heading: the knee, then the peak and the idle latency."""
    alone = idle_figure(fit)
    peak = "; ".join(part for part in (peak_line(fit), f"idle latency {alone}" if alone else "") if part)
    lines = [*knee_lines(fit), *([labelled("PEAK", peak)] if peak else [])]
    return [*lines, *([labelled("ASSUMED", fit.never_waits)] if fit.never_waits else [])]


def knees_labelled(fits: Sequence[tuple[str, Fit]]) -> list[str]:
    """The knees of several named fits, of closed loads both: the lowest, the highest, the number that are sure."""
    first = _from_to([(name, f, f.knee) for name, f in fits])
    if not isinstance(fits[0][1].load_type, ClosedLoad):
        return [labelled("KNEE", first)]
    return [f"{QUEUEING} {first}", f"{NINETY} {_from_to([(name, f, f.ninety) for name, f in fits])}"]


def _from_to(knees: Sequence[tuple[str, Fit, Knee]]) -> str:
    """The lowest and the highest of some knees (name, fit, knee)."""
    load, count = common_load([f.load_type for _, f, _ in knees]), len(knees)
    show = load.throughput_figure if isinstance(load, InjectedDelay) else load.figure
    reached = [
        (k.throughput_per_s if isinstance(load, InjectedDelay) else k.load, name, f, k)
        for name, f, k in knees
        if k.load is not None
    ]
    found = sorted(reached, key=lambda one: one[:2])
    if not found:
        return "not reached by any curve"
    (lowest, first), (highest, last) = ((show(value, 2), name) for value, name, _, _ in (found[0], found[-1]))
    ends = [lowest] if len(found) > 1 and lowest == highest else [f"{lowest} ({first})", f"{highest} ({last})"]
    words = [knee_word(f, k) for _, _, f, k in found]
    missing = f", {count - len(found)} not reached" if len(found) < count else ""
    place = at_load(load, " to ".join(dict.fromkeys(ends)))
    if set(words) == {"assumed"}:
        return f"{place}, assumed: these points do not tell{missing}"
    some = {"sure": words.count("sure"), "doubtful": sum(f.contradicted for _, _, f, _ in found)}
    counts = [f"{'all' if n == count else f'{n} of {count}'} {word}" for word, n in some.items() if n]
    return f"{place}; {', '.join(counts) or 'none sure'}{missing}"


def fits_rows(fits: Sequence[Fit]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The header and a row for each of several fits of one kind of load; with each fit's points where they differ."""
    load = common_load([f.load_type for f in fits])
    alike = len({f.basis for f in fits}) == 1
    rows = [
        (f.series, knee_cell(f), peak_figure(f, "-"), second_cell(f), idle_figure(f, "-"), "" if alike else f.basis)
        for f in fits
    ]
    return ("", knee_heading(load), "PEAK", second_heading(load), "IDLE LATENCY", "FITTED TO"), rows


def fits_table(fits: Sequence[Fit]) -> str:
    """Several fits as a text table."""
    return table(*without_empty(*fits_rows(fits)), left=1)


def common_load(loads: Sequence[Load]) -> Load:
    """A common Load for several curves: all outstanding requests where one of them has several jobs."""
    return next((load for load in loads if isinstance(load, Depth) and load.jobs != 1), loads[0])


def knee_heading(load: Load) -> str:
    """The heading of a column of knees."""
    return f"QUEUEING STARTS, {load.heading}" if isinstance(load, ClosedLoad) else "KNEE"


def second_heading(load: Load) -> str:
    """The heading of the column after the peak: 90 % of it over depths, else values at the knee."""
    return "90 % OF PEAK AT" if isinstance(load, ClosedLoad) else "AT THE KNEE"


def second_cell(fit: Fit) -> str:
    """The cell below ``second_heading``."""
    if isinstance(fit.load_type, ClosedLoad):
        return _cell(fit, fit.ninety)
    return "" if fit.knee.load is None else format_duration(fit.knee.response_time_s, 2)


def knee_cell(fit: Fit) -> str:
    """The knee in a table: ``23 (13-158) rough``."""
    return _cell(fit, fit.knee)


def _cell(fit: Fit, k: Knee) -> str:
    return "not reached" if k.load is None else f"{knee_figure(fit, '-', k)} {knee_word(fit, k)}"


def short_text(fit: Fit) -> str:
    """The ``repr`` of a fit: its model, the knee and the peak."""
    return "\n".join([f"{fit.series or 'device'}: {method_text(fit)}", *fit_answer(fit)])


def long_text(fit: Fit) -> str:
    """The ``str`` of a fit: every parameter."""
    return fit_text(fit, f"{fit.series or 'device'}: {fit.model} from {fit.basis}")


PLAIN = {
    "p-norm": "a smooth curve",
    "p-norm with onset": "a smooth curve",
    "p-norm with onset, any load": "a smooth curve",
    "p-norm with onset and decline": "a smooth curve that falls past its peak",
}
"""Plain names of the models that are not textbook queues; ``--details`` has their proper names."""


def method_text(fit: Fit) -> str:
    """The curve behind the answer, and its points: ``a smooth curve through all 5 points``, unless it misses them."""
    curve, load = PLAIN.get(fit.model), f"; {who}" if (who := fit.details.get(ORIGIN_OF_KIND)) else ""
    through = "from" if curve is None or not fit.used or fit.is_far_off else "through"
    return f"{curve or fit.model} {through} {fit.basis}{load}"


def fit_text(fit: Fit, heading: str) -> str:
    """The fit as a table below a ``heading``: parameters with intervals, the knee, notes."""
    rows = []
    for name, e in fit.parameters.items():
        ends = "" if e.low is None else f"[{quantity(e.low, e.unit)}, {quantity(e.high, e.unit)}]"
        remarks = ("" if e.identified else "not identifiable", e.note)
        rows.append((name, quantity(e.estimate, e.unit), ends, "; ".join(filter(None, remarks))))
    parameters = table((), rows, left=(True, False, True, True))
    notes = (f"note: {n}" for n in (*([fit.knee.note] if fit.knee.note else []), *fit.notes))
    knee = f"{knee_sentence(fit)} ({fit.knee.definition})"
    below = "\n".join([f"assumes: {fit.assumption}", parameters, knee, *notes])
    return f"{heading}\n{indent(below, '  ')}"
