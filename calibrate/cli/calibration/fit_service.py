"""``qsim fit-service``: which law the service times follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.data import DataSource, known_dataset, known_series, of_each, print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.option_rules import conflicts, requires
from calibrate.cli.options import AsJson, Columns, Data, Dataset, Force, Report, Series
from calibrate.cli.outputs import Outputs
from calibrate.cli.progress import Bar, part_of

if TYPE_CHECKING:
    from calibrate.report.view import Section
    from calibrate.service import GoodnessOfFit, ServiceFit, Times
    from measure.sweep import Provenance


HELP = """Fit laws of service times to the latencies of one load, and rank them.

Takes the histogram (json+) where there is one, else percentiles; or a list of latencies, one a line, in a file or from
stdin (-). Exponential, Erlang, gamma, Weibull, lognormal, Burr XII, hyperexponential, hyper-Erlang and mixtures of
lognormals, each also after a fixed time, ranked by BIC; the best is checked by drawing from it and fitting again.

\b
Examples:
qsim fit-service sweep/ --report service.html
cut -d, -f3 requests.csv | qsim fit-service -
qsim fit-service --dataset 002-ssd-tails --load 1 --requests 10k
qsim fit-service --percentiles p50=80us,p90=110us,p95=140us,p99=300us,p99.9=1.2ms --requests 1e6
qsim fit-service sweep/ --out law.json && qsim simulate mg1 --arrival-rate 9k/s --service fitted:law.json
"""

MOST_REQUESTS = 1e15
"""More than any device answers in its life; counts are exact below 2^53."""


@conflicts("--percentiles", "DATA", "--dataset", "--series", "--load", because="percentiles are those of one point")
@requires("--family", "--out")
@requires("--force", "--out")
def fit_service(
    *,
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    percentiles: str | None = option("SPEC", None, "Published percentiles instead of DATA: p50=80us,p99=300us."),
    load: float | None = option("N", parsing.number, "The load whose latencies are taken. Default: the smallest."),
    series: Series = None,
    requests: float | None = option("N", parsing.number, "How many requests the percentiles are of."),
    out: Path | None = option("FILE", parsing.path, "Keep the law of one curve here, for fitted:FILE."),
    family: str | None = option("NAME", None, "With --out: keep this family and not the best one, as 'shifted gamma'."),
    force: Force = False,
    report: Report = None,
    details: bool = flag("--details", "Also print every family, and the parameters of the best with intervals."),
    as_json: AsJson = False,
) -> None:
    """Load, fit each series or the one named, print, report."""
    if requests is not None and not 1 <= requests <= MOST_REQUESTS:
        raise wrong_usage(f"--requests must be from 1 to {MOST_REQUESTS:.0e}, not {requests:g}")
    outputs = Outputs(report)
    outputs.check()

    from calibrate.cli.fit_files import check_writable
    from calibrate.fitting.answer import labelled

    if out is not None:
        check_writable(out, force=force, kind="law")

    found, refused, provenance = (
        of_typed(percentiles, requests)
        if percentiles is not None
        else of_table(dataset, series, load, requests)
        if dataset is not None and is_table(dataset)
        else of_data(DataSource(data or (), dataset, columns), series, load, requests)
    )
    if out is not None and len(found) > 1:
        raise wrong_usage(f"--out keeps one law, and there are {len(found)} curves; name one with --series")
    fits = _fitted_all(found, refused)
    kept = None if out is None else _kept(out, family, fits)
    written = outputs.write(_sections(fits, provenance) if outputs.wanted else [], "Service times")
    for reason in refused.values():
        warn(f"not fitted: {reason}")
    for fit, _ in fits.values():
        print_findings(fit.findings)
    if as_json:
        parts = [service_document(name, *pair) for name, pair in fits.items()]
        print_json({**parts[0], "series": parts, "refused": refused, "kept": kept, **written.to_dict()})
        return
    say(_answer(fits))
    if details:
        say("\n\n\n".join(("", *(_text(name, *pair) for name, pair in fits.items()))))
    else:
        say(labelled("MORE", "--details: parameters, every family;   --report service.html: plots"))
    if kept is not None:
        say(f"\nsaved in {kept}; next: qsim simulate mg1 --arrival-rate RATE --service fitted:{kept}")
    written.say()


def _fitted_all(found: Mapping[str, Times], refused: dict[str, str]) -> dict[str, tuple[ServiceFit, GoodnessOfFit]]:
    """The fits by name; why others cannot be goes to ``refused``, and DataError where none can."""
    from measure.errors import DataError

    fits: dict[str, tuple[ServiceFit, GoodnessOfFit]] = {}
    with Bar("fitting") as bar:
        for done, (name, times) in enumerate(found.items()):
            try:
                fits[name] = _fitted(times, part_of(bar, done, len(found)))
            except DataError as error:
                refused[name] = str(error)
    if not fits:
        raise DataError(next(iter(refused.values())))
    return fits


def _fitted(times: Times, progress: Callable[[float], None]) -> tuple[ServiceFit, GoodnessOfFit]:
    from calibrate.service import fit_service as fitted
    from calibrate.service import goodness as checked

    fit = fitted(times, progress=lambda s: progress(0.3 * s))
    return fit, checked(fit.best, progress=lambda s: progress(0.3 + 0.7 * s))


def service_document(name: str, fit: ServiceFit, goodness: GoodnessOfFit) -> dict[str, Any]:
    """One fit in JSON, SI units. ``law`` is what qsim.Distribution it is, by family and parameters."""
    from qsim.distributions.as_dict import law_to_dict

    return {
        "name": name,
        "requests": fit.times.total,
        "bins": len(fit.times.counts),
        "kind": fit.times.kind,
        "best": fit.best.name,
        "law": law_to_dict(fit.law),
        "parameters": {k: asdict(v) for k, v in fit.best.parameters.items()},
        "level": fit.best.level,
        "families": [f.to_dict() for f in fit.families],
        "left_out": list(fit.left_out),
        "goodness": goodness.to_dict(),
        "findings": [f.to_dict() for f in fit.findings],
    }


def _answer(fits: Mapping[str, tuple[ServiceFit, GoodnessOfFit]]) -> str:
    """The law of each curve in three lines, a table, how sure it is, and what to do next."""
    from calibrate.service.answer import answer, answer_table, last_lines

    done = [(name, *pair) for name, pair in fits.items()]
    return "\n".join([*answer(done), "", answer_table(done), "", *last_lines(done)])


def _text(name: str, fit: ServiceFit, goodness: GoodnessOfFit) -> str:
    left = f"\nleft out, as the bins cannot pin them: {', '.join(fit.left_out)}" if fit.left_out else ""
    return f"{name}\n\n{fit}{left}\n\n{goodness.sentence()}"


def _kept(path: Path, family: str | None, fits: Mapping[str, tuple[ServiceFit, GoodnessOfFit]]) -> str:
    """Write the law of the only fit, or of the family named; CommandError where that was not fitted."""
    from measure.formats.law_file import write_law

    name, (fit, _) = next(iter(fits.items()))
    names = [f.name for f in fit.families]
    if family is not None and family not in names:
        raise wrong_usage(f"--family: {parsing.not_one_of(family, names)}")
    chosen = fit.best if family is None else fit.family(family)
    about = {"name": name, "family": chosen.name, "requests": fit.times.total, "kind": fit.times.kind, "ks": chosen.ks}
    write_law(chosen.law, path, about)
    return str(path)


def _sections(fits: Mapping[str, tuple[ServiceFit, GoodnessOfFit]], provenance: Provenance | None) -> list[Section]:
    from calibrate.report.service import service_section

    return [service_section(name, fit, good, provenance) for name, (fit, good) in fits.items()]


Found: TypeAlias = "tuple[dict[str, Times], dict[str, str], Provenance | None]"
"""The times by name, why other curves have none, and where all are from."""


def of_typed(text: str, requests: float | None) -> Found:
    """Percentiles as typed."""
    from calibrate.service.sources import parse_percentiles
    from calibrate.service.times import of_percentiles

    try:
        given = parse_percentiles(text)
    except ValueError as error:
        raise wrong_usage(f"--percentiles: {error}") from error
    return {"percentiles": of_percentiles(given, requests)}, {}, None


def is_table(dataset: str) -> bool:
    """Whether the dataset is no curve, but a table of percentiles. CommandError for an unknown one."""
    from measure.datasets import about

    return not about(known_dataset(dataset)).curve


def of_table(dataset: str, series: str | None, load: float | None, requests: float | None) -> Found:
    """The percentiles of a published table."""
    from calibrate.report.measured import published
    from calibrate.service.sources import table_times

    shown = published(dataset)
    names = list(dict.fromkeys(shown.table["series"]))
    if series is not None and series not in names:
        raise wrong_usage(f"--series: {parsing.not_one_of(series, names)}")
    at = _load(sorted(set(shown.table["load"])), load)
    read = _by_source(names if series is None else [series], lambda name: table_times(shown.table, name, at, requests))
    return *read, shown.provenance


def of_data(source: DataSource, series: str | None, load: float | None, requests: float | None) -> Found:
    """A list of latencies, or the histograms or percentiles of a sweep."""
    from calibrate.service.sources import service_times, times_or_sweep
    from calibrate.service.times import Times
    from measure.sweep import Provenance

    alone = source.dataset is None and source.columns is None and len(source.data) == 1
    sweep = times_or_sweep(Path(source.data[0])) if alone else source.load()
    if isinstance(sweep, Times):
        if series is not None or load is not None:
            raise wrong_usage("--series and --load select from a sweep, and DATA is a list of latencies")
        return {sweep.source: sweep}, {}, Provenance(source=source.name)
    names = known_series(sweep, series)
    rows = sweep.points[sweep.points["series"].isin(names)]
    at = _load(sorted(set(rows["load"])), load) if load is not None else None
    if sweep.load_type.is_closed and (rows["load"].min() if at is None else at) > 1:
        warn(
            "at a load above 1 latencies hold the waiting as well as the service; measure depth 1 for the service alone"
        )
    return *_by_source(names, lambda name: service_times(sweep, name, at, requests)), sweep.provenance


def _load(measured: Sequence[float], load: float | None) -> float:
    if load is not None and load not in measured:
        there = ", ".join(f"{n:g}" for n in measured)
        raise wrong_usage(f"--load: no point was measured at {load:g}; there are {there}")
    return measured[0] if load is None else load


def _by_source(names: Sequence[str], read: Callable[[str], Times]) -> tuple[dict[str, Times], dict[str, str]]:
    found, refused = of_each(names, read)
    return {times.source: times for times in found.values()}, refused
