"""Tails in ``qsim compare`` and ``qsim predict``: simulated where the points have their histograms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import calibrate
import measure
from calibrate.cli.console import labelled, table
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Fit, Tails

Curve = tuple["Fit", str, Sequence[float] | None]
"""A fit, the name of its curve in the sweep, and the depths whose tails are wanted (None: those measured)."""


def simulated_tails(curves: Sequence[Curve], sweep: measure.Sweep | None) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails of every curve that has histograms, by series, and why others that have them give none.

    Nothing without a ``sweep``: a fit in a file, or a data sheet, holds no histogram.
    """
    found: dict[str, Tails] = {}
    refused: dict[str, str] = {}
    if sweep is None or not sweep.latencies:
        return found, refused
    from calibrate.cli.progress import Bar

    with Bar("simulating tails") as bar:
        for number, (fit, series, at) in enumerate(curves, 1):
            try:
                tails = calibrate.fitted_tails(fit, sweep, series, at)
            except measure.DataError as error:
                refused[series] = str(error)
            else:
                found |= {} if tails is None else {series: tails}
            bar.share(number / len(curves))
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
    if not found:
        return []
    name, worst = max(found.items(), key=lambda pair: pair[1].median_error_pct() or 0.0)
    of = f" ({name}, the worst of {len(found)})" if len(found) > 1 else ""
    return [labelled("TAILS", f"{worst.reliance()}{of}")]


def tail_tables(found: Mapping[str, Tails]) -> list[str]:
    """A table and a sentence for each curve."""
    from calibrate.report.compared.simulated import tail_text

    return [f"\n\n{series}: tails\n{tail_text(tails).text()}\n\n{tails.sentence()}" for series, tails in found.items()]


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
