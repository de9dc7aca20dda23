"""A change in words: the verdict, the loads, and the loss that would have been seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from measure.loads import InjectedDelay, ThroughputLoad
from measure.origin import MARKS
from measure.units import format_duration, format_percent, format_rate, interval_text, plain_number
from qsim.text_table import table

if TYPE_CHECKING:
    from calibrate.changes.change import Change, LoadChange, Ratio


def short_text(change: Change) -> str:
    """The ``repr`` of a change."""
    return "\n".join([f"{change.series}: {headline(change)}", seen(change), *basis_lines(change)])


def basis_lines(change: Change) -> list[str]:
    """A line on what the verdict rests on, where that is not what such sweeps are usually judged by."""
    return [f"NOTE    {change.basis}"] if change.basis else []


def headline(change: Change) -> str:
    """``SLOWER by 30 % (26 to 33) at 8 and 16 clients; elsewhere no change beyond ±2 %``."""
    moved = [c for c in change.loads if c.speed]
    if change.verdict == "same":
        return f"SAME: no change beyond ±{_beyond(change.loads)} at any load"
    if change.verdict == "undecided":
        return f"UNDECIDED: the noise hides changes of up to {_beyond(change.loads)}"
    sign = -1 if change.verdict == "slower" else 1
    here = [c for c in moved if c.speed == sign]
    text = f"{change.verdict.upper()} {_at(here, change) if here else f'by {_size(change.overall)} over all loads'}"
    if others := [c for c in moved if c.speed == -sign]:
        text += f"; {'faster' if sign < 0 else 'slower'} {_at(others, change)}"
    if rest := [c for c in change.loads if not c.speed]:
        text += f"; {'elsewhere' if moved else 'at single loads'} no change beyond ±{_beyond(rest)}"
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


def _beyond(changes: Sequence[LoadChange]) -> str:
    """The furthest end of the intervals."""
    ends = [abs(end) for c in changes for end in (c.ratio.low_pct, c.ratio.high_pct) if end is not None]
    open_end = any(c.ratio.high_pct is None for c in changes)
    return "any size" if open_end else format_percent(max(ends))


def seen(change: Change) -> str:
    """The loss that would have been seen, and how to see smaller ones."""
    found = change.detectable_pct
    if found is None:
        text = "No loss could have been seen: one run at these few loads shows no noise"
    elif found <= 100 * change.margin or change.verdict == "same":
        return f"A loss of {format_percent(found)} at any one load would have been seen."
    else:
        text = f"Only a loss beyond {format_percent(found)} at one load"
        if (everywhere := change.detectable_everywhere_pct) is not None and everywhere < found:
            text += f", or {format_percent(everywhere)} at all of them,"
        text += " would surely have been seen"
    return f"{text}: {_remedy(change)}."


def _remedy(change: Change) -> str:
    if change.repeats is None:
        return "measure longer, on a machine that does nothing else"
    return (
        f"measure each load {change.repeats} times (--repeats {change.repeats}) in both for {100 * change.margin:g} %"
    )


def load_table(change: Change) -> str:
    """A row for each load, then the latency at the least one and the peak; computed figures have their mark."""
    kind = change.load_type
    rows = [(kind.text(c.load), *_cells(c, change), ("slower", "", "faster")[c.speed + 1]) for c in change.loads]
    least = change.idle_latency.load
    alone = isinstance(kind, InjectedDelay | ThroughputLoad) or least == 1
    rows.append(("idle latency" if alone else f"latency at {kind.at(least)}", *_cells(change.idle_latency, change), ""))
    rows.append(("peak", *_cells(change.peak, change), ""))
    why = "; ".join(f"{quantity} ({reason})" for quantity, reason in change.computed.items())
    foot = [f"{MARKS['computed']}  computed, not measured: {why}"] if why else []
    return "\n".join([table((kind.heading.upper(), "OLD", "NEW", "CHANGE", ""), rows, left=1), *foot])


def _cells(one: LoadChange, change: Change) -> tuple[str, str, str]:
    show = format_rate if one.quantity == "throughput" else format_duration
    mark = f" {MARKS['computed']}" if one.quantity in change.computed else ""
    return show(one.old) + mark, show(one.new) + mark, _signed(one.ratio)


def _signed(ratio: Ratio) -> str:
    high = None if ratio.high_pct is None else f"{ratio.high_pct:+.1f}"
    return f"{ratio.change_pct:+.1f} % ({interval_text(f'{ratio.low_pct:+.1f}', high)})"


def summary_row(name: str, change: Change) -> tuple[str, str, str]:
    """A row of several sweeps against one: how fast at all loads together, ``1.31 (1.27 to 1.35)``, and the verdict."""
    ratio = change.overall
    high = None if ratio.high_pct is None else f"{1 + ratio.high_pct / 100:.3g}"
    interval = interval_text(f"{1 + ratio.low_pct / 100:.3g}", high)
    return name, f"{1 + ratio.change_pct / 100:.3g} ({interval})", headline(change)
