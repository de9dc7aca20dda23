"""A change in words: the verdict, the loads, and the loss that would have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from measure.loads import InjectedDelay, ThroughputLoad
from measure.origin import MARKS
from measure.units import counted, format_duration, format_percent, interval_text, plain_number
from qsim.result import labelled, table

if TYPE_CHECKING:
    from calibrate.changes.change import Change, LoadChange, Ratio

UNLIKE = 1.5  # loads whose figures differ by more than this factor are named, each with its figure

ANY = "any size"  # of a change, where its interval has no end


def short_text(change: Change) -> str:
    """The ``repr`` of a change."""
    return "\n".join([f"{change.series}: {headline(change)}", seen(change), *further_lines(change)])


def further_lines(change: Change, name: str = "") -> list[str]:
    """What the verdict rests on, where that is not as usual, and what to measure next; of a ``name`` among several."""
    said = (("NOTE", change.basis), ("NEXT", next_text(change)))
    return [labelled(label, f"{name}: {text}" if name else text) for label, text in said if text]


def headline(change: Change) -> str:
    """``SLOWER by 30 % (26 to 33) at 8 and 16 clients; elsewhere no change beyond ±2 %``."""
    moved = [c for c in change.loads if c.speed]
    if change.verdict == "same":
        return f"SAME: no change beyond {_beyond(change.loads, change)}"
    if change.verdict == "undecided":
        beyond = _beyond(change.loads, change)
        return f"UNDECIDED: no change seen, but one {'of' if beyond == ANY else 'within'} {beyond} may be hidden"
    sign = -1 if change.verdict == "slower" else 1
    here = [c for c in moved if c.speed == sign]
    text = f"{change.verdict.upper()} {_at(here, change) if here else f'by {_size(change.overall)} over all loads'}"
    if others := [c for c in moved if c.speed == -sign]:
        text += f"; {'faster' if sign < 0 else 'slower'} {_at(others, change)}"
    if rest := [c for c in change.loads if not c.speed]:
        beyond, where = _beyond(rest, change), "elsewhere" if moved else "at single loads"
        text += f"; {where} {f'one of {ANY} may be hidden' if beyond == ANY else f'no change beyond {beyond}'}"
    return text


def _at(changes: Sequence[LoadChange], change: Change) -> str:
    """The largest change, and the loads."""
    most = max(changes, key=lambda c: abs(c.ratio.change_pct))
    loads = list(dict.fromkeys(c.load for c in changes))
    if len(changes) == len(change.loads) and len(changes) > 1:
        return f"by up to {_size(most.ratio)} at every load"
    return f"by {'up to ' if len(changes) > 1 else ''}{_size(most.ratio)} at {change.load_type.where(loads)}"


def _size(ratio: Ratio) -> str:
    """``30 % (26 to 33)``, without a sign."""
    high = float("inf") if ratio.high_pct is None else ratio.high_pct
    ends = sorted((abs(ratio.low_pct), abs(high)))
    return f"{format_percent(abs(ratio.change_pct))} ({plain_number(ends[0], 2)} to {plain_number(ends[1], 2)})"


def _beyond(changes: Sequence[LoadChange], change: Change) -> str:
    """The furthest end of the intervals: ``±12 %``; of unlike loads ``±12 % (depth 16) to ±39 % (depth 1)``."""
    ends = [(_furthest(c), _either_way(_furthest(c)), change.load_type.where([c.load])) for c in changes]
    (least, near, here), (most, far, there) = min(ends), max(ends)
    if math.isinf(least):
        return ANY
    if most <= UNLIKE * least:
        return far
    return f"{near} ({here}) to {ANY if math.isinf(most) else far} ({there})"


def _either_way(percent: float) -> str:
    """``±12 %``; beyond 100 %, by which nothing falls, ``a factor of 4.9``."""
    return f"±{format_percent(percent)}" if percent <= 100 else f"a factor of {plain_number(1 + percent / 100, 2)}"


def _furthest(one: LoadChange) -> float:
    return math.inf if one.ratio.high_pct is None else max(abs(one.ratio.low_pct), abs(one.ratio.high_pct))


def seen(change: Change) -> str:
    """The loss that would have been seen, and how often."""
    moves = f"{'taken' if change.old_sweeps > 1 else 'assumed'} to vary by {format_percent(change.between_pct)}"
    found = [(c.load, c.detectable_pct) for c in change.loads]
    known = sorted(loss for _, loss in found if loss is not None)
    if not known:
        return f"Seen nine times in ten: no loss at one load{_at_all(change)}; sweeps are {moves}."
    here = [(load, loss) for load, loss in found if loss is not None and loss <= UNLIKE * known[0]]
    text = f"a loss of {format_percent(max(loss for _, loss in here))} at "
    if len(here) == len(found):
        text += "any one load"
    else:
        some = f"up to {format_percent(known[-1])}" if len(known) > len(here) else ""
        most = " or ".join(filter(None, [some, "none" if len(known) < len(found) else ""]))
        text += f"{change.load_type.where(dict.fromkeys(load for load, _ in here))} ({most} elsewhere)"
    return f"Seen nine times in ten: {text}{_at_all(change)}; sweeps are {moves}."


def _at_all(change: Change) -> str:
    return "" if (loss := change.detectable_everywhere_pct) is None else f", of {format_percent(loss)} at every load"


def next_text(change: Change) -> str:
    """What to measure for a loss of the margin to be seen; "" where it would have been."""
    if (plan := change.next) is None:
        return ""
    if plan.shows_pct is None:
        return f"measure each load {plan.repeats} times (--repeats {plan.repeats}) in both"
    agree = "that agree as these do" if plan.agreeing_pct is None else f"that agree to {plan.agreeing_pct:.2g} %"
    more = counted(plan.old_sweeps, "more sweep") + f" of the old state (--old) {agree}"
    each = f", each load {plan.repeats} times," if plan.repeats > 1 else ""
    if plan.shows_pct <= 100 * change.margin:
        shown = f"{more}{each} would show a loss of {100 * change.margin:g} %"
    else:
        shown = f"even {more}{each} would show no loss below {format_percent(plan.shows_pct)}"
    return f"{shown} at a typical load"


def load_table(change: Change) -> str:
    """A row for each load, then the latency at the least one and the peak; computed figures have their mark."""
    kind = change.load_type
    several = len({c.quantity for c in change.loads}) > 1
    rows = [
        (
            f"{kind.text(c.load)}{', latency' if several and c.quantity == 'response time' else ''}",
            *_cells(c, change),
            "none" if c.detectable_pct is None else format_percent(c.detectable_pct),
            ("slower", "", "faster")[c.speed + 1],
        )
        for c in change.loads
    ]
    least = change.idle_latency.load
    alone = isinstance(kind, InjectedDelay | ThroughputLoad) or least == 1
    rows.append(
        ("idle latency" if alone else f"latency at {kind.at(least)}", *_cells(change.idle_latency, change), "", "")
    )
    rows.append(("peak", *_cells(change.peak, change), "", ""))
    why = "; ".join(f"{quantity} ({reason})" for quantity, reason in change.computed.items())
    foot = [f"{MARKS['computed']}  computed, not measured: {why}"] if why else []
    moved = "SPEED" if change.idle_latency.quantity == "speed" else "CHANGE"
    return "\n".join([table((kind.heading.upper(), "OLD", "NEW", moved, "LOSS SEEN", ""), rows, left=1), *foot])


def _cells(one: LoadChange, change: Change) -> tuple[str, str, str]:
    show = change.load_type.throughput_figure if one.quantity == "throughput" else format_duration
    mark = f" {MARKS['computed']}" if one.quantity in change.computed else ""
    return show(one.old) + mark, show(one.new) + mark, _signed(one.ratio)


def _signed(ratio: Ratio) -> str:
    """A change with its interval, whose ends show on which side of zero they lie.

    >>> from calibrate.changes.change import Ratio
    >>> _signed(Ratio(14.68, -0.012, 31.53)), _signed(Ratio(0.0, -2.0, None))
    ('+14.7 % (-0.01 to +31.5)', '+0.0 % (-2.0 and more)')
    """
    low, high = (
        None if end is None else f"{end:+.1g}" if 0 < abs(end) < 0.05 else f"{end + 0.0:+.1f}"
        for end in (ratio.low_pct, ratio.high_pct)
    )
    return f"{round(ratio.change_pct, 1) + 0.0:+.1f} % ({interval_text(low, high)})"


def summary_row(name: str, change: Change) -> tuple[str, str, str]:
    """A row of several sweeps against one: how fast at all loads together, ``1.31 (1.27 to 1.35)``, and the verdict."""
    ratio = change.overall
    high = None if ratio.high_pct is None else f"{1 + ratio.high_pct / 100:.3g}"
    interval = interval_text(f"{1 + ratio.low_pct / 100:.3g}", high)
    return name, f"{1 + ratio.change_pct / 100:.3g} ({interval})", headline(change)
