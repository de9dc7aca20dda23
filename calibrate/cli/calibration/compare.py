"""``qsim compare``: predict from a few points, and compare the prediction with the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.compare_devices import (
    Device,
    calibrated_device,
    predicted_device,
    short_names,
    sources_of,
)
from calibrate.cli.calibration.tails import add_tails, tail_tables, tails_line
from calibrate.cli.console import Result, labelled, table, warn
from calibrate.cli.data import DataSource, findings_of, print_findings
from calibrate.cli.measuring.audit import audit_text, failing
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import conflicts
from calibrate.cli.outputs import Page
from measure.units import counted
from qsim.text_table import without_empty

if TYPE_CHECKING:
    from calibrate import Comparison, SealedPrediction
    from calibrate.report.compared import Evidence
    from calibrate.report.compared.devices import SideBySide
    from calibrate.report.view import Section

HELP = """Calibrate on a few points, predict the others, and report what is missed.

Without --use it calibrates on depths 1 and 32, with six or more 1, 8 and 64 (or the nearest); of other loads on the
smallest, a middle one and the largest. Datasets are corrected by what their audit proves. Several DATA (directories, or
files of a curve each) are devices side by side, the first the baseline; files of single points are one device.

\b
Examples:
qsim compare sweep/ --use 1,32 --report report.html
qsim compare --dataset 003-ssd-read --details
qsim compare old-drive/ new-drive/ --report both.html
qsim compare tonight/ --prediction yesterday.json --fail-on error
"""

MORE = "--details: parameters, every point;   --report report.html: plots"
OWN = "a prediction brings its own calibration"


@conflicts("--prediction", "--use", "--model", because=OWN)
def compare(
    *,
    data: o.Data = None,
    dataset: list[str] | None = option("NAME", None, "A published table, instead of DATA or with it; repeatable."),
    columns: o.Columns = None,
    use: o.Use = None,
    series: o.Series = None,
    model: o.DeviceModel = None,
    prediction: Path | None = option("FILE", parsing.path, "Compare with this fit or sealed prediction."),
    page: Page,
    slo: o.Objective = None,
    details: o.Details = False,
    fail_on: o.FailOn = None,
) -> Result:
    """Load, compare every series or the one named, print, report, check."""
    from calibrate.models.calibration import model_named

    if model is not None:
        model_named(model)
    sources = sources_of(data or (), dataset or (), columns, together=prediction is not None)
    names = short_names(sources)
    several = len(sources) > 1
    seal = None
    if prediction is not None:
        device, seal = predicted_device(sources[0], names[0], series, prediction, slo)
        devices = [device]
    else:
        pairs = zip(sources, names, strict=True)
        devices = [calibrated_device(s, n, series, use, model, slo, several=several) for s, n in pairs]
    title = _title(names) if several else sources[0].name
    title += "" if seal is None else f", predicted before: SHA-256 {seal.sha256}"
    side_by_side = _side_by_side({d.name: d.comparisons for d in devices}) if several else ()
    written = page.write(lambda: _sections(title, devices, side_by_side), title)
    _warn(devices)
    return Result(
        lambda: _text(devices, sources, seal, side_by_side, details=details, asked=slo is not None),
        lambda: {
            **_document(devices),
            "differences": _differences(side_by_side),
            "seal": None if seal is None else seal.to_dict(),
        },
        written,
        failing([f for d in devices for c in d.comparisons for f in c.audit], fail_on),
    )


def _title(devices: Sequence[str]) -> str:
    from calibrate.report.compared.devices import MOST_IN_FULL

    return ", ".join(devices) if len(devices) <= MOST_IN_FULL else f"{len(devices)} devices side by side"


def _evidence(device: Device) -> list[Evidence]:
    """What supports each comparison."""
    from calibrate.cli.progress import Bar
    from calibrate.report.compared import evidence_of

    found = []
    with Bar("gathering what the report shows") as bar:
        for i, comparison in enumerate(device.comparisons):
            bar.share(i / len(device.comparisons))
            tails = device.tails.get(comparison.series)
            found.append(evidence_of(comparison, device.sweep, tails=tails, thorough=True))
    return found


def _side_by_side(devices: Mapping[str, Sequence[Comparison]]) -> Sequence[SideBySide]:
    """The devices next to each other; a warning where one shares no curve with the first."""
    from calibrate.report.compared.devices import alone, side_by_side

    if apart := alone(devices):
        warn(apart)
    return side_by_side(devices)


def _sections(title: str, devices: Sequence[Device], side_by_side: Sequence[SideBySide]) -> list[Section]:
    """Devices side by side first, where there are several, then each by itself."""
    from calibrate.report.compared import compared_section
    from calibrate.report.compared.devices import side_section

    return [
        *(side_section(one) for one in side_by_side),
        *(compared_section(title if len(devices) == 1 else d.name, _evidence(d), d.refused) for d in devices),
    ]


def _warn(devices: Sequence[Device]) -> None:
    """What the importer noticed, what speaks against a calibration, what could not be compared.

    What a dataset was corrected by is left out: the answer has a line on it.
    """
    from calibrate.fitting.fit import matters

    for device in devices:
        name = device.name if len(devices) > 1 else ""
        noticed = [f for f in findings_of(device.sweep, device.names) if f.check != "corrected"]
        doubts = [
            f
            for c in device.comparisons
            for f in c.audit
            if matters(f, calibrated_here=c.calibrated_here) and f not in device.sweep.findings
        ]
        print_findings(noticed, name)
        print_findings(doubts, name)
        for reason in device.refused.values():
            warn(f"not compared: {name}: {reason}" if name else f"not compared: {reason}")


def _text(
    devices: Sequence[Device],
    sources: Sequence[DataSource],
    seal: SealedPrediction | None,
    side_by_side: Sequence[SideBySide],
    *,
    details: bool,
    asked: bool,
) -> str:
    """What --slo asks for, the answer of all curves, and with ``details`` every curve in full."""
    several = len(devices) > 1
    text = [] if seal is None else [f"{seal}\n"]
    if asked:
        text += _asked(devices)
    text.append(_answer(devices, sources))
    for device in devices if details else ():
        if several:
            text.append(f"\n\n== {device.name} ==")
        from calibrate.cli.fit_lines import scalability_lines

        for c in device.comparisons:
            shown = "\n".join([str(c), *scalability_lines(c.fit, device.sweep)])
            text.append(f"\n\n{shown}\n\n{baseline_table(c)}")
        text += tail_tables(device.tails)
    text += [f"\n{part}" for part in differences_text(side_by_side, details=details)]
    return "\n".join(text)


def _asked(devices: Sequence[Device]) -> Iterator[str]:
    """What --slo asks for of each curve."""
    from calibrate.cli.fit_lines import asked_lines

    curves = [(d, c) for d in devices for c in d.comparisons]
    for device, c in curves:
        name = f"{device.name}: {c.series}: " if len(devices) > 1 else f"{c.series}: " if len(curves) > 1 else ""
        yield from (f"{name}{line}" for line in asked_lines(c.fit, device.objective, device.sweep))


def _answer(devices: Sequence[Device], sources: Sequence[DataSource]) -> str:
    """Three lines, a table, and a line each for what is sure, worst, next, audited (or not) and more.

    Curves of several devices bear their device's name. Loads of different kinds have a table each.
    """
    from calibrate.prediction.answer import answer, answer_table, last_lines
    from measure.auditing.all_checks import not_checked

    several = len(devices) > 1
    title = _title([d.name for d in devices]) if several else sources[0].title
    curves = [_named(c, f"{d.name}: {c.series}") if several else c for d in devices for c in d.comparisons]
    kinds = list(dict.fromkeys(c.fit.load_kind for c in curves))
    blocks = []
    for kind in kinds:
        alike = [c for c in curves if c.fit.load_kind == kind]
        first, *others = answer(alike)
        named = first if title == alike[0].series and len(alike) == 1 else f"{title}: {first}"
        blocks.append("\n".join([named, *others, "", answer_table(alike), "", *last_lines(alike)]))
    audit = audit_text(
        [f for d in devices for c in d.comparisons for f in c.audit],
        list(dict.fromkeys(what for d in devices for what in not_checked(d.sweep))),
        "DATA" if several else sources[0].arguments,
    )
    tails = {f"{d.name}: {n}" if several else n: t for d in devices for n, t in d.tails.items()}
    last = [*tails_line(tails), labelled("AUDIT", audit), labelled("MORE", MORE)]
    return "\n".join(["\n\n".join(blocks), *last])


def _named(comparison: Comparison, name: str) -> Comparison:
    return replace(comparison, points=replace(comparison.points, series=name))


def differences_text(side_by_side: Sequence[SideBySide], *, details: bool) -> Iterator[str]:
    """What is different between devices, a sentence a curve; with ``details`` their parameters too."""
    for one in side_by_side:
        from calibrate.report.compared.devices import parameter_text

        if not one.matched:
            yield "No curve of one device has the name of another's, so there are no differences to show."
        for matched in one.matched:
            if details:
                yield parameter_text(matched).text()
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
    header, rows_shown = without_empty((missed, "throughput, median", "p90", "response, median", "p90", ""), rows)
    return table(header, rows_shown, [name in (missed, "") for name in header])


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"


def _document(devices: Sequence[Device]) -> dict[str, Any]:
    """The JSON of every curve of every device: the first one's keys at the top, all under ``series``."""
    from calibrate.cli.fit_lines import objective_of, scalability_of

    parts: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for device in devices:
        own = comparison_document(device.comparisons, device.refused)["series"]
        slo = device.objective
        for part, c in zip(own, device.comparisons, strict=True):
            part["objective"] = None if slo is None else objective_of(c.fit, slo, device.sweep).to_dict()
            part["scalability"] = {k: asdict(v) for k, v in scalability_of(c.fit, device.sweep).items()}
        add_tails(own, device.tails, device.tails_refused)
        parts += [{"device": device.name, **part} for part in own]
        prefix = f"{device.name}: " if len(devices) > 1 else ""
        refused |= {f"{prefix}{name}": reason for name, reason in device.refused.items()}
    listed = [
        {
            "name": d.name,
            "series": [c.series for c in d.comparisons],
            "refused": d.refused,
            "load": d.comparisons[0].fit.load_name,
        }
        for d in devices
    ]
    first = {k: v for k, v in parts[0].items() if k != "device"}
    return {**first, "series": parts, "refused": refused, "devices": listed}


def comparison_document(done: Sequence[Comparison], refused: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of several comparisons: the first one's keys at the top, every one under ``series``."""
    parts = []
    for comparison in done:
        part = comparison.to_dict()
        parts.append({"name": part.pop("series"), **part})
    return {**parts[0], "series": parts, "refused": dict(refused), "report": None}


def _differences(side_by_side: Sequence[SideBySide]) -> list[dict[str, Any]]:
    """The differences between devices, of a JSON document."""
    matched = [m for one in side_by_side for m in one.matched]
    return [{"series": m.name or None, **d.to_dict()} for m in matched for d in m.differences]
