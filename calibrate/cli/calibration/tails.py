"""Tails in ``qsim compare`` and ``qsim predict``: simulated where the points have their histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import calibrate
import measure
from calibrate.cli.console import labelled, warn

if TYPE_CHECKING:
    from calibrate import Fit, Tails

Curve = tuple["Fit", str, Sequence[float] | None]
"""A fit, the name of its curve in the sweep, and the depths whose tails are wanted (None: those measured)."""


def simulated_tails(curves: Sequence[Curve], sweep: measure.Sweep | None) -> dict[str, Tails]:
    """The tails of every curve that has histograms, by series; a warning says why others that have them give none.

    Nothing without a ``sweep``: a fit in a file, or a data sheet, holds no histogram.
    """
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
