"""Tails in ``qsim compare`` and ``qsim predict``: simulated where the points have their histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import say, table
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Comparison, Fit, Prediction
    from calibrate.sealing.sealed_prediction import SealedPrediction
    from calibrate.tails.results import Tails
    from measure import Sweep


def tails_of_all(
    done: Sequence[Comparison], sweep: Sweep, held: SealedPrediction | None = None
) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails of every curve that has histograms, and why others that have them give none.

    With a sealed prediction they are what it holds of them, and no others.
    """
    if held is not None:
        return _sealed(done, sweep, held), {}
    if not sweep.latencies:
        return {}, {}
    from calibrate.tails.percentiles import tails_of

    return _simulated((c.series, partial(tails_of, c, sweep)) for c in done)


def _sealed(done: Sequence[Comparison], sweep: Sweep, held: SealedPrediction) -> dict[str, Tails]:
    from calibrate.sealing.sealed_tails import tails_against

    found: dict[str, Tails] = {}
    for comparison in done:
        sealed = next((t for f, t in zip(held.fits, held.tails, strict=True) if f is comparison.fit), None)
        against = None if sealed is None else tails_against(sealed, sweep, comparison.series)
        if against is not None:
            found[comparison.series] = against
    return found


def tails_of_fits(
    fits: Sequence[Fit], curves: Sequence[Prediction], sweep: Sweep | None
) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails at the depths of each curve, by series, and why others that have histograms give none.

    Nothing without a ``sweep``: a fit in a file, or a data sheet, holds no histogram.
    """
    if sweep is None or not sweep.load_type.is_closed or not sweep.latencies:
        return {}, {}
    from calibrate.tails.percentiles import fitted_tails

    return _simulated(
        (fit.series, partial(fitted_tails, fit, sweep, fit.series, [float(n) for n in curve.load]))
        for fit, curve in zip(fits, curves, strict=True)
    )


def _simulated(curves: Iterable[tuple[str, Callable[[], Tails | None]]]) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails of each curve that has histograms, by series, and why others give none."""
    from calibrate.cli.progress import Bar
    from measure.errors import DataError

    found: dict[str, Tails] = {}
    refused: dict[str, str] = {}
    asked = list(curves)
    with Bar("simulating tails") as bar:
        for number, (series, simulated) in enumerate(asked, 1):
            try:
                tails = simulated()
            except DataError as error:
                refused[series] = str(error)
            else:
                if tails is not None:
                    found[series] = tails
            bar.share(number / len(asked))
    return found, refused


def add_tails(parts: Sequence[dict[str, Any]], found: Mapping[str, Tails], refused: Mapping[str, str]) -> None:
    """``tails``, ``tail_structures``, ``tail_noise_pct`` and ``tails_refused`` for each curve of a JSON document."""
    for part in parts:
        tails = found.get(part["name"])
        part["tails"] = [] if tails is None else tails.to_list()
        part["tail_structures"] = [] if tails is None else tails.structures_to_list()
        part["tail_noise_pct"] = None if tails is None or tails.noise is None else 100 * tails.noise
        part["tails_refused"] = refused.get(part["name"])


def tails_line(found: Mapping[str, Tails]) -> list[str]:
    """A line on the tails of all curves; none where there are none."""
    from calibrate.fitting.answer import labelled

    if not found:
        return []
    name, worst = max(found.items(), key=lambda pair: pair[1].median_error_pct() or 0.0)
    of = f" ({name}, the worst of {len(found)})" if len(found) > 1 else ""
    return [labelled("TAILS", f"{worst.reliance()}{of}")]


def say_tails(found: Mapping[str, Tails]) -> None:
    """A table and a sentence for each curve."""
    from calibrate.report.compared.simulated import tail_text

    for series, tails in found.items():
        say(f"\n\n{series}: tails\n{tail_text(tails).text()}\n\n{tails.sentence()}")


def predicted_tails_text(tails: Tails | None, *, details: bool) -> Iterator[str]:
    """A line on the tails; with ``details`` a table of them with their intervals. Nothing where there are none."""
    if tails is None:
        return
    if not details:
        yield from tails_line({"": tails})
        return
    from calibrate.tails.results import QUANTILES

    names = {name: f"p{100 * share:g}" for name, share in QUANTILES.items()}
    header = ("depth", *(word for name in names.values() for word in (name, "[90 %]")))
    rows = []
    for p in tails.points:
        ends = {q: f"[{format_duration(p.low[q])}, {format_duration(p.high[q])}]" for q in names}
        rows.append((f"{p.load:g}", *(cell for q in names for cell in (format_duration(p.predicted[q]), ends[q]))))
    yield f"{table(header, rows, left=0)}\n\n{tails.sentence()}"
