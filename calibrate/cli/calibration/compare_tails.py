"""Tails in ``qsim compare``: simulated where the histograms are there, told as text, JSON and a section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import say, table
from calibrate.cli.progress import Bar

if TYPE_CHECKING:
    from calibrate import Comparison
    from calibrate.sealing.sealed_prediction import SealedPrediction
    from calibrate.tails.percentiles import Tails
    from measure import Sweep


def tails_of_all(
    done: Sequence[Comparison], sweep: Sweep, held: SealedPrediction | None = None
) -> tuple[dict[str, Tails], dict[str, str]]:
    """The tails of every curve that has histograms, and why others that have them give none.

    With a sealed prediction they are what it holds of them, and no others.
    """
    from calibrate.tails.percentiles import tails_of
    from measure.errors import DataError

    if held is not None:
        return _sealed(done, sweep, held), {}

    found: dict[str, Tails] = {}
    refused: dict[str, str] = {}
    with Bar("simulating tails") as bar:
        for number, comparison in enumerate(done):
            try:
                tails = tails_of(comparison, sweep)
            except DataError as error:
                refused[comparison.series] = str(error)
            else:
                if tails is not None:
                    found[comparison.series] = tails
            bar.share((number + 1) / len(done))
    return found, refused


def _sealed(done: Sequence[Comparison], sweep: Sweep, held: SealedPrediction) -> dict[str, Tails]:
    from calibrate.sealing.sealed_tails import tails_against

    found: dict[str, Tails] = {}
    for comparison in done:
        sealed = next((t for f, t in zip(held.fits, held.tails, strict=True) if f is comparison.fit), None)
        against = None if sealed is None else tails_against(sealed, sweep, comparison.series)
        if against is not None:
            found[comparison.series] = against
    return found


def add_tails(parts: Sequence[dict[str, Any]], found: Mapping[str, Tails], refused: Mapping[str, str]) -> None:
    """``tails``, ``tail_structures``, ``tail_noise_pct`` and ``tails_refused`` for each curve of a JSON document."""
    for part in parts:
        tails = found.get(part["name"])
        part["tails"] = [] if tails is None else tails.to_list()
        part["tail_structures"] = [] if tails is None else tails.structures_to_list()
        part["tail_noise_pct"] = None if tails is None or tails.noise is None else 100 * tails.noise
        part["tails_refused"] = refused.get(part["name"])


def say_tails(found: Mapping[str, Tails]) -> None:
    """A table and a sentence for each curve."""
    from calibrate.report.tails import tail_rows

    for series, tails in found.items():
        say(f"\n\n{series}: tails\n{table(*tail_rows(tails), left=0)}\n\n{tails.sentence()}")
