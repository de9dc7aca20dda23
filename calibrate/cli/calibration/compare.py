"""``qsim compare``: predict from a few points, and compare the prediction with the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.compare_devices import (
    Device,
    GivenPrediction,
    calibrated_device,
    given_prediction,
    predicted_device,
    short_names,
    sources_of,
)
from calibrate.cli.calibration.tails import add_tails, say_tails, tails_line, tails_of_all
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import findings_of, print_findings
from calibrate.cli.failures import CHECK_FAILED, UNDECIDED, CommandError
from calibrate.cli.measuring.audit import audit_text, check_findings
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import conflicts
from calibrate.cli.outputs import Outputs
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.knees.definitions import NamedKnee
    from calibrate.report.compared import Evidence
    from calibrate.report.compared.devices import SideBySide
    from calibrate.report.view import Section
    from calibrate.sealing.sealed_prediction import SealedPrediction
    from calibrate.tails.results import Tails

HELP = """Calibrate on a few points, predict the others, and report what is missed.

Without --use it calibrates on depths 1 and 32, with six or more 1, 8 and 64 (or the nearest); of other loads on the
smallest, a middle one and the largest. Datasets are corrected by what their audit proves. Several DATA (directories, or
files of a curve each) are devices side by side, the first the baseline; files of single points are one device.

\b
Examples:
qsim compare sweep/ --use 1,32 --report report.html
qsim compare --dataset 003-ssd-read --max-error 10
qsim compare old-drive/ new-drive/ --report both.html
qsim compare tonight/ --prediction yesterday.json --fail-on error
"""

MORE = "--details: parameters, every point;   --report report.html: plots"
OWN = "a prediction brings its own calibration"


@dataclass(frozen=True)
class ComparedDevice:
    """A device with the knees of each of its curves, and the tails that are known (and why others are not)."""

    device: Device
    knees: Sequence[tuple[NamedKnee, ...]]
    tails: Mapping[str, Tails]
    tails_refused: Mapping[str, str]


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
    outputs: Outputs,
    slo: o.Objective = None,
    details: o.Details = False,
    fail_on: o.FailOn = None,
    max_error: float | None = option("PCT", parsing.allowed_error, "Exit with 3 where a mean error exceeds this."),
    as_json: o.AsJson = False,
) -> None:
    """Load, compare every series or the one named, print, report, check."""
    from calibrate.models.calibration import model_named

    if model is not None:
        model_named(model)
    sources = sources_of(data or (), dataset or (), columns, together=prediction is not None)
    outputs.check()
    given = None if prediction is None else given_prediction(prediction)
    names = short_names(sources)
    devices = (
        [predicted_device(sources[0], names[0], series, given)]
        if given is not None
        else [
            calibrated_device(s, n, series, use, model, several=len(sources) > 1)
            for s, n in zip(sources, names, strict=True)
        ]
    )
    seal = None if given is None else given.seal
    several = len(devices) > 1
    wanted = as_json or details or slo is not None or outputs.wanted or several
    compared = [_with_knees(d, slo, seal, wanted=wanted) for d in devices]
    title = _title(names) if several else sources[0].name
    page = title if seal is None else f"{title}, predicted before: SHA-256 {seal.sha256}"
    evidence = {c.device.name: _evidence(c, drawn=outputs.wanted) for c in compared if several or outputs.wanted}
    side_by_side = _side_by_side(evidence) if several else ()
    written = outputs.write(_sections(page, devices, evidence, side_by_side) if outputs.wanted else (), page)

    _warn(devices, corrected=as_json)
    if several and (apart := _apart(evidence)):
        warn(apart)
    if not as_json:
        _say(compared, title if several else sources[0].title, given, side_by_side, details=details)
        written.say()
    document = (
        {
            **_document(compared),
            **_devices_document(devices, side_by_side),
            "seal": None if seal is None else seal.to_dict(),
            **written.to_dict(),
        }
        if as_json
        else None
    )
    _check([c for d in devices for c in d.comparisons], fail_on, max_error, document)
    if document is not None:
        print_json(document)


def _title(devices: Sequence[str]) -> str:
    from calibrate.report.compared.devices import MOST_IN_FULL

    return ", ".join(devices) if len(devices) <= MOST_IN_FULL else f"{len(devices)} devices side by side"


def _with_knees(
    device: Device, objective: parsing.Objective | None, seal: SealedPrediction | None, *, wanted: bool
) -> ComparedDevice:
    """The device with its tails, and the knees by every definition where they are ``wanted``."""
    knees: list[tuple[NamedKnee, ...]] = [() for _ in device.comparisons]
    if wanted:
        from calibrate.cli.knee_tables import knees_of

        knees = [knees_of(c.fit, objective, device.sweep, float(c.points.load.max())) for c in device.comparisons]
    return ComparedDevice(device, knees, *tails_of_all(device.comparisons, device.sweep, seal))


def _evidence(compared: ComparedDevice, *, drawn: bool) -> list[Evidence]:
    """What supports each comparison; with ``drawn`` what takes time to compute as well: the law of service."""
    from calibrate.cli.progress import Bar, part_of
    from calibrate.report.compared import evidence_of

    device, found = compared.device, []
    with Bar("gathering what the report shows") as bar:
        for i, (comparison, knees) in enumerate(zip(device.comparisons, compared.knees, strict=True)):
            found.append(
                evidence_of(
                    comparison,
                    device.sweep,
                    found_knees=knees,
                    tails=compared.tails.get(comparison.series),
                    thorough=drawn,
                    progress=part_of(bar, i, len(device.comparisons)),
                )
            )
    return found


def _side_by_side(evidence: Mapping[str, Sequence[Evidence]]) -> Sequence[SideBySide]:
    from calibrate.report.compared.devices import side_by_side

    return side_by_side(evidence)


def _apart(evidence: Mapping[str, Sequence[Evidence]]) -> str:
    from calibrate.report.compared.devices import alone

    return alone(evidence)


def _sections(
    title: str,
    devices: Sequence[Device],
    evidence: Mapping[str, Sequence[Evidence]],
    side_by_side: Sequence[SideBySide],
) -> list[Section]:
    """Devices side by side first, where there are several, then each by itself."""
    from calibrate.report.compared import compared_section
    from calibrate.report.compared.device_views import side_section

    return [
        *(side_section(one) for one in side_by_side),
        *(compared_section(title if len(devices) == 1 else d.name, list(evidence[d.name]), d.refused) for d in devices),
    ]


def _warn(devices: Sequence[Device], *, corrected: bool) -> None:
    """What the importer noticed, what speaks against a calibration, what could not be compared.

    Without ``corrected`` what a dataset was corrected by is left out: the answer has a line on it.
    """
    from calibrate.fitting.curve_fit import matters

    for device in devices:
        name = device.name if len(devices) > 1 else ""
        print_findings(
            [f for f in findings_of(device.sweep, device.names) if corrected or f.check != "corrected"], name
        )
        doubts = [
            f
            for c in device.comparisons
            for f in c.audit
            if matters(f, calibrated_here=c.calibrated_here) and f not in device.sweep.findings
        ]
        print_findings(doubts, name)
        for reason in device.refused.values():
            warn(f"not compared: {name}: {reason}" if name else f"not compared: {reason}")


def _say(
    compared: Sequence[ComparedDevice],
    title: str,
    given: GivenPrediction | None,
    side_by_side: Sequence[SideBySide],
    *,
    details: bool,
) -> None:
    """What --slo asks for, the answer of all curves, and with ``details`` every curve in full."""
    if given is not None and given.seal is not None:
        say(f"{given.seal}\n")
    several = len(compared) > 1
    curves = [
        (one.device.name, c, k) for one in compared for c, k in zip(one.device.comparisons, one.knees, strict=True)
    ]
    for device, c, k in curves:
        name = f"{device}: {c.series}: " if several else f"{c.series}: " if len(curves) > 1 else ""
        for line in _asked(k, c):
            say(f"{name}{line}")
    tails = {f"{one.device.name}: {n}" if several else n: t for one in compared for n, t in one.tails.items()}
    from measure.auditing.all_checks import not_checked

    unchecked = list(dict.fromkeys(what for one in compared for what in not_checked(one.device.sweep)))
    say(answer_text(title, {one.device.name: one.device.comparisons for one in compared}, tails, unchecked))
    for one in compared if details else ():
        if several:
            say(f"\n\n== {one.device.name} ==")
        from calibrate.cli.knee_tables import knee_table, scalability_lines

        for c, k in zip(one.device.comparisons, one.knees, strict=True):
            knees = "\n".join([knee_table(k, c.fit), *scalability_lines(c.fit, one.device.sweep)])
            say(f"\n\n{c}\n\n{knees}\n\n{baseline_table(c)}")
        say_tails(one.tails)
    for text in differences_text(side_by_side, details=details):
        say(f"\n{text}")


def _asked(found: Sequence[NamedKnee], comparison: Comparison) -> list[str]:
    """What --slo asks for; nothing where no knee was looked for."""
    if not found:
        return []
    from calibrate.cli.knee_tables import asked_lines

    return asked_lines(found, comparison.fit)


def answer_text(
    title: str, devices: Mapping[str, Sequence[Comparison]], tails: Mapping[str, Tails], unchecked: Sequence[str]
) -> str:
    """Three lines, a table, and a line each for what is sure, worst, next, audited (or not) and more.

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
            last += [labelled("AUDIT", audit_text(found, unchecked)), labelled("MORE", MORE)]
        blocks.append("\n".join([named, *others, "", answer_table(alike), "", *last]))
    return "\n\n".join(blocks)


def _named(comparison: Comparison, name: str) -> Comparison:
    return replace(comparison, points=replace(comparison.points, series=name))


def differences_text(side_by_side: Sequence[SideBySide], *, details: bool) -> Iterator[str]:
    """What is different between devices, a sentence a curve; with ``details`` parameters, knees and differences."""
    if not side_by_side:
        return
    from calibrate.report.compared.devices import difference_text, parameter_text

    for one in side_by_side:
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


def _document(compared: Sequence[ComparedDevice]) -> dict[str, Any]:
    """The JSON of every curve of every device: the first one's keys at the top, all under ``series``."""
    from calibrate.cli.knee_tables import scalability_of

    parts: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for one in compared:
        own = comparison_document(one.device.comparisons, one.device.refused)["series"]
        for part, c, named in zip(own, one.device.comparisons, one.knees, strict=True):
            part["knees"] = [k.to_dict() for k in named]
            part["scalability"] = {k: asdict(v) for k, v in scalability_of(c.fit, one.device.sweep).items()}
        add_tails(own, one.tails, one.tails_refused)
        parts += [{"device": one.device.name, **part} for part in own]
        prefix = f"{one.device.name}: " if len(compared) > 1 else ""
        refused |= {f"{prefix}{name}": reason for name, reason in one.device.refused.items()}
    return {**{k: v for k, v in parts[0].items() if k != "device"}, "series": parts, "refused": refused}


def comparison_document(done: Sequence[Comparison], refused: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of several comparisons: the first one's keys at the top, every one under ``series``."""
    parts = []
    for comparison in done:
        part = comparison.to_dict()
        parts.append({"name": part.pop("series"), **part})
    return {**parts[0], "series": parts, "refused": dict(refused), "report": None}


def _devices_document(devices: Sequence[Device], side_by_side: Sequence[SideBySide]) -> dict[str, Any]:
    """``devices``, ``differences`` and ``not_compared`` (what has no ratio, and why) of a JSON document."""
    matched = [m for one in side_by_side for m in one.matched]
    return {
        "devices": [
            {
                "name": d.name,
                "series": [c.series for c in d.comparisons],
                "refused": d.refused,
                "load": d.comparisons[0].fit.load_name,
            }
            for d in devices
        ],
        "differences": [{"series": m.name or None, **d.to_dict()} for m in matched for d in m.differences],
        "not_compared": [{"series": m.name or None, **u.to_dict()} for m in matched for u in m.unmatched],
    }


def _check(
    done: Sequence[Comparison], fail_on: str | None, max_error: float | None, document: dict[str, Any] | None
) -> None:
    """CommandError with exit code 3 where a check that was asked for fails, with 4 where it cannot be decided."""
    check_findings([f for c in done for f in c.audit], fail_on, document)
    for comparison in done if max_error is not None else ():
        s = comparison.summary()
        errors = {"throughput": s.held_out_mape_throughput_pct, "response time": s.held_out_mape_response_pct}
        for what, error in errors.items():
            if error is None:
                reason = f"{comparison.series} has no held-out point to check; calibrate on fewer loads"
                raise CommandError(f"--max-error {max_error:g}: {reason}", UNDECIDED, document)
            if max_error is not None and error > max_error:
                reason = f"the held-out {what} of {comparison.series} is missed by {error:.3g} % on average"
                raise CommandError(f"--max-error {max_error:g}: {reason}", CHECK_FAILED, document)
