"""``qsim fit-service``: the law of the service times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import calibrate
import measure
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.data import DataSource, known_dataset, known_series, of_each, print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import check_new
from calibrate.cli.options import Columns, Data, Dataset, Series, conflicts, flag, option
from calibrate.cli.progress import Bar, part_of
from measure.loads import ClosedLoad
from qsim.result import labelled

if TYPE_CHECKING:
    from calibrate import ServiceFit, Times

MOST_REQUESTS = 1e15  # the largest number of requests; counts are exact below 2^53

Found: TypeAlias = "tuple[dict[str, Times], dict[str, str]]"
"""The times by name, and the reasons why other curves have none."""
Fits: TypeAlias = "dict[str, ServiceFit]"


@parsing.parser
def shares(text: str) -> dict[float, float]:
    """``p50=80us,p99=300us``."""
    from calibrate.service.observed_times import parse_percentiles

    return parse_percentiles(text)


@parsing.parser
def request_count(text: str) -> float:
    """``10k``, of one request at least."""
    count = float(parsing.number(text))
    if not 1 <= count <= MOST_REQUESTS:
        raise ValueError(f"must be from 1 to {MOST_REQUESTS:.0e}, not {count:g}")
    return count


@conflicts("--percentiles", "DATA", "--dataset", "--series", because="percentiles are those of one point")
def fit_service(
    *,
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    percentiles: Any = option("SPEC", shares, "Published percentiles instead of DATA: p50=80us,p99=300us."),
    series: Series = None,
    requests: float | None = option("N", request_count, "How many requests the percentiles are of."),
    out: Path | None = option("FILE", parsing.path, "Keep the law of one curve here, for fitted:FILE."),
    details: bool = flag("--details", "Also print every family, and the parameters of the best."),
) -> CommandResult:
    """Fit laws of service times to the latencies of the smallest load, and rank them.

    Takes the histogram (json+) of the smallest load where there is one, else percentiles; or a list of latencies, one a
    line, in a file or from stdin (-). Exponential, gamma, Weibull, lognormal, Burr XII, hyperexponential and mixtures
    of lognormals, each also after a fixed time, ranked by BIC.

    \b
    Examples:
    qsim fit-service sweep/ --details
    cut -d, -f3 requests.csv | qsim fit-service -
    qsim fit-service --dataset 002-ssd-tails --requests 10k
    qsim fit-service --percentiles p50=80us,p90=110us,p95=140us,p99=300us,p99.9=1.2ms --requests 1e6
    qsim fit-service sweep/ --out law.json && qsim simulate mg1 --arrival-rate 9k/s --service fitted:law.json
    """
    if out is not None:
        check_new(out)
    if percentiles is not None:
        found, refused = {"percentiles": calibrate.of_percentiles(percentiles, requests)}, dict[str, str]()
    else:
        found, refused = _found(DataSource(data or (), dataset, columns), series, requests)
    if out is not None and len(found) > 1:
        raise wrong_usage(f"--out keeps one law, and there are {len(found)} curves; name one with --series")
    with Bar("fitting") as bar:
        parts = {name: part_of(bar, done, len(found)) for done, name in enumerate(found)}
        fits, more = of_each(found, lambda name: calibrate.fit_service(found[name], progress=parts[name]))
    refused.update(more)
    if out is not None:
        from measure.formats.law_file import write_law

        ((name, fit),) = fits.items()
        about = {"name": name, "family": fit.best.name, "requests": fit.times.total, "kind": fit.times.kind}
        write_law(fit.best.law, out, {**about, "ks": fit.best.ks})
    print_findings(f for fit in fits.values() for f in fit.findings)

    def document() -> dict[str, Any]:
        parts = [service_document(name, fit) for name, fit in fits.items()]
        return {**parts[0], "series": parts, "refused": refused, "kept": None if out is None else str(out)}

    return CommandResult(lambda: _text(fits, out, details=details), document)


def service_document(name: str, fit: ServiceFit) -> dict[str, Any]:
    """One fit in JSON, SI units. ``law`` is a qsim Distribution, by family and parameters."""
    from qsim.distributions import law_to_dict

    return {
        "name": name,
        "requests": fit.times.total,
        "bins": len(fit.times.counts),
        "kind": fit.times.kind,
        "best": fit.best.name,
        "law": law_to_dict(fit.law),
        "parameters": fit.best.parameters,
        "intervals": {name: asdict(of) for name, of in fit.best.intervals().items()},
        "families": [f.to_dict() for f in fit.families],
        "left_out": list(fit.left_out),
        "findings": [f.to_dict() for f in fit.findings],
    }


def _text(fits: Fits, out: Path | None, *, details: bool) -> str:
    """The law of each curve in three lines, a table, and what to do next."""
    from calibrate.service.fitted import answer, answer_table, next_line

    done = list(fits.items())
    lines = [*answer(done), "", answer_table(done), "", *next_line(done)]
    for name, fit in done if details else ():
        left = "".join(f"\nleft out: {reason}" for reason in fit.left_out)
        lines.append(f"\n\n{name}\n\n{fit}{left}")
    if not details:
        lines.append(labelled("MORE", "--details: parameters, every family"))
    if out is not None:
        lines.append(f"\nsaved in {out}; next: qsim simulate mg1 --arrival-rate RATE --service fitted:{out}")
    return "\n".join(lines)


def _found(source: DataSource, series: str | None, requests: float | None) -> Found:
    """A list of latencies, the histograms or percentiles of a sweep, or a published table of percentiles."""
    from calibrate.service.observed_times import published_percentiles, table_times, times_or_sweep
    from measure.datasets import about

    if source.dataset is not None and not about(known_dataset(source.dataset)).curve:
        shown = published_percentiles(source.dataset)
        names = known_series(list(dict.fromkeys(shown["series"])), series)
        return _by_source(names, lambda name: table_times(shown, name, requests))
    alone = source.dataset is None and source.columns is None and len(source.data) == 1
    sweep = times_or_sweep(Path(source.data[0])) if alone else source.load()
    if not isinstance(sweep, measure.Sweep):
        if series is not None:
            raise wrong_usage("--series selects from a sweep, and DATA is a list of latencies")
        return {sweep.source: sweep}, {}
    names = known_series(sweep.series, series)
    rows = sweep.points[sweep.points["series"].isin(names)]
    if isinstance(sweep.load_type, ClosedLoad) and rows["load"].min() > 1:
        warn(
            "at a load above 1 latencies hold the waiting as well as the service; measure depth 1 for the service alone"
        )
    return _by_source(names, lambda name: calibrate.service_times(sweep, name, requests))


def _by_source(names: Sequence[str], read: Callable[[str], Times]) -> Found:
    found, refused = of_each(names, read)
    return {times.source: times for times in found.values()}, refused
