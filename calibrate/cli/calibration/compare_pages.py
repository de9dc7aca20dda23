"""What ``qsim compare`` shows: the answer of all curves, its devices side by side, and the sections of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calibrate.cli.calibration.compare_data import Device
from calibrate.cli.calibration.tails import tails_line
from calibrate.cli.console import say, table
from calibrate.cli.measuring.audit import audit_text
from calibrate.cli.measuring.show import part_of
from calibrate.cli.progress import Bar

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.knees.definitions import NamedKnee
    from calibrate.report.compared import Evidence
    from calibrate.report.compared.devices import SideBySide
    from calibrate.report.view import Section
    from calibrate.tails.results import Tails


@dataclass(frozen=True)
class Told:
    """A device with the knees of each of its curves (empty where not asked for), and the tails that are known."""

    device: Device
    knees: Sequence[tuple[NamedKnee, ...]]
    tails: Mapping[str, Tails]
    untold: Mapping[str, str]


@dataclass(frozen=True)
class ComparedPages:
    """The sections to be drawn, the devices side by side among them, and a word on those that cannot be."""

    sections: Sequence[Section] = ()
    beside: Sequence[SideBySide] = ()
    apart: str = ""


def pages_of(told: Sequence[Told], title: str, *, drawn: bool) -> ComparedPages:
    """Devices side by side first, where there are several, then each by itself.

    With ``drawn`` what takes time to compute is there as well: the law of service.
    """
    if not drawn and len(told) < 2:
        return ComparedPages()
    from calibrate.report.compared import compared_section
    from calibrate.report.compared.device_views import side_section
    from calibrate.report.compared.devices import alone, side_by_side

    evidence = {one.device.name: _evidence(one, drawn=drawn) for one in told}
    beside = side_by_side(evidence)
    sections = (
        []
        if not drawn
        else [
            *(side_section(one) for one in beside),
            *(
                compared_section(title if len(told) == 1 else d.name, evidence[d.name], d.refused)
                for d in (one.device for one in told)
            ),
        ]
    )
    return ComparedPages(sections, beside, alone(evidence))


def _evidence(told: Told, *, drawn: bool) -> list[Evidence]:
    from calibrate.report.compared import evidence_of

    device, found = told.device, []
    with Bar("gathering what the report shows") as bar:
        for i, (comparison, knees) in enumerate(zip(device.done, told.knees, strict=True)):
            found.append(
                evidence_of(
                    comparison,
                    device.sweep,
                    found_knees=knees,
                    tails=told.tails.get(comparison.series),
                    with_service=drawn,
                    progress=part_of(bar, i, len(device.done)),
                )
            )
    return found


def say_beside(beside: Sequence[SideBySide], *, details: bool) -> None:
    """What is different between devices, a sentence a curve; with ``details`` parameters, knees and differences."""
    from calibrate.report.compared.devices import difference_text, parameter_text

    for one in beside:
        if not one.matched:
            say("\nNo curve of one device has the name of another's, so there are no differences to show.")
        for matched in one.matched:
            for shown in (parameter_text(matched), difference_text(matched)) if details else ():
                say(f"\n{shown.text()}")
            say(f"\n{matched.sentence()}")


def beside_document(told: Sequence[Told], beside: Sequence[SideBySide]) -> dict[str, Any]:
    """``devices``, ``differences`` and ``not_compared`` (what has no ratio, and why) of a JSON document."""
    return {
        "devices": [
            {
                "name": t.device.name,
                "series": [c.series for c in t.device.done],
                "refused": t.device.refused,
                "load": t.device.done[0].fit.load_name,
            }
            for t in told
        ],
        "differences": [
            {"series": m.name or None, **d.to_dict()} for one in beside for m in one.matched for d in m.differences
        ],
        "not_compared": [
            {"series": m.name or None, **u.to_dict()} for one in beside for m in one.matched for u in m.untold
        ],
    }


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
            last += [labelled("AUDIT", audit_text([f for c in curves for f in c.audit])), labelled("MORE", MORE)]
        blocks.append("\n".join([named, *others, "", answer_table(alike), "", *last]))
    return "\n\n".join(blocks)


def _named(comparison: Comparison, name: str) -> Comparison:
    return replace(comparison, points=replace(comparison.points, series=name))


def say_baselines(done: Sequence[Comparison]) -> None:
    """A table for each curve, on stdout."""
    for comparison in done:
        curve = f"{comparison.series}: " if len(done) > 1 else ""
        say(f"\n\n{curve}{baseline_table(comparison)}")


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
    count = int(comparison.held_out.sum())
    missed = f"missed at {count} held-out point{'s' if count > 1 else ''}"
    header = (missed, "throughput, median", "p90", "response, median", "p90", "")
    shown = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    left = [header[i] in (missed, "") for i in shown]
    return table([header[i] for i in shown], [[row[i] for i in shown] for row in rows], left)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"
