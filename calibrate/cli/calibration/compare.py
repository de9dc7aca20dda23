"""``qsim compare``: predict from a few points, and compare the prediction with the others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.data import (
    CHANGED,
    DataSource,
    audit_text,
    failing,
    findings_of,
    known_series,
    of_each,
    print_findings,
)
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import read_fits
from calibrate.cli.options import Page, conflicts, option
from measure.findings import curve_name
from measure.text_files import read_head
from measure.units import counted
from qsim.result import labelled, table, without_empty

if TYPE_CHECKING:
    from calibrate import Comparison, Fit, SealedPrediction, Tails
    from calibrate.report.compared.devices import SideBySide
    from calibrate.report.view import Section

MORE = "--details: parameters, every point;   --report report.html: plots"
OWN, NOT_COMPARED = "a prediction brings its own calibration", "not compared"


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
) -> CommandResult:
    """Calibrate on a few points, predict the others, and report what is missed.

    Without --use it calibrates on depths 1 and 32, with six or more 1, 8 and 64 (or the nearest); of other loads on the
    smallest, a middle one and the largest. Datasets are corrected by what their audit proves. Several DATA
    (directories, or files of a curve each) are devices side by side, the first the baseline; files of single points are
    one device. A fit of one kind of load predicts another: qsim fit closed/ --out fit.json, then compare open/
    --prediction fit.json.

    \b
    Examples:
    qsim compare sweep/ --use 1,32 --report report.html
    qsim compare --dataset 003-ssd-read --details
    qsim compare old-drive/ new-drive/ --report both.html
    qsim compare tonight/ --prediction yesterday.json --fail-on error
    """
    from calibrate.models.choice import model_named

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
        parts += [*_asked(devices, slo), _answer(devices, sources, details=details)]
        parts += _details(devices) if details else ()
        return "\n".join([*parts, *(f"\n{part}" for part in _differences_text(side_by_side, details=details))])

    def document() -> dict[str, Any]:
        matched = [m for one in side_by_side for m in one.matched]
        differences = [{"series": m.name or None, **d.to_dict()} for m in matched for d in m.differences]
        sealed = None if seal is None else seal.to_dict()
        return {**_document(devices, slo), "differences": differences, "seal": sealed}

    return CommandResult(text, document, written, failing(findings, fail_on))


def _title(devices: Sequence[str]) -> str:
    from calibrate.report.compared.devices import MOST_IN_FULL

    return ", ".join(devices) if len(devices) <= MOST_IN_FULL else f"{len(devices)} devices side by side"


def _side_by_side(devices: Mapping[str, Sequence[Comparison]]) -> Sequence[SideBySide]:
    """The devices next to each other; a warning where they vary different loads."""
    from calibrate.report.compared.devices import side_by_side

    kinds = {done[0].fit.load_name for done in devices.values()}
    if len(kinds) > 1:
        warn(f"these devices vary different loads ({', '.join(sorted(kinds))}); only like loads are compared")
    return side_by_side(devices)


def _sections(title: str, devices: Mapping[str, Device], side_by_side: Sequence[SideBySide]) -> list[Section]:
    """Devices side by side first, where there are several, then each by itself."""
    from calibrate.cli.progress import Bar
    from calibrate.report.compared import compared_section, views_of
    from calibrate.report.compared.devices import side_section
    from calibrate.report.compared.simulated import queue_at_work

    sections = [side_section(one) for one in side_by_side]
    count, done = sum(len(d.comparisons) for d in devices.values()), 0
    with Bar("gathering what the report shows") as bar:
        for name, device in devices.items():
            curves = []
            for c in device.comparisons:
                bar.share(done / count)
                curves.append(views_of(c, device.tails.get(c.series), queue_at_work(c, device.sweep)))
                done += 1
            sections.append(compared_section(name if len(devices) > 1 else title, curves, device.refused))
    return sections


def _warn(devices: Mapping[str, Device]) -> None:
    """Print findings of the importer and findings against a calibration."""
    from calibrate.fitting.calibrating import matters

    for device, name in zip(devices.values(), devices if len(devices) > 1 else [""], strict=True):
        doubts = [
            f
            for c in device.comparisons
            for f in c.audit
            if matters(f, calibrated_here=c.calibrated_here) and f not in device.sweep.findings
        ]
        print_findings([f for f in findings_of(device.sweep, device.names) if f.check not in CHANGED], name)
        print_findings(doubts, name)


def _named(devices: Mapping[str, Device]) -> Iterator[tuple[str, Device, Comparison]]:
    """Every curve, with the name of its device before its own where there are several devices."""
    for name, device in devices.items():
        for c in device.comparisons:
            yield ": ".join(filter(None, (name, curve_name(c.series)))) if len(devices) > 1 else c.series, device, c


def _asked(devices: Mapping[str, Device], slo: parsing.Objective | None) -> Iterator[str]:
    from calibrate.cli.calibration.fit import asked_lines

    curves = list(_named(devices)) if slo is not None else []
    for name, device, c in curves:
        yield from (f"{name}: {line}" if len(curves) > 1 else line for line in asked_lines(c.fit, slo, device.sweep))


def _answer(devices: Mapping[str, Device], sources: Sequence[DataSource], *, details: bool) -> str:
    """Three lines, a table, and a line each for sureness, worst point, next load, audit and further options."""
    from calibrate.prediction.comparison_answer import MOST_POINTS, answer, answer_table, last_lines
    from measure.auditing.all_checks import not_checked

    title = _title(list(devices)) if len(devices) > 1 else sources[0].title
    curves = [c if len(devices) == 1 else replace(c, points=replace(c.points, series=n)) for n, _, c in _named(devices)]
    blocks = []
    for kind in dict.fromkeys(_kind(c) for c in curves):
        alike = [c for c in curves if _kind(c) == kind]
        first, *others = answer(alike)
        named = first if title == alike[0].series and len(alike) == 1 else f"{title}: {first}"
        points = answer_table(alike, None if details else MOST_POINTS)
        blocks.append("\n".join([named, *others, "", points, "", *last_lines(alike)]))
    findings = [f for d in devices.values() for c in d.comparisons for f in c.audit]
    unchecked = list(dict.fromkeys(what for d in devices.values() for what in not_checked(d.sweep)))
    audit = audit_text(findings, unchecked, "DATA" if len(devices) > 1 else sources[0].arguments)
    tails = {name: d.tails[c.series] for name, d, c in _named(devices) if c.series in d.tails}
    return "\n".join(["\n\n".join(blocks), *tails_line(tails), labelled("AUDIT", audit), labelled("MORE", MORE)])


def _kind(comparison: Comparison) -> tuple[str, float]:
    """The kind of load of the points: every think time is one of its own."""
    load = comparison.points.load_type
    return load.kind, load.thinking_s


def _details(devices: Mapping[str, Device]) -> Iterator[str]:
    """Every curve with the errors of baselines and its tails; its points where the answer has a row for each curve."""
    from calibrate.cli.calibration.fit import scalability_lines
    from calibrate.prediction.comparison_answer import long_text

    kinds = [c.fit.load_type.kind for d in devices.values() for c in d.comparisons]
    for name, device in devices.items():
        if len(devices) > 1:
            yield f"\n\n== {name} =="
        for c in device.comparisons:
            text = long_text(c, points=kinds.count(c.fit.load_type.kind) > 1)
            shown = "\n".join([text, *scalability_lines(c.fit, device.sweep)])
            yield f"\n\n{shown}\n\n{baseline_table(c)}"
        yield from tail_tables(device.tails)


def _differences_text(side_by_side: Sequence[SideBySide], *, details: bool) -> Iterator[str]:
    """Differences between devices, a sentence a curve; with ``details`` their parameters too."""
    for one in side_by_side:
        from calibrate.report.compared.devices import parameter_text

        if not one.matched:
            yield "No curve of one device has the name of another's, so there are no differences to show."
        for matched in one.matched:
            if details:
                yield parameter_text(matched).text()
            yield matched.sentence()


def baseline_table(comparison: Comparison) -> str:
    """Errors of the model and each baseline at the same held-out points: median and p90 in percent, a row each."""
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
    from calibrate.cli.calibration.fit import objective_document, scalability_of

    parts: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name, device in devices.items():
        own = comparison_document(device.comparisons, device.refused)["series"]
        for part, c in zip(own, device.comparisons, strict=True):
            objective = objective_document(c.fit, slo, device.sweep)
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
    return {**parts[0], "series": parts, "refused": dict(refused)}


@dataclass(frozen=True)
class Device:
    """One device: its sweep, the curves that were compared, why others could not be, and their tails."""

    sweep: measure.Sweep
    names: tuple[str, ...]
    comparisons: Sequence[Comparison]
    refused: Mapping[str, str]
    tails: Mapping[str, Tails]


def sources_of(
    data: Sequence[str], datasets: Sequence[str], columns: str | None, *, together: bool
) -> list[DataSource]:
    """The sources of devices: every dataset, every directory, and every file with a curve of its own.

    Files of single points, as fio writes them, are one device together, and so is all DATA with ``together``.
    """
    published = [DataSource((), name, None if data else columns) for name in datasets]
    if together and len(published) + bool(data) > 1:
        raise wrong_usage("--prediction is compared with one DATA or --dataset; name one")
    if together or len(data) < 2:
        return [DataSource(data, None, columns), *published] if data or not published else published
    return [*_apart(data, columns), *published]


def _apart(data: Sequence[str], columns: str | None) -> list[DataSource]:
    """Directories each by itself, and files so where each holds a curve."""
    files = [name for name in data if not Path(name).is_dir()]
    each = [DataSource([name], None, columns) for name in files]
    if len(each) > 1 and not all(_is_curve(source) for source in each):
        each = [DataSource(files, None, columns)]
    sources = {source.data[0]: source for source in each}
    sources |= {name: DataSource([name], None, columns) for name in data if name not in files}
    return [sources[name] for name in data if name in sources]


def _is_curve(source: DataSource) -> bool:
    """Whether the file holds several loads of one curve; one that cannot be read alone does not."""
    try:
        points = source.load().points
    except measure.DataError:
        return False
    return int(points.groupby("series")["load"].nunique().max()) > 1


def short_names(sources: Sequence[DataSource]) -> list[str]:
    """A name for each device: the last part of its path where these differ, else the path as typed."""
    last = [s.name if s.dataset or len(s.data) > 1 else os.path.basename(s.name.rstrip("/")) or s.name for s in sources]
    return last if len(set(last)) == len(last) else [s.name for s in sources]


def calibrated_device(
    source: DataSource, name: str, series: str | None, use: Sequence[float] | None, model: str | None
) -> Device:
    """Comparisons of every curve of one device, calibrated on some of its points; errors name the device if given."""
    sweep = source.load()
    names = known_series(sweep.series, series, name)

    def compared(curve: str) -> Comparison:
        from calibrate.fitting.calibrating import with_unsteady_named

        loads = calibrate.points_of(sweep, curve).load.tolist() if use == () else use
        made = calibrate.compare(sweep, loads, series=curve, model=model)
        fitted = with_unsteady_named(made.fit, sweep)
        for note in fitted.notes[len(made.fit.notes) :]:
            warn(f"{curve}: {note}")
        return replace(made, fit=fitted)

    try:
        found, refused = of_each(names, compared, NOT_COMPARED, name)
    except measure.DataError as error:
        shown = f"qsim show {source.arguments} --report measured.html"
        raise measure.DataError(f"{error}; to see the points without a model, run: {shown}") from error
    tails = simulated_tails([(c.fit, n, None) for n, c in found.items()], sweep)
    of_others = [
        calibrate.compare(other, series=curve, fitted=c.fit)
        for curve, c in found.items()
        for other in sweep.also
        if curve in other.series
    ]
    return Device(sweep, names, [*found.values(), *of_others], refused, tails)


def predicted_device(
    source: DataSource, series: str | None, prediction: Path
) -> tuple[Device, SealedPrediction | None]:
    """Every curve of one device against the fit of its name in a file (a lone fit against all), and the seal."""
    from calibrate.sealing import SCHEMA

    sweep = whole = source.load()
    names = known_series(sweep.series, series)
    seal = calibrate.read_seal(prediction) if f'"{SCHEMA}"' in read_head(prediction) else None
    if seal is not None:
        sweep = _unseen(seal, sweep, names)
        names = tuple(n for n in names if n in sweep.series)
    fits = {f.series: f for f in (read_fits(prediction) if seal is None else seal.fits)}
    only = next(iter(fits.values())) if len(fits) == 1 else None

    def compared(curve: str) -> Comparison:
        fitted = fits.get(curve, only)
        if fitted is None:
            raise measure.DataError(f"{curve}: {prediction} has no fit of this name; it has: {', '.join(fits)}")
        left_out = seal is not None and bool(fitted.was_used(calibrate.points_of(whole, curve)).any())
        return replace(calibrate.compare(sweep, series=curve, fitted=fitted), left_out=left_out)

    found, refused = of_each(names, compared, NOT_COMPARED)
    tails = simulated_tails([(c.fit, n, None) for n, c in found.items()] if seal is None else [], sweep)
    return Device(sweep, names, [*found.values()], refused, tails), seal


def _unseen(seal: SealedPrediction, sweep: measure.Sweep, names: Sequence[str]) -> measure.Sweep:
    """The points that the sealed prediction did not use; a warning says which may have been known."""
    from calibrate.sealing import doubt_of, unseen

    rows = sweep.points[sweep.points["series"].isin(list(names))]
    fresh = unseen(seal, replace(sweep, points=rows))
    if left_out := len(rows) - len(fresh.points):
        warn(f"{left_out} of {len(rows)} points were used in the sealed prediction and are left out")
    if doubt := doubt_of(seal, fresh):
        warn(doubt)
    return fresh


Curve = tuple["Fit", str, Sequence[float] | None]
"""A fit, the name of its curve in the sweep, and the depths whose tails are wanted (None: those measured)."""


def simulated_tails(curves: Sequence[Curve], sweep: measure.Sweep | None) -> dict[str, Tails]:
    """The tails of every curve with histograms, by series; a warning gives the reason where they fail."""
    found: dict[str, Tails] = {}
    if sweep is None or not sweep.latencies:
        return found
    from calibrate.cli.progress import Bar

    with Bar("simulating tails") as bar:
        for number, (fit, series, at) in enumerate(curves, 1):
            try:
                if (tails := calibrate.fitted_tails(fit, sweep, series, at)) is not None:
                    found[series] = tails
            except measure.DataError as error:
                warn(f"no tails: {error}")
            bar.share(number / len(curves))
    return found


def tails_document(tails: Tails | None) -> dict[str, Any]:
    """The tails of a curve in JSON, with the structures that they come from and how much runs differ."""
    noise = None if tails is None or tails.noise is None else 100 * tails.noise
    structures = [] if tails is None else tails.structures_to_list()
    return {"tails": [] if tails is None else tails.to_list(), "tail_structures": structures, "tail_noise_pct": noise}


def tails_line(found: Mapping[str, Tails]) -> list[str]:
    """A line on the tails of all curves; none where there are none."""
    if not found:
        return []
    name, worst = max(found.items(), key=lambda pair: pair[1].median_error_pct() or 0.0)
    of = f" ({name}, the worst of {len(found)})" if len(found) > 1 else ""
    return [labelled("TAILS", f"{worst.reliance()}{of}")]


def tail_tables(found: Mapping[str, Tails]) -> list[str]:
    """A table and a sentence for each curve."""
    from calibrate.report.compared.simulated import tail_text

    return [f"\n\n{series}: tails\n{tail_text(tails).text()}\n\n{tails.sentence()}" for series, tails in found.items()]
