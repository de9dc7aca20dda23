"""The text of ``qsim compare``: the answer of all curves, the differences between devices, the baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrate.cli.calibration.tails import tails_line
from calibrate.cli.console import table
from calibrate.cli.measuring.audit import audit_text
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.report.compared.devices import SideBySide
    from calibrate.tails.results import Tails

MORE = "--details: parameters, every point;   --report report.html: plots"


def answer_text(title: str, devices: Mapping[str, Sequence[Comparison]], tails: Mapping[str, Tails]) -> str:
    """Three lines, a table, and a line each for what is sure, worst, next, audited and more.

    Curves of several devices bear their device's name. Loads of different kinds have a table each.
    """
    from calibrate.fitting.answer import labelled
    from calibrate.prediction.answer import answer, answer_table, last_lines

    curves = [
        _named(c, f"{device}: {c.series}") if len(devices) > 1 else c for device, done in devices.items() for c in done
    ]
    kinds = list(dict.fromkeys(c.fit.load_kind for c in curves))
    blocks = []
    for kind in kinds:
        alike = [c for c in curves if c.fit.load_kind == kind]
        first, *others = answer(alike)
        named = first if title == alike[0].series and len(alike) == 1 else f"{title}: {first}"
        last = last_lines(alike)
        if kind == kinds[-1]:
            last += tails_line(tails)
            found = [f for done in devices.values() for c in done for f in c.audit]
            last += [labelled("AUDIT", audit_text(found)), labelled("MORE", MORE)]
        blocks.append("\n".join([named, *others, "", answer_table(alike), "", *last]))
    return "\n\n".join(blocks)


def _named(comparison: Comparison, name: str) -> Comparison:
    return replace(comparison, points=replace(comparison.points, series=name))


def differences_text(beside: Sequence[SideBySide], *, details: bool) -> Iterator[str]:
    """What is different between devices, a sentence a curve; with ``details`` parameters, knees and differences."""
    from calibrate.report.compared.devices import difference_text, parameter_text

    for one in beside:
        if not one.matched:
            yield "No curve of one device has the name of another's, so there are no differences to show."
        for matched in one.matched:
            if details:
                yield parameter_text(matched).text()
                yield difference_text(matched).text()
            yield matched.sentence()


def baseline_table(comparison: Comparison) -> str:
    """What the model and each baseline miss on the same held-out points: median and p90 in percent, a row each."""
    if not comparison.baselines:
        return "no baselines: they are calibrated on points of these data, and judged by points held out of them"
    rows = [
        (
            one.name,
            _percent(one.throughput_median_pct),
            _percent(one.throughput_p90_pct),
            _percent(one.response_median_pct),
            _percent(one.response_p90_pct),
            one.why,
        )
        for one in (comparison.model_error, *comparison.baselines)
    ]
    missed = f"missed at {counted(int(comparison.held_out.sum()), 'held-out point')}"
    header = (missed, "throughput, median", "p90", "response, median", "p90", "")
    shown = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    left = [header[i] in (missed, "") for i in shown]
    return table([header[i] for i in shown], [[row[i] for i in shown] for row in rows], left)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"
