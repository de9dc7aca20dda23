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
from calibrate.cli.calibration.tails import tail_tables, tails_document, tails_line
from calibrate.cli.console import Result, labelled, table, warn
from calibrate.cli.data import DataSource, findings_of, print_findings
from calibrate.cli.measuring.audit import audit_text, failing
from calibrate.cli.option_groups import conflicts, option
from calibrate.cli.outputs import Page
from measure.units import counted
from qsim.text_table import without_empty

if TYPE_CHECKING:
    from calibrate import Comparison
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
        device, seal = predicted_device(sources[0], series, prediction)
        devices = {names[0]: device}
    else:
        pairs = zip(names, sources, strict=True)
        devices = {n: calibrated_device(s, n if several else "", series, use, model) for n, s in pairs}
    title = _title(names) if several else sources[0].name
    title += "" if seal is None else f", predicted before: SHA-256 {seal.sha256}"
    side_by_side = _side_by_side({n: d.comparisons for n, d in devices.items()}) if several else ()
    written = page.write(lambda: _sections(title, devices, side_by_side), title)
    _warn(devices)
    findings = [f for d in devices.values() for c in d.comparisons for f in c.audit]

    def text() -> str:
        parts = [] if seal is None else [f"{seal}\n"]
        parts += [*_asked(devices, slo), _answer(devices, sources)]
        parts += _details(devices) if details else ()
        return "\n".join([*parts, *(f"\n{part}" for part in _differences_text(side_by_side, details=details))])

    def document() -> dict[str, Any]:
        matched = [m for one in side_by_side for m in one.matched]
        differences = [{"series": m.name or None, **d.to_dict()} for m in matched for d in m.differences]
        sealed = None if seal is None else seal.to_dict()
        return {**_document(devices, slo), "differences": differences, "seal": sealed}

    return Result(text, document, written, failing(findings, fail_on))


def _title(devices: Sequence[str]) -> str:
    from calibrate.report.compared.devices import MOST_IN_FULL

    return ", ".join(devices) if len(devices) <= MOST_IN_FULL else f"{len(devices)} devices side by side"


def _side_by_side(devices: Mapping[str, Sequence[Comparison]]) -> Sequence[SideBySide]:
    """The devices next to each other; a warning where one shares no curve with the first."""
    from calibrate.report.compared.devices import alone, side_by_side

    if apart := alone(devices):
        warn(apart)
    return side_by_side(devices)


def _sections(title: str, devices: Mapping[str, Device], side_by_side: Sequence[SideBySide]) -> list[Section]:
    """Devices side by side first, where there are several, then each by itself."""
    from calibrate.cli.progress import Bar
    from calibrate.report.compared import compared_section, evidence_of
    from calibrate.report.compared.devices import side_section

    sections = [side_section(one) for one in side_by_side]
    count, done = sum(len(d.comparisons) for d in devices.values()), 0
    with Bar("gathering what the report shows") as bar:
        for name, device in devices.items():
            evidence = []
            for c in device.comparisons:
                bar.share(done / count)
                evidence.append(evidence_of(c, device.sweep, tails=device.tails.get(c.series), thorough=True))
                done += 1
            sections.append(compared_section(name if len(devices) > 1 else title, evidence, device.refused))
    return sections


def _warn(devices: Mapping[str, Device]) -> None:
    """What the importer noticed, what speaks against a calibration, what could not be compared.

    What a dataset was corrected by is left out: the answer has a line on it.
    """
    from calibrate.fitting.fit import matters

    for device, name in zip(devices.values(), devices if len(devices) > 1 else [""], strict=True):
        doubts = [
            f
            for c in device.comparisons
            for f in c.audit
            if matters(f, calibrated_here=c.calibrated_here) and f not in device.sweep.findings
        ]
        print_findings([f for f in findings_of(device.sweep, device.names) if f.check != "corrected"], name)
        print_findings(doubts, name)
        for reason in device.refused.values():
            warn(f"not compared: {name}: {reason}" if name else f"not compared: {reason}")


def _named(devices: Mapping[str, Device]) -> Iterator[tuple[str, Device, Comparison]]:
    """Every curve, with the name of its device before its own where there are several devices."""
    for name, device in devices.items():
        for c in device.comparisons:
            yield f"{name}: {c.series}" if len(devices) > 1 else c.series, device, c


def _asked(devices: Mapping[str, Device], slo: parsing.Objective | None) -> Iterator[str]:
    """What --slo asks for of each curve."""
    from calibrate.cli.calibration.fits import asked_lines

    curves = list(_named(devices)) if slo is not None else []
    for name, device, c in curves:
        yield from (f"{name}: {line}" if len(curves) > 1 else line for line in asked_lines(c.fit, slo, device.sweep))


def _answer(devices: Mapping[str, Device], sources: Sequence[DataSource]) -> str:
    """Three lines, a table, and a line each for what is sure, worst, next, audited (or not) and more.

    Loads of different kinds have a table each.
    """
    from calibrate.prediction.answer import answer, answer_table, last_lines
    from measure.auditing.all_checks import not_checked

    title = _title(list(devices)) if len(devices) > 1 else sources[0].title
    curves = [replace(c, points=replace(c.points, series=name)) for name, _, c in _named(devices)]
    blocks = []
    for kind in dict.fromkeys(c.fit.load_kind for c in curves):
        alike = [c for c in curves if c.fit.load_kind == kind]
        first, *others = answer(alike)
        named = first if title == alike[0].series and len(alike) == 1 else f"{title}: {first}"
        blocks.append("\n".join([named, *others, "", answer_table(alike), "", *last_lines(alike)]))
    findings = [f for d in devices.values() for c in d.comparisons for f in c.audit]
    unchecked = list(dict.fromkeys(what for d in devices.values() for what in not_checked(d.sweep)))
    audit = audit_text(findings, unchecked, "DATA" if len(devices) > 1 else sources[0].arguments)
    tails = {name: d.tails[c.series] for name, d, c in _named(devices) if c.series in d.tails}
    return "\n".join(["\n\n".join(blocks), *tails_line(tails), labelled("AUDIT", audit), labelled("MORE", MORE)])


def _details(devices: Mapping[str, Device]) -> Iterator[str]:
    """Every curve in full, with what baselines miss and its tails."""
    from calibrate.cli.calibration.fits import scalability_lines

    for name, device in devices.items():
        if len(devices) > 1:
            yield f"\n\n== {name} =="
        for c in device.comparisons:
            shown = "\n".join([str(c), *scalability_lines(c.fit, device.sweep)])
            yield f"\n\n{shown}\n\n{baseline_table(c)}"
        yield from tail_tables(device.tails)


def _differences_text(side_by_side: Sequence[SideBySide], *, details: bool) -> Iterator[str]:
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
    figures = ("throughput_median_pct", "throughput_p90_pct", "response_median_pct", "response_p90_pct")
    rows = []
    for one in (comparison.model_error, *comparison.baselines):
        errors = [getattr(one, name) for name in figures]
        rows.append((one.name, *("" if e is None else f"{e:.1f} %" for e in errors), one.why))
    missed = f"missed at {counted(int(comparison.held_out.sum()), 'held-out point')}"
    header, rows_shown = without_empty((missed, "throughput, median", "p90", "response, median", "p90", ""), rows)
    return table(header, rows_shown, [name in (missed, "") for name in header])


def _document(devices: Mapping[str, Device], slo: parsing.Objective | None) -> dict[str, Any]:
    """The JSON of every curve of every device: the first one's keys at the top, all under ``series``."""
    from calibrate.cli.calibration.fits import objective_of, scalability_of

    parts: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name, device in devices.items():
        own = comparison_document(device.comparisons, device.refused)["series"]
        for part, c in zip(own, device.comparisons, strict=True):
            objective = None if slo is None else objective_of(c.fit, slo, device.sweep).to_dict()
            scalability = {k: asdict(v) for k, v in scalability_of(c.fit, device.sweep).items()}
            tails = tails_document(device.tails.get(c.series))
            parts.append({"device": name, **part, "objective": objective, "scalability": scalability, **tails})
        refused |= {f"{name}: {n}" if len(devices) > 1 else n: reason for n, reason in device.refused.items()}
    listed = [
        {
            "name": name,
            "series": [c.series for c in d.comparisons],
            "refused": d.refused,
            "load": d.comparisons[0].fit.load_name,
        }
        for name, d in devices.items()
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
