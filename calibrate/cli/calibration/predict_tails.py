"""Tails in ``qsim predict``: simulated where the points calibrated on have their histograms, told beside the means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from calibrate.cli.console import table
from calibrate.cli.progress import Bar
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Fit, Prediction
    from calibrate.tails.percentiles import Tails
    from measure import Sweep


def tails_of_fits(
    fits: Sequence[Fit], curves: Sequence[Prediction], sweep: Sweep | None
) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails at the depths of each curve, by series, and why others that have histograms give none.

    Nothing without a ``sweep``: a fit in a file, or a data sheet, holds no histogram.
    """
    found: dict[str, Tails] = {}
    refused: dict[str, str] = {}
    if sweep is None or not sweep.load_type.is_closed or not sweep.latencies:
        return found, refused
    from calibrate.tails.percentiles import fitted_tails
    from measure.errors import DataError

    with Bar("simulating tails") as bar:
        for number, (fit, curve) in enumerate(zip(fits, curves, strict=True)):
            try:
                tails = fitted_tails(fit, sweep, fit.series, [float(n) for n in curve.load])
            except DataError as error:
                refused[fit.series] = str(error)
            else:
                if tails is not None:
                    found[fit.series] = tails
            bar.share((number + 1) / len(fits))
    return found, refused


def predicted_tails_text(tails: Tails | None) -> Iterator[str]:
    """A table of the tails with their intervals, and the structure they are of; nothing where there are none."""
    if tails is None:
        return
    from calibrate.tails.percentiles import QUANTILES

    names = {name: f"p{100 * share:g}" for name, share in QUANTILES.items()}
    header = ("depth", *(word for name in names.values() for word in (name, "[90 %]")))
    rows = []
    for p in tails.points:
        ends = {q: f"[{format_duration(p.low[q])}, {format_duration(p.high[q])}]" for q in names}
        rows.append((f"{p.load:g}", *(cell for q in names for cell in (format_duration(p.predicted[q]), ends[q]))))
    yield f"{table(header, rows, left=0)}\n\n{tails.sentence()}"
