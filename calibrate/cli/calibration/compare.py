"""``qsim compare``: predict from a few points, and hold the prediction against the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.against import Slower, failure, tell_against
from calibrate.cli.calibration.compare_data import (
    Calibration,
    Device,
    against_fits,
    against_sealed,
    baseline_first,
    compared,
    short_names,
    sources_of,
)
from calibrate.cli.calibration.compare_pages import ComparedPages, Told, beside_document, pages_of, say_beside
from calibrate.cli.calibration.tails import add_tails, say_tails, tails_of_all
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.data import DataSource, findings_of, tell
from calibrate.cli.failures import CHECK_FAILED, CommandError, wrong_usage
from calibrate.cli.knee_tables import asked_lines, knee_table, knees_of
from calibrate.cli.measuring.audit import check_findings
from calibrate.cli.option_groups import flag, option
from calibrate.cli.outputs import Outputs

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.knees.definitions import NamedKnee
    from calibrate.sealing.sealed_prediction import SealedPrediction

HELP = """Calibrate on a few points, predict the others, and report what is missed.

Without --use it calibrates on depths 1 and 32, with six or more 1, 8 and 64 (or the nearest); of other loads on the
smallest, a middle one and the largest. Datasets are corrected by what their audit proves. Several DATA (directories, or
files of a curve each) are devices side by side; files of single points are one device.

\b
Examples:
qsim compare sweep/ --use 1,32 --report report.html
qsim compare --dataset 003-ssd-read --max-error 10
qsim compare old-drive/ new-drive/ --report both.html --plots plots --format png
qsim compare tonight/ --fit yesterday.json --fail-on error
qsim compare tonight/ --sealed before.json
qsim compare new-firmware/ --against old-firmware/ --fail-on slower:5%
"""


def compare(
    *,
    data: o.Data = None,
    dataset: list[str] | None = option("NAME", None, "A published table, instead of DATA or beside it; repeatable."),
    columns: o.Columns = None,
    as_published: o.AsPublished = False,
    use: o.Use = None,
    series: o.Series = None,
    model: o.DeviceModel = None,
    fit: Path | None = option("FIT", parsing.path, "Hold this fit against DATA instead of calibrating on it."),
    sealed: Path | None = option(
        "FILE", parsing.path, "Hold this sealed prediction (qsim predict --seal) against DATA."
    ),
    only_new: bool = flag("--only-new", "With --sealed: leave out the points it was made from."),
    baseline: str | None = option("DEVICE", None, "The device that the others are held against. Default: the first."),
    level: o.Level = None,
    peak: o.Peak = None,
    outputs: Outputs,
    wanted: o.KneeOptions,
    baselines: bool = flag("--baselines", "Also print what simple baselines miss on the same held-out points."),
    details: o.Details = False,
    against: str | None = option(
        "DATA", None, "Say whether DATA moved against this earlier sweep by more than the noise."
    ),
    fail_on: Any = option(
        "WHAT", failure, "Exit with 3 where the audit finds this severity, or --against that it is slower:5%."
    ),
    max_error: float | None = option(
        "PCT", parsing.allowed_error, "Exit with 3 where a mean held-out error exceeds this."
    ),
    as_json: o.AsJson = False,
) -> None:
    """Load, compare every series or the one named, print, report, check."""
    if against is not None:
        alone = {"--fit": fit, "--sealed": sealed, "--use": use, "--model": model, "--report": outputs.wanted}
        _check_alone(against, alone)
        source = DataSource(data or (), dataset[0] if dataset else None, columns)
        tell_against(source, against, series, 0.9 if level is None else level, fail_on, as_json=as_json)
        return
    if isinstance(fail_on, Slower):
        raise wrong_usage("--fail-on slower:... needs --against, the earlier sweep")
    brought = {"--use": use, "--model": model, "--level": level, "--peak": peak}
    _check_brought(fit, sealed, [o for o, value in brought.items() if value is not None], only_new)

    from calibrate.fitting.curve_fit import model_named

    if model is not None:
        model_named(model)
    sources = sources_of(data or (), dataset or (), columns, as_published, together=bool(fit or sealed))
    sources = baseline_first(sources, baseline)
    outputs.check()
    held = None if sealed is None else _read_seal(sealed)
    devices = _devices(sources, Calibration(series, use, model, level, peak), fit, held, sealed, only_new=only_new)
    asked = as_json or wanted.asked
    told = [
        Told(
            d,
            _knees(d, wanted) if asked or outputs.wanted or len(devices) > 1 else (),
            *tails_of_all(d.done, d.sweep, held),
        )
        for d in devices
    ]
    title = _title([d.name for d in devices]) if len(devices) > 1 else sources[0].name
    page = title if held is None else f"{title}, predicted before: SHA-256 {held.sha256}"
    found = pages_of(told, page, drawn=outputs.wanted)
    written = outputs.write(found.sections, page)

    _warn(devices, found, corrected=as_json)
    if not as_json:
        heading = title if len(devices) > 1 else sources[0].title
        _tell(told, heading, held, found, knees=wanted.knees, baselines=baselines, details=details)
        written.tell()
    document = (
        {
            **_document(told, knees=asked),
            **beside_document(told, found.beside),
            "seal": None if held is None else held.to_dict(),
            **written.to_dict(),
        }
        if as_json
        else None
    )
    _check([c for d in devices for c in d.done], fail_on, max_error, document)
    if document is not None:
        print_json(document)


def _check_alone(against: str, others: Mapping[str, object]) -> None:
    """Wrong usage where --against is given with what it does not go together."""
    given = [name for name, value in others.items() if value]
    if given:
        raise wrong_usage(f"--against {against} compares what was measured, without a model: leave out {given[0]}")


def _devices(
    sources: Sequence[DataSource],
    chosen: Calibration,
    fit: Path | None,
    held: SealedPrediction | None,
    sealed: Path | None,
    *,
    only_new: bool,
) -> list[Device]:
    """Every device, calibrated on itself, or the one that is held against what was brought."""
    names = short_names(sources)
    if sealed is not None and held is not None:
        return [against_sealed(sources[0], names[0], chosen.series, held, sealed, only_new)]
    if fit is not None:
        return [against_fits(sources[0], names[0], chosen.series, fit)]
    return [compared(s, n, chosen, several=len(sources) > 1) for s, n in zip(sources, names, strict=True)]


def _title(devices: Sequence[str]) -> str:
    from calibrate.report.compared.devices import MOST_IN_FULL

    return ", ".join(devices) if len(devices) <= MOST_IN_FULL else f"{len(devices)} devices side by side"


def _knees(device: Device, wanted: o.KneeOptions) -> list[tuple[NamedKnee, ...]]:
    """The knees of every comparison."""
    return [
        knees_of(c.fit, wanted.slo, device.sweep, float(c.points.load.max()), share=wanted.share) for c in device.done
    ]


def _warn(devices: Sequence[Device], found: ComparedPages, *, corrected: bool) -> None:
    """What the importer noticed, what speaks against a calibration, what could not be compared or held together.

    Without ``corrected`` what a dataset was corrected by is left out: the answer has a line on it.
    """
    from calibrate.fitting.fit_warnings import matters

    for device in devices:
        name = device.name if len(devices) > 1 else ""
        tell([f for f in findings_of(device.sweep, device.names) if corrected or f.check != "corrected"], name)
        tell(
            [
                f
                for c in device.done
                for f in c.audit
                if matters(f, calibrated_here=c.calibrated_here) and f not in device.sweep.findings
            ],
            name,
        )
        for reason in device.refused.values():
            warn(f"not compared: {name}: {reason}" if name else f"not compared: {reason}")
    if found.apart:
        warn(found.apart)


def _tell(
    told: Sequence[Told],
    title: str,
    held: SealedPrediction | None,
    found: ComparedPages,
    *,
    knees: bool,
    baselines: bool,
    details: bool,
) -> None:
    """What --slo and --share ask for, the answer of all curves, and with ``details`` every curve in full."""
    from calibrate.cli.calibration.compare_pages import answer_text, say_baselines

    if held is not None:
        say(f"{held}\n")
    curves = [(t.device.name, c, k) for t in told for c, k in zip(t.device.done, t.knees, strict=False)]
    for device, c, k in curves:
        name = f"{device}: {c.series}: " if len(told) > 1 else f"{c.series}: " if len(curves) > 1 else ""
        for line in asked_lines(k, c.fit):
            say(f"{name}{line}")
    tails = {f"{t.device.name}: {name}" if len(told) > 1 else name: one for t in told for name, one in t.tails.items()}
    say(answer_text(title, {t.device.name: t.device.done for t in told}, tails))
    for one in told:
        done = one.device.done
        for c, k in zip(done, one.knees, strict=False):
            if knees:
                curve = f"{c.series}\n" if len(done) > 1 else ""
                say(f"\n{curve}{knee_table(k, c.fit)}")
        if baselines:
            say_baselines(done)
        if details:
            if len(told) > 1:
                say(f"\n\n== {one.device.name} ==")
            say("\n\n" + "\n\n\n".join(map(str, done)))
            say_tails(one.tails)
    say_beside(found.beside, details=details)


def _document(told: Sequence[Told], *, knees: bool) -> dict[str, Any]:
    """The JSON of every curve of every device: the first one's keys at the top, all under ``series``."""
    parts: list[dict[str, Any]] = []
    for one in told:
        own = comparison_document(one.device.done, one.device.refused)["series"]
        for part, named in zip(own, one.knees if knees else (), strict=False):
            part["knees"] = [k.to_dict() for k in named]
        add_tails(own, one.tails, one.untold)
        parts += [{"device": one.device.name, **part} for part in own]
    refused = {
        f"{one.device.name}: {name}" if len(told) > 1 else name: reason
        for one in told
        for name, reason in one.device.refused.items()
    }
    return {**{k: v for k, v in parts[0].items() if k != "device"}, "series": parts, "refused": refused}


def comparison_document(done: Sequence[Comparison], refused: dict[str, str]) -> dict[str, Any]:
    """The JSON of several comparisons: the first one's keys at the top, every one under ``series``."""
    parts = []
    for comparison in done:
        part = comparison.to_dict()
        parts.append({"name": part.pop("series"), **part})
    return {**parts[0], "series": parts, "refused": refused, "report": None}


def _check_brought(fit: Path | None, sealed: Path | None, twice: Sequence[str], only_new: bool) -> None:
    """CommandError where a fit or a sealed prediction, which bring their calibration, is given with another."""
    if fit is not None and sealed is not None:
        raise wrong_usage("--fit and --sealed were both given: hold one of them against DATA")
    for name, given in (("--fit", fit), ("--sealed", sealed)):
        if given is not None and twice:
            raise wrong_usage(f"{name} brings its own calibration; leave out {' and '.join(twice)}")
    if only_new and sealed is None:
        raise wrong_usage("--only-new is about --sealed: without it, points that were calibrated on are marked")


def _read_seal(path: Path) -> SealedPrediction:
    from calibrate.sealing.sealed_prediction import read_seal

    return read_seal(path)


def _check(
    done: Sequence[Comparison], fail_on: str | None, max_error: float | None, document: dict[str, Any] | None
) -> None:
    check_findings([f for c in done for f in c.audit], fail_on, document)
    if max_error is None:
        return
    for comparison in done:
        s = comparison.summary()
        errors = {"throughput": s.held_out_mape_throughput_pct, "response time": s.held_out_mape_response_pct}
        for what, error in errors.items():
            if error is None:
                raise CommandError(
                    f"--max-error {max_error:g}: {comparison.series} has no held-out point to check; calibrate on "
                    "fewer loads",
                    CHECK_FAILED,
                    document,
                )
            if error > max_error:
                raise CommandError(
                    f"--max-error {max_error:g}: the held-out {what} of {comparison.series} is missed by {error:.3g} % "
                    "on average",
                    CHECK_FAILED,
                    document,
                )
